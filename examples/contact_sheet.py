"""The paper's Fig. 2 from a sample photo: RandConv by kernel size, Pro-RandConv by repetitions.

python examples/contact_sheet.py augmented.png
"""

import argparse
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import skimage.data
import torch
from torchvision.transforms import v2

import prorandconv as prc

COLUMNS = 10


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


def rows(image: torch.Tensor, draws: int) -> list[tuple[str, list[tuple[str, torch.Tensor]]]]:
    """Each row: what it shows, and its pictures with their captions."""
    kernel_sizes = range(1, 2 * COLUMNS, 2)
    single = [(f"k = {k}", prc.RandConv([k], identity=0.0)(image)) for k in kernel_sizes]
    result = [("RandConv", single)]
    augment = prc.ProRandConv()
    for _ in range(draws):
        params = augment.draw(image)
        pictures = [
            (f"L = {repeats}", augment(image, params=replace(params, repeats=repeats)))
            for repeats in range(1, COLUMNS + 1)
        ]
        result.append(("Pro-RandConv", pictures))
    return result


def draw_sheet(image: torch.Tensor, sheet: Path, draws: int) -> None:
    """Write the rows, each led by the original, as one picture."""
    table = rows(image, draws)
    figure, axes = plt.subplots(
        len(table), COLUMNS + 1, figsize=(COLUMNS + 1, 1.22 * len(table)), layout="constrained"
    )
    for line, (name, pictures) in zip(axes, table, strict=True):
        for axis, (caption, picture) in zip(line, [("original", image), *pictures], strict=True):
            axis.imshow(picture.add(1).div(2).clamp(0, 1).permute(1, 2, 0))
            axis.set_title(caption, fontsize=9, pad=2)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=9)
    sheet.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(sheet, dpi=64)
    plt.close(figure)


def main() -> None:
    """Read the command line, write the sheet, say where."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sheet", type=Path, help="PNG file to write")
    parser.add_argument("--photo", default="chelsea", choices=["astronaut", "chelsea", "coffee"])
    parser.add_argument("--size", type=int, default=96, help="side of the images in pixels")
    parser.add_argument("--draws", type=int, default=2, help="rows of Pro-RandConv")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    draw_sheet(photo(arguments.photo, arguments.size), arguments.sheet, arguments.draws)
    print(f"wrote {arguments.sheet}")


if __name__ == "__main__":
    main()
