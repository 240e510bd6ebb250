"""Image files of every kind, sound and broken."""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from prorandconv.lab.data import DataError
from prorandconv.lab.data.decoding import decode

RED = (200, 30, 40)


@pytest.fixture
def plain():
    return Image.new("RGB", (12, 8), RED)


def near(pixels, colour, tolerance=6):
    """Whether an image (3, H, W) is of one colour throughout."""
    wanted = torch.tensor(colour).view(3, 1, 1)
    return bool(((pixels.int() - wanted).abs() <= tolerance).all())


class TestSound:
    @pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".bmp", ".tif", ".ppm"])
    def test_rgb_of_every_format(self, tmp_path, plain, suffix):
        plain.save(tmp_path / f"image{suffix}")
        decoded = decode(tmp_path / f"image{suffix}")
        assert decoded.pixels.shape == (3, 8, 12)
        assert decoded.pixels.dtype == torch.uint8
        assert near(decoded.pixels, RED)
        assert decoded.conversion == ""

    @pytest.mark.parametrize("suffix", [".jpg", ".png", ".pgm"])
    def test_grey_stays_one_channel(self, tmp_path, suffix):
        Image.new("L", (12, 8), 90).save(tmp_path / f"image{suffix}")
        decoded = decode(tmp_path / f"image{suffix}")
        assert decoded.pixels.shape == (1, 8, 12)
        assert (decoded.pixels.int() - 90).abs().max() <= 1
        assert decoded.conversion == ""

    def test_palette_is_read_through_its_colours(self, tmp_path, plain):
        for name in ("image.png", "image.gif"):
            plain.quantize(4).save(tmp_path / name)
            decoded = decode(tmp_path / name)
            assert near(decoded.pixels, RED)
            assert "palette" in decoded.conversion

    def test_cmyk_is_converted(self, tmp_path, plain):
        plain.convert("CMYK").save(tmp_path / "image.jpg")
        decoded = decode(tmp_path / "image.jpg")
        assert near(decoded.pixels, RED, 12)
        assert "CMYK" in decoded.conversion

    def test_alpha_is_laid_over_white(self, tmp_path, plain):
        plain.putalpha(Image.new("L", plain.size, 0))
        plain.save(tmp_path / "image.png")
        decoded = decode(tmp_path / "image.png")
        assert near(decoded.pixels, (255, 255, 255), 0)
        assert "alpha" in decoded.conversion

    def test_a_transparent_colour_of_a_palette_is_white(self, tmp_path, plain):
        plain.quantize(4).save(tmp_path / "image.png", transparency=0)
        assert near(decode(tmp_path / "image.png").pixels, (255, 255, 255), 0)

    def test_a_transparent_colour_of_an_rgb_image_is_white(self, tmp_path, plain):
        plain.save(tmp_path / "image.png", transparency=RED)
        assert near(decode(tmp_path / "image.png").pixels, (255, 255, 255), 0)

    def test_16_bit_grey_is_scaled(self, tmp_path):
        values = np.array([[0, 257, 128 * 257, 65535]], np.uint16)
        Image.fromarray(values).save(tmp_path / "image.png")
        decoded = decode(tmp_path / "image.png")
        assert decoded.pixels.tolist() == [[[0, 1, 128, 255]]]
        assert "16-bit" in decoded.conversion

    def test_16_bit_rgb_is_scaled(self, tmp_path):
        # Pillow does not write this kind
        import struct
        import zlib

        def chunk(kind, data):
            body = kind + data
            return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

        pixel = struct.pack(">HHH", 200 * 257, 30 * 257, 65535)
        rows = (b"\0" + pixel * 3) * 2
        head = struct.pack(">IIBBBBB", 3, 2, 16, 2, 0, 0, 0)
        (tmp_path / "image.png").write_bytes(
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b"")
        )
        decoded = decode(tmp_path / "image.png")
        assert decoded.pixels.dtype == torch.uint8
        assert near(decoded.pixels, (200, 30, 255), 0)

    def test_black_and_white_is_grey(self, tmp_path):
        Image.new("1", (12, 8), 1).save(tmp_path / "image.png")
        assert decode(tmp_path / "image.png").pixels.unique().tolist() == [255]

    def test_nothing_is_warned_about(self, tmp_path, plain):
        plain.save(tmp_path / "image.jpg")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            decode(tmp_path / "image.jpg")

    def test_pillow_decodes_where_torchvision_has_no_decoder(self, tmp_path, plain, monkeypatch):
        plain.save(tmp_path / "image.png")
        monkeypatch.delattr("torchvision.io.decode_image")
        assert near(decode(tmp_path / "image.png").pixels, RED, 0)


class TestBroken:
    @pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".gif", ".bmp", ".tif"])
    def test_a_truncated_file_is_named(self, tmp_path, suffix):
        path = tmp_path / f"image{suffix}"
        noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:-700])
        with pytest.raises(DataError, match=rf"image\{suffix}: .*; replace|remove"):
            decode(path)

    def test_the_reason_is_told_without_the_decoders_own_paths(self, tmp_path, plain):
        path = tmp_path / "image.jpg"
        plain.resize((200, 200)).save(path)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(DataError, match=r"cannot be decoded \(Image is incomplete or trunc"):
            decode(path)

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"])
    def test_what_is_not_an_image_is_named(self, tmp_path, content):
        path = tmp_path / "image.jpg"
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"image\.jpg: .*; (remove|replace)"):
            decode(path)

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(DataError, match=r"gone\.jpg: no such file"):
            decode(tmp_path / "gone.jpg")

    def test_pixels_of_unbounded_range_are_refused_with_a_remedy(self, tmp_path):
        Image.new("F", (12, 8), 0.5).save(tmp_path / "image.tif")
        with pytest.raises(DataError, match=r"kind 'F'.*save it as 8-bit RGB"):
            decode(tmp_path / "image.tif")
