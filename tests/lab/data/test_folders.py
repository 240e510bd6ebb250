"""Image folders: PACS, OfficeHome, VLCS and a user's own."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from prorandconv.lab import files
from prorandconv.lab.data import DataError, Identity, Options, get_benchmark, image_folder
from prorandconv.lab.data.benchmarks.officehome import CLASSES as OFFICEHOME
from prorandconv.lab.data.benchmarks.pacs import CLASSES as PACS
from prorandconv.lab.data.decoding import decode
from prorandconv.lab.data.folders import spelling
from prorandconv.lab.data.pixels import resize
from prorandconv.lab.data.splits import stratified_split

PACS_FOLDERS = ("art_painting", "cartoon", "photo", "sketch")


@pytest.fixture
def pacs(tmp_path, write):
    write.tree(tmp_path / "pacs", PACS_FOLDERS, PACS, count=10)
    return tmp_path


@pytest.fixture
def own(tmp_path, write):
    write.tree(tmp_path / "mine", ("day", "night"), ("cat", "dog"), count=10)
    return tmp_path / "mine"


def benchmark(name, root, **options):
    return get_benchmark(name, root, Options(workers=0, **options))


class TestSpellings:
    def test_pacs_has_the_papers_domains_in_its_order(self, pacs):
        found = benchmark("pacs", pacs)
        assert found.domains == found.present() == ("art", "cartoon", "photo", "sketch")
        assert found.load("art_painting", "test").names == found.load("art", "test").names

    def test_labels_are_those_of_the_class_folders(self, pacs):
        images = benchmark("pacs", pacs).load("photo", "test")
        assert len(images) == 70
        for name, label in zip(images.names, images.labels.tolist(), strict=True):
            assert name.split("/")[:2] == ["photo", PACS[label]]
        # the writer gives class i the green value 20 + 20 i
        ((x, y),) = images.batches(70)
        green = (x[:, 1].mean((1, 2)) * images.format.std[1] + images.format.mean[1]) * 255
        assert ((green - (20 + 20 * y)).abs() < 4).all()

    def test_officehome_as_it_is_published(self, tmp_path, write):
        published = [name.title() for name in OFFICEHOME]
        folders = ("Art", "Clipart", "Product", "Real World")
        write.tree(tmp_path / "OfficeHomeDataset_10072016", folders, published, count=2, size=8)
        found = benchmark("officehome", tmp_path)
        assert found.present() == ("art", "clipart", "product", "real_world")
        assert len(found.load("real_world", "test")) == 2 * 65 == 2 * len(found.classes)

    @pytest.mark.parametrize(
        ("folders", "classes"),
        [
            (
                ("VOC2007", "LabelMe", "Caltech101", "SUN09"),
                ("bird", "car", "chair", "dog", "person"),
            ),
            (("PASCAL", "LABELME", "CALTECH", "SUN"), ("0", "1", "2", "3", "4")),
        ],
    )
    def test_vlcs_in_its_two_spellings(self, tmp_path, write, folders, classes):
        write.tree(tmp_path / "VLCS", folders, classes, count=2)
        found = benchmark("vlcs", tmp_path)
        assert found.present() == ("voc2007", "labelme", "caltech101", "sun09")
        images = found.load("sun09", "test")
        assert images.classes == ("bird", "car", "chair", "dog", "person")
        assert images.labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]

    def test_a_users_own_folders_need_no_code(self, own):
        found = benchmark("folder", own)
        assert (found.domains, found.classes) == (("day", "night"), ("cat", "dog"))
        assert found.load("night", "test").labels.tolist() == [0] * 10 + [1] * 10

    def test_spellings_differ_in_case_and_separators_only(self):
        assert spelling("Real World") == spelling("real_world") == spelling("Real-World")
        assert spelling("art") != spelling("artpainting")


class TestSplits:
    def test_without_lists_a_tenth_of_each_class_is_validation(self, pacs):
        found = benchmark("pacs", pacs)
        train, val = found.load("art", "train"), found.load("art", "val")
        assert torch.bincount(train.labels).tolist() == [9] * 7
        assert torch.bincount(val.labels).tolist() == [1] * 7
        assert not set(train.names) & set(val.names)
        assert set(train.names) | set(val.names) == set(found.load("art", "test").names)

    def test_order_and_split_do_not_depend_on_the_listing(self, pacs, monkeypatch):
        before = {s: benchmark("pacs", pacs).load("art", s).names for s in ("train", "val", "test")}
        listed = Path.iterdir
        monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
        after = {s: benchmark("pacs", pacs).load("art", s).names for s in ("train", "val", "test")}
        assert before == after

    def test_the_split_is_the_same_under_another_root_and_spelling(self, pacs, tmp_path_factory):
        other = tmp_path_factory.mktemp("elsewhere")
        shutil.copytree(pacs / "pacs", other / "PACS")
        (other / "PACS" / "art_painting").rename(other / "PACS" / "Art")
        prints = [benchmark("pacs", root).load("art", "val").fingerprint for root in (pacs, other)]
        assert prints[0] == prints[1]
        assert prints[0] != benchmark("pacs", pacs).load("art", "train").fingerprint

    def test_the_split_is_what_it_always_was(self):
        names = [f"photo/dog/pic_{i:03}.jpg" for i in range(30)]
        _, val = stratified_split(names, [0] * 20 + [1] * 10)
        assert val == [15, 17, 22]

    @pytest.mark.parametrize("place", ["", "pacs_label"])
    def test_published_lists_are_followed(self, pacs, place):
        folder = pacs / "pacs" / place
        folder.mkdir(exist_ok=True)
        lists = {"train": range(6), "crossval": range(6, 10)}
        for part, numbers in lists.items():
            lines = [
                f"art_painting/{name}/pic_{n:03}.jpg {label}"
                for label, name in enumerate(PACS, 1)
                for n in numbers
            ]
            (folder / f"art_painting_{part}_kfold.txt").write_text("\n".join(lines))
        found = benchmark("pacs", pacs)
        train, val = found.load("art", "train"), found.load("art", "val")
        assert (len(train), len(val)) == (42, 28)
        assert train.names[:2] == ("art/dog/pic_000.jpg", "art/dog/pic_001.jpg")
        assert len(found.load("cartoon", "train")) == 63

    @pytest.mark.parametrize(
        ("train", "val", "message"),
        [
            ("art_painting/dog/pic_099.jpg 1", "", "lists dog/pic_099.jpg, which is absent"),
            ("art_painting/dog/pic_001.jpg 2", "", "the label 2; expected 1"),
            ("art_painting/dog/pic_001.jpg", "", "line 1 is"),
            (
                "art_painting/dog/pic_001.jpg 1",
                "art_painting/dog/pic_001.jpg 1",
                "training list too",
            ),
            ("art_painting/dog/pic_001.jpg 1", None, "art_painting_crossval_kfold.txt: absent"),
        ],
    )
    def test_wrong_lists_are_named(self, pacs, train, val, message):
        (pacs / "pacs" / "art_painting_train_kfold.txt").write_text(train)
        if val is not None:
            (pacs / "pacs" / "art_painting_crossval_kfold.txt").write_text(val)
        with pytest.raises(DataError, match=message):
            benchmark("pacs", pacs).load("art", "train")


def replace_pixels(path):
    """Another image of the same name, size and time of change."""
    before = path.stat()
    pixels = np.asarray(Image.open(path)).copy()
    pixels[..., 1] ^= 255
    Image.fromarray(pixels).save(path)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class TestContent:
    @pytest.fixture
    def own(self, tmp_path, write):
        # uncompressed, so that other pixels take as many bytes
        write.tree(tmp_path / "mine", ("day", "night"), ("cat", "dog"), count=10, suffix=".bmp")
        return tmp_path / "mine"

    @pytest.mark.parametrize("split", ["train", "val", "test"])
    def test_replaced_pixels_change_the_fingerprint_of_their_split(self, own, split):
        before = benchmark("folder", own).load("day", split)
        assert benchmark("folder", own).load("day", split).fingerprint == before.fingerprint
        replace_pixels(before.paths[0])
        assert benchmark("folder", own).load("day", split).fingerprint != before.fingerprint

    def test_replaced_pixels_of_one_domain_leave_the_others_fingerprint(self, own):
        before = benchmark("folder", own).load("night", "test").fingerprint
        replace_pixels(own / "day" / "cat" / "pic_003.bmp")
        assert benchmark("folder", own).load("night", "test").fingerprint == before

    def test_the_fingerprint_of_joined_domains_covers_their_content(self, own):
        before = benchmark("folder", own).load(["day", "night"], "train").fingerprint
        for path in (own / "night").rglob("*.bmp"):
            replace_pixels(path)
        assert benchmark("folder", own).load(["day", "night"], "train").fingerprint != before

    def test_identity_of_a_users_folder_is_its_domains_classes_and_content(self, own, tmp_path):
        before = benchmark("folder", own).identity()
        assert (before.domains, before.classes) == (("day", "night"), ("cat", "dog"))
        shutil.copytree(own, tmp_path / "copy")
        assert benchmark("folder", tmp_path / "copy").identity() == before
        replace_pixels(own / "night" / "dog" / "pic_003.bmp")
        assert benchmark("folder", own).identity().content != before.content

    def test_identity_of_a_users_folder_tells_classes_apart(self, own):
        before = benchmark("folder", own).identity()
        for domain in ("day", "night"):
            (own / domain / "cat").rename(own / domain / "tiger")
        after = benchmark("folder", own).identity()
        assert after.classes == ("dog", "tiger")
        assert after.content != before.content

    def test_identity_of_a_published_benchmark_needs_no_data(self, tmp_path):
        identity = benchmark("pacs", tmp_path / "nowhere").identity()
        assert identity == Identity(("art", "cartoon", "photo", "sketch"), PACS, None)


class TestBadInput:
    def test_a_missing_root_is_named(self, tmp_path):
        with pytest.raises(DataError, match="nowhere: no such folder; expected <domain>"):
            benchmark("folder", tmp_path / "nowhere")
        with pytest.raises(DataError, match=r"'photo' is absent: looked for .*nowhere"):
            benchmark("pacs", tmp_path / "nowhere").load("photo", "test")

    def test_a_missing_domain_is_named_and_left_out_of_what_is_present(self, pacs):
        shutil.rmtree(pacs / "pacs" / "sketch")
        found = benchmark("pacs", pacs)
        assert found.present() == ("art", "cartoon", "photo")
        assert found.missing() == ("sketch",)
        with pytest.raises(DataError, match="domain 'sketch' is absent"):
            found.load("sketch", "test")

    def test_an_empty_class_folder_is_named(self, pacs):
        for image in (pacs / "pacs" / "photo" / "horse").iterdir():
            image.unlink()
        with pytest.raises(DataError, match="photo/horse: a class folder without images; fill"):
            benchmark("pacs", pacs).load("photo", "test")

    def test_a_class_missing_in_one_domain_is_named(self, pacs):
        shutil.rmtree(pacs / "pacs" / "photo" / "horse")
        with pytest.raises(DataError, match="photo: no folder for class 'horse'; every domain"):
            benchmark("pacs", pacs).load("photo", "test")

    def test_a_class_in_one_domain_only_is_named(self, own):
        shutil.copytree(own / "day" / "cat", own / "day" / "cow")
        with pytest.raises(DataError, match="day/cow: class 'cow' is in domain 'day' but not in"):
            benchmark("folder", own)

    def test_an_unknown_class_folder_is_named_with_the_nearest(self, pacs):
        (pacs / "pacs" / "photo" / "horse").rename(pacs / "pacs" / "photo" / "horses")
        with pytest.raises(DataError, match=r"photo/horses: not one of .*did you mean 'horse'"):
            benchmark("pacs", pacs).load("photo", "test")

    def test_two_folders_of_one_class_are_named(self, tmp_path, write):
        write.tree(tmp_path / "vlcs", ["SUN09"], ("bird", "car", "chair", "dog", "person", "0"))
        with pytest.raises(DataError, match="second folder of class 'bird'"):
            benchmark("vlcs", tmp_path).load("sun09", "test")

    @pytest.mark.parametrize("name", ["notes.txt", "image"])
    def test_a_file_that_is_no_image_by_its_name_is_named(self, own, name):
        (own / "day" / "cat" / name).write_text("hello")
        with pytest.raises(DataError, match=f"cat/{name}: not an image by its ending"):
            benchmark("folder", own).load("day", "test")

    def test_files_of_the_system_are_passed_over(self, own):
        for name in (".DS_Store", "._pic_000.jpg", "Thumbs.db"):
            (own / "day" / "cat" / name).write_text("hello")
        assert len(benchmark("folder", own).load("day", "test")) == 20

    def test_a_folder_among_images_is_named(self, own):
        (own / "day" / "cat" / "more").mkdir()
        with pytest.raises(DataError, match="cat/more: a folder among images"):
            benchmark("folder", own).load("day", "test")

    @pytest.mark.parametrize("count", [0, 1])
    def test_fewer_than_two_domains_are_refused(self, tmp_path, write, count):
        write.tree(tmp_path, ["day"][:count], ("cat", "dog"))
        with pytest.raises(DataError, match=rf"holds {count} folder\(s\); expected two domains"):
            benchmark("folder", tmp_path)

    @pytest.mark.parametrize("workers", [0, 2])
    def test_broken_images_are_named_before_training(self, own, workers):
        for name in ("day/cat/pic_003.jpg", "day/dog/pic_007.jpg"):
            (own / name).write_bytes((own / name).read_bytes()[:300])
        (own / "day" / "dog" / "pic_001.jpg").write_text("hello")
        found = get_benchmark("folder", own, Options(workers=workers))
        with pytest.raises(DataError, match=r"day: 3 broken image") as raised:
            found.load("day", "train")
        for name in ("cat/pic_003.jpg", "dog/pic_007.jpg", "dog/pic_001.jpg"):
            assert name in str(raised.value)
        assert len(found.load("night", "test")) == 20

    @pytest.mark.parametrize("options", [{"cache_bytes": -1}, {"workers": -1}])
    def test_wrong_options_are_named(self, options):
        with pytest.raises(ValueError, match=f"{next(iter(options))}: got -1"):
            Options(**options)


class TestDecodingOnce:
    def test_intact_files_are_not_decoded_again(self, own, monkeypatch):
        benchmark("folder", own).load("day", "test")
        monkeypatch.setattr(image_folder, "inspect", None)
        benchmark("folder", own).load("day", "val")

    def test_a_changed_file_is_looked_at_again(self, own):
        benchmark("folder", own).load("day", "test")
        changed = own / "day" / "cat" / "pic_003.jpg"
        changed.write_bytes(changed.read_bytes()[:300])
        with pytest.raises(DataError, match="pic_003"):
            benchmark("folder", own).load("day", "test")

    def test_only_changed_files_are_read_again(self, own, monkeypatch):
        benchmark("folder", own).load("day", "test")
        changed = own / "day" / "cat" / "pic_003.jpg"
        Image.new("RGB", (40, 40)).save(changed)
        read = []
        inspect = image_folder.inspect
        monkeypatch.setattr(
            image_folder,
            "inspect",
            lambda paths, **rest: read.extend(paths) or inspect(paths, **rest),
        )
        benchmark("folder", own).load("day", "test")
        assert read == [changed]

    @pytest.mark.parametrize("content", ["{", "3"])
    def test_a_damaged_record_of_intact_files_is_made_anew(self, own, content):
        before = benchmark("folder", own).load("day", "test").fingerprint
        (record,) = (files.cache_folder() / "intact").iterdir()
        record.write_text(content)
        assert benchmark("folder", own).load("day", "test").fingerprint == before

    def test_broken_files_leave_no_mark_of_having_been_intact(self, own):
        broken = own / "day" / "cat" / "pic_003.jpg"
        broken.write_bytes(broken.read_bytes()[:300])
        for _ in range(2):
            with pytest.raises(DataError, match="pic_003"):
                benchmark("folder", own).load("day", "test")

    def test_a_second_epoch_reads_no_file(self, own, monkeypatch):
        images = benchmark("folder", own).load("day", "test")
        first = list(images.batches(8))
        monkeypatch.setattr(image_folder, "decode", None)
        second = list(images.batches(8))
        assert all(torch.equal(a[0], b[0]) for a, b in zip(first, second, strict=True))

    @pytest.mark.parametrize("workers", [0, 2])
    def test_the_cache_keeps_to_its_limit_and_changes_no_pixel(self, own, workers):
        image = 3 * 224 * 224
        unlimited = benchmark("folder", own).load("day", "test")
        limited = get_benchmark(
            "folder", own, Options(cache_bytes=5 * image + 1, workers=workers)
        ).load("day", "test")
        for _ in range(2):
            pairs = zip(limited.batches(8), unlimited.batches(8), strict=True)
            assert all(torch.equal(a[0], b[0]) for a, b in pairs)
        assert limited.cache.used == 5 * image
        assert len(limited.cache.images) == 5
        kept = sum(i.untyped_storage().nbytes() for i in limited.cache.images.values())
        assert kept == limited.cache.used

    def test_splits_of_a_domain_share_the_cache(self, own):
        found = benchmark("folder", own)
        list(found.load("day", "test").batches(8))
        used = found.load("day", "train").cache.used
        list(found.load("day", "train").batches(8))
        assert found.load("day", "train").cache.used == used

    def test_grey_files_take_a_third_and_arrive_as_three_channels(self, tmp_path, write):
        write.tree(tmp_path, ("day", "night"), ("cat", "dog"))
        for path in (tmp_path / "day").rglob("*.jpg"):
            Image.open(path).convert("L").save(path)
        images = benchmark("folder", tmp_path).load("day", "test")
        ((x, _),) = images.batches(8)
        assert x.shape == (8, 3, 224, 224)
        assert images.cache.used == 8 * 224 * 224

    @pytest.mark.parametrize("workers", [0, 2])
    def test_grey_and_colour_files_share_a_batch(self, own, workers):
        first = own / "day" / "cat" / "pic_000.jpg"
        Image.open(first).convert("L").save(first)
        images = get_benchmark("folder", own, Options(workers=workers)).load("day", "test")
        (pixels,) = images.stored([torch.arange(20)])
        assert pixels.shape == (20, 3, 224, 224)
        assert torch.equal(pixels[0, 0], pixels[0, 2])
        alone = decode(own / "day" / "dog" / "pic_003.jpg").pixels
        assert torch.equal(pixels[13], resize(alone[None], 224)[0])

    def test_files_of_an_unusual_kind_are_told_of_when_first_loaded(self, own):
        path = own / "day" / "cat" / "pic_002.jpg"
        Image.open(path).convert("CMYK").save(path)
        with pytest.warns(UserWarning, match=r"day: 1 image\(s\) .*pic_002.jpg: CMYK, converted"):
            benchmark("folder", own).load("day", "test")

    def test_a_file_that_vanishes_meanwhile_is_named(self, own):
        images = benchmark("folder", own).load("day", "test")
        os.unlink(own / "day" / "cat" / "pic_004.jpg")
        with pytest.raises(DataError, match="pic_004"):
            list(images.batches(8))


@pytest.mark.real_data
def test_the_split_of_real_pacs_is_what_it_always_was(real_root):
    found = get_benchmark("pacs", real_root)
    files = found.domain("photo").files()
    train, val, _ = found.domain("photo").parted(files)
    assert (len(train), len(val)) == (1503, 167)
