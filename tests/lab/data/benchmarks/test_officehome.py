"""OfficeHome by its names."""

from prorandconv.lab.data.benchmarks.photos import OFFICEHOME_CLASSES as OFFICEHOME


def test_officehome_as_it_is_published(open_benchmark, tmp_path, write):
    published = [name.title() for name in OFFICEHOME]
    folders = ("Art", "Clipart", "Product", "Real World")
    write.tree(tmp_path / "OfficeHomeDataset_10072016", folders, published, count=2, size=8)
    found = open_benchmark("officehome", tmp_path)
    assert found.present() == ("art", "clipart", "product", "real_world")
    assert len(found.load("real_world", "test")) == 2 * 65 == 2 * len(found.classes)
