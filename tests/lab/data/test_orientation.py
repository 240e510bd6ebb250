"""Pictures with an EXIF orientation: turned where users bring photos, as stored elsewhere."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.decoding import decode
from prorandconv.lab.data.masks import LabelIds
from prorandconv.lab.data.samples import ImageFormat
from prorandconv.lab.errors import DataError
from prorandconv.lab.run.predict import decoded
from prorandconv.lab.stress.images import images_for
from prorandconv.lab.stress.model import Model

ORIENTATION = 0x0112


def noise(height=24, width=32, high=256, channels=(3,), seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, high, (height, width, *channels), np.uint8)


def turned(array, orientation):
    """What a viewer shows of pixels stored with an orientation."""
    image = Image.fromarray(array)
    image.getexif()[ORIENTATION] = orientation
    return np.array(ImageOps.exif_transpose(image))


def save(path, array, orientation=1):
    """With an orientation; returns what is read of the file without it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(array)
    image.save(path, **({"lossless": True} if path.suffix == ".webp" else {}))
    stored = np.array(Image.open(path))
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    image.save(path, exif=exif, **({"lossless": True} if path.suffix == ".webp" else {}))
    return stored


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tif"])
def test_one_rule_holds_for_all_formats(tmp_path, suffix, orientation):
    path = tmp_path / f"a.{suffix}"
    stored = save(path, noise(), orientation)
    upright = decode(path, upright=True)
    assert np.array_equal(upright.pixels.permute(1, 2, 0), turned(stored, orientation))
    assert upright.turned == (orientation != 1)
    assert np.array_equal(decode(path).pixels.permute(1, 2, 0), stored)
    assert not decode(path).turned


@pytest.mark.parametrize("orientation", [3, 6, 8])
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_masks_follow_the_same_rule(tmp_path, suffix, orientation):
    path = tmp_path / f"a.{suffix}"
    stored = save(path, noise(high=3, channels=()), orientation)
    upright = LabelIds(3).read(path, upright=True)
    assert np.array_equal(upright, turned(stored, orientation))
    assert np.array_equal(LabelIds(3).read(path), stored)


@pytest.fixture
def scenes(tmp_path):
    (tmp_path / "classes.txt").write_text("sky\nroad\ncar\n")
    for domain in ("one", "two"):
        for number in range(4):
            save(tmp_path / domain / "images" / f"{number}.png", noise(seed=number))
            mask = noise(high=3, channels=(), seed=number)
            save(tmp_path / domain / "masks" / f"{number}.png", mask)
    return tmp_path


def content(root, name="segfolder"):
    return get_benchmark(name, root).content()


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_a_phones_photo_is_turned_onto_its_upright_mask(scenes, suffix):
    (scenes / "one" / "images" / "2.png").unlink()
    stored = save(scenes / "one" / "images" / f"2.{suffix}", noise(), 6)
    mask = noise(32, 24, 3, ())
    save(scenes / "one" / "masks" / "2.png", mask)
    (scene,) = next(
        get_benchmark("segfolder", scenes).load("one", "test").fetch([torch.tensor([2])])
    )
    assert np.array_equal(scene[:3].permute(1, 2, 0), turned(stored, 6))
    assert np.array_equal(scene[3], mask)


def test_a_photo_and_a_mask_whose_sizes_differ_upright_are_named(scenes):
    save(scenes / "one" / "images" / "2.png", noise(), 6)
    with pytest.raises(
        DataError, match=r"2.png: is 24 × 32 .*2.png is 32 × 24; .*turned as its EXIF"
    ):
        get_benchmark("segfolder", scenes).load("one", "test")


def test_only_a_file_that_is_turned_changes_the_name_of_the_data(scenes):
    before = content(scenes)
    path = scenes / "one" / "images" / "2.png"
    save(path, noise(seed=2), 1)
    assert content(scenes) == before
    square = noise(24, 24, 3, ())
    save(scenes / "one" / "masks" / "2.png", square)
    save(path, noise(24, 24), 5)
    data = path.read_bytes()
    turned_name = content(scenes)
    plain = get_benchmark("street", scenes)  # published sets are read as they are stored
    assert not plain.user_data
    assert not next(iter(plain.members.values())).upright
    assert path.read_bytes() == data
    assert turned_name != before


def test_photos_in_folders_are_turned(tmp_path):
    for domain in ("day", "night"):
        for label in ("cat", "dog"):
            save(tmp_path / domain / label / "0.png", noise())
            save(tmp_path / domain / label / "1.png", noise(seed=1))
    first = content(tmp_path, "folder")
    stored = save(tmp_path / "day" / "cat" / "0.png", noise(224, 224), 6)
    images = get_benchmark("folder", tmp_path).load("day", "test")
    assert np.array_equal(images.stacked(torch.tensor([0]))[0].permute(1, 2, 0), turned(stored, 6))
    assert content(tmp_path, "folder") != first


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_predict_and_stress_turn_photos(tmp_path, suffix):
    path = tmp_path / "photos" / "cat" / f"0.{suffix}"
    stored = save(path, noise(32, 32), 6)
    save(tmp_path / "photos" / "dog" / "0.png", noise(32, 32))
    assert np.array_equal(decoded(path).permute(1, 2, 0), turned(stored, 6))
    form = ImageFormat(32, (0.5,) * 3, (0.5,) * 3, base_augmentation=False)
    network = lambda x: x.new_zeros(len(x), 2)  # noqa: E731
    model = Model("m", network, torch.device("cpu"), form, None)
    images = images_for(model, str(tmp_path / "photos"), 2)
    assert np.array_equal(images.stacked(torch.tensor([0]))[0].permute(1, 2, 0), turned(stored, 6))


def test_check_counts_the_images_that_it_turns(scenes, run):
    save(scenes / "one" / "images" / "2.png", noise(32, 32), 3)
    save(scenes / "one" / "masks" / "2.png", noise(32, 32, 3, ()))
    code, out, _ = run("data", "check", "segfolder", "--data-root", scenes)
    assert code == 0
    assert "one: 1 image(s) are turned as their EXIF entries say" in out
