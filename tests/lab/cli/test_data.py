"""The commands on data: what they print, write and return."""

import re

import numpy as np
import pytest
from PIL import Image

from prorandconv.lab.data import DataError, get_benchmark
from prorandconv.lab.data.benchmarks import digits, photos
from prorandconv.lab.sheets import contact_sheet


@pytest.fixture
def small_pacs(tmp_path, write, monkeypatch):
    """PACS as if four images of each class had been published."""
    write.tree(
        tmp_path / "pacs", ("art_painting", "cartoon", "photo", "sketch"), photos.PACS_CLASSES
    )
    published = {name: {"all": (4,) * 7} for name in photos.PACS_SPELLINGS}
    monkeypatch.setattr(photos, "PACS_PUBLISHED", published)
    return tmp_path


def row(output, *cells):
    """Whether a table has a row with these first cells."""
    pattern = r"[│ ]*(?:│|  )[│ ]*".join(re.escape(cell) for cell in cells if cell)
    return re.search(rf"^[│ ]\s*{pattern}\s", output, re.MULTILINE) is not None


class TestList:
    def test_it_shows_what_is_present_where_with_counts(
        self, run, tmp_path, write, mini_cache, monkeypatch
    ):
        monkeypatch.setenv("PRORANDCONV_CACHE", str(mini_cache))
        write.idx(tmp_path / "digits", train=24, test=12)
        write.tree(tmp_path / "pacs", ["art_painting"], photos.PACS_CLASSES)
        code, out, _ = run("data", "list", "--data-root", tmp_path)
        assert code == 0
        assert row(out, "digits", "mnist", "24 train, 12 test")
        assert row(out, "digits", "svhn", "", "absent")
        assert row(out, "pacs", "art", "28 all")
        assert row(out, "digits-mini", "optdigits", "1,797 test")
        assert row(out, "pacs", "art", "28 all", "pacs/art_painting")  # seen from the data root
        assert f"cache: {mini_cache}\n" in out
        assert re.search(r"optdigits +1,797 test +cache: digits-mini-\w+/optdigits.npz", out)

    def test_the_root_comes_from_the_variable(self, run, tmp_path, mini_cache, monkeypatch):
        monkeypatch.setenv("PRORANDCONV_CACHE", str(mini_cache))
        monkeypatch.setenv("PRORANDCONV_DATA", str(tmp_path))
        assert f"data root: {tmp_path}" in run("data", "list")[1].replace("\n", "")

    def test_a_broken_file_is_told_and_the_others_listed(
        self, run, tmp_path, mini_cache, monkeypatch
    ):
        monkeypatch.setenv("PRORANDCONV_CACHE", str(mini_cache))
        (tmp_path / "digits").mkdir()
        (tmp_path / "digits" / "usps.npz").write_text("hello")
        code, out, _ = run("data", "list", "--data-root", tmp_path)
        assert code == 0
        assert "cannot be counted" in out
        assert row(out, "vlcs", "sun09")


class TestCheck:
    def test_data_in_order_is_zero(self, run, small_pacs):
        code, out, _ = run("data", "check", "pacs", "--data-root", small_pacs)
        assert code == 0
        assert row(out, "art", "all", "28", "28", "4 4 4 4 4 4 4")
        assert "all that is present is in order" in out
        assert "stratified 90/10" in out

    def test_an_absent_domain_is_told_but_no_failure(self, run, small_pacs):
        import shutil

        shutil.rmtree(small_pacs / "pacs" / "sketch")
        code, out, _ = run("data", "check", "pacs", "--data-root", small_pacs)
        assert code == 0
        assert row(out, "sketch", "", "absent")

    def test_nothing_at_all_is_a_failure(self, run, tmp_path):
        code, out, _ = run("data", "check", "pacs", "--data-root", tmp_path / "nowhere")
        assert code == 1
        assert "no domain is present in" in out
        assert "nowhere" in out

    def test_a_broken_image_is_named_and_a_failure(self, run, small_pacs):
        path = small_pacs / "pacs" / "photo" / "dog" / "pic_002.jpg"
        path.write_bytes(path.read_bytes()[:300])
        code, out, _ = run("data", "check", "pacs", "--data-root", small_pacs)
        assert code == 1
        assert str(path) in out.replace("\n", "")

    def test_a_missing_image_is_a_failure_with_the_published_count(self, run, small_pacs):
        (small_pacs / "pacs" / "photo" / "dog" / "pic_002.jpg").unlink()
        code, out, _ = run("data", "check", "pacs", "--data-root", small_pacs)
        assert code == 1
        assert "photo, all, class dog: 3 images, but 4 were published" in out

    def test_an_empty_class_folder_is_a_failure(self, run, small_pacs):
        for path in (small_pacs / "pacs" / "photo" / "dog").iterdir():
            path.unlink()
        code, out, _ = run("data", "check", "pacs", "--data-root", small_pacs)
        assert code == 1
        assert "a class folder without images" in out

    def test_images_that_are_converted_are_named(self, run, small_pacs):
        path = small_pacs / "pacs" / "photo" / "dog" / "pic_002.jpg"
        Image.open(path).convert("CMYK").save(path)
        code, out, _ = run("data", "check", "pacs", "--data-root", small_pacs)
        assert code == 0
        assert "pic_002.jpg: CMYK, converted to RGB" in out.replace("\n", "")

    def test_digits_of_a_wrong_number_are_a_failure(self, run, tmp_path, write, monkeypatch):
        images, labels = write.digits(12)
        write.npz(tmp_path / "digits" / "mnist_m.npz", x_test=images, y_test=labels)
        code, out, _ = run("data", "check", "digits", "--data-root", tmp_path)
        assert code == 1
        assert "mnist_m, test: 12 images, but 9,001 were published" in out
        monkeypatch.setattr(digits, "PUBLISHED", {"mnist_m": {"test": 12}})
        assert run("data", "check", "digits", "--data-root", tmp_path)[0] == 0

    def test_a_wrong_label_is_a_failure(self, run, tmp_path, write):
        images, labels = write.digits(12)
        write.npz(tmp_path / "digits" / "usps.npz", x_test=images, y_test=labels + 1)
        code, out, _ = run("data", "check", "digits", "--data-root", tmp_path)
        assert code == 1
        assert "out of range, the first is 10 at 9" in out

    @pytest.mark.real_data
    def test_real_digits_have_the_published_counts(self, run, real_root):
        code, out, _ = run("data", "check", "digits", "--data-root", real_root)
        assert code == 0
        for cells in (
            ("mnist", "train", "60,000", "60,000"),
            ("mnist", "test", "10,000", "10,000"),
            ("usps", "train", "7,291", "7,291"),
            ("usps", "test", "2,007", "2,007"),
            ("svhn", "test", "26,032", "26,032"),
            ("mnist_m", "test", "9,001", "9,001"),
        ):
            assert row(out, *cells), cells

    @pytest.mark.real_data
    def test_real_pacs_has_the_published_counts(self, run, real_root):
        code, out, _ = run("data", "check", "pacs", "--data-root", real_root)
        assert code == 0
        counts = {"art": "2,048", "cartoon": "2,344", "photo": "1,670", "sketch": "3,929"}
        for name, count in counts.items():
            assert row(out, name, "all", count, count)


class TestFetch:
    def test_what_cannot_be_downloaded_is_told_with_its_layout(self, run, tmp_path):
        code, out, _ = run("data", "fetch", "pacs", "--data-root", tmp_path)
        assert code == 0
        assert "https://domaingeneralization.github.io" in out
        assert "_train_kfold.txt" in out

    def test_a_failure_hides_neither_the_other_files_nor_the_addresses(
        self, run, tmp_path, monkeypatch
    ):
        asked = []

        def fail(download):
            asked.append(download.path.name)
            raise DataError.at(download.path, "could not be downloaded", "run it again")

        monkeypatch.setattr("prorandconv.lab.data.download.fetch", fail)
        code, out, _ = run("data", "fetch", "digits", "--data-root", tmp_path)
        assert code == 1
        assert len(asked) == 8
        assert "SynthDigits.zip" in out
        assert out.count("could not be downloaded") == 8


class TestShow:
    def test_a_sheet_for_each_domain_that_is_present(self, run, small_pacs, tmp_path):
        code, _, _ = run(
            "data", "show", "pacs", "--data-root", small_pacs, "--output", tmp_path / "sheets"
        )
        assert code == 0
        names = sorted(path.name for path in (tmp_path / "sheets").iterdir())
        assert names == [f"pacs-{domain}.png" for domain in ("art", "cartoon", "photo", "sketch")]

    def test_a_row_shows_its_own_class(self, tmp_path, write):
        images = np.zeros((20, 32, 32, 3), np.uint8)
        labels = np.arange(20) % 10
        images[..., 1] = (labels * 20)[:, None, None]
        write.npz(tmp_path / "digits" / "usps.npz", x_test=images, y_test=labels)
        sheet = contact_sheet(get_benchmark("digits", tmp_path).load("usps", "test"), per_class=3)
        pixels = np.asarray(sheet)
        assert sheet.size == (120 + 2 * 68, 10 * 68 + 4)
        for label in range(10):
            centre = pixels[label * 68 + 36, 120 + 32], pixels[label * 68 + 36, 120 + 68 + 32]
            assert all(colour.tolist() == [0, 20 * label, 0] for colour in centre)


class TestMake:
    def test_a_stand_in_for_syn(self, run, tmp_path):
        options = ("--train-images", 0, "--test-images", 20, "--data-root", tmp_path)
        code, out, _ = run("data", "make", "syn_rendered", *options)
        assert code == 0
        assert "syn_rendered.npz" in out
        assert len(get_benchmark("digits", tmp_path).load("syn_rendered", "test")) == 20

    def test_mnist_m_needs_photos(self, run, tmp_path):
        code, _, err = run("data", "make", "mnist_m_rebuilt", "--data-root", tmp_path)
        assert code == 2
        assert "--photos: got None, expected a folder of photos" in err
