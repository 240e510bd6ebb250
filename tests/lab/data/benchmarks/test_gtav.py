"""Street scenes in the layouts and encodings that they are published in."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.masks import CITYSCAPES_CLASSES as CLASSES
from prorandconv.lab.data.masks import CITYSCAPES_COLOURS as COLOURS
from prorandconv.lab.errors import DataError

SIZE = (4, 6)


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def save_16_bit(path, pixels):
    """A PNG of three 16-bit channels, which Pillow cannot write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def image(path):
    save(path, np.full((*SIZE, 3), 100, np.uint8))


def numbers(first, second):
    """The left half has one number, the right half another."""
    return np.repeat(np.array([[first, second]], np.uint8), 3, 1).repeat(4, 0)


def classes_of(root, domain):
    (_, labels), *_ = get_benchmark("gtav", root).load(domain, "test").batches(1)
    return [int(labels[0, 0, 0]), int(labels[0, 0, -1])]


def test_there_are_19_classes_each_with_a_colour():
    assert len(CLASSES) == len(COLOURS) == len(set(COLOURS)) == 19


@pytest.mark.parametrize("palette", [False, True])
def test_gtav_is_colour_coded(tmp_path, palette):
    image(tmp_path / "gtav" / "images" / "00001.png")
    road, car = (COLOURS[CLASSES.index(name)] for name in ("road", "car"))
    pixels = np.array([[road] * 3 + [car] * 3] * 4, np.uint8)
    path = tmp_path / "gtav" / "labels" / "00001.png"
    save(path, pixels)
    if palette:
        Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE).save(path)
    assert classes_of(tmp_path, "gtav") == [0, 13]


def test_colours_of_no_class_are_left_out_and_a_mask_of_them_is_refused(tmp_path):
    image(tmp_path / "gtav" / "images" / "00001.png")
    pixels = np.array([[COLOURS[0]] * 3 + [(1, 2, 3)] * 3] * 4, np.uint8)
    save(tmp_path / "gtav" / "labels" / "00001.png", pixels)
    assert classes_of(tmp_path, "gtav") == [0, -100]
    save(tmp_path / "gtav" / "labels" / "00001.png", np.full((*SIZE, 3), 9, np.uint8))
    with pytest.raises(DataError, match="none of the colours"):
        classes_of(tmp_path, "gtav")


def test_cityscapes_has_label_ids_in_folders_of_cities(tmp_path):
    home = tmp_path / "cityscapes"
    image(home / "leftImg8bit/val/ulm/ulm_000000_000019_leftImg8bit.png")
    save(home / "gtFine/val/ulm/ulm_000000_000019_gtFine_labelIds.png", numbers(7, 26))
    assert classes_of(tmp_path, "cityscapes") == [0, 13]


@pytest.mark.parametrize(
    ("images", "masks"),
    [
        ("seg/images/val/a.jpg", "seg/labels/val/a_train_id.png"),
        ("images/10k/val/a.jpg", "labels/sem_seg/masks/val/a.png"),
    ],
)
def test_bdd100k_has_train_ids_in_either_layout(tmp_path, images, masks):
    image(tmp_path / "bdd100k" / images)
    save(tmp_path / "bdd100k" / masks, numbers(18, 255))
    assert classes_of(tmp_path, "bdd100k") == [18, -100]


@pytest.mark.parametrize("part", ["val/", ""])
def test_synthia_has_numbers_in_the_first_of_three_16_bit_channels(tmp_path, part):
    image(tmp_path / f"synthia/RGB/{part}0000000.png")
    pixels = np.zeros((*SIZE, 3), np.uint16)
    pixels[..., 0], pixels[..., 1] = numbers(3, 22), 777
    save_16_bit(tmp_path / f"synthia/GT/LABELS/{part}0000000.png", pixels)
    assert classes_of(tmp_path, "synthia") == [0, -100]


@pytest.mark.parametrize("labels", ["labels", "v1.2/labels"])
def test_mapillary_has_numbers_of_its_own(tmp_path, labels):
    image(tmp_path / "mapillary/validation/images/a.jpg")
    save(tmp_path / f"mapillary/validation/{labels}/a.png", numbers(24, 55))
    assert classes_of(tmp_path, "mapillary") == [0, 13]


def test_the_published_split_of_gtav_is_read_from_its_list_or_its_folders(tmp_path):
    for number in range(1, 7):
        image(tmp_path / f"one/gtav/images/{number:05}.png")
        save(tmp_path / f"one/gtav/labels/{number:05}.png", np.full((*SIZE, 3), 70, np.uint8))
    listed = {"trainIds": [[1], [3], [4]], "valIds": [[2]], "testIds": [[5], [6]]}
    savemat(tmp_path / "one/gtav/split.mat", {name: np.array(ids) for name, ids in listed.items()})
    for name in ("train/1", "train/2", "valid/3", "test/4"):
        image(tmp_path / f"two/gtav/images/{name}.png")
        save(tmp_path / f"two/gtav/labels/{name}.png", np.full((*SIZE, 3), 70, np.uint8))
    for root, sizes in (("one", (3, 1, 6)), ("two", (2, 1, 4))):
        source = get_benchmark("gtav", tmp_path / root)
        assert tuple(len(source.load("gtav", s)) for s in ("train", "val", "test")) == sizes


def test_unfit_scenes_of_gtav_are_left_out_and_the_check_says_so(tmp_path):
    for name in ("one/gtav/images", "two/gtav/images/train", "two/gtav/images/valid"):
        for number in (15187, 15188, 17705, 20800, 20801, 20860, 20861):
            image(tmp_path / name / f"{number}.png")
            mask = tmp_path / name.replace("images", "labels") / f"{number}.png"
            off_by_one = number not in (15187, 20800, 20861)
            save(mask, np.full((SIZE[0] + off_by_one, SIZE[1], 3), 70, np.uint8))
    for root, scenes in (("one", 3), ("two", 6)):
        domain = get_benchmark("gtav", tmp_path / root).members["gtav"]
        assert len(domain.load("test")) == scenes
        found = domain.verify()
        assert found.problems == ()
        assert found.counts == {"all": (scenes,)}
        assert "62 scenes are left out" in found.notes[-1]


def test_a_missing_mask_is_named(tmp_path):
    image(tmp_path / "mapillary/validation/images/a.jpg")
    (tmp_path / "mapillary/validation/labels").mkdir()
    with pytest.raises(DataError, match=r"a.jpg: has no mask .*labels/a.png"):
        get_benchmark("gtav", tmp_path).load("mapillary", "test")


def test_targets_are_not_trained_on(tmp_path):
    image(tmp_path / "mapillary/validation/images/a.jpg")
    save(tmp_path / "mapillary/validation/labels/a.png", numbers(24, 55))
    with pytest.raises(DataError, match="only measured on"):
        get_benchmark("gtav", tmp_path).load("mapillary", "train")
