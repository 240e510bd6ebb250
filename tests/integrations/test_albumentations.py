"""albumentations' pipelines: numpy in and out, masks, its own random state, replays."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import prorandconv as prc

A = pytest.importorskip("albumentations", reason="pip install 'prorandconv[albumentations]'")

from prorandconv.integrations.albumentations import RandomProRandConv  # noqa: E402

NUMBERS = np.random.default_rng(0)
IMAGE = NUMBERS.integers(0, 256, (40, 56, 3), dtype=np.uint8)
MASK = NUMBERS.integers(0, 250, (40, 56))
WARPING = {"labels": "warp", "repeats": 8, "offsets": (0.5, 0.5)}


def test_bytes_are_augmented_as_the_library_augments_their_normalised_image():
    result = RandomProRandConv(repeats=3)
    image = result(image=IMAGE)["image"]
    x = torch.from_numpy(IMAGE).permute(2, 0, 1) / 127.5 - 1
    generator = torch.Generator().manual_seed(result.get_applied_params()["draw_seed"])
    expected = (prc.ProRandConv(repeats=3)(x, generator=generator) + 1) * 127.5
    assert image.dtype == np.uint8
    assert np.abs(image - expected.permute(1, 2, 0).numpy()).max() <= 0.51


@pytest.mark.parametrize("shape", [(40, 56), (40, 56, 1), (40, 56, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_image_keeps_shape_dtype_and_range(shape, dtype):
    image = np.resize(IMAGE, shape).astype(dtype) / (255 if dtype is np.float32 else 1)
    result = RandomProRandConv(repeats=3)(image=image.astype(dtype))["image"]
    assert (result.shape, result.dtype) == (shape, dtype)
    assert 0 <= result.min() < result.max() <= (1 if dtype is np.float32 else 255)
    assert not np.array_equal(result, image)


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int32, np.int64])
def test_masks_warp_as_the_library_warps_labels(kind):
    transform, mask = RandomProRandConv(**WARPING), (MASK % 2 if kind is np.bool_ else MASK)
    mask = mask.astype(kind)
    moved = transform(image=IMAGE, mask=mask)["mask"]
    generator = torch.Generator().manual_seed(transform.get_applied_params()["draw_seed"])
    draw = prc.ProRandConv(**WARPING).draw(torch.zeros(3, 40, 56), generator)
    assert moved.dtype == kind
    assert np.array_equal(moved, prc.functional.warp_labels(torch.from_numpy(mask), draw).numpy())
    assert not np.array_equal(moved, mask)


def test_channels_and_lists_of_masks_move_alike():
    stacked = np.stack([MASK, MASK], -1)
    result = RandomProRandConv(**WARPING)(image=IMAGE, mask=stacked, masks=[MASK, MASK])
    assert np.array_equal(result["mask"][..., 0], result["mask"][..., 1])
    assert np.array_equal(result["masks"][1], result["mask"][..., 0])


def test_labels_stay_unless_they_shall_warp():
    boxes = A.BboxParams("pascal_voc", label_fields=["kind"])
    both = A.Compose([RandomProRandConv()], bbox_params=boxes, keypoint_params={"format": "xy"})
    result = both(image=IMAGE, mask=MASK, bboxes=[[3, 4, 20, 30]], kind=[1], keypoints=[(5, 6)])
    assert np.array_equal(result["mask"], MASK)
    assert np.allclose(result["bboxes"], [[3, 4, 20, 30]])
    assert np.allclose(result["keypoints"], [(5, 6)])


@pytest.mark.parametrize("label", ["bboxes", "keypoints"])
def test_what_cannot_warp_raises_an_error_where_labels_warp(label):
    given = {"bboxes": np.array([[0.1, 0.1, 0.2, 0.2]]), "keypoints": np.array([[5.0, 6.0]])}
    with pytest.raises(prc.ProRandConvError, match="labels: got 'warp'"):
        RandomProRandConv(**WARPING)(image=IMAGE, **{label: given[label]})


def test_random_state_of_the_pipeline_decides():
    torch.manual_seed(1)
    first, second, other = (A.Compose([RandomProRandConv()], seed=seed) for seed in (5, 5, 6))
    images = [first(image=IMAGE)["image"] for _ in range(2)]
    assert not np.array_equal(*images)
    torch.manual_seed(2)
    assert np.array_equal([second(image=IMAGE)["image"] for _ in range(2)], images)
    assert not np.array_equal(other(image=IMAGE)["image"], images[0])


def test_p_leaves_some_images_as_they_are():
    half = A.Compose([RandomProRandConv(p=0.5)], seed=0)
    changed = [not np.array_equal(half(image=IMAGE)["image"], IMAGE) for _ in range(20)]
    assert 3 < sum(changed) < 17


def test_replay_makes_image_and_mask_again_from_plain_values():
    result = A.ReplayCompose([RandomProRandConv(**WARPING)])(image=IMAGE, mask=MASK)
    stored = json.loads(json.dumps(result["replay"]))
    again = A.ReplayCompose.replay(stored, image=IMAGE, mask=MASK)
    assert np.array_equal(again["image"], result["image"])
    assert np.array_equal(again["mask"], result["mask"])


@pytest.mark.filterwarnings("error")
def test_pipeline_is_made_again_from_pickle_and_dictionary():
    both = A.Compose([RandomProRandConv(p=0.7, max_repeats=3)], seed=5)
    copied = pickle.loads(pickle.dumps(both))
    restored = A.from_dict(A.to_dict(both))
    assert repr(restored[0]) == repr(both[0]) == "RandomProRandConv(p=0.7, max_repeats=3)"
    assert np.array_equal(copied(image=IMAGE)["image"], both(image=IMAGE)["image"])


def test_normalised_image_raises_an_error():
    with pytest.raises(
        prc.ProRandConvError, match=r"image: got 'float32 from -.* before Normalize"
    ):
        A.Compose([A.Normalize(), RandomProRandConv()])(image=IMAGE)


def test_options_of_batches_raise_an_error():
    with pytest.raises(prc.ProRandConvError, match="mode: got 'sample'"):
        RandomProRandConv(mode="sample")


class Pictures(Dataset):
    def __init__(self):
        self.transform = A.Compose([RandomProRandConv()])

    def __len__(self):
        return 4

    def __getitem__(self, n):
        return self.transform(image=IMAGE[:16, :16])["image"].astype(int).sum()


@pytest.fixture
def new_draws():
    """The function of the page that starts a worker."""
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    (block,) = re.findall(r"```python\n([^`]*def new_draws[^`]*)```", page)
    exec(block, space := {})
    return space["new_draws"]


def test_workers_and_epochs_have_draws_of_their_own_with_the_recipe_of_the_page(new_draws):
    loader = DataLoader(Pictures(), num_workers=2, worker_init_fn=new_draws)
    assert len({int(number) for _ in range(2) for number in loader}) == 8
