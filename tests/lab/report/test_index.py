import re
from dataclasses import replace
from pathlib import Path

import pytest

from prorandconv.lab.cli.main import main
from prorandconv.lab.report.read import StudyRecord, read
from prorandconv.lab.report.summary import BEGIN, END, index, write_index
from prorandconv.lab.study.studies import STUDIES

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def lines(studies, folder):
    shown = [line for line in index(studies, folder).splitlines()[2:] if line.startswith("|")]
    cells = [line.strip("| ").split(" | ") for line in shown]
    return {line[1].split("`")[1]: line for line in cells}


def record(make_table, folder, **changes):
    path = folder / "digits" / "study.json"
    settings = {"epochs": 20}
    return StudyRecord("digits", "", (), (make_table(**changes),), settings=settings, path=path)


def test_the_table_of_the_documents_is_up_to_date():
    kept = (RESULTS / "README.md").read_text()
    assert f"{BEGIN}\n\n{index(read(RESULTS), RESULTS)}\n\n{END}" in kept, "run make results"


def test_a_measured_study_has_seeds_epochs_our_figure_and_the_papers(make_table, tmp_path):
    line = lines([record(make_table, tmp_path)], tmp_path)["digits"]
    assert line[0] == "Tables 1 and 11"
    assert line[1] == "[`digits`](digits/study.json)"
    assert line[2:6] == ["Pro-RandConv, average", "71.50 ± 2.12 %", "81.70 %", "−10.20"]
    assert line[6:] == ["20 of 500", "3", "1 figure missing; without syn"]


def test_other_data_and_some_rows_are_not_called_complete(make_table, tmp_path):
    own = record(make_table, tmp_path)
    small = replace(own, settings={"epochs": 20, "benchmark": "digits-mini", "rows": ["ERM", "x"]})
    line = lines([small], tmp_path)["digits"]
    assert line[8] == "on digits-mini instead; 2 rows only; 1 figure missing; without syn"


def test_studies_that_were_not_run_stand_in_one_sentence_with_command_and_runs(
    make_table, tmp_path
):
    shown = index([record(make_table, tmp_path)], tmp_path)
    sentence = shown.splitlines()[-1]
    assert sentence.startswith("Not run, with the number of runs a seed: Table 2 (")
    absent = [name for name in STUDIES if name != "digits"]
    assert re.findall(r"`prorandconv study (\S+)`, (\d+)\)", sentence) == [
        (name, str(STUDIES[name].runs)) for name in absent
    ]


def test_it_links_the_page_in_or_above_the_folder_of_a_study(make_table, tmp_path):
    own = record(make_table, tmp_path)
    own = replace(own, path=tmp_path / "digits" / "runs" / "20-epochs" / "study.json")
    (tmp_path / "README.md").touch()  # the file with the table is no page of a study
    (tmp_path / "digits").mkdir()
    link = lines([own], tmp_path)["digits"][1]
    assert link.endswith("(digits/runs/20-epochs/study.json)")
    (tmp_path / "digits" / "README.md").touch()
    assert lines([own], tmp_path)["digits"][1].endswith("(digits/README.md)")


def test_a_file_without_marks_is_refused_and_stays_as_it_is(tmp_path, capsys):
    file = tmp_path / "index.md"
    file.write_text("my own words")
    with pytest.raises(SystemExit) as ended:
        main(["report", str(RESULTS), "--index", str(file)])
    assert ended.value.code == 2
    assert f"has no lines {BEGIN!r} and {END!r}" in capsys.readouterr().err
    assert file.read_text() == "my own words"


def test_only_what_is_between_the_marks_changes(tmp_path):
    file = tmp_path / "index.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_index(RESULTS, file)
    text = file.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n| paper |")
    assert text.endswith(f".\n\n{END}\nafter\n")
    assert "old" not in text
