"""Image files of every kind, sound and broken; thousands of them damaged at random."""

import io
import multiprocessing
import resource
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from prorandconv.lab.data import DataError
from prorandconv.lab.data.decoding import decode

RED = (200, 30, 40)

MUTATIONS = 400
"""of each format"""
SECONDS = 120
"""after which a format is taken to hang; the test takes about two"""
MEGABYTES = 1000
"""that decoding may take, whatever size a file claims to have"""

MODES = {
    "PNG": ("RGB", "L", "P", "RGBA", "1", "I;16"),
    "JPEG": ("RGB", "L", "CMYK"),
    "WEBP": ("RGB", "RGBA"),
    "GIF": ("P", "L"),
    "BMP": ("RGB", "L", "P", "1"),
    "TIFF": ("RGB", "L", "CMYK", "RGBA", "I;16"),
}
OPTIONS = {
    "JPEG": ({}, {"progressive": True}),
    "WEBP": ({}, {"lossless": True}),
    "TIFF": ({}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"}),
}


@pytest.fixture
def plain():
    return Image.new("RGB", (12, 8), RED)


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(width, height, rows, *, depth=8, colour=0, interlaced=0):
    """A PNG whose chunks are valid, whatever their content."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def transparent(image):
    image.putalpha(Image.new("L", image.size, 0))
    return image


GREY = np.array([[0, 257, 128 * 257, 65535]], np.uint16)
DEEP = (b"\0" + struct.pack(">HHH", 200 * 257, 30 * 257, 65535) * 3) * 2
WHITE = (255, 255, 255)
RGB_SUFFIXES = (".jpg", ".png", ".webp", ".bmp", ".tif", ".ppm")

SOUND = {
    **{f"rgb{end}": (lambda image: image, {}, RED, 6, "") for end in RGB_SUFFIXES},
    **{
        f"grey{end}": (lambda image: Image.new("L", (12, 8), 90), {}, (90,), 1, "")
        for end in (".jpg", ".png", ".pgm")
    },
    "palette.png": (lambda image: image.quantize(4), {}, RED, 6, "palette"),
    "palette.gif": (lambda image: image.quantize(4), {}, RED, 6, "palette"),
    "cmyk.jpg": (lambda image: image.convert("CMYK"), {}, RED, 12, "CMYK"),
    "alpha.png": (transparent, {}, WHITE, 0, "alpha"),
    "clear palette.png": (lambda image: image.quantize(4), {"transparency": 0}, WHITE, 0, "alpha"),
    "clear colour.png": (lambda image: image, {"transparency": RED}, WHITE, 0, "alpha"),
    "16 bits.png": (lambda image: png(3, 2, DEEP, depth=16, colour=2), {}, (200, 30, 255), 0, "16"),
    "bits.png": (lambda image: Image.new("1", (12, 8), 1), {}, (255,), 0, "black and white"),
}
"""Made of a plain red picture, how it is saved, what is read, how nearly, and what is converted."""


@pytest.mark.parametrize("name", SOUND)
def test_every_kind_of_file_is_decoded_to_8_bit_grey_or_rgb(tmp_path, plain, name):
    make, options, colour, tolerance, conversion = SOUND[name]
    made = make(plain)
    if isinstance(made, bytes):
        (tmp_path / name).write_bytes(made)
    else:
        made.save(tmp_path / name, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decoded = decode(tmp_path / name)
    assert decoded.pixels.dtype == torch.uint8
    assert decoded.pixels.shape == (len(colour), *((2, 3) if isinstance(made, bytes) else (8, 12)))
    wanted = torch.tensor(colour).view(-1, 1, 1)
    assert ((decoded.pixels.int() - wanted).abs() <= tolerance).all()
    assert conversion in decoded.conversion
    assert bool(conversion) == bool(decoded.conversion)


def test_16_bit_grey_is_scaled(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "image.png")
    assert decode(tmp_path / "image.png").pixels.tolist() == [[[0, 1, 128, 255]]]


def test_an_interlaced_png_is_put_together(tmp_path):
    # of the seven passes over 3 × 2 pixels, four have any
    rows = bytes([0, 10, 0, 30, 0, 20, 0, 40, 50, 60])
    (tmp_path / "image.png").write_bytes(png(3, 2, rows, interlaced=1))
    assert decode(tmp_path / "image.png").pixels.tolist() == [[[10, 20, 30], [40, 50, 60]]]


class TestBroken:
    @pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".gif", ".bmp", ".tif"])
    def test_a_truncated_file_is_named(self, tmp_path, suffix):
        path = tmp_path / f"image{suffix}"
        noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:-700])
        with pytest.raises(
            DataError, match=rf"image\{suffix}: cannot be decoded \(.*\); replace it"
        ):
            decode(path)

    def test_a_file_without_its_last_byte_is_named(self, tmp_path, plain):
        path = tmp_path / "image.jpg"
        plain.resize((200, 200)).save(path)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(DataError, match=r"cannot be decoded \(image file is truncated"):
            decode(path)

    @pytest.mark.parametrize(
        "content",
        [
            png(64, 64, b"\0" * 579, colour=2),
            png(2000, 2000, b"", colour=2),
            png(200, 200, b"\0" * 10, depth=16),
            png(3, 2, bytes([0, 10, 0, 30, 0, 20]), interlaced=1),
        ],
        ids=["three rows of 64", "no row", "16 bits", "interlaced"],
    )
    def test_a_png_with_too_little_pixel_data_is_named(self, tmp_path, content):
        path = tmp_path / "image.png"
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"image\.png: cannot be decoded \(truncated: \d+ of"):
            decode(path)

    def test_a_tiff_with_fewer_strips_than_it_should_have_is_named(self, tmp_path):
        path = tmp_path / "image.tif"
        Image.new("RGBA", (20, 24)).save(path)
        content, height = path.read_bytes(), struct.pack("<HHII", 257, 4, 1, 24)
        assert content.count(height) == 1
        path.write_bytes(content.replace(height, struct.pack("<HHII", 257, 4, 1, 4_000_000)))
        with pytest.raises(DataError, match=r"image\.tif: .*strips .* missing from 20 × 4000000"):
            decode(path)

    def test_a_small_file_of_a_huge_image_is_refused_before_it_is_decoded(self, tmp_path):
        path = tmp_path / "image.png"
        path.write_bytes(png(12_000, 9_000, b""))
        with pytest.raises(DataError, match=r"image\.png: cannot be decoded \(.*108000000 pixels"):
            decode(path)

    def test_formats_that_are_programs_are_no_images(self, tmp_path, plain):
        plain.save(tmp_path / "image.eps")
        with pytest.raises(DataError, match=r"image\.eps: not an image"):
            decode(tmp_path / "image.eps")

    def test_a_file_without_permission_is_named(self, tmp_path, plain, monkeypatch):
        plain.save(tmp_path / "image.png")

        def refuse(path):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(DataError, match=r"image\.png: cannot be read \(Permission denied\)"):
            decode(tmp_path / "image.png")

    def test_a_folder_is_named(self, tmp_path):
        with pytest.raises(DataError, match=r"cannot be read \(Is a directory\)"):
            decode(tmp_path)

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


def originals(kind, random):
    """Small images in every mode and variant of a format, as bytes."""
    for mode in MODES[kind]:
        for options in OPTIONS.get(kind, ({},)):
            noise = random.integers(0, 256, (24, 20, 3), dtype=np.uint8)
            image = Image.fromarray(noise)
            image = Image.fromarray(noise[..., 0] * np.uint16(257)) if mode == "I;16" else image
            content = io.BytesIO()
            image.convert(mode).save(content, kind, **options)
            yield content.getvalue()


def mutated(content, random):
    """A file with a few wrong bytes, or with a part of it missing, doubled or filled."""
    data = bytearray(content)
    for _ in range(random.integers(1, 4)):
        # headers are short and decide most: half of all damage is there
        end = min(len(data), 64) if random.random() < 0.5 else len(data)
        begin = int(random.integers(end)) if end else 0
        length = int(random.integers(1, 9))
        way = random.integers(6)
        if way == 0:
            data[begin : begin + length] = random.bytes(length)
        elif way == 1 and begin < len(data):
            data[begin] ^= 1 << int(random.integers(8))
        elif way == 2:
            del data[begin:]
        elif way == 3:
            del data[begin : begin + length]
        elif way == 4:
            data[begin:begin] = data[begin : begin + length * 8]
        else:
            data[begin : begin + length] = bytes([int(random.choice([0, 127, 255]))]) * length
    return bytes(data)


def resealed(content, random):
    """A PNG of which one chunk is changed and has a valid checksum again."""
    chunks, place = [], 8
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        chunks.append([content[place + 4 : place + 8], content[place + 8 : place + 8 + length]])
        place += length + 12
    one = chunks[int(random.integers(len(chunks)))]
    one[1] = mutated(one[1], random) if one[1] else random.bytes(4)
    return content[:8] + b"".join(chunk(*one) for one in chunks)


def mutations(kind, count):
    random = np.random.default_rng(list(kind.encode()))
    files = list(originals(kind, random))
    for number in range(count):
        content = files[number % len(files)]
        sealed = kind == "PNG" and number % 2
        yield resealed(content, random) if sealed else mutated(content, random)


def decode_all(kind, count, path, outcomes):
    """In a process of its own, so that a crash is a failure and not the end of all tests."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    decoded = named = 0
    for content in mutations(kind, count):
        path.write_bytes(content)
        try:
            pixels = decode(path).pixels
            assert pixels.ndim == 3
            decoded += 1
        except DataError as error:
            named += str(path) in str(error)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    outcomes.put((decoded, named, used / 1024))


@pytest.mark.parametrize("kind", MODES)
def test_every_damaged_file_is_decoded_or_named(tmp_path, kind):
    context = multiprocessing.get_context("fork")
    outcomes = context.SimpleQueue()
    path = tmp_path / "image"
    process = context.Process(target=decode_all, args=(kind, MUTATIONS, path, outcomes))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        pytest.fail(f"hangs on {path}")
    assert process.exitcode == 0, f"fails on {path}: {path.read_bytes()!r}"
    decoded, named, megabytes = outcomes.get()
    assert decoded + named == MUTATIONS
    assert decoded > 0
    assert named > 0
    assert megabytes < MEGABYTES


def cut(jpeg, share):
    """A JPEG whose pixels end early, and which has its end marker all the same."""
    begin = jpeg.index(b"\xff\xda")
    return jpeg[: begin + int((len(jpeg) - begin) * share)] + b"\xff\xd9"


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"subsampling": 0}, {"quality": 30}])
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_a_jpeg_that_ends_early_is_named(tmp_path, mode, how, share):
    random = np.random.default_rng(0)
    image = Image.fromarray(random.integers(0, 256, (75, 90, 3), np.uint8)).convert(mode)
    image.save(tmp_path / "a.jpg", **how)
    whole = (tmp_path / "a.jpg").read_bytes()
    assert decode(tmp_path / "a.jpg").pixels.shape[1:] == (75, 90)
    (tmp_path / "a.jpg").write_bytes(cut(whole, share))
    with pytest.raises(DataError, match=r"a\.jpg: cannot be decoded \(truncated"):
        decode(tmp_path / "a.jpg")


@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"restart_marker_rows": 1}])
@pytest.mark.parametrize("name", ["a.jpg", "a.mpo"])
def test_a_grey_picture_is_no_truncated_one(tmp_path, name, how):
    grey = Image.new("RGB", (75, 90), (128, 128, 128))
    more = {"save_all": True, "append_images": [grey]} if name == "a.mpo" else {}
    grey.save(tmp_path / name, format="MPO" if more else "JPEG", **how, **more)
    assert (decode(tmp_path / name).pixels == 128).all()
