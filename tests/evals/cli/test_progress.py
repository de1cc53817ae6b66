"""Progress on stderr: plain lines without a terminal, one rewritten line with one."""

import io

from evals.cases import Case, Memory
from evals.cli.progress import Lines
from evals.plan import Cell
from evals.prices import Price
from evals.runlog import Failure, Record
from salience import Policy

CELL = Cell("m/\x1b[31mx", Policy())
REPLY = '[{"content": "The user plays the oboe", "salience": 0.8}, {"content": "The sky over Tartu was grey", "salience": 0.8}]'
CASE = Case(
    id="a", conversation="c", split="dev", language="en", messages=({"role": "user", "content": "I play the oboe."},),
    memories=(Memory(id="m1", content="The user plays the oboe", salience=0.7), Memory(id="m2", content="The user has a dog", salience=0.7)),
)  # fmt: skip


def feed(monkeypatch, *, terminal, price=None):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr("sys.stderr", stream)
    lines = Lines("lexical")
    lines.begin(CELL, 3, 1, price)
    lines.advance(Record(model="m", policy="p", case="a", reply=REPLY, input_tokens=1000, output_tokens=50), CASE, last=True)
    monkeypatch.setattr("evals.cli.progress._ENOUGH", 1)
    lines.f1.settle(30)
    lines.advance(Record(model="m", policy="p", case="b", error=Failure("timeout", "x")), CASE, last=True)
    lines.close()
    return stream.getvalue()


def test_plain_lines_without_a_terminal(monkeypatch):
    text = feed(monkeypatch, terminal=False)
    assert text.splitlines()[0] == "m/\\x1b[31mx@plain: 1 of 3 were there already"
    assert text.splitlines()[-1].startswith(
        "m/\\x1b[31mx@plain: 3 of 3, 1 errors, F1 about .50 (by 1 replies), 1,050 tokens, cost unknown, "
    )
    assert "\x1b" not in text
    assert "\r" not in text


def test_one_line_on_a_terminal(monkeypatch):
    text = feed(monkeypatch, terminal=True)
    assert text.endswith("\n")
    assert text.count("\r\x1b[2K") >= 2
    assert "\x1b[31m" not in text


def test_cost_and_tokens_that_are_not_told(monkeypatch):
    """One hit, one false positive and one miss make F1 2 / 4. $2 a million in and $20 out: 1,000 and 50 tokens cost $0.003."""
    assert "F1 about .50 (by 1 replies), 1,050 tokens, $0.0030, " in feed(monkeypatch, terminal=False, price=Price(2.0, 20.0, "x"))
