"""What is the same for all benchmarks."""

import shutil

from prorandconv.lab.data.benchmarks.photos import PACS_CLASSES as PACS
from prorandconv.lab.run.values import DataIdentity


def test_identity_of_a_users_folder_is_its_domains_classes_and_content(
    open_benchmark, replace_pixels, uncompressed, tmp_path
):
    before = DataIdentity.of(open_benchmark("folder", uncompressed))
    assert (before.domains, before.classes) == (("day", "night"), ("cat", "dog"))
    shutil.copytree(uncompressed, tmp_path / "copy")
    assert DataIdentity.of(open_benchmark("folder", tmp_path / "copy")) == before
    replace_pixels(uncompressed / "night" / "dog" / "pic_003.bmp")
    assert open_benchmark("folder", uncompressed).content() != before.content


def test_identity_of_a_users_folder_tells_classes_apart(open_benchmark, own):
    before = DataIdentity.of(open_benchmark("folder", own))
    for domain in ("day", "night"):
        (own / domain / "cat").rename(own / domain / "tiger")
    after = DataIdentity.of(open_benchmark("folder", own))
    assert after.classes == ("dog", "tiger")
    assert after.content != before.content


def test_identity_of_a_published_benchmark_needs_no_data(open_benchmark, tmp_path):
    identity = DataIdentity.of(open_benchmark("pacs", tmp_path / "nowhere"))
    assert identity.domains == ("art", "cartoon", "photo", "sketch")
    assert (identity.classes, identity.content) == (PACS, None)
