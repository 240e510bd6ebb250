"""Folders of images and masks: what fits together, and what does not."""

import numpy as np
import pytest
import torch
from PIL import Image

from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.splits import block_split
from prorandconv.lab.errors import DataError

CLASSES = ("sky", "road", "car")


def write_scene(root, name, *, size=(24, 32), seed=0):
    random = np.random.default_rng(seed)
    for folder, shape, high in (("images", (*size, 3), 256), ("masks", size, 3)):
        (root / folder).mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, high, shape, np.uint8)
        Image.fromarray(pixels).save(root / folder / f"{name}.png")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "classes.txt").write_text("\n".join(CLASSES) + "\n")
    for domain in ("one", "two"):
        for number in range(6):
            write_scene(tmp_path / domain, f"{number:03}", seed=number)
    return tmp_path


def test_a_folder_of_scenes_is_a_benchmark_for_segmentation(root):
    benchmark = get_benchmark("segfolder", root)
    assert benchmark.task == "segmentation"
    assert benchmark.domains == ("one", "two")
    assert benchmark.classes == CLASSES
    assert benchmark.domain("one").counts() == {"all": (6,)}


def test_image_and_mask_are_read_together(root):
    scenes = get_benchmark("segfolder", root).load("one", "test")
    images, labels = list(scenes.batches(1))[3]
    mask = np.array(Image.open(root / "one" / "masks" / "003.png"))
    assert images.shape == (1, 3, 24, 32)
    assert np.array_equal(labels[0].numpy(), mask)


def test_scenes_are_the_same_whether_they_were_cached(root):
    get_benchmark("segfolder", root).load(("one", "two"), "test")
    scenes = get_benchmark("segfolder", root).load(("one", "two"), "test")
    assert not scenes.store.options.cache.images
    generators = [torch.Generator().manual_seed(0) for _ in range(2)]
    first, second = ([labels for _, labels in scenes.batches(1)] for _ in generators)
    assert len(scenes.store.options.cache.images) == 12
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_changed_mask_changes_the_identity(root):
    before = get_benchmark("segfolder", root).content()
    write_scene(root / "two", "000", seed=99)
    assert get_benchmark("segfolder", root).content() != before


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("masks", r"images/002.png: has no mask in .*two/masks.*add"),
        ("images", r"masks/002.png: has no image in .*two/images.*add"),
    ],
)
def test_a_missing_partner_is_named(root, folder, message):
    (root / "two" / folder / "002.png").unlink()
    with pytest.raises(DataError, match=message):
        get_benchmark("segfolder", root).load("two", "test")


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((24, 30), np.uint8), r"masks/002.png: is 24 × 30 .*images/002.png is 24 × 32"),
        (np.full((24, 32), 3, np.uint8), r"masks/002.png: holds the label 3"),
        (np.zeros((24, 32, 3), np.uint8), r"masks/002.png: a colour picture"),
    ],
)
def test_a_mask_that_does_not_fit_is_named_before_training_and_by_the_check(root, pixels, message):
    Image.fromarray(pixels).save(root / "two" / "masks" / "002.png")
    benchmark = get_benchmark("segfolder", root)
    with pytest.raises(DataError, match=message):
        benchmark.load("two", "test")
    (problem,) = benchmark.domain("two").verify().problems
    with pytest.raises(DataError, match=message):
        raise DataError(problem)


def test_another_list_of_classes_means_another_look_at_the_masks(root):
    get_benchmark("segfolder", root).load("one", "test")
    (root / "classes.txt").write_text("sky\nroad\n")
    with pytest.raises(DataError, match="label 2"):
        get_benchmark("segfolder", root).load("one", "test")


@pytest.mark.parametrize(
    ("text", "message"),
    [("sky\n", r"names 1 class"), ("sky\nroad\nsky\n", r"names 'sky' twice")],
)
def test_a_wrong_list_of_classes_is_refused(root, text, message):
    (root / "classes.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        get_benchmark("segfolder", root)


def test_a_missing_list_of_classes_is_named(root):
    (root / "classes.txt").unlink()
    with pytest.raises(DataError, match=r"classes.txt: no such file"):
        get_benchmark("segfolder", root)


def test_blocks_keep_neighbours_together():
    names = [f"{number:04}" for number in range(340)]
    training, validation = block_split(names)
    assert sorted(training + validation) == list(range(340))
    assert len(validation) == 34
    starts = [i for i in validation if i - 1 not in validation]
    assert len(starts) <= 2
    assert all({*range(start, start + 17)} <= set(validation) for start in starts)


def test_the_blocks_do_not_depend_on_the_order_of_listing():
    names = [f"{number:04}" for number in range(50)]
    (_, one), (_, other) = block_split(names), block_split(names[::-1])
    assert [names[i] for i in one] == [names[::-1][i] for i in other]


def test_the_commands_show_and_check_masks(root, tmp_path, run):
    code, printed, _ = run("data", "check", "segfolder", "--data-root", root)
    assert (code, "all that is present is in order" in printed) == (0, True)
    sheets = tmp_path / "sheets"
    code, _, _ = run("data", "show", "segfolder", "--data-root", root, "--output", sheets)
    assert code == 0
    assert {path.name for path in sheets.iterdir()} == {"segfolder-one.png", "segfolder-two.png"}
    (root / "one" / "masks" / "001.png").unlink()
    code, printed, _ = run("data", "check", "segfolder", "--data-root", root)
    assert code == 1
    assert "has no mask" in printed


@pytest.fixture
def binary(tmp_path):
    """Masks as most tools write them: background 0, foreground 255."""
    (tmp_path / "classes.txt").write_text("background\nvessel\n")
    for domain in ("one", "two"):
        for number in range(4):
            write_scene(tmp_path / domain, f"{number}", seed=number)
            path = tmp_path / domain / "masks" / f"{number}.png"
            mask = np.asarray(Image.open(path))
            Image.fromarray((mask > 0).astype(np.uint8) * 255).save(path)
    return tmp_path


LIKELY = r"no pixel of class 'vessel' in any mask, only 0 and 255.*save the foreground as 1"


@pytest.mark.parametrize("again", [False, True])
def test_binary_masks_of_0_and_255_are_not_trained_on(binary, again):
    if again:  # the second time, no mask is read
        get_benchmark("segfolder", binary).load("one", "test")
    with pytest.raises(DataError, match=LIKELY):
        get_benchmark("segfolder", binary).load("one", "train")


def test_check_lists_the_pixels_of_each_class_and_names_one_that_never_occurs(binary, run):
    code, out, _ = run("data", "check", "segfolder", "--data-root", binary)
    assert code == 1
    masks = [np.asarray(Image.open(path)) for path in (binary / "one" / "masks").iterdir()]
    share = np.mean(np.stack(masks) == 0)
    assert (
        f"one: pixels: background {share:.2%}, vessel 0.00%, without a class {1 - share:.2%}"
        in out.replace("\n", "")
    )
    assert out.replace("\n", "").count("save the foreground as 1 instead of 255") == 2
    assert "published" not in out


def test_a_class_may_be_missing_from_a_target_but_not_from_all_sources(root):
    for path in (root / "one" / "masks").iterdir():
        Image.fromarray(np.minimum(np.asarray(Image.open(path)), 1)).save(path)
    benchmark = get_benchmark("segfolder", root)
    assert len(benchmark.load("one", "test")) == 6
    assert len(benchmark.load(["one", "two"], "train")) == 10
    with pytest.raises(DataError, match="no pixel of class 'car' in any mask; correct the masks"):
        benchmark.load("one", "train")
