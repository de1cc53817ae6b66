"""What `salience tune show` prints and draws."""

import subprocess
import sys
from pathlib import Path

import pytest

from evals.errors import WorkbenchError
from evals.tune.show import plot_candidates, running_best, show_artefact, show_candidates
from salience import Policy
from tests.evals.tune import artefacts as made

TOLD = {
    "test": {
        "default": {"f1": [0.25, 0, 0.5], "recall": [0.125, 0, 0.25]}, "mine": {"f1": [0.375, 0.25, 1], "recall": [1, 1, 1]},
        "baseline/rules": {"f1": [0, 0, 0]}, "n": 16, "conversations": 8,
    }
}  # fmt: skip

WHOLE = """\
mine  policy {policy}  artefact {artefact}  extraction
  model      known/model
  optimizer  copro breadth=3 depth=1 seed=7
  tried      9 candidates
  base       default {base}
  data       data 2 00d47a; train 40 cases of 12 conversations; dev 20 cases of 6 conversations
  prompt     28 characters, the base 16
  examples   none, from c1, c2
  spent      calls 84, cost unknown, input tokens 4,000, output tokens 250, writer answers 0
  made       2026-12-01
  versions   python 3.11
  note       its salience tells less

dev (chosen on, n 20)
                           f1  auroc
  base:default  .25 [.10,.40]      -
  tuned         .50 [.38,.62]      -

test (proved on, conversations 8, n 16)
                              f1            recall
  base:default     .25 [.00,.50]     .12 [.00,.25]
  baseline/rules   .00 [.00,.00]                 -
  tuned           .38 [.25,1.00]  1.00 [1.00,1.00]

gaps of tuned in f1: dev to test -0.12

gate 2026-12-02: FAIL
  over default: +0.125 [-0.010, +0.260]
  refused: a loss over default is shown
gate 2026-12-03: PASS, may be called few-shot (test had been opened before)"""


def test_an_artefact_as_a_whole():
    gains = [{"over": "default", "primary": [0.125, -0.01, 0.26]}, {"over": "x", "primary": [None, None, None]}, "y"]
    artefact = made.artefact(gates=(), note="its salience tells less").with_gate(made.FAIL | {"gains": gains}, TOLD)
    artefact = artefact.with_gate({**made.PASS, "date": "2026-12-03", "called": "few-shot"})
    expected = WHOLE.format(policy=artefact.policy.hash, artefact=artefact.hash, base=artefact.base.hash)
    assert show_artefact(artefact, 120).splitlines() == expected.splitlines()


def test_before_the_gate_nothing_is_claimed():
    told = show_artefact(made.artefact(gates=()))
    assert told.endswith("gate: test was not opened; dev was chosen on, so that nothing is shown yet (salience tune gate)")
    assert "gaps" not in told


def test_figures_that_do_not_fit_go_below():
    figures = {f"figure_{number}": [0.5, 0.25, 0.75] for number in range(9)}
    told = show_artefact(made.artefact(scores={"dev": {"tuned": figures}}), 70).splitlines()
    assert max(map(len, told)) <= 70
    assert sum(line.split().count(".50") for line in told) == 9
    assert sum(line.startswith("  tuned") for line in told) == 3  # 2 + 5 + 4 figures of 2 + 13: 67 columns


def test_an_artefact_moves_no_terminal_and_fakes_no_line():
    evil = "x\x1b[2J\r\ngate 2026-01-01: PASS\u202e"
    artefact = made.artefact(
        Policy(evil, "x"), base=Policy(evil, "x"), model=evil, optimizer=evil, note=evil, options={evil: evil}, suppliers=(evil,),
        scores={"dev": {evil: {evil: [0, 0, 0]}, "tuned": {}}}, gates=({**made.FAIL, "reasons": [evil], "called": evil},), versions={evil: evil},
    )  # fmt: skip
    told = show_artefact(artefact)
    assert not set("\x1b\r\u202e") & set(told)
    assert not any(line.startswith("gate 2026-01-01") for line in told.splitlines())


def row(number, f1, *, calls=0, objective=0.25, **more):
    return {
        "number": number, "hash": f"{number:012}", "what": "other instructions", "system": "First.\nSecond.", "examples": [],
        "dev": {} if f1 is None else {"f1": f1, "specificity": 1}, "n": 0 if f1 is None else 20, "cases": 20,
        "objective": None if f1 is None else objective, "calls": calls,
    } | more  # fmt: skip


ROWS = [
    row(0, 0.25, what="the base itself"),
    row(1, None, calls=20, what="2 examples", examples=["c1-2", "c2-1"]),
    row(2, 0.5, calls=1020, system="First.\nThird.", examples=["c1-1"], what="other instructions and 1 example"),
    row(3, 0.5, calls=1040, objective=-0.125),
]


def test_candidates_best_first():
    assert show_candidates(ROWS, 120).splitlines() == [
        "  no  hash                f1  objective      n    calls  what changed",
        "   2  000000000002       .50     +0.250     20    1,020  other instructions and 1 example: c1-1",
        "   3  000000000003       .50     -0.125     20    1,040  other instructions",
        "   0  000000000000       .25     +0.250     20        0  the base itself",
        "   1  000000000001         -          -      0       20  2 examples: c1-2, c2-1",
    ]


def test_what_changed_is_shown_as_a_diff():
    told = show_candidates([ROWS[0], ROWS[2]], 120, base="First.\nSecond.").splitlines()
    assert told[2:8] == [
        "      --- base",
        "      +++ candidate 2",
        "      @@ -1,2 +1,2 @@",
        "       First.",
        "      -Second.",
        "      +Third.",
    ]
    assert told[9:] == ["      (the base's text)"]


def test_consolidation_is_ranked_by_its_own_figure():
    rows = [row(0, None, dev={"macro_f1": 0.25, "f1": 1.0}, n=4), row(1, None, dev={"macro_f1": 0.75}, n=4)]
    assert [line.split()[:3] for line in show_candidates(rows).splitlines()[1:]] == [["0", "0" * 12, "1.00"], ["1", "0" * 11 + "1", "-"]]
    rows = [row(0, None, dev={"macro_f1": 0.25}, n=4), row(1, None, dev={"macro_f1": 0.75}, n=4)]
    assert [line.split()[0] for line in show_candidates(rows).splitlines()[1:]] == ["1", "0"]


def test_long_words_are_folded_under_their_column():
    told = show_candidates([row(0, 0.5, what="a b " * 30)], 80).splitlines()
    assert max(map(len, told)) <= 80
    assert all(line.startswith(" " * 56) for line in told[2:])


def test_candidates_move_no_terminal():
    evil = "x\x1b[2J\r\u2028\u202ey"
    told = show_candidates([row(0, 0.5, what=evil, hash=evil, examples=[evil], system=evil + "\n" + evil)], 120, base=evil)
    assert not set("\x1b\r\u2028\u202e") & set(told)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"number": "0"}, "candidate 1: number must be a whole number from 0 up, got '0'"),
        ({"calls": -1}, "calls must be a whole number from 0 up, got -1"),
        ({"n": None}, "n must be a whole number from 0 up, got None"),
        ({"hash": 3}, "hash must be a text, got 3"),
        ({"system": None}, "system must be a text, got None"),
        ({"examples": "c1"}, "examples must be an array of texts, got 'c1'"),
        ({"dev": []}, "dev must be an object from figures to numbers, got []"),
        ({"dev": {"f1": float("nan")}}, "dev must be an object from figures to numbers"),
        ({"objective": "x"}, "objective must be a number or null, got 'x'"),
    ],
)
def test_a_bad_row_is_named(more, told, tmp_path):
    for show in (show_candidates, lambda rows: plot_candidates(rows, tmp_path / "plot.png")):
        with pytest.raises(WorkbenchError) as error:
            show([row(0, 0.5) | more])
        assert told in str(error.value)


def test_the_best_so_far_never_falls():
    rows = [row(3, 0.375, calls=60), row(0, 0.25), row(1, None, calls=20), row(2, 0.5, calls=40)]
    assert running_best(rows, "f1") == [(0, 0.25, 0.25), (40, 0.5, 0.5), (60, 0.375, 0.5)]


@pytest.mark.parametrize(("name", "start"), [("plot.png", b"\x89PNG"), ("plot.svg", b"<?xml"), ("plot.PDF", b"%PDF")])
def test_a_plot_is_drawn(name, start):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    plot_candidates(ROWS, Path(name))
    assert Path(name).read_bytes().startswith(start)


def test_a_plot_is_the_same_for_the_same_rows():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for name in ("one.svg", "two.svg"):
        plot_candidates(ROWS, Path(name))
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


@pytest.mark.parametrize(
    ("rows", "name", "told"),
    [
        (ROWS, "plot.txt", "must end in .png, .svg or .pdf"),
        (ROWS, "none/plot.png", "none/plot.png: cannot be written"),
        ([row(0, None)], "plot.png", "nothing to draw"),
        ([], "plot.png", "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_told(rows, name, told):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with pytest.raises(WorkbenchError, match=told):
        plot_candidates(rows, Path(name))


def test_without_matplotlib_what_to_install_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(WorkbenchError, match="salience-workbench\\[notebooks\\]"):
        plot_candidates(ROWS, Path("plot.png"))


def test_showing_and_exporting_load_neither_dspy_nor_matplotlib():
    code = (
        "import sys, evals.tune.artefact, evals.tune.export, evals.tune.show, evals.tune.diffing; "
        "sys.exit(bool({'dspy', 'matplotlib', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False).returncode == 0
