import torch

from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.study.estimate import Estimator, Pace

PACE = Pace(training=1.0, inference=0.0)


def test_what_is_left_of_a_begun_run_is_estimated_past_a_damaged_line(mini, tmp_path, monkeypatch):
    monkeypatch.setattr(Estimator, "_pace", lambda self, config: PACE)
    config = RunConfig.paper("digits-mini", method="erm", epochs=4, target_every=0)
    estimator = Estimator(tmp_path, torch.device("cpu"), 1)
    (whole,) = estimator.seconds([config])
    home = config.directory(tmp_path)
    home.mkdir(parents=True)
    (home / "metrics.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n{"epo')
    assert estimator.seconds([config]) == [whole / 4]


def test_whole_scenes_count_by_their_pixels_not_as_crops(small_segmentation, tmp_path, monkeypatch):
    pace = Pace(training=0.0, inference=1.0)
    monkeypatch.setattr(Estimator, "_pace", lambda self, config: pace)
    configs = [small_segmentation(image_size=size) for size in (64, 32)]  # scenes have 64 × 64
    scenes, crops = Estimator(tmp_path, torch.device("cpu"), 1).seconds(configs)
    assert crops == 4 * scenes > 0
