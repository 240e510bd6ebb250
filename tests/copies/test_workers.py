"""What becomes of one picture, and of processes that die."""

from concurrent.futures.process import BrokenProcessPool

import pytest
import torch
from PIL import Image

from prorandconv.copies import folder
from prorandconv.copies.settings import Settings
from prorandconv.copies.tree import Picture, pictures_in
from prorandconv.lab.errors import RunError

from .conftest import noise


def test_an_option_that_does_not_fit_is_told_with_the_picture(tmp_path):
    Image.fromarray(noise()).save(tmp_path / "a.png")
    Image.fromarray(noise(channels=1)).save(tmp_path / "mask.png")
    picture = Picture("a.png", tmp_path / "a.png", "a", (tmp_path / "mask.png", "a.png"))
    made = folder.make(picture, Settings(labels="move", ignore_index=300), tmp_path / "out")
    assert made.problem.startswith(f"{tmp_path / 'a.png'}: ignore_index: got 300")
    assert made.entries == []


def test_this_process_has_its_threads_back_afterwards(photos, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    pictures = pictures_in(photos).pictures
    threads = [
        torch.get_num_threads() for _ in folder.all_made(pictures, Settings(), tmp_path / "out", 1)
    ]
    after = torch.get_num_threads()
    torch.set_num_threads(before)
    assert (set(threads), after) == ({1}, 2)


def test_a_process_that_was_killed_is_a_sentence(photos, tmp_path, monkeypatch):
    class Pool:
        def __init__(self, *arguments):
            pass

        def submit(self, *arguments):
            raise BrokenProcessPool

        def shutdown(self, **options):
            pass

    monkeypatch.setattr(folder, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(folder, "FEW", 0)
    with pytest.raises(RunError, match=r"a worker process was killed.*resume"):
        list(folder.all_made(pictures_in(photos).pictures, Settings(), tmp_path / "out", 2))
