"""Pictures of every kind: turned, converted or refused by name."""

import io

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from prorandconv.copies.pictures import encoded, read_picture, resized, target_size
from prorandconv.lab.errors import DataError

from .conftest import noise


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_applied(tmp_path, orientation):
    image = Image.fromarray(noise())
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as opened:
        expected = np.array(ImageOps.exif_transpose(opened))
    assert np.array_equal(read_picture(tmp_path / "a.png").pixels.permute(1, 2, 0), expected)


KINDS = {
    # file, mode: channels of the result, a word of the conversion that is told
    ("a.png", "RGB"): (3, ""),
    ("a.jpg", "RGB"): (3, ""),
    ("a.png", "L"): (1, ""),
    ("a.png", "1"): (1, "black and white"),
    ("a.png", "P"): (3, "palette"),
    ("a.gif", "P"): (3, "palette"),
    ("a.png", "RGBA"): (3, "alpha, composited over white"),
    ("a.png", "LA"): (3, "alpha, composited over white"),
    ("a.jpg", "CMYK"): (3, "CMYK"),
    ("a.png", "I;16"): (1, "16-bit, scaled to 8-bit"),
    ("a.tif", "I;16"): (1, "16-bit, scaled to 8-bit"),
}


@pytest.mark.parametrize(("name", "mode"), KINDS)
def test_every_kind_becomes_8_bit_grey_or_rgb_and_says_how(tmp_path, name, mode):
    channels, told = KINDS[name, mode]
    picture = Image.fromarray(noise())
    if mode == "I;16":
        picture = Image.fromarray(noise(channels=1).astype(np.uint16) * 257)
    elif mode != "RGB":
        picture = picture.convert(mode)
    picture.save(tmp_path / name)
    decoded = read_picture(tmp_path / name)
    assert decoded.pixels.shape == (channels, 14, 18)
    assert decoded.pixels.dtype == torch.uint8
    assert told in decoded.conversion
    assert bool(decoded.conversion) == bool(told)


@pytest.mark.parametrize(("name", "mode"), [("a.tif", "F"), ("a.tif", "I"), ("a.tif", "LAB")])
def test_kinds_without_an_8_bit_picture_are_refused_by_name(tmp_path, name, mode):
    Image.new(mode, (4, 4)).save(tmp_path / name)
    with pytest.raises(DataError, match=f"a.tif: pixels of kind '{mode}'"):
        read_picture(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "told"),
    [("a.gif", "3 frames"), ("a.webp", "3 frames"), ("a.png", "3 frames"), ("a.tif", "3 pages")],
)
def test_animations_and_several_pages_are_refused_by_name(tmp_path, name, told):
    first, *others = (Image.fromarray(noise(seed=seed)) for seed in range(3))
    first.save(tmp_path / name, save_all=True, append_images=others)
    with pytest.raises(DataError, match=f"{name}: holds {told}"):
        read_picture(tmp_path / name)


def test_of_a_phone_s_file_of_several_the_photo_is_taken(tmp_path):
    photo, preview = Image.fromarray(noise(24, 32)), Image.fromarray(noise(8, 8))
    photo.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[preview])
    assert read_picture(tmp_path / "a.jpg").pixels.shape == (3, 24, 32)


@pytest.mark.parametrize("content", [b"", b"no picture", noise().tobytes()])
def test_what_is_no_picture_is_named(tmp_path, content):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.png: not an image"):
        read_picture(tmp_path / "a.png")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp", "a.tif"])
def test_a_truncated_picture_is_named(tmp_path, name):
    path = tmp_path / name
    Image.fromarray(noise(60, 60)).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=f"{name}: (cannot be decoded|not an image)"):
        read_picture(path)


@pytest.mark.parametrize("format", ["png", "webp"])
@pytest.mark.parametrize("channels", [1, 3])
def test_files_have_every_pixel_as_it_was(format, channels):
    pixels = torch.from_numpy(noise(channels=3)).permute(2, 0, 1)[:channels]
    with Image.open(io.BytesIO(encoded(pixels, format))) as image:
        assert image.format == format.upper()
        stored = torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)
    assert torch.equal(stored, pixels.expand(3, -1, -1))


def test_the_shorter_side_gets_the_size_and_the_ratio_is_kept():
    assert target_size((300, 400), 150) == (150, 200)
    assert target_size((1000, 10), 5) == (500, 5)
    assert resized(torch.zeros(3, 30, 40, dtype=torch.uint8), 15).shape == (3, 15, 20)


def test_without_a_size_pixels_stay_as_they_are():
    pixels = torch.from_numpy(noise()).permute(2, 0, 1)
    assert torch.equal(resized(pixels, None), pixels)
