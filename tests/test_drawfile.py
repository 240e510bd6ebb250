"""Draw files: what is written can be read, now and in later releases; errors name the entry."""

import base64
import hashlib
import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
import torch

from prorandconv import Draw, Options, ProRandConv, ProRandConvError, RandConv, functional

FILES = Path(__file__).parent / "data" / "draws"
EXPECTED = json.loads((FILES / "expected.json").read_text())
X = torch.linspace(-1, 1, 3 * 3 * 12 * 16).view(3, 3, 12, 16)


def images_for(draw):
    """Fixed images of the size, channels and number that a draw is for."""
    shape = (draw.batch_size or 1, draw.channels, *draw.size)
    count = torch.Size(shape).numel()
    return torch.sin(0.37 * torch.arange(count, dtype=torch.float64)).view(shape)


def checksum(draw):
    parts = [draw.weight, draw.gamma, draw.beta, draw.mix, draw.selected]
    if draw.offsets is not None:
        parts += [draw.offsets.coefficients, None]
    hashed = hashlib.sha256(repr((draw.repeats, draw.layered, draw.batch_size)).encode())
    for part in parts:
        hashed.update(b"-" if part is None else part.numpy().tobytes())
    return hashed.hexdigest()


@pytest.mark.parametrize("name", EXPECTED)
class TestFilesOfVersion1:
    """Files that were written once must be read the same by every later release."""

    def test_hold_the_same_numbers(self, name):
        assert checksum(Draw.load(FILES / name)) == EXPECTED[name]["sha256"]

    @pytest.mark.parametrize("engine", ["auto", "eager", "reference"])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_make_the_same_image(self, name, engine, dtype):
        draw = Draw.load(FILES / name)
        result = functional.apply(images_for(draw).to(dtype), draw, engine).flatten()[::7]
        expected = torch.tensor(EXPECTED[name]["result"])
        # half a step of the rounding, and what engines and machines may differ in
        torch.testing.assert_close(result.float(), expected, atol=5e-4 + 1e-4, rtol=0)

    def test_are_written_the_same_again(self, name):
        text = (FILES / name).read_text()
        assert json.loads(Draw.from_json(text).to_json()) == json.loads(text)


def test_every_kept_file_is_replayed():
    assert {path.name for path in FILES.glob("*.draw.json")} == set(EXPECTED)


TRANSFORMS = {
    "paper": ProRandConv(),
    "sample": ProRandConv(mode="sample", p=0.7, mix=True),
    "different": ProRandConv(5, weights="different", padding="reflect"),
    "shared": ProRandConv(shared_offsets=True),
    "rough": ProRandConv(alpha=3.0, mode="sample"),
    "bare": ProRandConv(contrast=False, smoothing=None, offsets=None, bound="standardise"),
    "pixels": ProRandConv(mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25)),
    "rand": RandConv(mix=True, identity=0.0, padding="replicate"),
    "rand sample": RandConv(mode="sample", offsets="auto", contrast=["tanh"]),
    "volumes": ProRandConv(spatial_dims=3, mode="sample", weights="different", max_repeats=2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [(12, 12), (12, 16)], ids=str)
@pytest.mark.parametrize("augment", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_loaded_draw_is_the_same_and_makes_the_same_bits(augment, size, dtype, tmp_path):
    x = X[..., : size[0], : size[1]].to(dtype)
    x = x[:2, :, None].expand(-1, -1, 3, -1, -1) if augment.spatial_dims == 3 else x
    draw = augment.draw(x)
    draw.save(tmp_path / "a.draw.json")
    loaded = Draw.load(str(tmp_path / "a.draw.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.draw.json"]
    for name in ("repeats", "batch_size", "layered", "size", "options", "transform"):
        assert getattr(loaded, name) == getattr(draw, name)
    assert checksum(loaded) == checksum(draw)
    assert torch.equal(augment(x, draw=loaded), augment(x, draw=draw))
    assert loaded.to_json() == draw.to_json()


@pytest.mark.parametrize("side", [32, 224])
def test_a_file_is_small_whatever_the_size(side):
    assert len(ProRandConv().draw(torch.empty(3, side, side)).to_json()) < 10_000


@pytest.mark.parametrize("options", [{}, {"mode": "sample"}, {"alpha": 3.0}], ids=str)
def test_offsets_that_all_taps_share_are_shared_after_loading(options):
    draw = ProRandConv(shared_offsets=True, **options).draw(X)
    offsets = Draw.from_json(draw.to_json()).offsets.dense().unflatten(-3, (9, 2))
    assert torch.equal(offsets, offsets[..., :1, :, :, :].expand_as(offsets))


def test_offsets_that_were_not_drawn_cannot_be_stored():
    draw = ProRandConv().draw(X)
    draw = replace(draw, offsets=2 * draw.offsets.dense())
    with pytest.raises(ProRandConvError, match=r"^offsets: got 'a tensor', expected None, or a Fi"):
        draw.to_json()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.draw.json"
    ProRandConv().draw(X).save(path)
    before = path.read_bytes()

    def half(self, text, **_):
        self.write_bytes(text[:100].encode())
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="no space left"):
        ProRandConv().draw(X).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_the_mode_of_a_file_stays(tmp_path):
    target, link = tmp_path / "a.draw.json", tmp_path / "latest"
    target.write_text("")
    target.chmod(0o600)
    link.symlink_to(target)
    draw = ProRandConv().draw(X)
    draw.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert torch.equal(Draw.load(target).weight, draw.weight)


def tensor(*shape, dtype="float32", numbers=None):
    data = torch.zeros(shape if numbers is None else numbers).numpy().tobytes()
    return {"dtype": dtype, "shape": list(shape), "data": base64.b64encode(data).decode()}


def waves(**change):
    return {"kind": "waves", "side": 16, "coefficients": tensor(18, 9, 9)} | change


def options(**change):
    return asdict(Options()) | change


NOT_FINITE = {"dtype": "float32", "shape": [1], "data": base64.b64encode(b"\0\0\x80\x7f").decode()}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": "other"}, "format: got 'other', expected one of .'prorandconv.draw'"),
        ({"version": 3}, r"version: got 3, expected one of .1"),
        ({"version": True}, "version: got True"),
        ({"transform": "GIN"}, "transform: got 'GIN', expected one of .'ProRandConv'"),
        ({"size": [16]}, "size: got"),
        ({"size": [12.0, 16]}, "size: got"),
        ({"size": "12"}, "size: got"),
        ({"size": [12, 20]}, "offsets, side: got 16, expected one of .20"),
        ({"repeats": -1}, "repeats: got -1"),
        ({"repeats": 10**18}, "repeats: got 1000000000000000000, .* from 0 to 10000"),
        ({"repeats": [10**18] * 3}, "repeats: got"),
        ({"repeats": 3.5}, "repeats: got 3.5"),
        ({"repeats": "3"}, "repeats: got"),
        ({"repeats": [1, 2]}, "batch: got 3, expected 2"),
        ({"layered": "no"}, "layered: got 'no'"),
        ({"layered": True}, "layered: got True"),
        ({"chosen": [3]}, "chosen: got"),
        ({"chosen": "all"}, "chosen: got 'all'"),
        ({"chosen": [10**30]}, "the file: got 'an integer of 31 digits'"),
        ({"chosen": [10**20]}, "chosen: got"),
        ({"chosen": [True]}, "chosen: got"),
        ({"batch": "3"}, "batch: got '3'"),
        ({"batch": -5}, "batch: got -5"),
        ({"batch": None, "chosen": [0]}, "batch: got None"),
        ({"batch": 2**31}, "batch: got 2147483648"),
        ({"weight": None}, "weight: got 'NoneType'"),
        ({"weight": tensor(3, 3, 2, 2)}, "weight: got"),
        ({"weight": tensor(3, 3, 3, 3, dtype="int8")}, "weight, dtype: got 'int8'"),
        ({"weight": tensor(3, 3, 3, 3) | {"shape": [-1]}}, "weight, shape: got"),
        ({"weight": tensor(3, 3, 3, 3) | {"data": "?"}}, "weight, data: got .*base64"),
        ({"weight": tensor(3, 3, 3, 3) | {"data": 5}}, "weight, data: got .*base64"),
        ({"weight": tensor(3, 3, 3, 3, numbers=5)}, "weight, data: got '20 bytes', expected 81"),
        ({"weight": {"shape": [1]}}, "dtype: got 'nothing'"),
        ({"gamma": NOT_FINITE}, "gamma, data: got 'inf or nan'"),
        ({"gamma": tensor(2)}, "gamma: got"),
        ({"beta": None}, "beta: got None"),
        ({"options": []}, "options: got"),
        ({"options": {}}, "contrast: got 'nothing'"),
        ({"options": options(padding="wrap")}, "padding: got 'wrap'"),
        ({"options": options(bound="none")}, "bound: got 'none'"),
        ({"options": options(output="png")}, "output: got 'png'"),
        ({"options": options(contrast=["blur"])}, "contrast: got 'blur'"),
        ({"options": options(eps=-1)}, "eps: got -1"),
        ({"options": options(eps=-1234567)}, "the file: got 'an integer of 4300 digits'"),
        ({"options": options(eps=True)}, "eps: got True"),
        ({"options": options(mean=[0.5, 0.5])}, "mean: got .*3 channels"),
        ({"options": options(output="pixels", contrast=[])}, "output: got 'pixels'"),
        ({"options": options(blur=1)}, "options: got 'blur'"),
        ({"options": options(std=[0])}, "std: got"),
        ({"offsets": tensor(18, 12, 16)}, "kind: got 'nothing'"),
        ({"offsets": waves(kind="cosines")}, "offsets, kind: got 'cosines'"),
        ({"offsets": waves(side=12)}, "offsets, side: got 12"),
        ({"offsets": waves(coefficients=tensor(18, 17, 9))}, "offsets, coefficients: got"),
        ({"offsets": waves(coefficients=tensor(9, 9))}, "offsets, coefficients: got"),
        ({"offsets": waves(coefficients=tensor(8, 9, 9))}, "offsets: got"),
        ({"offsets": waves(coefficients=None)}, "offsets, coefficients: got None"),
        ({"offsets": waves(coefficients=tensor(18, 0, 9))}, "offsets, coefficients: got"),
        ({"weight": tensor(0, 0, 3, 3)}, "gamma: got"),
        ({"weight": tensor(3, 3, 3, 3) | {"shape": [2**40] * 4}}, "weight, shape: got"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_a_wrong_entry_is_named_with_its_file(change, named, tmp_path):
    path = tmp_path / "odd.draw.json"
    file = json.loads(ProRandConv().draw(X[:, :, :12]).to_json())
    path.write_text(json.dumps(file | change).replace("-1234567", "9" * 4300))
    with pytest.raises(ProRandConvError, match=rf"odd\.draw\.json: {named}"):
        Draw.load(path)


def test_a_batch_of_billions_takes_no_memory():
    file = json.loads(ProRandConv().draw(X).to_json()) | {"batch": 10**9, "chosen": [5, 10**8]}
    draw = Draw.from_json(json.dumps(file))
    assert (draw.batch_size, draw.selected.tolist()) == (10**9, [5, 10**8])


def test_an_entry_that_is_missing_or_there_twice_is_named():
    text = RandConv().draw(X).to_json()
    for name, value in json.loads(text).items():
        rest = {key: entry for key, entry in json.loads(text).items() if key != name}
        with pytest.raises(ProRandConvError, match=f"^{name}: got 'nothing', expected an entry"):
            Draw.from_json(json.dumps(rest))
        twice = f'{text[:-1]},"{name}":{json.dumps(value)}}}'
        with pytest.raises(ProRandConvError, match=f"^{name}: got 'two entries', expected one"):
            Draw.from_json(twice)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe\x00", b"[" * 100_000]
)
def test_what_is_no_draw_file_raises_an_error(content, tmp_path):
    path = tmp_path / "odd.draw.json"
    path.write_bytes(content)
    with pytest.raises(ProRandConvError, match=r"odd\.draw\.json: the file: got .*, expected "):
        Draw.load(path)


def test_what_is_well_formed_is_read():
    file = json.loads(ProRandConv().draw(X[:, :, :12]).to_json())
    for stored in (waves(), waves(coefficients=tensor(18, 16, 3))):
        draw = Draw.from_json(json.dumps(file | {"offsets": stored}))
        assert draw.offsets.shape == (18, 12, 16)
        assert draw.offsets.dense().eq(0).all()


def test_a_default_device_does_not_matter():
    text = ProRandConv(p=0.5).draw(X).to_json()
    with torch.device("meta"):
        assert checksum(Draw.from_json(text)) == checksum(Draw.from_json(text))
        assert Draw.from_json(text).weight.device.type == "cpu"


def test_every_part_of_a_draw_is_stored():
    stored = json.loads(ProRandConv().draw(X).to_json()).keys()
    names = {field.name for field in fields(Draw)} - {"selected", "batch_size"}
    assert names | {"chosen", "batch", "format", "version", "layered"} == stored
