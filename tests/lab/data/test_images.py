"""One pass over images: order, resuming, normalisation and base augmentation."""

import pytest
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.data import ImageFormat, Options, get_benchmark
from prorandconv.lab.data.augmentation import normalise
from prorandconv.lab.data.images import Images


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def in_memory(count=23, *, split="train", size=8, channels=1, base_augmentation=False):
    """Image i is of value i throughout, and of class i % 3."""
    pixels = torch.arange(count, dtype=torch.uint8).view(-1, 1, 1, 1)
    return Images.in_memory(
        pixels.expand(count, channels, size, size).clone(),
        torch.arange(count) % 3,
        classes=("a", "b", "c"),
        split=split,
        format=ImageFormat(size, (0.0,) * 3, (1 / 255,) * 3, base_augmentation),
    )


def noise(count, *, base_augmentation=True):
    """Random training images of four classes."""
    pixels = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=generator())
    form = ImageFormat(32, (0.5,) * 3, (0.5,) * 3, base_augmentation)
    kind = {"classes": tuple("abcd"), "split": "train", "format": form}
    return Images.in_memory(pixels, torch.arange(count) % 4, **kind)


@pytest.fixture(params=["memory", "folder"])
def images(request, tmp_path, write):
    """Training images of either storage, augmented at random."""
    if request.param == "memory":
        return noise(40)
    write.tree(tmp_path, ("one", "two"), ("bird", "car", "chair"), count=15)
    benchmark = get_benchmark("folder", tmp_path, Options(workers=2))
    return benchmark.load(["one", "two"], "train")


class TestOrder:
    def test_without_a_generator_images_come_as_stored(self):
        batches = list(in_memory().batches(5))
        assert torch.cat([x[:, 0, 0, 0] for x, _ in batches]).round().tolist() == list(range(23))
        assert torch.cat([y for _, y in batches]).tolist() == [i % 3 for i in range(23)]
        assert [len(y) for _, y in batches] == [5, 5, 5, 5, 3]

    def test_a_generator_shuffles_and_labels_stay_with_their_images(self):
        batches = list(in_memory().batches(5, generator=generator()))
        order = torch.cat([x[:, 0, 0, 0] for x, _ in batches]).round().long()
        assert order.tolist() != list(range(23))
        assert sorted(order.tolist()) == list(range(23))
        assert torch.equal(torch.cat([y for _, y in batches]), order % 3)

    def test_drop_last_leaves_out_what_does_not_fill_a_batch(self):
        batches = in_memory().batches(5, drop_last=True)
        assert len(batches) == 4
        assert [len(y) for _, y in batches] == [5, 5, 5, 5]
        assert len(in_memory(20).batches(5, drop_last=True)) == 4

    def test_the_same_generator_state_gives_the_same_epoch(self, images):
        first, second = (
            list(images.batches(7, generator=generator(3), augment=True)) for _ in range(2)
        )
        other = list(images.batches(7, generator=generator(4), augment=True))
        assert all(torch.equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
        assert not all(torch.equal(a[0], b[0]) for a, b in zip(first, other, strict=True))

    @pytest.mark.parametrize("jitter", [0.0, 0.5])
    @pytest.mark.parametrize("start", [0, 1, 6])
    def test_an_epoch_entered_in_its_middle_goes_on_as_it_would_have(self, images, start, jitter):
        options = {"augment": True, "jitter": jitter}
        whole = list(images.batches(7, generator=generator(), **options))
        used, left = generator(), generator()
        images.batches(7, generator=left, **options)
        start = min(start, len(whole))
        rest = images.batches(7, generator=used, start=start, **options)
        assert len(rest) == len(whole) - start
        assert torch.equal(used.get_state(), left.get_state())
        for (x, y), (wanted, labels) in zip(rest, whole[start:], strict=True):
            assert torch.equal(x, wanted)
            assert torch.equal(y, labels)

    def test_torchs_own_generator_is_left_alone(self, images):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        list(images.batches(7, generator=generator(), augment=True))
        assert torch.equal(torch.get_rng_state(), before)

    def test_ranks_share_an_epoch_without_overlap_and_evenly(self):
        seen = [
            torch.cat(
                [
                    x[:, 0, 0, 0]
                    for x, _ in in_memory().batches(4, generator=generator(), shard=(rank, 2))
                ]
            )
            for rank in range(2)
        ]
        assert len(seen[0]) == len(seen[1]) == 11
        assert len(set(torch.cat(seen).round().tolist())) == 22


class TestWhatArrives:
    def test_images_are_float_normalised_with_three_channels(self):
        form = ImageFormat(8, (0.5, 0.25, 0.0), (0.5, 0.25, 1.0), base_augmentation=False)
        images = Images.in_memory(
            torch.full((2, 1, 8, 8), 51, dtype=torch.uint8),
            torch.tensor([0, 1]),
            classes=("a", "b"),
            split="test",
            format=form,
        )
        ((x, y),) = images.batches(2)
        assert x.dtype == torch.float32
        assert y.dtype == torch.int64
        torch.testing.assert_close(x[1, :, 3, 3], torch.tensor([-0.6, -0.2, 0.2]))

    def test_both_storages_give_the_size_of_the_benchmark(self, images):
        for x, y in images.batches(7, generator=generator(), augment=True):
            size = images.format.image_size
            assert x.shape == (len(y), 3, size, size)

    def test_without_augmentation_an_epoch_is_the_stored_images(self, images):
        plain = torch.cat([x for x, _ in images.batches(7)])
        pixels = images.stacked(torch.arange(len(images)))
        form = images.format
        assert torch.equal(plain, normalise(pixels, form.mean, form.std))

    def test_augmentation_changes_most_training_images_and_no_label(self):
        images = noise(400)
        ((plain, labels),) = images.batches(400, generator=generator())
        ((changed, same),) = images.batches(400, generator=generator(), augment=True)
        assert torch.equal(labels, same)
        unchanged = (plain == changed).flatten(1).all(1).float().mean()
        mirrored = (plain.flip(-1) == changed).flatten(1).all(1).float().mean()
        # flipped with chance 1/2, translated with chance 1/2, independently
        assert 0.18 < unchanged < 0.32
        assert 0.18 < mirrored < 0.32

    def test_a_benchmark_without_base_augmentation_ignores_the_flag(self):
        images = in_memory(base_augmentation=False)
        ((plain, _),) = images.batches(23, generator=generator())
        ((flagged, _),) = images.batches(23, generator=generator(), augment=True)
        assert torch.equal(plain, flagged)

    def test_jitter_changes_every_image_and_no_label(self):
        images = noise(20, base_augmentation=False)
        ((plain, labels),) = images.batches(20, generator=generator())
        ((moved, same),) = images.batches(20, generator=generator(), jitter=0.5)
        assert torch.equal(labels, same)
        assert not (plain == moved).flatten(1).all(1).any()
        parts = [x for x, _ in images.batches(10, generator=generator(), jitter=0.5)]
        assert torch.equal(torch.cat(parts), moved)

    def test_without_jitter_the_generator_draws_what_it_did(self):
        without, used = generator(), generator()
        in_memory().batches(5, generator=without)
        torch.randperm(23, generator=used)
        assert torch.equal(without.get_state(), used.get_state())

    @pytest.mark.parametrize("split", ["val", "test"])
    @pytest.mark.parametrize("change", [{"augment": True}, {"jitter": 0.5}])
    def test_validation_and_test_are_never_changed(self, split, change):
        (name,) = change
        message = f"{name}: got .*the {split} split is never augmented"
        with pytest.raises(ProRandConvError, match=message):
            in_memory(split=split).batches(5, generator=generator(), **change)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"batch_size": 0}, "batch_size: got 0"),
            ({"batch_size": 5, "augment": True}, "generator: got None"),
            ({"batch_size": 5, "start": 6}, "start: got 6, expected a batch from 0 to 5"),
            ({"batch_size": 5, "shard": (2, 2)}, r"shard: got \(2, 2\)"),
        ],
    )
    def test_wrong_arguments_are_named(self, options, message):
        with pytest.raises(ProRandConvError, match=message):
            in_memory().batches(**options)
