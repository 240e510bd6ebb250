"""The same checks for every transform, then what is particular to one."""

import copy
import math
import pickle
import re
from dataclasses import fields, replace

import hypothesis.strategies as st
import numpy as np
import PIL.Image
import pytest
import torch
from hypothesis import given
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.data import DataLoader
from torchvision import tv_tensors
from torchvision.datasets import FakeData
from torchvision.transforms import v2

from prorandconv import Options, ProRandConv, ProRandConvError, RandConv, transforms
from prorandconv.functional import warp_labels
from prorandconv.ops import native
from prorandconv.transforms import offset_range

TRANSFORMS = {
    "pro": ProRandConv,
    "pro-sample": lambda **o: ProRandConv(mode="sample", **o),
    "pro-half": lambda **o: ProRandConv(**{"p": 0.5, **o}),
    "pro-shared": lambda **o: ProRandConv(shared_offsets=True, **o),
    "progressive-same": lambda **o: ProRandConv(
        contrast=False, offsets=None, smoothing=None, **o
    ),
    "progressive-different": lambda **o: ProRandConv(
        contrast=False, offsets=None, smoothing=None, weights="different", **o
    ),
    "pro-different-sample": lambda **o: ProRandConv(weights="different", mode="sample", **o),
    "rand": lambda **o: RandConv(identity=0.0, **o),
    "rand-mix-sample": lambda **o: RandConv(mix=True, identity=0.0, mode="sample", **o),
    "rand-block": lambda **o: RandConv(
        identity=0.0, smoothing=(0.01, 1.0), offsets="auto", contrast=True, **o
    ),
}  # fmt: skip
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.fixture(params=TRANSFORMS)
def make(request):
    return TRANSFORMS[request.param]


class TestEveryTransform:
    @pytest.mark.parametrize(
        "shape", [(3, 9, 7), (4, 3, 8, 8), (2, 2, 3, 6, 5), (1, 5, 4, 4), (2, 1, 1, 1)]
    )
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_keeps_shape_and_dtype_and_stays_finite(self, make, shape, dtype):
        x = torch.randn(shape).to(dtype)
        before = x.clone()
        y = make()(x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert y.isfinite().all()
        assert torch.equal(x, before), "the input is left alone"

    def test_changes_the_image(self, make):
        x = torch.randn(8, 3, 16, 16)
        assert not torch.allclose(make()(x), x, atol=1e-2)

    def test_two_calls_draw_differently(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make()
        assert not torch.equal(augment(x), augment(x))

    def test_same_seed_same_result(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make()
        torch.manual_seed(1)
        one = augment(x)
        torch.manual_seed(1)
        assert torch.equal(augment(x), one)

    def test_replays_bit_for_bit_also_after_pickling(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make()
        draw = augment.draw(x)
        y = augment(x, draw=draw)
        assert torch.equal(augment(x, draw=draw), y)
        assert torch.equal(augment(x, draw=pickle.loads(pickle.dumps(draw))), y)
        assert torch.equal(copy.deepcopy(augment)(x, draw=draw), y)
        assert torch.equal(pickle.loads(pickle.dumps(augment))(x, draw=draw), y)

    def test_a_generator_decides_alone(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make()
        before = torch.random.get_rng_state()
        y = augment(x, generator=torch.Generator().manual_seed(4))
        assert torch.equal(torch.random.get_rng_state(), before)
        draw = augment.draw(x, torch.Generator().manual_seed(4))
        assert torch.equal(augment(x, draw=draw), y)

    def test_a_replayed_draw_takes_no_generator(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make()
        with pytest.raises(ProRandConvError, match=r"^generator: got .*, expected None"):
            augment(x, draw=augment.draw(x), generator=torch.Generator())

    def test_only_hooks_of_torchs_classes_are_overridden(self, make):
        augment = make()
        ancestors = type(augment).__mro__
        ours = {name for own in ancestors[: ancestors.index(v2.Transform)] for name in vars(own)}
        ours |= {field.name for field in fields(augment)}
        theirs = {*dir(nn.Module()), *dir(v2.Transform())}
        assert {name for name in ours & theirs if not name.startswith("__")} == {
            *("forward", "check_inputs", "make_params", "transform", "extra_repr"),
        }

    def test_a_model_that_holds_it_can_be_initialised(self, make):
        model = nn.Sequential(make(), nn.Conv2d(3, 4, 3))

        def zero(module):
            if isinstance(module, nn.Conv2d):
                nn.init.zeros_(module.weight)

        model.apply(zero)
        assert model[1].weight.eq(0).all()

    def test_repr_makes_the_same_transform_again(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make(alpha=4, p=0.5)
        again = eval(repr(augment), {"ProRandConv": ProRandConv, "RandConv": RandConv})
        assert {f.name: getattr(again, f.name) for f in fields(again)} == {
            f.name: getattr(augment, f.name) for f in fields(augment)
        }
        one, two = (t(x, generator=torch.Generator().manual_seed(6)) for t in (augment, again))
        assert torch.equal(one, two)

    def test_applying_needs_no_randomness(self, make):
        x = torch.randn(8, 3, 16, 16)
        augment = make()
        draw = augment.draw(x)
        before = torch.random.get_rng_state()
        augment(x, draw=draw)
        assert torch.equal(torch.random.get_rng_state(), before)

    def test_p_zero_leaves_the_images_as_they_are(self, make):
        x = torch.randn(6, 3, 16, 16)
        assert torch.equal(make(p=0.0)(x), x)

    @pytest.mark.parametrize("p", [0.4, 1.0])
    def test_p_is_the_share_of_augmented_images(self, make, p):
        x = torch.randn(10, 3, 16, 16)
        changed = make(p=p)(x).ne(x).flatten(1).any(1)
        assert changed.sum() == 10 * p

    def test_has_nothing_to_learn(self, make):
        x = torch.randn(2, 3, 8, 8, requires_grad=True)
        augment = make()
        assert not list(augment.parameters())
        assert not list(augment.buffers())
        assert not augment(x).requires_grad

    @pytest.mark.parametrize("shape", [(0, 3, 8, 8), (2, 3, 0, 8), (2, 0, 8, 8)])
    def test_images_without_a_pixel_are_returned(self, make, shape):
        assert make()(torch.empty(shape)).shape == shape

    def test_non_contiguous_input_gives_the_same(self, make):
        x = torch.randn(4, 16, 12, 3)
        augment = make()
        view = x.permute(0, 3, 1, 2)
        draw = augment.draw(view)
        expected = augment(view.contiguous(), draw=draw)
        assert torch.equal(augment(view, draw=draw), expected)
        step = torch.randn(4, 3, 16, 24)[..., ::2]
        assert torch.equal(augment(step, draw=draw), augment(step.contiguous(), draw=draw))

    def test_channels_last_is_kept(self, make):
        x = torch.randn(4, 3, 16, 12).to(memory_format=torch.channels_last)
        augment = make()
        draw = augment.draw(x)
        y = augment(x, draw=draw)
        assert y.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(y, augment(x.contiguous(), draw=draw))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_autocast_changes_nothing(self, make, dtype):
        x = torch.randn(4, 3, 16, 16).to(dtype)
        augment = make()
        draw = augment.draw(x)
        expected = augment(x, draw=draw)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            actual = augment(x, draw=draw)
        assert actual.dtype == dtype
        assert torch.equal(actual, expected)

    def test_half_precision_computes_in_single(self, make):
        x = torch.randn(4, 3, 16, 16).half()
        augment = make()
        draw = augment.draw(x)
        expected = augment(x.float(), draw=draw).half()
        assert torch.equal(augment(x, draw=draw), expected)

    def test_image_stays_an_image_and_everything_else_passes(self, make):
        sample = {
            "image": tv_tensors.Image(torch.randn(3, 16, 16)),
            "mask": tv_tensors.Mask(torch.randint(0, 5, (16, 16))),
            "boxes": tv_tensors.BoundingBoxes([[1, 2, 5, 6]], format="XYXY", canvas_size=(16, 16)),
            "label": torch.tensor(3),
            "name": "cat",
        }
        augment = make(p=1.0)
        torch.manual_seed(2)
        result = augment(sample)
        assert type(result["image"]) is tv_tensors.Image
        for name in ("mask", "boxes", "label", "name"):
            assert result[name] is sample[name]
        draw = augment.draw(sample["image"])
        replayed = augment(sample, draw=draw)["image"]
        assert torch.equal(replayed, augment(sample["image"].as_subclass(torch.Tensor), draw=draw))

    def test_masks_warp_with_the_images(self, make):
        x, masks = torch.randn(8, 3, 16, 16), torch.randint(0, 5, (8, 2, 16, 16)).to(torch.uint8)
        augment = make(labels="warp")
        draw = augment.draw(x)
        images, moved = augment(x, tv_tensors.Mask(masks), draw=draw)
        assert type(moved) is tv_tensors.Mask
        assert torch.equal(moved.as_subclass(torch.Tensor), warp_labels(masks, draw))
        same = (images == x).flatten(1).all(1)
        assert torch.equal(moved[same], masks[same])

    def test_labels_beside_plain_tensors_pass(self, make):
        x, y = torch.randn(4, 3, 8, 8), torch.arange(4)
        images, labels = make()(x, y)
        assert labels is y
        assert images.shape == x.shape

    def test_what_cannot_be_an_image_passes_beside_one(self, make):
        sample = {
            "image": torch.randn(4, 3, 8, 8),
            "soft labels": torch.rand(4, 10),
            "area": torch.rand(4),
            "weight": torch.tensor(0.5),
            "masks": torch.zeros(4, 1, 8, 8, dtype=torch.long),
            "weights": np.ones(4),
        }
        result = make()(sample)
        assert not torch.equal(result.pop("image"), sample.pop("image"))
        assert all(result[name] is sample[name] for name in sample)

    def test_a_marked_mask_passes_alone_and_beside_a_plain_image(self, make):
        mask = tv_tensors.Mask(torch.zeros(1, 8, 8))
        assert make()(mask) is mask
        x = torch.randn(3, 8, 8)
        image, same = make(p=1.0)(x, mask)
        assert same is mask
        assert not torch.equal(image, x)

    def test_more_channels_are_augmented_where_they_are_allowed(self, make):
        x = torch.randn(2, 20, 8, 8)
        assert make(max_channels=20)(x).shape == x.shape

    def test_images_without_data_keep_their_shape(self, make):
        assert make()(torch.empty(4, 3, 16, 16, device="meta")).shape == (4, 3, 16, 16)

    def test_goes_into_a_compose(self, make):
        pipeline = v2.Compose([
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.5] * 3),
            make(),
        ])  # fmt: skip
        image, label = pipeline(PIL.Image.new("RGB", (20, 12), (200, 10, 60)), 7)
        assert image.shape == (3, 12, 20)
        assert label == 7

    def test_one_draw_serves_all_images_of_a_sample(self, make):
        x = tv_tensors.Image(torch.randn(3, 8, 8))
        one, two = make()(x, tv_tensors.Image(x.clone()))
        assert torch.equal(one, two)

    @pytest.mark.parametrize(
        ("x", "fact"),
        [
            (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), "floating point"),
            (tv_tensors.Image(torch.zeros(3, 8, 8, dtype=torch.uint8)), "floating point"),
            (torch.zeros(8, 8), r"\(C, H, W\)"),
            (torch.zeros(48, 64, 3), r"at most 16 channels.*movedim\(-1, -3\).*max_channels=48"),
            (torch.zeros(2, 1, 24, 32, 32), "at most 16 channels.*volume.*max_channels=24"),
            (PIL.Image.new("RGB", (8, 8)), "ToImage"),
            (np.zeros((3, 8, 8), np.float32), "ToImage"),
            (np.zeros((8, 8), np.float32), "ToImage"),
            ({"image": np.zeros((8, 8, 3), np.uint8), "label": torch.tensor(3)}, "ToImage"),
            ((tv_tensors.Image(torch.zeros(3, 8, 8)), np.zeros((8, 8, 3))), "ToImage"),
            ({"image": torch.zeros(3, 8, 8), "mask": torch.zeros(1, 8, 8)}, "tv_tensors.Image"),
            ((torch.zeros(2, 3, 8, 8), torch.zeros(2, 3, 8, 8)), "tv_tensors.Image"),
            ({"area": torch.ones(4), "weight": torch.tensor(0.5)}, "a tensor of images"),
            ({"name": "cat", "label": 3}, "a tensor of images"),
            ([], "a tensor of images"),
        ],
    )
    def test_wrong_images_raise_an_error(self, make, x, fact):
        with pytest.raises(ProRandConvError, match=f"^x: got .*, expected .*{fact}"):
            make()(x)


@pytest.mark.parametrize("name", ["pro", "progressive-same", "rand-block"])
def test_replays_bit_for_bit_on_a_different_batch_size(name):
    x = torch.randn(20, 3, 32, 32)
    augment = TRANSFORMS[name]()
    draw = augment.draw(x)
    y = augment(x, draw=draw)
    for some in (slice(0, 5), slice(7, 18)):
        assert torch.equal(augment(x[some], draw=draw), y[some])
    alone = augment(x[4], draw=draw)
    assert torch.equal(augment(x[3:5], draw=draw)[1], alone), "so few are all as if alone"
    # another kernel serves them than the batch, and rounds differently
    torch.testing.assert_close(alone, y[4], atol=1e-4, rtol=0)


@pytest.mark.parametrize("make", [ProRandConv, lambda **o: RandConv(identity=0.0, mix=True, **o)])
class TestVideos:
    """A video counts as one image."""

    def test_sample_mode_is_one_draw_a_video(self, make):
        x = torch.randn(3, 3, 12, 12)
        still = tv_tensors.Video(x[:, None].repeat(1, 5, 1, 1, 1))
        augment = make(mode="sample")
        draw = augment.draw(still)
        y = augment(still, draw=draw)
        assert type(y) is tv_tensors.Video
        assert torch.equal(y, y[:, :1].expand_as(y)), "equal frames stay equal"
        for video, image, own in zip(y, x, draw, strict=True):
            torch.testing.assert_close(video[0].as_subclass(torch.Tensor), augment(image, draw=own))

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_p_is_the_share_of_videos(self, make, mode):
        x = tv_tensors.Video(torch.randn(4, 5, 3, 8, 8))
        changed = make(mode=mode, p=0.5)(x).ne(x).flatten(2).any(2)
        assert sorted(changed.sum(1).tolist()) == [0, 0, 5, 5]

    def test_what_is_no_draw_raises_an_error(self, make):
        with pytest.raises(ProRandConvError, match=r"^draw: got 'dict', expected "):
            make()(tv_tensors.Video(torch.randn(5, 3, 8, 8)), draw={})

    def test_draws_for_frames_raise_an_error(self, make):
        x = torch.randn(5, 3, 8, 8)
        augment = make(mode="sample")
        with pytest.raises(ProRandConvError, match=r"^draw: got .draws for 5 .* of 1 videos"):
            augment(tv_tensors.Video(x), draw=augment.draw(x))


@pytest.mark.parametrize("name", ["pro-sample", "pro-different-sample", "rand-mix-sample"])
@pytest.mark.parametrize("p", [1.0, 0.5])
def test_sample_mode_equals_single_calls_with_the_draws_of_each(name, p):
    x = torch.randn(6, 3, 20, 17, dtype=torch.float64)
    augment = TRANSFORMS[name](p=p)
    draw = augment.draw(x)
    y = augment(x, draw=draw)
    assert len(list(draw)) == 6
    for n, own in enumerate(draw):
        torch.testing.assert_close(augment(x[n], draw=own), y[n], atol=1e-7, rtol=1e-7)


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 20), st.integers(1, 20)),
    dtype=st.sampled_from(DTYPES),
    options=st.fixed_dictionaries({
        "kernel_size": st.sampled_from([1, 3, 5]),
        "max_repeats": st.integers(1, 4),
        "weights": st.sampled_from(["same", "different"]),
        "smoothing": st.sampled_from([None, (0.01, 1.0)]),
        "offsets": st.sampled_from([None, "auto", (0.5, 5.0)]),
        "alpha": st.sampled_from([0.0, 2.0, 10.0]),
        "contrast": st.sets(st.sampled_from(["standardise", "affine", "tanh"])),
        "padding": st.sampled_from(["zeros", "reflect", "replicate"]),
        "mode": st.sampled_from(["batch", "sample"]),
        "p": st.sampled_from([0.0, 0.3, 1.0]),
    }),
    seed=st.integers(0, 2**32),
)  # fmt: skip
def test_any_options_replay_and_stay_in_range(shape, dtype, options, seed):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    augment = ProRandConv(**options)
    draw = augment.draw(x, generator=torch.Generator().manual_seed(seed))
    y = augment(x, draw=draw)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    assert torch.equal(augment(x, draw=draw), y)
    if options["p"] == 1 and "standardise" not in options["contrast"]:
        assert y.abs().max() <= 1
    if options["p"] == 0:
        assert torch.equal(y, x)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_draw_differently_and_a_seeded_loader_repeats(start):
    # gamma = 0 leaves tanh(beta): what comes out is the draw alone
    steps = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), ProRandConv(gamma_std=0.0)]
    data = FakeData(8, (3, 8, 8), transform=v2.Compose(steps))

    def load(seed):
        loader = DataLoader(
            data,
            batch_size=2,
            num_workers=2,
            multiprocessing_context=start,
            generator=torch.Generator().manual_seed(seed),
        )
        return torch.cat([images for images, _ in loader])[:, :, 0, 0]

    one = load(0)
    assert len(one.unique(dim=0)) == 8, "every image has its own draw, whichever worker made it"
    assert torch.equal(load(0), one)
    assert not torch.equal(load(1), one)


def test_defaults_are_the_papers():
    augment = ProRandConv()
    assert (augment.kernel_size, augment.max_repeats) == (3, 10)
    assert (augment.gamma_std, augment.beta_std, augment.alpha) == (0.5, 0.5, 10.0)
    assert augment.smoothing == (0.01, 1.0)
    assert augment.contrast == ("standardise", "affine", "tanh")
    assert (augment.mode, augment.p, augment.padding) == ("batch", 1.0, "zeros")
    assert augment.draw(torch.zeros(3, 8, 8)).options == Options()


@pytest.mark.parametrize(
    ("side", "bound"),
    [(28, 0.2), (32, 0.2), (64, 0.2), (224, 0.5), (512, 0.5), (round(math.sqrt(64 * 224)), 0.35)],
)
def test_automatic_offsets_follow_the_papers_two_values(side, bound):
    low, high = offset_range(side, 2 * side)
    assert low == 0.01
    assert high == pytest.approx(bound, abs=2e-3)
    x = torch.empty(1, 1, side, side)
    scales = [ProRandConv(1).draw(x).offsets.dense().std().item() for _ in range(20)]
    assert 0.7 * high < max(scales) <= high * (1 + 1e-3)


def test_fixed_repeats():
    x = torch.zeros(3, 3, 8, 8)
    assert ProRandConv(repeats=4).draw(x).repeats == 4
    assert ProRandConv(repeats=4, mode="sample").draw(x).repeats == (4, 4, 4)


def test_fixed_repeats_draw_nothing():
    x = torch.zeros(3, 3, 8, 8)
    augment = ProRandConv(repeats=4, smoothing=None, weight_std=1.0)
    weight = augment.draw(x, torch.Generator().manual_seed(0)).weight
    first = torch.empty(3, 3, 3, 3).normal_(generator=torch.Generator().manual_seed(0))
    assert torch.equal(weight, first)


@pytest.mark.parametrize(
    "options", [{}, {"engine": "eager"}, {"mode": "sample"}, {"weights": "different"}]
)
def test_fixed_repeats_can_be_exported(options):
    x = torch.randn(2, 3, 12, 12)
    augment = ProRandConv(repeats=3, **options)
    exported = torch.export.export(augment, (x,)).module()
    torch.manual_seed(7)
    expected = augment(x)
    torch.manual_seed(7)
    torch.testing.assert_close(exported(x), expected, atol=1e-5, rtol=1e-5)


def test_identity_leaves_its_share_of_the_images_in_sample_mode():
    x = torch.randn(400, 1, 4, 4)
    changed = RandConv(mode="sample", identity=0.25)(x).ne(x).flatten(1).any(1)
    assert changed.float().mean().item() == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize(
    "augment",
    [
        RandConv(identity=1.0),
        RandConv(identity=1.0, mode="sample"),
        ProRandConv(p=0.0),
        ProRandConv(labels="warp", p=0.0),
    ],
    ids=str,
)
def test_a_result_is_new_memory_also_where_nothing_changes(augment):
    x = torch.randn(2, 3, 8, 8)
    for image in (x, tv_tensors.Image(x), tv_tensors.Video(x[None])):
        y = augment(image)
        assert torch.equal(y, image)
        assert type(y) is type(image)
        y.zero_()
        assert image.abs().min() > 0


@pytest.mark.parametrize("options", [{"output": "pixels"}, {"contrast": False}], ids=str)
def test_an_image_whose_own_repeats_are_zero_stays_as_it_is(options):
    x = 3 * torch.randn(3, 3, 8, 8)
    augment = ProRandConv(mode="sample", mean=0.4, std=0.2, repeats=2, **options)
    draw = replace(augment.draw(x), repeats=(2, 0, 2))
    y = augment(x, draw=draw)
    assert torch.equal(y[1], x[1])
    assert not torch.equal(y[0], x[0])


@pytest.mark.parametrize("make", [ProRandConv, RandConv])
def test_every_option_is_explained(make):
    text = make.__doc__.split("Example:")[0]
    described = set(re.findall(r"^        (\w+):", text, re.MULTILINE))
    referred = set(re.findall(r"``(\w+)``", text.split("Args:")[0]))  # to the other transform
    assert {field.name for field in fields(make)} == described | referred


@pytest.mark.parametrize(
    ("make", "option", "value", "expected"),
    [
        (ProRandConv, "kernel_size", np.int64(5), 5),
        (ProRandConv, "max_repeats", np.int32(4), 4),
        (ProRandConv, "alpha", np.float32(2.5), 2.5),
        (ProRandConv, "p", np.float64(0.5), 0.5),
        (ProRandConv, "weight_std", np.float16(0.5), 0.5),
        (ProRandConv, "smoothing", (np.float32(0.25), np.float32(1)), (0.25, 1.0)),
        (ProRandConv, "offsets", np.array([0.25, 1.0]), (0.25, 1.0)),
        (ProRandConv, "contrast", np.True_, ("standardise", "affine", "tanh")),
        (ProRandConv, "mean", np.array([0.25, 0.5, 0.75]), (0.25, 0.5, 0.75)),
        (ProRandConv, "std", torch.tensor(0.25), (0.25,)),
        (RandConv, "kernel_sizes", np.array([1, 3]), (1, 3)),
        (RandConv, "mix", np.True_, True),
    ],
)
def test_numbers_of_numpy_and_torch_become_plain_options(make, option, value, expected):
    stored = getattr(make(**{option: value}), option)
    assert repr(stored) == repr(expected)


@pytest.mark.parametrize("option", ["mean", "std"])
def test_a_normalisation_for_other_channels_raises_an_error(option):
    augment = ProRandConv(**{option: (0.5, 0.5)})
    with pytest.raises(ProRandConvError, match=rf"^{option}: got \(0.5, 0.5\), .* 3 channels"):
        augment(torch.zeros(2, 3, 8, 8))


def test_an_engine_that_is_not_there_raises_an_error_when_asked_for(monkeypatch):
    monkeypatch.setattr(native, "UNAVAILABLE", "the native kernel was not compiled")
    with pytest.raises(ProRandConvError, match=r"^engine: got .native., expected .*not compiled"):
        ProRandConv(engine="native")


NAN = float("nan")


WRONG = {
    "kernel_size": (4, 0, 3.0),
    "max_repeats": (0, 2.5, 10**9),
    "repeats": (-1, True),
    "weights": ("other",),
    "smoothing": ((1.0, 0.5), (0.0, 0.5), 0.5),
    "offsets": ((-0.1, 0.5), (0.5, 0.1), (0.1, NAN), "small", (1, 2, 3)),
    "shared_offsets": ("yes", 1),
    "alpha": (-1, NAN),
    "contrast": (["gamma"], "tanh", 1),
    "gamma_std": (-0.5, NAN),
    "beta_std": (math.inf, "large"),
    "weight_std": (-1.0, (2.0, 1.0)),
    "padding": ("wrap",),
    "bound": ("clip", "clamp"),
    "output": ("image",),
    "mean": (NAN, (), "grey"),
    "std": (0.0, (0.5, -0.2)),
    "mode": ("image",),
    "p": (1.5, -0.1, NAN),
    "mix": (1, "half"),
    "labels": ("follow", "move"),
    "ignore_index": (2.5, "255"),
    "max_channels": (0,),
    "engine": ("gpu",),
    "spatial_dims": (4,),
    "kernel_sizes": ((), (1, 2), 3),
    "identity": (2.0,),
}
"""Values that each option does not take."""


def test_every_option_has_a_wrong_value():
    assert {field.name for make in (ProRandConv, RandConv) for field in fields(make)} == set(WRONG)


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in WRONG.items() for value in values]
)
def test_a_wrong_option_is_named_with_value_and_remedy(option, value):
    make = ProRandConv if hasattr(ProRandConv, option) else RandConv
    with pytest.raises(ProRandConvError) as caught:
        make(**{option: value})
    message = str(caught.value)
    assert message.startswith(f"{option}: got ")
    assert ", expected " in message
    assert repr(value) in message or str(value[-1]) in message


@pytest.mark.parametrize(
    ("options", "other", "fact"),
    [
        ({}, (4, 1, 16, 16), "1 channels"),
        ({}, (4, 3, 16, 15), r"\(16, 15\) pixels"),
        ({"mode": "sample"}, (5, 3, 16, 16), "5 images, with a draw each"),
        ({"p": 0.5}, (5, 3, 16, 16), "5 images of this batch"),
    ],
)
def test_params_for_other_images_raise_an_error(options, other, fact):
    augment = ProRandConv(**options)
    draw = augment.draw(torch.zeros(4, 3, 16, 16))
    with pytest.raises(ProRandConvError, match=f"^draw: got .*, expected .*{fact}"):
        augment(torch.zeros(other), draw=draw)


def test_replaced_repeats_show_the_steps_of_one_draw():
    x = torch.randn(1, 3, 16, 16)
    augment = ProRandConv()
    draw = augment.draw(x)
    assert torch.equal(augment(x, draw=replace(draw, repeats=0)), x)


class TestVolumes:
    """spatial_dims=3."""

    @pytest.mark.parametrize("make", [ProRandConv, RandConv])
    @pytest.mark.parametrize("shape", [(2, 4, 6, 5), (3, 2, 4, 6, 5), (2, 2, 1, 1, 4, 5)])
    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_shape_and_dtype_are_kept_and_a_draw_replays_bit_for_bit(self, make, shape, mode):
        x = torch.randn(shape).to(torch.bfloat16)
        augment = make(spatial_dims=3, mode=mode)
        draw = augment.draw(x, torch.Generator().manual_seed(1))
        y = augment(x, generator=torch.Generator().manual_seed(1))
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert torch.equal(y, augment(x, draw=draw))

    def test_the_draw_has_three_displacements_for_each_of_27_taps(self):
        draw = ProRandConv(spatial_dims=3).draw(torch.randn(2, 3, 4, 6, 5))
        assert draw.weight.shape == (3, 3, 3, 3, 3)
        assert draw.offsets.shape == (81, 4, 6, 5)
        assert (draw.size, draw.spatial_dims, draw.channels) == ((4, 6, 5), 3, 3)

    def test_shared_offsets_are_the_same_for_all_taps(self):
        augment = ProRandConv(spatial_dims=3, shared_offsets=True)
        fields = augment.draw(torch.randn(1, 4, 6, 5)).offsets.dense().view(27, 3, 4, 6, 5)
        assert torch.equal(fields, fields[:1].expand_as(fields))
        assert not torch.equal(fields[0, 0], fields[0, 1])

    def test_the_weights_have_the_variance_of_27_taps(self):
        x = torch.randn(400, 2, 1, 1, 1)
        augment = ProRandConv(spatial_dims=3, smoothing=None, mode="sample", offsets=None)
        assert augment.draw(x).weight.var().item() == pytest.approx(1 / (27 * 2), rel=0.03)

    def test_each_volume_and_channel_is_standardised_over_all_its_voxels(self):
        x = torch.randn(3, 2, 4, 9, 8)
        y = ProRandConv(spatial_dims=3, contrast=("standardise",))(x)
        assert y.mean((2, 3, 4)).abs().max() < 1e-5
        assert y.var((2, 3, 4), correction=0).sub(1).abs().max() < 1e-2
        assert y.mean((3, 4)).abs().max() > 0.05, "planes are not standardised one by one"

    def test_the_same_style_at_another_size(self):
        augment = ProRandConv(spatial_dims=3)
        draw = augment.draw(torch.rand(1, 8, 12, 10)).resized((4, 6, 5))
        assert augment(torch.rand(1, 4, 6, 5), draw=draw).shape == (1, 4, 6, 5)

    @pytest.mark.parametrize(
        ("options", "call", "message"),
        [
            ({"spatial_dims": 4}, None, r"^spatial_dims: got 4, expected one of \(2, 3\)"),
            ({"engine": "triton"}, None, r"^engine: got 'triton', expected one of .*for volumes"),
            ({}, torch.rand(4, 6, 5), r"^x: got \(4, 6, 5\), expected volumes of shape \(C, D, H"),
            ({}, torch.rand(2, 20, 4, 6, 5), r"^x: got .* at most 16 channels.*movedim\(-1, -4\)"),
            ({}, tv_tensors.Video(torch.rand(4, 3, 8, 8)), r"^x: got 'a Video of shape"),
        ],
    )
    def test_what_does_not_fit_raises_an_error(self, options, call, message):
        with pytest.raises(ProRandConvError, match=message):
            ProRandConv(**{"spatial_dims": 3, **options})(call)

    def test_a_draw_for_volumes_raises_an_error_for_images_and_the_other_way_round(self):
        volume, image = torch.rand(1, 4, 6, 5), torch.rand(1, 4, 6, 5)
        of_volume, of_image = ProRandConv(spatial_dims=3).draw(volume), ProRandConv().draw(image)
        with pytest.raises(ProRandConvError, match=r"^draw: got .* expected .*spatial_dims=2"):
            ProRandConv()(image, draw=of_volume)
        with pytest.raises(ProRandConvError, match=r"^draw: got .* expected .*spatial_dims=3"):
            ProRandConv(spatial_dims=3)(volume, draw=of_image)


class TestMix:
    """The result blended with the original by a random share."""

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    @pytest.mark.parametrize("output", [{}, {"mean": 0.4, "std": 0.2}], ids=str)
    def test_a_result_is_the_drawn_share_of_the_original(self, mode, output):
        x = torch.randn(4, 3, 8, 8)
        augment = ProRandConv(mix=True, mode=mode, **output)
        draw = augment.draw(x)
        assert draw.mix.shape == ((4,) if mode == "sample" else ())
        alone = augment(x, draw=replace(draw, mix=None))
        share = draw.mix.view(-1, 1, 1, 1)
        expected = share * x + (1 - share) * alone
        torch.testing.assert_close(augment(x, draw=draw), expected)

    def test_the_share_is_uniform_and_drawn_last(self):
        x = torch.zeros(2000, 1, 2, 2)
        mixed = ProRandConv(mix=True, mode="sample").draw(x, torch.Generator().manual_seed(1))
        plain = ProRandConv(mode="sample").draw(x, torch.Generator().manual_seed(1))
        assert torch.equal(mixed.weight, plain.weight)
        assert mixed.mix.mean().item() == pytest.approx(0.5, abs=0.03)
        assert mixed.mix.std().item() == pytest.approx(12**-0.5, abs=0.02)
        assert (mixed.mix.min() >= 0) & (mixed.mix.max() <= 1)


class TestRange:
    """mean and std give the result their range, and one warning tells where they are missing."""

    @pytest.mark.parametrize(
        ("options", "output"),
        [
            ({}, "tanh"),
            ({"mean": 0.5, "std": 0.5}, "tanh"),
            ({"mean": 0.0, "std": 1.0}, "pixels"),
            ({"mean": (0.4, 0.5, 0.6)}, "pixels"),
            ({"mean": 0.4, "output": "tanh"}, "tanh"),
            ({"mean": 0.4, "contrast": ("standardise",)}, "tanh"),
            ({"mean": 0.4, "contrast": False}, "tanh"),
        ],
        ids=str,
    )
    def test_a_normalisation_implies_pixels_after_tanh(self, options, output):
        assert ProRandConv(**options).draw(torch.zeros(3, 4, 4)).options.output == output

    @pytest.fixture(autouse=True)
    def _first_batch(self, monkeypatch):
        monkeypatch.setattr(transforms, "_range_was_checked", [])

    @pytest.mark.parametrize(
        ("x", "right"),
        [
            (torch.rand(2, 3, 8, 8), "mean=0.0, std=1.0"),
            (3 * torch.randn(2, 3, 8, 8), "mean=... and std=..."),
        ],
    )
    def test_the_first_batch_out_of_range_is_told_once(self, x, right, recwarn):
        augment = ProRandConv()
        augment(x)
        augment(x)
        (warning,) = recwarn
        assert right in str(warning.message)
        assert warning.filename == __file__

    @pytest.mark.parametrize(
        ("augment", "x"),
        [
            (ProRandConv(), torch.rand(2, 3, 8, 8) * 2 - 1),
            (ProRandConv(mean=0.0, std=1.0), torch.rand(2, 3, 8, 8)),
            (ProRandConv(contrast=False), torch.rand(2, 3, 8, 8)),
            (ProRandConv(), torch.rand(2, 3, 8, 8, device="meta")),
        ],
        ids=["in range", "pixels", "no tanh", "meta"],
    )
    def test_other_batches_are_not(self, augment, x, recwarn):
        augment(x)
        assert not recwarn.list

    def test_what_is_traced_is_not_read(self, recwarn):
        x, augment = torch.rand(2, 3, 8, 8), ProRandConv(repeats=1, engine="eager")
        draw = augment.draw(x)
        torch._dynamo.reset()
        torch.compile(lambda x: augment(x, draw=draw), fullgraph=True, backend="aot_eager")(x)
        torch.vmap(lambda x: augment(x, draw=draw))(x[None])
        torch.export.export(augment, (x,))
        with FakeTensorMode():
            augment(torch.empty(2, 3, 8, 8))
        assert not [w for w in recwarn if "normalisation" in str(w.message)]
        assert not transforms._range_was_checked


class TestOptionsSetLater:
    """Options are checked when they are set, too."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [("p", 2.0), ("mode", "image"), ("padding", "wrap"), ("output", "pixels"), ("std", 0)],
    )
    def test_a_wrong_one_raises_an_error_and_changes_nothing(self, name, value):
        augment = ProRandConv(contrast=("standardise",))
        before = getattr(augment, name)
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected "):
            setattr(augment, name, value)
        assert getattr(augment, name) == before

    def test_a_right_one_counts_from_then_on(self):
        augment, x = ProRandConv(), torch.randn(4, 3, 8, 8)
        augment.p, augment.padding = 0.5, "reflect"
        draw = augment.draw(x)
        assert len(draw.selected) == 2
        assert draw.options.padding == "reflect"


def test_a_default_device_changes_no_draw():
    x = torch.randn(3, 3, 37, 23)  # no other test draws this size: nothing is remembered of it
    for augment in (ProRandConv(mode="sample", p=0.7), RandConv(mode="sample", offsets="auto")):
        with torch.device("meta"):
            y = augment(x, generator=torch.Generator("cpu").manual_seed(1))
        assert torch.equal(y, augment(x, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("base", [transforms.DrawTransform, transforms.RandomBlock])
def test_what_does_not_draw_cannot_be_made(base):
    with pytest.raises(TypeError, match="abstract"):
        base()
