"""The ways to augment a mini-batch that are compared, each drawing its own random numbers.

A candidate is a function of float images (N, 3, H, W) and a number of repetitions L. All compute
the paper's block with fresh parameters at each call, but the two whose titles say that they are not
the same: they show what less costs, or what another library offers instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor

import prorandconv as prc
from prorandconv.lab.models import build_classifier
from prorandconv.ops import Engine
from prorandconv.transforms import Mode, offset_range

Call = Callable[[Tensor, int], Tensor]
CHANNELS, CLASSES = 3, 10
RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class Candidate:
    """One way, made ready by calling ``make`` once."""

    name: str
    title: str
    make: Callable[[], Call]


def numpy_fields(count: int, size: int, alpha: float = 10.0) -> np.ndarray:
    """Gaussian random fields as one writes them first: one full complex FFT each."""
    k = np.fft.fftfreq(size)
    frequency = np.hypot(k[:, None], k[None, :])
    frequency[0, 0] = np.inf
    amplitude = frequency ** (-alpha / 2)
    fields = []
    for _ in range(count):
        noise = np.fft.fft2(RANDOM.normal(size=(size, size)))
        field = np.fft.ifft2(noise * amplitude).real
        fields.append((field - field.mean()) / field.std())
    return np.stack(fields)


def draw_kernel(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of one draw, smoothing included, and the affine's scale and shift."""
    window = prc.functional.gaussian_window(3, RANDOM.uniform(0.01, 1.0))
    weight = torch.randn(CHANNELS, CHANNELS, 3, 3) / 27**0.5 * window
    return weight.to(device), *(torch.randn(2, CHANNELS) / 2).to(device).unbind()


def contrast(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """What follows the convolution, from stock operators."""
    x = F.instance_norm(x, eps=1e-5) * gamma.view(-1, 1, 1) + beta.view(-1, 1, 1)
    return torch.tanh(x)


def stock_block(x: Tensor, offsets: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """One repetition of the paper's block from stock operators; offsets (N, 2k², H, W)."""
    x = torchvision.ops.deform_conv2d(x, offsets, weight, padding=weight.shape[-1] // 2)
    return contrast(x, gamma, beta)


def obvious(block: Callable[..., Tensor] = stock_block) -> Call:
    """The paper's block as one writes it first.

    torchvision has no bfloat16 kernel for CPUs, so such images are computed in float32.
    """

    def augment(x: Tensor, repeats: int) -> Tensor:
        size, given = x.shape[-1], x.dtype
        draw = draw_kernel(x.device)
        scale = RANDOM.uniform(*offset_range(size, size))
        offsets = torch.from_numpy(scale * numpy_fields(18, size)).float().to(x.device)
        expanded = offsets.expand(len(x), -1, -1, -1).contiguous()
        x = x.float()
        for _ in range(repeats):
            x = block(x, expanded, *draw)
        return x.to(given)

    return augment


def plain_conv() -> Call:
    """The block without its offsets, from stock operators."""

    def augment(x: Tensor, repeats: int) -> Tensor:
        weight, gamma, beta = (one.to(x.dtype) for one in draw_kernel(x.device))
        for _ in range(repeats):
            x = contrast(F.conv2d(x, weight, padding=1), gamma, beta)
        return x

    return augment


def kornia_elastic() -> Call:
    """Kornia's random elastic transform before a random convolution; L times the same draw.

    Not the same operation: all taps of the kernel share one displacement, the displacement is noise
    blurred by kornia's default Gaussian, and the image is interpolated once before the convolution.
    """
    import kornia.augmentation

    elastic = kornia.augmentation.RandomElasticTransform(p=1.0, same_on_batch=True)

    def augment(x: Tensor, repeats: int) -> Tensor:
        weight, gamma, beta = (one.to(x.dtype) for one in draw_kernel(x.device))
        params = elastic.forward_parameters(x.shape)
        for _ in range(repeats):
            x = elastic(x, draw=params)
            x = contrast(F.conv2d(x, weight, padding=1), gamma, beta)
        return x

    return augment


def one_by_one(augment: Call) -> Call:
    """One draw for each image of a batch, by a loop over them."""
    return lambda x, repeats: torch.cat([augment(image[None], repeats) for image in x])


def with_engine(engine: Engine, mode: Mode = "batch") -> Call:
    """This library's augmentation, drawing included."""
    transforms = [
        prc.ProRandConv(repeats=repeats, engine=engine, mode=mode) for repeats in range(1, 11)
    ]
    return lambda x, repeats: transforms[repeats - 1](x)


def training_step(size: int, device: torch.device | str = "cpu") -> Call:
    """One step of training on the originals alone (ERM), as the lab does it, for scale."""
    network = "lenet" if size <= 64 else "resnet18"
    net = build_classifier(network, classes=CLASSES, image_size=size)
    net = net.to(device=device, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

    def step(x: Tensor, repeats: int) -> Tensor:
        labels = torch.zeros(len(x), dtype=torch.long, device=x.device)
        with torch.enable_grad():
            loss = F.cross_entropy(net(x), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return loss.detach()

    return step


CANDIDATES = {
    candidate.name: candidate
    for candidate in (
        Candidate("obvious", "obvious", obvious),
        Candidate("compiled", "obvious, compiled", lambda: obvious(torch.compile(stock_block))),
        Candidate("kornia", "kornia elastic + conv (not the same)", kornia_elastic),
        Candidate("plain_conv", "plain conv2d (not the same)", plain_conv),
        Candidate("reference", "reference", lambda: with_engine("reference")),
        Candidate("eager", "eager", lambda: with_engine("eager")),
        Candidate("native", "native", lambda: with_engine("native")),
        Candidate("triton", "triton", lambda: with_engine("triton")),
    )
}

PER_IMAGE = {
    candidate.name: candidate
    for candidate in (
        Candidate("obvious_each", "obvious, image by image", lambda: one_by_one(obvious())),
        Candidate("sample", 'native, mode="sample"', lambda: with_engine("native", "sample")),
    )
}
"""One draw for each image of a batch."""
