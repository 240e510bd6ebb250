"""Domains that are folders: ``domain/class/image``, in whatever spelling they came."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from ..errors import DataError, did_you_mean
from .benchmark import PHOTO_RECIPE, Benchmark, CheckReport, Counts, Domain, Published, Recipe
from .decoding import SUFFIXES, Decoded
from .images import Images
from .inspection import inspect, verified
from .samples import ImageFormat, Samples
from .splits import PublishedList, Split, find_lists, stratified_split
from .stores import File, ImageFile, Options

_NOT_DATA = frozenset({"thumbs.db", "desktop.ini"})

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def normalised_name(name: str) -> str:
    """What is left of a folder's name without case, spaces, dashes and underscores.

    Example:
        >>> normalised_name("Real World"), normalised_name("real_world")
        ('realworld', 'realworld')
    """
    return re.sub(r"[\s_-]+", "", name).casefold()


def folder_of(root: Path, *names: str) -> Path:
    """A benchmark's folder in the data root, or the root itself if it has such a name."""
    wanted = {normalised_name(name) for name in names}
    for path in _listed(root) if root.is_dir() else ():
        if normalised_name(path.name) in wanted and path.is_dir():
            return path
    return root if normalised_name(root.name) in wanted else root / names[0]


def _listed(folder: Path) -> list[Path]:
    """What is in a folder, by name; hidden files do not count."""
    try:
        inner = [path for path in folder.iterdir() if path.name[0] not in "._"]
    except OSError as error:
        raise DataError.at(
            folder, f"cannot be listed ({error.strerror})", "check its permissions"
        ) from error
    return sorted(inner, key=lambda path: path.name)


def sub_folders(folder: Path) -> list[Path]:
    """Folders in a folder, by name; none if it is not there."""
    inner = _listed(folder) if folder.is_dir() else []
    for path in inner:
        if not path.exists():
            raise DataError.at(
                path, "a link to a missing folder", "restore the folder or remove it"
            )
    return [path for path in inner if path.is_dir()]


def domains_in(root: Path, layout: str) -> list[Path]:
    """The folders of a user's own domains, of which there must be two."""
    if not root.is_dir():
        problem = "a file, not a folder" if root.exists() else "no such folder"
        raise DataError.at(root, problem, f"expected {layout} in a folder")
    homes = sub_folders(root)
    if len(homes) < 2:
        raise DataError.at(
            root, f"holds {len(homes)} folder(s)", f"expected two domains or more, as {layout}"
        )
    return homes


def images_in(folder: Path) -> list[Path]:
    """Image files in a folder, by name; a file with another extension raises an error."""
    paths = []
    for path in _listed(folder):
        if path.name.casefold() in _NOT_DATA:
            continue
        if not path.exists():
            raise DataError.at(path, "a link to a missing file", "restore the file or remove it")
        if path.is_dir():
            raise DataError.at(path, "a folder among images", "expected domain/class/image files")
        if not path.is_file():
            raise DataError.at(path, "not a file", "move it away")
        if path.suffix.casefold() not in SUFFIXES:
            raise DataError.at(
                path,
                "not an image by its file extension",
                f"move it away; images have one of {' '.join(sorted(SUFFIXES))}",
            )
        paths.append(path)
    if not paths:
        raise DataError.at(folder, "a class folder without images", "fill it or fetch it again")
    return paths


AnyFile = TypeVar("AnyFile", bound=File)


@dataclass(frozen=True)
class FileDomain(Domain, Generic[AnyFile]):
    """A domain of files, decoded when they are needed.

    The test split is all of them: a target is never trained on.

    Attributes:
        name: the domain's name.
        folder: the folder that it is looked for in.
        classes: names of the classes, in order of their labels.
        format: how the images reach the network.
        options: how files are read.
        upright: turn images as their EXIF orientations say.
    """

    name: str
    folder: Path
    classes: tuple[str, ...]
    format: ImageFormat
    options: Options
    upright: bool = field(default=False, kw_only=True)
    needs: ClassVar = "some class needs two images or more, of which one is for validation"
    """of a domain that cannot be trained on"""

    @property
    def home(self) -> Path:
        """The folder that the files are in."""
        return self.folder / self.name

    @property
    def size(self) -> int | None:
        """Side in pixels that images are resized to; None keeps the size of each."""
        return self.format.image_size

    @property
    def checked(self) -> str:
        """What else is looked for in a file: a change of it means another look."""
        return "upright" * self.upright

    @abstractmethod
    def files(self) -> dict[str, AnyFile]:
        """All files by their names within the domain, in order."""

    @abstractmethod
    def splits(self, files: Mapping[str, AnyFile]) -> tuple[dict[Split, Sequence[str]], str]:
        """Names of the training and validation files, if there are some, and the rule."""

    @abstractmethod
    def samples(self, files: Sequence[AnyFile], split: Split) -> Samples:
        """Samples of files."""

    def remarks(self, states: Sequence[Decoded]) -> tuple[list[str], list[str]]:
        """Further problems and notes about what is in the files."""
        return [], []

    def verify(self) -> CheckReport:
        """Decode every file."""
        try:
            files = self.files()
            splits, rule = self.splits(files)
        except DataError as error:
            return CheckReport(self.name, self.where(), problems=(str(error),))
        seen = inspect(list(files.values()), self.size, self.options, title=self.name)
        counts = [f"{len(names)} {split}" for split, names in splits.items()]
        problems, notes = self.remarks(list(seen.values()))
        notes = [f"split: {', '.join([rule, *counts])}", *notes]
        notes += [f"{file.paths[0]}: {s.conversion}" for file, s in seen.items() if s.conversion]
        turned = sum(state.turned for state in seen.values())
        notes += [f"{turned} image(s) are turned as their EXIF entries say"] if turned else []
        broken = [state.problem for state in seen.values() if state.problem]
        return CheckReport(
            self.name, self.where(), self.counts(), (*broken, *problems), tuple(notes)
        )

    def load(self, split: Split) -> Samples:
        """The samples of a split, once all of the domain's files are known to be intact."""
        files = self.files()
        contents = verified(
            self.home,
            list(files.values()),
            self.size,
            self.options,
            title=self.name,
            checked=self.checked,
        )
        known = dict(zip(files, contents, strict=True))
        names = files if split == "test" else self.splits(files)[0].get(split, ())
        if not names:
            raise DataError.at(
                self.home,
                f"no images for the {split} split",
                self.needs,
            )
        return self.samples([known[name] for name in names], split)


@dataclass(frozen=True)
class FolderDomain(FileDomain[ImageFile]):
    """A domain whose classes are folders of images.

    Training and validation images follow the published lists if there are some, else a
    stratified 90/10 split.

    Attributes:
        spellings: what the domain's folder may be called.
        class_spellings: other names of class folders, and the class each stands for.
        published_lists: whether lists of training and validation images are looked for.
    """

    spellings: tuple[str, ...] = ()
    class_spellings: Mapping[str, str] = field(default_factory=dict)
    published_lists: bool = False

    def where(self) -> Path | None:
        """The domain's folder; None if it is missing."""
        wanted = {normalised_name(name) for name in (self.name, *self.spellings)}
        found = [path for path in sub_folders(self.folder) if normalised_name(path.name) in wanted]
        # a user's domains may differ in case alone
        return min(found, key=lambda path: path.name != self.name, default=None)

    def layouts(self) -> tuple[str, ...]:
        """What is looked for."""
        names = dict.fromkeys((*self.spellings, self.name))
        return tuple(f"{self.folder}/{name}/<class>/<image>" for name in names)

    def class_folders(self) -> dict[str, Path]:
        """The folder of each class.

        Raises:
            DataError: the domain or a class is missing, or a folder is no known class.
        """
        home = self.where()
        if home is None:
            raise self.not_found()
        known = {normalised_name(name): name for name in self.classes}
        known.update((normalised_name(k), v) for k, v in self.class_spellings.items())
        found: dict[str, Path] = {}
        for path in sub_folders(home):
            name = known.get(normalised_name(path.name))
            if name is None:
                hint = did_you_mean(path.name, self.classes)
                known_classes = ", ".join(self.classes)
                raise DataError.at(
                    path, f"not one of the classes {known_classes}", f"rename or remove it{hint}"
                )
            if name in found:
                raise DataError.at(
                    path, f"a second folder of class {name!r} beside {found[name]}", "merge them"
                )
            found[name] = path
        if missing := [name for name in self.classes if name not in found]:
            raise DataError.at(
                home,
                f"no folder for class {', '.join(map(repr, missing))}",
                "every domain needs every class: add it, or remove it from the other domains",
            )
        return {name: found[name] for name in self.classes}

    def files(self) -> dict[str, ImageFile]:
        """The files of all images by their names, in order."""
        files = (
            ImageFile(f"{self.name}/{name}/{path.name}", path, label, self.upright)
            for label, (name, folder) in enumerate(self.class_folders().items())
            for path in images_in(folder)
        )
        return {file.name: file for file in files}

    def counts(self) -> Counts:
        """Count the images of each class."""
        return {"all": tuple(len(images_in(path)) for path in self.class_folders().values())}

    def splits(self, files: Mapping[str, ImageFile]) -> tuple[dict[Split, Sequence[str]], str]:
        """By the published lists or by class; see :meth:`FileDomain.splits`."""
        lists = find_lists(self.folder, (self.name, *self.spellings))
        if self.published_lists and lists is not None:
            training, validation = (self._listed(one, files) for one in lists)
            if both := set(training) & set(validation):
                raise DataError.at(
                    lists[1].path, f"{min(both)} is in the training list too", "correct the lists"
                )
            return (
                {"train": training, "val": validation},
                f"published lists in {lists[0].path.parent}",
            )
        names = list(files)
        one, other = stratified_split(names, [file.label for file in files.values()])
        chosen: dict[Split, Sequence[str]] = {
            "train": [names[i] for i in one],
            "val": [names[i] for i in other],
        }
        return chosen, "stratified 90/10 by hash, seed 0"

    def samples(self, files: Sequence[ImageFile], split: Split) -> Images:
        """Images with the labels of their folders."""
        return Images.in_files(
            files, self.options, classes=self.classes, split=split, format=self.format
        )

    def _listed(self, listed: PublishedList, files: Mapping[str, ImageFile]) -> tuple[str, ...]:
        names = []
        for folder, file, label in listed.entries():
            own = next(
                (c for c in self.classes if normalised_name(c) == normalised_name(folder)), folder
            )
            name = f"{self.name}/{own}/{file}"
            if name not in files:
                raise DataError.at(
                    listed.path, f"lists {folder}/{file}, which is missing", "complete the images"
                )
            if files[name].label != label:
                raise DataError.at(
                    listed.path,
                    f"gives {folder}/{file} the label {label + 1}",
                    f"expected {files[name].label + 1}, that of its folder",
                )
            names.append(name)
        return tuple(names)


def photo_format(recipe: Recipe, options: Options) -> ImageFormat:
    """Photos, or crops of scenes, of the given size or the recipe's."""
    size = options.image_size or recipe.image_size
    return ImageFormat(size, IMAGENET_MEAN, IMAGENET_STD, base_augmentation=True)


def folder_benchmark(
    name: str,
    folder: Path,
    *,
    domains: Mapping[str, tuple[str, ...]],
    classes: tuple[str, ...],
    options: Options,
    class_spellings: Mapping[str, str] | None = None,
    published_lists: bool = False,
    published: Published | None = None,
    sources: str = "",
    user_data: bool = False,
) -> Benchmark:
    """A benchmark of image folders: ResNet-18, and the paper's recipe for PACS.

    Args:
        name: the benchmark's name.
        folder: where its domains are.
        domains: other names of each domain and its folder, by the domain's name.
        classes: names of the classes, in order of their labels.
        options: how files are read.
        class_spellings: other names of class folders, and the class each stands for.
        published_lists: whether lists of training and validation images are looked for.
        published: published numbers of images.
        sources: where to get the data.
        user_data: whether the images are the user's own.
    """
    form = photo_format(PHOTO_RECIPE, options)
    return Benchmark(
        name=name,
        classes=classes,
        format=form,
        network="resnet18",
        recipe=PHOTO_RECIPE,
        members={
            domain: FolderDomain(
                domain,
                folder,
                classes,
                form,
                options,
                spellings=spellings,
                class_spellings=class_spellings or {},
                published_lists=published_lists,
                upright=user_data,
            )
            for domain, spellings in domains.items()
        },
        aliases={other: domain for domain, others in domains.items() for other in others},
        published=published or {},
        sources=sources,
        user_data=user_data,
    )
