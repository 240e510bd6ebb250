"""Draw files: what is written can be read, now and in later releases; what is wrong is refused."""

import base64
import hashlib
import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from prorandconv import (
    ProRandConv,
    ProRandConvError,
    ProRandConvParams,
    RandConv,
    RandConvParams,
    functional,
)

FILES = Path(__file__).parent / "data" / "draws"
EXPECTED = json.loads((FILES / "expected.json").read_text())
X = torch.linspace(-1, 1, 3 * 3 * 12 * 16).view(3, 3, 12, 16)


def kind_of(path):
    name = json.loads(path.read_text())["transform"]
    return {"ProRandConv": ProRandConvParams, "RandConv": RandConvParams}[name]


def applied(x, params, engine="auto"):
    apply = {ProRandConvParams: functional.pro_rand_conv, RandConvParams: functional.rand_conv}
    return apply[type(params)](x, params, **params.options, engine=engine)


def images_for(params):
    """Fixed images of the size, channels and number that a draw is for."""
    shape = (params.batch or 1, params.weight.shape[-3], *params.size)
    count = torch.Size(shape).numel()
    return torch.sin(0.37 * torch.arange(count, dtype=torch.float64)).view(shape)


def checksum(params):
    parts = [params.weight, params.gamma, params.beta, getattr(params, "mix", None), params.chosen]
    if params.offsets is not None:
        parts += [params.offsets.coefficients, None]
    hashed = hashlib.sha256(repr((params.repeats, params.layered, params.batch)).encode())
    for part in parts:
        hashed.update(b"-" if part is None else part.numpy().tobytes())
    return hashed.hexdigest()


@pytest.mark.parametrize("name", EXPECTED)
class TestFilesOfVersion1:
    """Files that were written once must be read the same by every later release."""

    def test_hold_the_same_numbers(self, name):
        params = kind_of(FILES / name).load(FILES / name)
        assert checksum(params) == EXPECTED[name]["sha256"]

    @pytest.mark.parametrize("engine", ["auto", "eager", "reference"])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_make_the_same_picture(self, name, engine, dtype):
        params = kind_of(FILES / name).load(FILES / name)
        result = applied(images_for(params).to(dtype), params, engine).flatten()[::7]
        expected = torch.tensor(EXPECTED[name]["result"])
        # half a step of the rounding, and what engines and machines may differ in
        torch.testing.assert_close(result.float(), expected, atol=5e-4 + 1e-4, rtol=0)

    def test_are_written_the_same_again(self, name):
        text = (FILES / name).read_text()
        assert json.loads(kind_of(FILES / name).from_json(text).to_json()) == json.loads(text)


def test_every_kept_file_is_replayed():
    assert {path.name for path in FILES.glob("*.draw.json")} == set(EXPECTED)


TRANSFORMS = {
    "paper": ProRandConv(),
    "sample": ProRandConv(mode="sample", p=0.7),
    "different": ProRandConv(5, weights="different", padding="reflect"),
    "shared": ProRandConv(shared_offsets=True),
    "rough": ProRandConv(alpha=3.0),
    "rough sample": ProRandConv(alpha=3.0, mode="sample"),
    "bare": ProRandConv(contrast=False, smoothing=None, offsets=None, bound="standardise"),
    "pixels": ProRandConv(output="pixels", mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25)),
    "rand": RandConv(mix=True, identity=0.0, padding="replicate"),
    "rand sample": RandConv(mode="sample", offsets="auto", contrast=["tanh"]),
}


@pytest.mark.parametrize("size", [(12, 12), (12, 16)], ids=str)
@pytest.mark.parametrize("augment", TRANSFORMS.values(), ids=TRANSFORMS)
class TestSaveAndLoad:
    """A draw is the same after it was stored."""

    def test_loaded_draw_makes_the_same_picture(self, augment, size, tmp_path):
        x = X[..., : size[0], : size[1]]
        params = augment.draw(x)
        params.save(tmp_path / "a.draw.json")
        loaded = type(params).load(str(tmp_path / "a.draw.json"))
        assert [path.name for path in tmp_path.iterdir()] == ["a.draw.json"]
        assert torch.equal(augment(x, params=loaded), augment(x, params=params))

    def test_everything_is_bitwise_the_same(self, augment, size):
        params = augment.draw(X[..., : size[0], : size[1]])
        loaded = type(params).from_json(params.to_json())
        for name in ("repeats", "batch", "layered", "size", "options"):
            assert getattr(loaded, name) == getattr(params, name)
        for name in ("weight", "gamma", "beta", "mix", "chosen"):
            stored, drawn = getattr(loaded, name, None), getattr(params, name, None)
            assert (stored is None and drawn is None) or torch.equal(stored, drawn)
        if params.offsets is None:
            assert loaded.offsets is None
        else:
            assert torch.equal(loaded.offsets.coefficients, params.offsets.coefficients)

    def test_loaded_draw_is_stored_without_any_change(self, augment, size):
        params = augment.draw(X[..., : size[0], : size[1]])
        loaded = type(params).from_json(params.to_json())
        again = type(params).from_json(loaded.to_json())
        assert again.to_json() == loaded.to_json()
        assert checksum(again) == checksum(loaded)

    def test_options_are_what_the_function_takes(self, augment, size):
        x = X[..., : size[0], : size[1]]
        params = augment.draw(x)
        assert torch.equal(applied(x, params, augment.engine), augment(x, params=params))
        function = functional.rand_conv if type(augment) is RandConv else functional.pro_rand_conv
        taken = set(inspect.signature(function).parameters) - {"x", "params", "engine"}
        assert set(params.options) == taken


@pytest.mark.parametrize("side", [32, 224])
def test_a_file_is_small_whatever_the_size(side):
    assert len(ProRandConv().draw(torch.empty(3, side, side)).to_json()) < 10_000


def test_a_draw_in_double_precision_is_stored_in_it():
    params = ProRandConv().draw(X.double())
    loaded = ProRandConvParams.from_json(params.to_json())
    assert torch.equal(loaded.weight, params.weight)
    torch.testing.assert_close(loaded.offsets, params.offsets, atol=1e-12, rtol=0)


@pytest.mark.parametrize("options", [{}, {"mode": "sample"}, {"alpha": 3.0}], ids=str)
def test_offsets_that_all_taps_share_are_shared_after_loading(options):
    params = ProRandConv(shared_offsets=True, **options).draw(X)
    offsets = ProRandConvParams.from_json(params.to_json()).offsets.unflatten(-3, (9, 2))
    assert torch.equal(offsets, offsets[..., :1, :, :, :].expand_as(offsets))


def test_one_of_several_draws_can_be_stored_alone():
    params = ProRandConv(mode="sample").draw(X)
    own = ProRandConvParams.from_json(params.split()[1].to_json())
    assert own.repeats == params.repeats[1]
    torch.testing.assert_close(own.offsets, params.offsets[1], atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "edited",
    [
        lambda params: replace(params, offsets=2 * params.offsets),
        lambda params: params.offsets.mul_(2) is None or params,
    ],
    ids=["replaced", "in place"],
)
def test_offsets_that_were_not_drawn_are_refused(edited):
    params = edited(ProRandConv().draw(X))
    with pytest.raises(ProRandConvError, match=r"^offsets: got .*, expected .* as they were drawn"):
        params.to_json()


@pytest.mark.parametrize("name", ["options", "size"])
def test_a_draw_that_does_not_know_what_it_is_for_is_refused(name):
    params = replace(ProRandConv(offsets=None).draw(X), **{name: None})
    with pytest.raises(ProRandConvError, match=f"^{name}: got None, expected "):
        params.to_json()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    params, path = ProRandConv().draw(X), tmp_path / "a.draw.json"
    params.save(path)
    before = path.read_bytes()

    def half(self, text, **_):
        self.write_bytes(text[:100].encode())
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="no space left"):
        ProRandConv().draw(X).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def tensor(*shape, dtype="float32", numbers=None):
    data = torch.zeros(shape if numbers is None else numbers).numpy().tobytes()
    return {"dtype": dtype, "shape": list(shape), "data": base64.b64encode(data).decode()}


def waves(**change):
    return {"kind": "waves", "side": 16, "coefficients": tensor(18, 9, 9)} | change


def options(**change):
    return ProRandConv()._options | change


NOT_FINITE = {"dtype": "float32", "shape": [1], "data": base64.b64encode(b"\0\0\x80\x7f").decode()}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": "other"}, "format: got 'other', expected one of .'prorandconv.draw'"),
        ({"version": 3}, r"version: got 3, expected one of .1"),
        ({"transform": "RandConv"}, "transform: got 'RandConv', expected one of .'ProRandConv'"),
        ({"size": [16]}, "size: got"),
        ({"size": [12.0, 16]}, "size: got"),
        ({"size": "12"}, "size: got"),
        ({"size": [12, 20]}, "offsets, side: got 16, expected one of .20"),
        ({"repeats": -1}, "repeats: got -1"),
        ({"repeats": "3"}, "repeats: got"),
        ({"repeats": [1, 2]}, "weight: got"),
        ({"layered": "no"}, "layered: got 'no'"),
        ({"layered": True}, "weight: got"),
        ({"chosen": [3]}, "chosen: got"),
        ({"chosen": "all"}, "chosen: got 'all'"),
        ({"batch": "3"}, "batch: got '3'"),
        ({"weight": None}, "weight: got None"),
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
        ({"options": {}}, "mean: got 'nothing'"),
        ({"options": options(padding="wrap")}, "padding: got 'wrap'"),
        ({"options": options(bound="none")}, "bound: got 'none'"),
        ({"options": options(output="png")}, "output: got 'png'"),
        ({"options": options(contrast=["blur"])}, "contrast: got 'blur'"),
        ({"options": options(eps=-1)}, "eps: got -1"),
        ({"options": options(std=[0])}, "std: got"),
        ({"offsets": tensor(18, 12, 16)}, "kind: got 'nothing'"),
        ({"offsets": waves(kind="cosines")}, "offsets, kind: got 'cosines'"),
        ({"offsets": waves(side=12)}, "offsets, side: got 12"),
        ({"offsets": waves(coefficients=tensor(18, 17, 9))}, "offsets, coefficients: got"),
        ({"offsets": waves(coefficients=tensor(9, 9))}, "offsets, coefficients: got"),
        ({"offsets": waves(coefficients=tensor(8, 9, 9))}, "offsets: got"),
        ({"offsets": waves(coefficients=None)}, "offsets, coefficients: got None"),
    ],
    ids=str,
)
def test_a_wrong_entry_is_refused_by_file_and_name(change, named, tmp_path):
    path = tmp_path / "odd.draw.json"
    file = json.loads(ProRandConv().draw(X[:, :, :12]).to_json())
    path.write_text(json.dumps(file | change))
    with pytest.raises(ProRandConvError, match=rf"odd\.draw\.json: {named}"):
        ProRandConvParams.load(path)


def test_a_missing_entry_is_refused_by_name():
    file = json.loads(RandConv().draw(X).to_json())
    for name in file:
        rest = {key: value for key, value in file.items() if key != name}
        with pytest.raises(ProRandConvError, match=f"^{name}: got 'nothing', expected an entry"):
            RandConvParams.from_json(json.dumps(rest))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe\x00", b"[" * 100_000]
)
def test_what_is_no_draw_file_is_refused(content, tmp_path):
    path = tmp_path / "odd.draw.json"
    path.write_bytes(content)
    with pytest.raises(ProRandConvError, match=r"odd\.draw\.json: the file: got .*, expected "):
        ProRandConvParams.load(path)


def test_what_is_well_formed_is_read():
    file = json.loads(ProRandConv().draw(X[:, :, :12]).to_json())
    for stored in (waves(), waves(coefficients=tensor(18, 16, 3))):
        params = ProRandConvParams.from_json(json.dumps(file | {"offsets": stored}))
        assert params.offsets.shape == (18, 12, 16)
        assert params.offsets.dense().eq(0).all()


class TestVolumes:
    """Draws for volumes are files of version 2."""

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"alpha": 3.0},
            {"mode": "sample", "weights": "different"},
            {"offsets": None, "p": 0.5},
        ],
        ids=str,
    )
    def test_a_draw_survives_its_file(self, tmp_path, options):
        x = torch.randn(2, 1, 4, 6, 5)
        augment = ProRandConv(spatial_dims=3, max_repeats=2, **options)
        params = augment.draw(x)
        params.save(tmp_path / "volume.draw.json")
        loaded = ProRandConvParams.load(tmp_path / "volume.draw.json")
        assert json.loads(params.to_json())["version"] == 2
        assert (loaded.size, loaded.spatial_dims) == ((4, 6, 5), 3)
        again = ProRandConvParams.from_json(loaded.to_json())
        assert torch.equal(augment(x, params=again), augment(x, params=loaded))
        assert torch.equal(augment(x, params=loaded), augment(x, params=params))

    def test_a_file_for_volumes_has_three_sides(self):
        file = json.loads(ProRandConv(spatial_dims=3).draw(torch.randn(1, 3, 3, 3)).to_json())
        with pytest.raises(ProRandConvError, match=r"^size: got \[3, 3\], expected \(depth, "):
            ProRandConvParams.from_json(json.dumps(file | {"size": [3, 3]}))
