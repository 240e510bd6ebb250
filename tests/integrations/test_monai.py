"""The augmentation in MONAI's pipelines, against MONAI itself."""

import copy

import numpy as np
import pytest
import torch
from monai.data import DataLoader, Dataset, MetaTensor
from monai.transforms import Compose, Flipd, RandFlipd, Spacing

from prorandconv import ProRandConvError
from prorandconv.functional import displacement, warp_labels
from prorandconv.integrations.monai import RandProRandConv, RandProRandConvd

IMAGE, VOLUME = (2, 12, 10), (1, 6, 9, 8)


def meta(shape, seed=0):
    """A MetaTensor with an affine matrix of its own."""
    numbers = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    return MetaTensor(numbers, affine=torch.diag(torch.tensor([2.0, 3.0, 4.0, 1.0])))


@pytest.mark.parametrize("shape", [IMAGE, VOLUME])
class TestArrays:
    def test_the_random_state_decides_alone(self, shape):
        x = meta(shape)
        augment = RandProRandConv(1.0).set_random_state(3)
        one, two = augment(x), augment(x)
        torch.manual_seed(99)
        again = RandProRandConv(1.0).set_random_state(3)
        assert torch.equal(again(x), one)
        assert torch.equal(again(x), two)
        assert not torch.equal(one, two)

    def test_meta_data_is_kept(self, shape):
        x = meta(shape)
        y = RandProRandConv(1.0)(x)
        assert isinstance(y, MetaTensor)
        assert torch.equal(y.affine, x.affine)
        assert y.applied_operations == x.applied_operations
        assert (y.shape, y.dtype) == (x.shape, x.dtype)

    def test_it_is_the_draw_that_can_be_read(self, shape):
        augment, x = RandProRandConv(1.0), meta(shape)
        y = augment(x)
        assert augment.params.spatial_dims == len(shape) - 1
        assert torch.equal(augment(x, randomize=False), y)

    def test_prob_is_the_share_of_augmented_samples(self, shape):
        augment = RandProRandConv(0.25, repeats=1, kernel_size=1).set_random_state(0)
        x = meta(shape)
        changed = sum(not torch.equal(augment(x), x) for _ in range(100))
        assert changed == pytest.approx(25, abs=15)

    def test_arrays_are_taken_too(self, shape):
        y = RandProRandConv(1.0)(np.zeros(shape, dtype=np.float32) + 0.5)
        assert isinstance(y, torch.Tensor)
        assert y.shape == shape


class TestDictionaries:
    def test_keys_share_one_draw(self):
        x = meta(VOLUME)
        done = RandProRandConvd(["t1", "t2"], 1.0)({"t1": x, "t2": x.clone(), "age": 40})
        assert torch.equal(done["t1"], done["t2"])
        assert not torch.equal(done["t1"], x)
        assert done["age"] == 40

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32, torch.bool])
    def test_labels_move_with_the_picture_in_their_own_dtype(self, dtype):
        labels = MetaTensor(torch.randint(0, 2, VOLUME).to(dtype), affine=2 * torch.eye(4))
        augment = RandProRandConvd(
            "scan", 1.0, "organs", labels="warp", ignore_index=0, offsets=(1.0, 1.0)
        )
        done = augment({"scan": meta(VOLUME), "organs": labels})
        expected = warp_labels(labels.as_tensor().long(), augment.augment.params, ignore_index=0)
        assert displacement(augment.augment.params).abs().max() > 0.5
        assert done["organs"].dtype == dtype
        assert torch.equal(done["organs"].as_tensor(), expected.to(dtype))
        assert torch.equal(done["organs"].affine, labels.affine)

    def test_labels_stay_by_default(self):
        labels = torch.randint(0, 4, VOLUME)
        done = RandProRandConvd("scan", 1.0, "organs")({"scan": meta(VOLUME), "organs": labels})
        assert torch.equal(done["organs"], labels)

    def test_missing_keys_are_allowed_where_this_is_said(self):
        augment = RandProRandConvd(["scan", "other"], 1.0, allow_missing_keys=True)
        assert augment({"scan": meta(IMAGE)})["scan"].shape == IMAGE
        with pytest.raises(KeyError, match="other"):
            RandProRandConvd(["scan", "other"], 1.0)({"scan": meta(IMAGE)})


class TestPipelines:
    SAMPLES = [{"scan": meta(VOLUME, seed)} for seed in range(4)]  # noqa: RUF012

    @staticmethod
    def pipeline():
        return Compose([RandFlipd("scan", 0.5, spatial_axis=0), RandProRandConvd("scan", 1.0)])

    def scans(self, workers, seed=0):
        torch.manual_seed(seed)
        data = Dataset(self.SAMPLES, self.pipeline().set_random_state(seed))
        return torch.cat([b["scan"].as_tensor() for b in DataLoader(data, num_workers=workers)])

    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_loader_is_repeatable_and_its_workers_differ(self, workers):
        one = self.scans(workers)
        assert torch.equal(self.scans(workers), one)
        assert not torch.equal(self.scans(workers, seed=1), one)
        assert len({float(scan.sum()) for scan in one}) == len(self.SAMPLES)

    def test_compose_sets_the_state_of_all(self):
        one, two = (self.pipeline().set_random_state(7)(self.SAMPLES[0]) for _ in range(2))
        assert torch.equal(one["scan"], two["scan"])

    def test_a_lazy_pipeline_applies_what_is_pending_first(self):
        steps = [Flipd("scan", 0), RandProRandConvd("scan", 1.0)]
        sample = {"scan": meta(VOLUME)}
        plain, lazy = (Compose(copy.deepcopy(steps), lazy=lazy) for lazy in (False, True))
        results = [one.set_random_state(1)(dict(sample))["scan"] for one in (plain, lazy)]
        torch.testing.assert_close(*(r.as_tensor() for r in results), atol=1e-3, rtol=0)


def test_pending_operations_raise_an_error():
    pending = Spacing((1.0, 1.0, 1.0), lazy=True)(meta(VOLUME))
    with pytest.raises(ProRandConvError, match=r"^img: got '1 pending operations \(lazy"):
        RandProRandConv(1.0)(pending)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandProRandConv(p=0.5), r"^p: got 0.5, expected prob"),
        (lambda: RandProRandConv(mode="sample"), r"^mode: got 'sample', expected nothing"),
        (lambda: RandProRandConv(spatial_dims=3), r"^spatial_dims: got 3, expected nothing"),
        (lambda: RandProRandConv(lazy=True), r"^lazy: got True, expected nothing"),
        (lambda: RandProRandConv(labels="warp"), r"^labels: got 'warp', .* RandProRandConvd"),
        (lambda: RandProRandConvd("x", labels="warp", ignore_index=0), r"^label_keys: got \(\)"),
        (lambda: RandProRandConvd("x", 1.0, "y", labels="warp"), r"^ignore_index: got None"),
        (lambda: RandProRandConv(1.0)(torch.rand(5, 5)), r"^img: got \(5, 5\), expected an image"),
        (lambda: RandProRandConv(1.0)(torch.zeros(IMAGE).byte()), r"^x: got torch.uint8"),
    ],
)
def test_what_does_not_fit_raises_an_error(make, message):
    with pytest.raises(ProRandConvError, match=message):
        make()


def test_soft_labels_are_not_moved():
    augment = RandProRandConvd("scan", 1.0, "soft", labels="warp", ignore_index=0)
    with pytest.raises(ProRandConvError, match=r"^label_keys: got .* not integers"):
        augment({"scan": meta(VOLUME), "soft": torch.full(VOLUME, 0.5)})


def test_by_hand_all_samples_of_a_worker_follow_torchs_seed_and_not_monais():
    """What goes wrong without the adapter: Compose does not know of the transform's randomness."""
    from prorandconv import ProRandConv

    results = []
    for torchs_seed in (1, 2):
        pipeline = Compose([ProRandConv(spatial_dims=3)]).set_random_state(0)
        torch.manual_seed(torchs_seed)
        results.append(pipeline(meta(VOLUME).as_tensor()))
    assert not torch.equal(*results)
