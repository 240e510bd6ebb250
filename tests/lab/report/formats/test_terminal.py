import io
import re

from rich.console import Console

from prorandconv.lab.report.formats.terminal import terminal_table


def test_the_terminal_shows_every_line_of_every_row_and_the_best_in_bold(make_table):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(terminal_table(make_table()))
    text = console.export_text(styles=True)
    assert "Digits, % (Table 1)" in text
    assert "absent: syn" in text
    rows = [line for line in text.splitlines() if "│" in line]
    assert len(rows) == 1 + 3 + 5
    assert re.search(r"\x1b\[1m *62\.00 ± 2\.00", text)
    assert not re.search(r"\x1b\[1m *32\.00", text)
    assert "gain over ERM" in rows[-2]
    assert "+30.00" in rows[-2]
    assert "[30.00, 30.00]" in rows[-1]
