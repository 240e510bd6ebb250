"""The images that a model is tested with: a folder, or a split of a run's benchmark."""

from __future__ import annotations

from pathlib import Path

from ...errors import ProRandConvError
from ..data import Images, Options, Split
from ..data.folders import images_in, normalised_name, sub_folders
from ..data.images import labelled
from ..data.inspection import verified
from ..data.stores import ImageFile
from ..errors import DataError, did_you_mean
from .model import Model

VALIDATION: Split = "val"


def images_for(model: Model, data: str, limit: int) -> Images:
    """Images and their classes, in the order of the model's outputs.

    Args:
        model: whose classes and image format they have.
        data: ``"val"``, the validation images of a run, or a domain of its benchmark; else a folder
            ``<class>/<image>``.
        limit: how many images at most, chosen at random but always the same.
    """
    if limit < 1:
        raise ProRandConvError.about("--images", limit, "1 or more")
    if model.trained is not None and not Path(data).is_dir():
        images = _of_the_run(model, data)
    elif Path(data).is_dir():
        images = _in_a_folder(model, Path(data))
    else:
        raise ProRandConvError.about("DATA", data, "a folder <class>/<image>; there is none")
    return images.subset(limit)


def _of_the_run(model: Model, data: str) -> Images:
    assert model.trained is not None
    benchmark, config = model.trained.benchmark, model.trained.config
    if data == VALIDATION:
        return labelled(benchmark.load(config.source, VALIDATION))
    known = [*benchmark.members, *benchmark.aliases]
    if data not in known:
        raise ProRandConvError.about(
            "DATA",
            data,
            f"a folder <class>/<image>, {VALIDATION} (the run's validation images), or one of its "
            f"domains {', '.join(benchmark.members)}{did_you_mean(data, known)}",
        )
    return labelled(benchmark.load(data, "test"))


def _in_a_folder(model: Model, root: Path) -> Images:
    folders = {path.name: path for path in sub_folders(root)}
    if not folders:
        raise DataError.at(root, "holds no folders", "expected <class>/<image>")
    outputs = model.outputs()
    classes = model.classes or tuple(folders)
    if len(classes) != outputs:
        given, got = ("--classes", "names") if model.classes else ("DATA", "class folders")
        raise ProRandConvError.about(
            given,
            f"{len(classes)} {got}",
            f"{outputs}, one for each output of MODEL; --classes FILE names them in their order",
        )
    labels = {normalised_name(name): label for label, name in enumerate(classes)}
    for name, path in folders.items():
        if normalised_name(name) not in labels:
            shown = ", ".join(classes[:20]) + (" ..." if len(classes) > 20 else "")
            hint = did_you_mean(name, classes)
            raise DataError.at(
                path, f"not one of the model's classes {shown}", f"rename or remove it{hint}"
            )
    files = [
        ImageFile(f"{name}/{path.name}", path, labels[normalised_name(name)], upright=True)
        for name, folder in folders.items()
        for path in images_in(folder)
    ]
    options = Options()
    return Images.in_files(
        verified(
            root,
            files,
            model.format.image_size,
            options,
            title=root.name,
            checked="upright",
        ),
        options,
        classes=classes,
        split="test",
        format=model.format,
    )
