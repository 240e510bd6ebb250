import json
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from PIL import Image

from prorandconv.lab.report import page as writing
from prorandconv.lab.report.formats import escaped
from prorandconv.lab.report.page import write_report
from prorandconv.lab.report.pictures import LARGEST, Folder, Picture
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.training import train


class Reader(HTMLParser):
    """What a page shows, and every address in it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [v for k, v in attributes if k in ("src", "href", "srcset", "data")]

    def handle_data(self, data):
        self.text += data


def test_every_form_is_written_whole(mini, results):
    output = results / "report"
    (section,) = write_report(results, output)
    names = {path.name for path in output.iterdir()}
    assert names == {
        "index.html",
        "report.md",
        *(f"digits{part}.{end}" for part in ("", "-cost") for end in ("csv", "tex", "png")),
        "digits-curves.png",
        "digits-samples-mnist-pro-randconv.png",
    }
    assert all(path.stat().st_size < LARGEST for path in output.glob("*.png"))
    for path in output.glob("*.png"):
        Image.open(path).verify()
    links = re.findall(r"\[.*?\]\((.*?)\)", (output / "report.md").read_text())
    assert {*links, "index.html", "report.md"} == names
    assert section.messages == ()


def test_the_page_needs_nothing_but_itself_and_shows_everything(mini, results):
    write_report(results, results / "report")
    text = (results / "report" / "index.html").read_text()
    page = Reader(text)
    assert page.tags.count("table") == 2 + 2 * 2
    assert page.tags.count("img") == 2 + 1 + 1
    tables = {f"digits{part}.{end}" for part in ("", "-cost") for end in ("csv", "tex")}
    others = [one for one in page.addresses if not one.startswith(("data:", "#"))]
    assert set(others) == {*tables, "../studies/digits/study.json"}
    assert all((results / "report" / one).exists() for one in others)
    assert page.tags.count("main") == 1
    anchors = [one[1:] for one in page.addresses if one.startswith("#")]
    assert len(anchors) == page.tags.count("h1") + page.tags.count("h2") == 1 + 6
    assert all(f'id="{anchor}"' in text for anchor in anchors)
    assert page.tags.count("caption") == page.tags.count("table")
    assert "script" not in page.tags
    assert not re.search(r"@import|url\(", text)
    for shown in (
        "Five methods & more",
        "62.00 ± 2.00",
        "69.70 (−7.70)",
        "not done, epoch 3 of 4",
        "loss is not finite",
        "prorandconv study digits --data-root 'my data'",
        "torch 2.9.9",
        "an old one",
        "0, 1, 2",
        "3 done of 4",
        "4 min",
        "<b>ours</b>",
    ):
        assert shown in page.text
    assert "where it was written" not in page.text  # the runs were made elsewhere
    assert "<strong>62.00 ± 2.00</strong>" in text


def test_confusion_matrices_are_tables_with_a_shade_for_each_share(mini, results):
    write_report(results, results / "report", samples=False)
    text = (results / "report" / "index.html").read_text()
    # Pro-RandConv on fonts: 7 and 8 of ten images are right in its two runs
    matrix = text.split("<caption>fonts: accuracy 75.0 %</caption>")[1].split("</table>")[0]
    assert matrix.count('<td style="--share:75">75</td>') == 10
    assert matrix.count('<td style="--share:25">25</td>') == 10
    assert matrix.count("<td></td>") == 80
    assert "| 3 | 65 | 75 |" in (results / "report" / "report.md").read_text()


def test_runs_without_a_study_become_tables_by_setting(mini, write_run, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, "erm", seed)
        write_run(tmp_path, "pro-randconv", seed, epochs=6)
    (section,) = write_report(tmp_path, tmp_path / "out")
    titles = [shown.table.title for shown in section.tables]
    assert titles == [f"digits-mini from mnist, lenet, {n} epochs" for n in (4, 6)]
    text = (tmp_path / "out" / "index.html").read_text()
    assert "prorandconv train --method pro-randconv" in text
    assert "an old one" in text


HOSTILE = "a <script>x</script> | ![p](http://x) [l](http://x) `c` *b* _i_ &lt; ~~s~~\n\n# h\n- $m$"


def test_no_text_of_a_study_is_markup_in_the_markdown(results):
    path = next(results.rglob("study.json"))
    stored = json.loads(path.read_text())
    stored["title"] = stored["tables"][0]["title"] = stored["command"] = HOSTILE
    stored["runs"] += [HOSTILE]
    stored["failed"] = [{"run": HOSTILE, "problem": HOSTILE}]
    stored["tables"][0]["notes"] = [HOSTILE]
    path.write_text(json.dumps(stored))
    write_report(results, results / "report", samples=False)
    shown = (
        MarkdownIt()
        .enable(["table", "strikethrough"])
        .parse((results / "report" / "report.md").read_text())
    )
    tokens = [inner for token in shown for inner in (token, *(token.children or ()))]
    kinds = [token.type for token in tokens]
    assert not {"html_inline", "html_block", "s_open", "em_open"} & set(kinds)
    assert kinds.count("heading_open") == 1 + 2 + 2 + 1
    addresses = [token.attrGet("href") or token.attrGet("src") for token in tokens]
    assert all((results / "report" / one).exists() for one in addresses if one)
    one_line = " ".join(HOSTILE.split())
    texts = ["".join(x.content for x in token.children or ()) for token in shown]
    assert sum(one_line in text for text in texts) == 5  # title, heading, failure, note, command


def test_images_can_be_left_out(mini, results):
    (section,) = write_report(results, results / "report", samples=False)
    assert section.samples == ()
    assert section.curves
    assert not list((results / "report").glob("*samples*"))
    assert "Pictures" not in (results / "report" / "index.html").read_text()


def test_absent_images_are_reported_and_the_rest_is_written(write_run, tmp_path):
    write_run(tmp_path, "pro-randconv", benchmark="digits", data_root=tmp_path / "no")
    (section,) = write_report(tmp_path, tmp_path / "out")
    assert section.samples == ()
    assert "'mnist' is missing" in section.messages[0]
    assert escaped(section.messages[0]) in (tmp_path / "out" / "report.md").read_text()


def test_a_method_of_a_users_own_has_no_samples_and_the_report_says_why(mini, write_run, tmp_path):
    write_run(tmp_path, "own_lab:demanding")
    (section,) = write_report(tmp_path, tmp_path / "out")
    assert section.messages == (
        "No samples of own_lab:demanding: a report calls no code that a file of results names",
    )


def test_a_report_that_fails_leaves_the_one_before(mini, results, monkeypatch):
    output = results / "report"
    output.mkdir()
    (output / "index.html").write_text("before")
    monkeypatch.setattr(writing, "html", lambda sections: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(results, output)
    assert (output / "index.html").read_text() == "before"
    assert not list(output.glob(".writing-*"))


def test_names_of_files_are_given_out_once(tmp_path):
    folder = Folder(tmp_path)
    assert folder.free("Digits", "ERM (σ)") == tmp_path / "digits-erm-σ"
    assert folder.free("digits", "erm σ") == tmp_path / "digits-erm-σ-2"


def test_a_sheet_that_would_be_large_gets_fewer_colours(tmp_path):
    noise = Image.effect_noise((500, 500), 90).convert("RGB")
    noise = Image.merge("RGB", (*noise.split()[:2], noise.rotate(90).split()[0]))
    Picture.sheet(noise, tmp_path / "noise", "noise")
    assert Image.open(tmp_path / "noise.png").mode == "P"


def test_names_with_signs_of_mathematics_are_drawn_as_they_are(make_results, tmp_path):
    root = make_results(tmp_path / "results")
    for path in [*root.rglob("*.json"), *root.rglob("metrics.jsonl")]:
        path.write_text(path.read_text().replace("svhn", "$x_$^").replace("fonts", "a$b^$_{"))
    write_report(root, tmp_path / "report", samples=False)
    assert "a$b^$" in (tmp_path / "report" / "index.html").read_text()
    assert (tmp_path / "report" / "digits.png").exists()


class TestCommand:
    def test_it_reports_a_run_as_training_leaves_it(self, run, small_run, tmp_path):
        for method in ("erm", "pro-randconv"):
            train(small_run(method), Execution(runs=tmp_path, quiet=True))
        code, printed, _ = run("report", tmp_path, "--full")
        assert code == 0
        assert "gain over ERM" in printed
        assert str(tmp_path / "report" / "index.html") in printed.replace("\n", "")
        result = json.loads(next(tmp_path.rglob("erm/**/result.json")).read_text())
        accuracy = result["best_validation"]["targets"]["fonts"]["accuracy"]
        assert f"{accuracy:.2f}" in printed
        assert f"{accuracy:.2f}" in (tmp_path / "report" / "index.html").read_text()

    def test_what_is_missing_is_printed(self, mini, run, results, tmp_path):
        code, printed, _ = run("report", results, "--output", tmp_path / "elsewhere")
        assert code == 0
        assert "not done, epoch 3 of 4" in printed
        assert (tmp_path / "elsewhere" / "index.html").exists()
        assert not (results / "report").exists()

    def test_a_damaged_file_is_printed_and_the_rest_is_reported(self, mini, run, results):
        sorted(results.rglob("result.json"))[0].write_text("{")
        code, printed, _ = run("report", results)
        assert code == 0
        assert "result.json is damaged" in printed
        assert "result.json is damaged" in (results / "report" / "index.html").read_text()

    def test_there_is_nothing_to_report(self, run, tmp_path):
        code, _, errors = run("report", tmp_path)
        assert code == 2
        assert "study.json or run directories" in errors
