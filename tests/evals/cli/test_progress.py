"""Progress on stderr: plain lines without a terminal, one rewritten line with one."""

import io

from evals.cli.progress import Lines
from evals.plan import Cell
from evals.runlog import Failure, Record
from salience import Policy

CELL = Cell("m/\x1b[31mx", Policy())


def feed(monkeypatch, *, terminal):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr("sys.stderr", stream)
    lines = Lines()
    lines.begin(CELL, 3, 1)
    lines.advance(Record(model="m", policy="p", case="a", reply="[]", input_tokens=1000, output_tokens=50))
    lines.advance(Record(model="m", policy="p", case="b", error=Failure("timeout", "x")))
    return stream.getvalue()


def test_plain_lines_without_a_terminal(monkeypatch):
    text = feed(monkeypatch, terminal=False)
    assert text.splitlines()[0] == "m/\\x1b[31mx@plain: 1 of 3 were there already"
    assert text.splitlines()[-1].startswith("m/\\x1b[31mx@plain: 3 of 3, 1 errors, 1,050 tokens, ")
    assert "\x1b" not in text
    assert "\r" not in text


def test_one_line_on_a_terminal(monkeypatch):
    text = feed(monkeypatch, terminal=True)
    assert text.endswith("\n")
    assert text.count("\r\x1b[2K") >= 2
    assert "\x1b[31m" not in text
