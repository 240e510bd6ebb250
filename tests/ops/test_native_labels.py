"""The compiled kernel that moves labels, against torch's operators."""

import pytest
import torch

from prorandconv import ProRandConv, ProRandConvError
from prorandconv import displacement as composing
from prorandconv.functional import displacement, move_labels
from prorandconv.ops import library, native_labels

pytestmark = pytest.mark.skipif(library.UNAVAILABLE is not None, reason=str(library.UNAVAILABLE))

SIZES = [(1, 1), (3, 4), (9, 33), (20, 16), (17, 50), (64, 70)]
ODD = [float("inf"), float("-inf"), float("nan"), 1e9, -1e30]


@pytest.fixture
def by_torch(monkeypatch):
    """Computes with torch's operators."""

    def compute(function, *arguments, **options):
        with monkeypatch.context() as patched:
            patched.setattr(library, "UNAVAILABLE", "not now")
            return function(*arguments, **options)

    return compute


def fields(size, *, count=2, pixels=2.0, smooth=True):
    """Displacements (N, 2, H, W) of a few pixels."""
    coarse = torch.randn(count, 2, *((2, 3) if smooth else size)) * pixels
    return torch.nn.functional.interpolate(coarse, size, mode="bilinear", align_corners=True)


class TestRepetitions:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("pixels", [0.3, 2.0, 40.0])
    @pytest.mark.parametrize("smooth", [True, False])
    @pytest.mark.parametrize("border", ["zeros", "extended"])
    def test_they_lead_where_torch_leads(self, by_torch, size, pixels, smooth, border):
        torch.manual_seed(0)
        step = fields(size, count=6, pixels=pixels, smooth=smooth)
        # Where neighbours are moved far apart, rounding grows with every repetition.
        repeats = (0, 1, 2, 3, 4, 7) if smooth else (0, 1, 2, 2, 2, 2)
        found = composing._repeated(step, repeats, border)
        assert torch.equal(found[1], step[1])
        assert found[0].abs().max() == 0
        for draw, (own, times) in enumerate(zip(step, repeats, strict=True)):
            alone = composing._repeated(own[None], (times,), border)
            assert torch.equal(alone[0], found[draw]), "whatever else is in the batch"
        expected = by_torch(composing._repeated, step, repeats, border)
        close = (found - expected).abs() <= 1e-3 * (1 + expected.abs())
        # At the border, rounding decides whether a pixel has left the image.
        assert (~close).float().mean() <= (0.01 if border == "zeros" else 0)

    @pytest.mark.parametrize("value", ODD)
    def test_what_has_no_end_stays_with_its_pixel(self, value):
        step = fields((17, 50))
        step[0, 0, 8, 20] = value
        found = native_labels.repeated(step, (2, 2), zeros=True)
        reasonable = found.isfinite() & (found.abs() < 100)
        assert not reasonable[0, 0, 8, 20]
        assert reasonable[1].all()
        assert (~reasonable).sum() <= 10, "the pixel itself, and those between which it lies"

    @pytest.mark.parametrize("value", ODD[:3])
    def test_a_step_to_a_pixel_reads_none_of_its_neighbours(self, value):
        step = torch.zeros(1, 2, 17, 50)
        step[0, 1, 4, 30] = value
        found = native_labels.repeated(step, (6,), zeros=True)
        assert (~found.isfinite()).nonzero().tolist() == [[0, 1, 4, 30]]

    def test_threads_do_not_change_a_bit(self):
        step = fields((150, 130), count=1)
        assert torch.equal(*with_threads(lambda: native_labels.repeated(step, (7,), zeros=True)))
        steps = fields((90, 70), count=5)
        repeats = (3, 0, 10, 1, 2)
        assert torch.equal(
            *with_threads(lambda: native_labels.repeated(steps, repeats, zeros=False))
        )

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    @pytest.mark.parametrize("padding", ["zeros", "reflect", "replicate"])
    def test_the_displacement_of_a_draw_is_that_of_torch(self, by_torch, mode, padding):
        x = torch.randn(3, 3, 40, 56)
        augment = ProRandConv(repeats=10, mode=mode, offsets=(0.5, 0.5), padding=padding)
        params = augment.draw(x, torch.Generator().manual_seed(1))
        found = displacement(params, padding=padding)
        expected = by_torch(displacement, params, padding=padding)
        assert expected.abs().max() > 1
        assert ((found - expected).abs() > 1e-3).float().mean() < 2e-3

    @pytest.mark.parametrize("repeats", [(1,), (1, 2, 3), (1, -1)])
    def test_repeats_that_do_not_fit_are_refused(self, repeats):
        with pytest.raises(ProRandConvError, match=r"^repeats: got \[.*expected 2 numbers >= 0"):
            native_labels.repeated(fields((3, 4)), repeats, zeros=True)


def with_threads(compute):
    """What is computed with one thread and with three."""
    threads, found = torch.get_num_threads(), []
    for count in (1, 3):
        torch.set_num_threads(count)
        found.append(compute())
    torch.set_num_threads(threads)
    return found


class TestLabels:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize(
        "dtype", [torch.bool, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.int64]
    )
    def test_they_move_as_with_torch(self, by_torch, size, dtype):
        torch.manual_seed(0)
        labels = torch.randint(0, 2 if dtype == torch.bool else 99, (3, 2, *size)).to(dtype)
        params = ProRandConv(repeats=1, mode="sample").draw(torch.randn(3, 3, *size))
        field = torch.randn(3, 2, *size).mul_(3).round_() / 2  # ties, too
        field[0, 0, 0, 0], field[1, 1, -1, -1] = float("nan"), float("inf")
        found = move_labels(labels, params, displacement=field)
        assert found.dtype == dtype
        assert torch.equal(found, by_torch(move_labels, labels, params, displacement=field))

    def test_one_displacement_serves_all_maps(self):
        labels = torch.randint(0, 9, (4, 3, 30, 40))
        field = torch.randn(1, 2, 30, 40)
        found = native_labels.moved(labels, field, 255)
        alone = native_labels.moved(labels.view(12, 1, 30, 40), field.expand(12, -1, -1, -1), 255)
        assert torch.equal(found.view(12, 30, 40), alone.view(12, 30, 40))
        assert not torch.equal(found, labels)

    def test_threads_do_not_change_a_bit(self):
        labels, field = torch.randint(0, 9, (1, 5, 150, 130)), torch.randn(1, 2, 150, 130)
        found = with_threads(lambda: native_labels.moved(labels, field, -100))
        assert torch.equal(*found)
        assert found[0].eq(-100).any()

    def test_memory_that_begins_between_two_numbers_is_copied(self):
        buffer = bytearray(8 * 12 + 1)
        labels = torch.frombuffer(buffer, dtype=torch.int64, count=12, offset=1).view(1, 1, 3, 4)
        labels += torch.arange(12).view(1, 1, 3, 4)
        assert labels.data_ptr() % 8
        right = torch.stack((torch.zeros(3, 4), torch.ones(3, 4)))[None]
        assert native_labels.moved(labels, right, 99)[0, 0, 0].tolist() == [1, 2, 3, 99]


class TestWhatItDoesNotServe:
    def test_it_serves_single_precision_on_the_cpu(self):
        assert native_labels.serves(fields((3, 4)))
        assert native_labels.serves(fields((3, 4)), torch.zeros(2, 1, 3, 4, dtype=torch.uint8))

    @pytest.mark.parametrize(
        "field",
        [
            torch.zeros(1, 2, 3, 4, dtype=torch.float64),
            torch.zeros(1, 3, 2, 3, 4),
            torch.zeros(1, 2, 0, 4),
            torch.zeros(1, 2, 3, 4, device="meta"),
            torch.nn.Parameter(torch.zeros(1, 2, 3, 4)),
            torch.zeros(1, 2, 3, 4, requires_grad=True),
        ],
        ids=["double", "volumes", "nothing", "elsewhere", "a subclass", "gradients"],
    )
    def test_all_else_is_left_to_torch(self, field):
        assert not native_labels.serves(field)

    def test_gradients_flow_through_a_displacement(self):
        x = torch.randn(3, 12, 14)
        params = ProRandConv(repeats=3).draw(x)
        params.weight.requires_grad_()
        displacement(params).sum().backward()
        assert params.weight.grad.abs().sum() > 0
