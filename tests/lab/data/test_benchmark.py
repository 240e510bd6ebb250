"""What is the same for all benchmarks."""

import shutil

from prorandconv.lab.data import Identity
from prorandconv.lab.data.benchmarks.pacs import CLASSES as PACS


def test_identity_of_a_users_folder_is_its_domains_classes_and_content(
    open_benchmark, replace_pixels, uncompressed, tmp_path
):
    before = open_benchmark("folder", uncompressed).identity()
    assert (before.domains, before.classes) == (("day", "night"), ("cat", "dog"))
    shutil.copytree(uncompressed, tmp_path / "copy")
    assert open_benchmark("folder", tmp_path / "copy").identity() == before
    replace_pixels(uncompressed / "night" / "dog" / "pic_003.bmp")
    assert open_benchmark("folder", uncompressed).identity().content != before.content


def test_identity_of_a_users_folder_tells_classes_apart(open_benchmark, own):
    before = open_benchmark("folder", own).identity()
    for domain in ("day", "night"):
        (own / domain / "cat").rename(own / domain / "tiger")
    after = open_benchmark("folder", own).identity()
    assert after.classes == ("dog", "tiger")
    assert after.content != before.content


def test_identity_of_a_published_benchmark_needs_no_data(open_benchmark, tmp_path):
    identity = open_benchmark("pacs", tmp_path / "nowhere").identity()
    assert identity == Identity(("art", "cartoon", "photo", "sketch"), PACS, None)
