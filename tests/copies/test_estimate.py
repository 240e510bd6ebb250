"""How much room copies will take, against what they take."""

from prorandconv.copies.folder import Job, estimate, free_bytes, make_copies
from prorandconv.copies.manifest import NAME
from prorandconv.copies.settings import Settings
from prorandconv.copies.tree import pictures_in


def test_it_is_near_what_is_written(photos, tmp_path):
    job = Job(photos, tmp_path / "out", None, Settings(copies=6))
    tree = job.tree()
    expected = estimate(tree.pictures, job.settings)
    make_copies(job, tree, 1)
    manifest = (job.target / NAME).stat().st_size
    files = list(job.target.rglob("*.png"))
    assert (expected.tried, expected.files) == (4, len(files)) == (4, 24)
    assert expected.file_bytes == 24 * 4096  # each is smaller than a block of the disk
    assert abs(expected.manifest_bytes - manifest) < 0.1 * manifest


def test_pictures_that_cannot_be_read_do_not_count(photos):
    (photos / "cats" / "a.png").write_bytes(b"")
    found = estimate(pictures_in(photos).pictures, Settings())
    assert (found.tried, found.files) == (3, 16)


def test_nothing_to_read_is_no_estimate(photos):
    for path in photos.rglob("*.*"):
        path.write_bytes(b"")
    found = estimate(pictures_in(photos).pictures, Settings())
    assert (found.tried, found.total_bytes) == (0, 0)


def test_free_room_is_that_of_the_nearest_folder_that_is_there(tmp_path):
    assert free_bytes(tmp_path / "not" / "yet") > 0
