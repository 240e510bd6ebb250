"""One repetition of Pro-RandConv, step by step, and what more repetitions make of it.

python examples/step_by_step.py steps.webp
"""

import argparse
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import skimage.data
import torch
from torchvision.transforms import v2

import prorandconv as prc
from prorandconv import functional


def photo(name: str, size: int) -> torch.Tensor:
    """A photo that ships with scikit-image, in [-1, 1]."""
    steps = [
        v2.ToImage(),
        v2.Resize(size),
        v2.CenterCrop(size),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5] * 3, [0.5] * 3),
    ]
    return v2.Compose(steps)(getattr(skimage.data, name)())


def stages(x: torch.Tensor, params: prc.ProRandConvParams) -> dict[str, torch.Tensor]:
    """What a draw makes of an image, by name, in the order of the computation."""
    convolved = functional.random_conv(x[None], params.weight)
    deformed = functional.deform_conv(x[None], params.weight, params.offsets)
    standard = functional.contrast(deformed, tanh=False)
    scaled = functional.contrast(deformed, params.gamma, params.beta, tanh=False)
    found = {
        "original": x[None],
        "convolve": convolved,
        "deform": deformed,
        "standardise": standard,
        "affine": scaled,
        "tanh: L = 1": scaled.tanh(),
    }
    for repeats in (2, 5, 10):
        again = replace(params, repeats=repeats)
        found[f"L = {repeats}"] = functional.pro_rand_conv(x[None], again)
    return {name: image[0] for name, image in found.items()}


def draw_sheet(image: torch.Tensor, sheet: Path, draws: int) -> None:
    """Write a row for each draw as one picture."""
    augment = prc.ProRandConv()
    rows = [stages(image, augment.draw(image)) for _ in range(draws)]
    figure, axes = plt.subplots(
        draws, len(rows[0]), figsize=(1.1 * len(rows[0]), 1.2 * draws), layout="constrained"
    )
    for number, (line, row) in enumerate(zip(axes, rows, strict=True)):
        for axis, (name, picture) in zip(line, row.items(), strict=True):
            axis.imshow(picture.add(1).div(2).clamp(0, 1).permute(1, 2, 0))
            axis.set(xticks=[], yticks=[])
            if number == 0:
                axis.set_title(name, fontsize=9, pad=3)
    sheet.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(sheet, dpi=180)
    plt.close(figure)


def main() -> None:
    """Read the command line, write the sheet, say where."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sheet", type=Path, help="PNG or WebP file to write")
    parser.add_argument("--photo", default="chelsea", choices=["astronaut", "chelsea", "coffee"])
    parser.add_argument("--size", type=int, default=96, help="side of the images in pixels")
    parser.add_argument("--draws", type=int, default=3, help="rows")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    draw_sheet(photo(arguments.photo, arguments.size), arguments.sheet, arguments.draws)
    print(f"wrote {arguments.sheet}")


if __name__ == "__main__":
    main()
