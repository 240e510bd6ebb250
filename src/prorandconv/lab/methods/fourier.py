"""Spectra of images."""

from __future__ import annotations

import torch
from torch import Tensor


def amplitude_phase(x: Tensor) -> tuple[Tensor, Tensor]:
    """Amplitude and phase of the spectra of real images, not centred; all are ``(N, C, H, W)``."""
    spectrum = torch.fft.fft2(x)
    return spectrum.abs(), spectrum.angle()


def with_amplitude(amplitude: Tensor, phase: Tensor) -> Tensor:
    """The real images of spectra as of :func:`amplitude_phase`."""
    # Not torch.polar: the gradient of a negative amplitude would have the wrong sign there.
    spectrum = torch.complex(amplitude * phase.cos(), amplitude * phase.sin())
    images: Tensor = torch.fft.ifft2(spectrum).real
    return images
