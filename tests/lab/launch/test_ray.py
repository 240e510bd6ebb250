"""Ray for real: two raylets, one of which is killed in the middle of a study."""

import json
import threading
import time

import pytest

from prorandconv.lab.launch.ray_cluster import _copy_back, task
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import METRICS, RESULT, STATE, RunDirectory
from prorandconv.lab.study.table import Table

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'prorandconv[ray]'")


@pytest.fixture
def two_nodes(mini, tmp_path, monkeypatch):
    """A cluster of two raylets with one CPU each; nodes inherit the environment."""
    import sys

    from ray.cluster_utils import Cluster

    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv("OWN_LAB_NOTES", str(notes))
    monkeypatch.setenv("PYTHONPATH", ":".join(entry for entry in sys.path if entry))
    monkeypatch.setenv("RAY_health_check_initial_delay_ms", "0")
    monkeypatch.setenv("RAY_health_check_period_ms", "500")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster, second, notes
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.slow
def test_a_study_survives_the_death_of_a_node(two_nodes, run, tmp_path):
    cluster, second, notes = two_nodes

    def kill_when_at_work():
        while not (notes / second.node_id).exists():
            time.sleep(0.05)
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill_when_at_work)
    killer.start()
    code, out, err = run(
        *("study", "digits", "--benchmark", "digits-mini", "--networks", "own_lab:located"),
        *("--seeds", 1, "--epochs", 4, "--train-images", 2000, "--test-images", 64),
        *("--launcher", "ray", "--ray-address", cluster.address, "--runs", tmp_path / "runs"),
    )
    killer.join(timeout=60)
    assert code == 0, out + err
    nodes = {path.name: path.read_text().splitlines() for path in notes.iterdir()}
    assert len(nodes) == 2
    assert nodes[second.node_id], "the killed node had begun a run"
    assert sum(map(len, nodes.values())) > 5, "which another node has begun again"

    results = list((tmp_path / "runs").rglob(RESULT))
    assert len(results) == 5
    for result in results:
        lines = (result.parent / METRICS).read_text().splitlines()
        assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3, 4]
    told = [line for line in err.splitlines() if line.startswith("digits: ")]
    assert [line.partition(",")[0] for line in told] == [f"digits: {n} of 5" for n in range(1, 6)]
    (study,) = (tmp_path / "runs" / "studies").rglob("study.json")
    stored = json.loads(study.read_text())
    assert len(set(stored["runs"])) == len(stored["runs"]) == 5
    assert Table.from_mapping(stored["tables"][0]).complete


def test_files_of_a_run_on_another_disk_are_copied_back(small_run, tmp_path):
    config = small_run("erm", epochs=1)
    there, here = tmp_path / "there", tmp_path / "here"
    execution = Execution(runs=there, accelerator="cpu", quiet=True)
    outcome, files = task(config, execution, 1, tmp_path / "absent", {})
    assert STATE not in files
    _copy_back(RunDirectory(config.directory(here)), files)
    assert RunDirectory(config.directory(here)).result() == outcome.result
    for name, content in files.items():
        assert (config.directory(here) / name).read_bytes() == content

    marker = tmp_path / "marker"
    marker.touch()
    assert task(config, execution, 1, marker, {}) == (outcome, {})
