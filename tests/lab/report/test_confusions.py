from prorandconv.lab.report.compare import comparisons
from prorandconv.lab.report.page import confusions, shares
from prorandconv.lab.report.read import ReportedRun
from prorandconv.lab.tasks import Accuracy


def matrices(write_run, folder, **changes):
    runs = [ReportedRun.read(write_run(folder, "erm", seed, **changes)) for seed in (0, 1)]
    return confusions(comparisons(runs)[0])


def test_shares_are_per_cent_of_a_class():
    assert shares(Accuracy(((3, 1), (0, 0)))) == ((75.0, 25.0), (0.0, 0.0))


def test_a_matrix_for_each_target_summed_over_seeds(write_run, tmp_path):
    (found,) = matrices(write_run, tmp_path)
    assert found.title == "erm: digits-mini from mnist, lenet, 4 epochs"
    assert [(one.target, one.score) for one in found.matrices] == [
        ("optdigits", 35.0),
        ("fonts", 45.0),
    ]
    assert found.matrices[0].shares[0][:3] == (35.0, 65.0, 0.0)
    assert found.matrices[0].classes == tuple("0123456789")


def test_no_run_done_is_no_matrix(write_run, tmp_path):
    assert matrices(write_run, tmp_path, done=2) == []
