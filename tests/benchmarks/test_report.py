import pytest
from cells import Cell
from measuring import spread
from summary import summarised

NAMES = ("obvious", "compiled", "kornia", "plain_conv", "reference", "eager", "native", "triton")


def entry(*seconds):
    return {"seconds": list(seconds), "repeats": [5] * len(seconds), **spread(seconds)}


@pytest.fixture
def cells():
    found = {}
    for cell in (Cell(32, 64), Cell(64, 64), Cell(32, 1), Cell(32, 64, 1), Cell(32, 64, 5)):
        scale = cell.work() * 1e-6
        found[cell] = {name: entry(scale / n, scale / n) for n, name in enumerate(NAMES, 1)}
    found[Cell(64, 64)]["reference"] = {"left_out": "a mini-batch would take about 99 s"}
    found[Cell(32, 1)]["kornia"] = {"failed": "ModuleNotFoundError: No module named 'kornia'"}
    return found


def test_picture_has_every_candidate_and_no_date(cells, tmp_path):
    plot = pytest.importorskip("plot")
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in files:
        plot.save(plot.picture(cells, [Cell(32, 64)], "a processor"), path)
    first, second = (path.read_text() for path in files)
    assert first == second
    assert "<dc:date>" not in first
    for colour, _, _ in plot.LOOKS.values():
        assert colour.lower() in first
    assert set(plot.LOOKS) == set(NAMES)


def test_table_gives_ratios_and_says_why_a_figure_is_missing(cells, capsys):
    tables = pytest.importorskip("tables")
    limit = {"seconds_at_peak": 1e-4, "seconds_at_bandwidth": 1e-4, "bytes_per_second": 1e10}
    memory = {32: {"native": {"peak": 1.25, "kept": 0.25}}}
    figures = tables.tables(cells, summarised(cells, {32: limit}, memory, 64))
    tables.show(figures)
    terminal = capsys.readouterr().out
    markdown = "\n".join(one.markdown() for one in figures)
    for shown in (terminal, markdown):
        assert "7×" in shown
        assert "left out, a mini-batch would take about 99 s" in shown
        assert "failed, ModuleNotFoundError: No module named 'kornia'" in shown
        assert "1.25 copies" in shown
    assert "| goal | images | wanted | measured | verdict |\n| --- | ---:" in markdown
