"""A report as CSV, Parquet, Markdown and JUnit: values by hand, a whole Markdown report, and hostile text in every field of each."""

import csv
import io
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from evals.calibration.figures import Items, keep_figures
from evals.calibration.grade import grade_figures
from evals.cases import Case, Forbidden, Memory
from evals.errors import WorkbenchError
from evals.metrics.counts import COLUMNS
from evals.metrics.figures import FIGURES
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.report.junit import junit_xml
from evals.report.markdown import report_markdown
from evals.report.markup import code, plain
from evals.report.safe import printable
from evals.report.summary import append_step_summary
from evals.report.tables import csv_text, parquet_bytes, safe_cell, write_whole
from evals.results import CaseResult, CellResult, Excluded, Report, Salience, Slice
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import Interval

HOSTILE = [
    "</script><script>document.title='pwned'</script>", '"><svg onload=alert(1)>', "<img src=x onerror=alert(1)>", "</code></td></table><b>x",
    "| a | b |\n|---|---|", "`code` ``more``", "[x](javascript:alert(1)) ![y](https://evil.example/p.png)", "https://evil.example www.evil.example",
    "@octocat and #123 owner/repo#4 GH-9 a@evil.example :smile:", "$x$ $$y$$ **b** __i__ ~~s~~", "- item\n# head\n> quote\n1. one", "&lt;b&gt; &#64;",
    "=cmd|' /C calc'!A0", "\x1b[2J\x07\x00\x85\u2028\u202e\ufffe\ud800", "\\|x\\`y", "]]><!-- x --> <?pi?> %s {{7*7}}", "` ", "`", " ", "'; drop",
]  # fmt: skip


def figure(value, low=None, high=None):
    return Interval(value=value, low=low, high=high, conversations=2, undefined=0.0, method="none" if low is None else "bootstrap")


def figures(**some):
    return {name: figure(None) for name in [*FIGURES, "f_beta", "auroc"]} | some


def counts(**some):
    return dict.fromkeys(COLUMNS, 0) | some


def signature(policy, model, **more):
    base = {
        "data": DatasetId("pets", "0.1.0", "0123456789ab"), "split": "dev", "cases": 4, "conversations": 2, "limited": False, "rubric": "default",
        "matcher": MatcherId("classifier", "3", 0.57, False), "max_tokens": None, "temperature": None, "repeats": 1, "seed": 0, "openings": None,
        "version": "0.1.0",
    }  # fmt: skip
    return Signature(policy=policy, model=model, **(base | more))


def cell(model, policy, cases=(), **more):
    salience = Salience(keep_figures(Items(np.array([]), np.array([]), np.array([]))), grade_figures([]), {}, {})
    base = {
        "signature": signature(PolicyId(policy, "abcdef012345") if policy else None, model), "figures": figures(), "macro_f1": None,
        "salience": salience, "totals": counts(cases=4), "failed": (), "missing": (), "unscored": (), "input_tokens": 1000,
        "output_tokens": 234, "seconds": 12.34, "cached": 0, "cost": 0.0151,
    }  # fmt: skip
    return CellResult(model=model, policy=policy, cases=cases, **(base | more))


def case(name, memories=(), forbidden=(), **more):
    base = {"conversation": "v", "split": "dev", "language": "en", "messages": ({"role": "user", "content": "x"},)}
    return Case(id=name, memories=memories, forbidden=forbidden, **(base | more))


def result(of, predictions=(), missed=(), status="ok", **more):
    parted = more.pop("parted", {})
    violations = tuple(entry.reason for entry in predictions if entry.outcome == "violation")
    outcome = CaseOutcome(tuple(predictions), {}, tuple(missed), violations, parted)
    return CaseResult(of, status, outcome, "[]", counts(cases=1), **more)


PARROT = Memory(id="m1", content="The user has a parrot", salience=0.7)
HIT = Prediction("A parrot", 0.9, None, "hit", "m1", "similarity .91", 0.91)
MADE_UP = Prediction("A cat", 0.8, None, "unmatched", "m1", "similarity .10 < .34", 0.1)


@pytest.fixture
def report():
    slices = (
        Slice(
            by="tag", name="negation", conversations=40, figures=figures(f1=figure(0.4, 0.3, 0.5)), totals=counts(cases=50, negatives=20)
        ),
        Slice(by="tag", name="people", conversations=4, figures=figures(f1=figure(0.5, 0.1, 0.9)), totals=counts(cases=5, negatives=0)),
        Slice(by="language", name="de", conversations=12, figures=figures(), totals=counts(cases=12, negatives=3)),
    )
    measured = figures(
        precision=figure(0.5, 0.2, 0.8), recall=figure(0.25, 0.1, 0.45), f1=figure(0.3333, 0.15, 0.52), balanced=figure(0.4),
        specificity=figure(0.9), violation_rate=figure(0.1), noise_rate=figure(0.0), auroc=figure(0.75),
    )  # fmt: skip
    first = cell(
        "mock/m", "default", figures=measured, totals=counts(cases=4, status_ok=2, status_empty=1, status_repaired=1),
        failed=(Excluded("c9", "timeout", "no answer"),), slices=slices,
    )  # fmt: skip
    silent = cell(
        "baseline/silent", None, figures=figures(recall=figure(0.0), specificity=figure(1.0)), totals=counts(cases=4, status_empty=4),
        input_tokens=None, output_tokens=None, seconds=0.0, cost=None,
    )  # fmt: skip
    return Report("runs/x", (first, silent), ("mock/m@default: 1 calls failed; the first: c9: no answer",))


# --- CSV


def read_csv(text):
    assert text.startswith("\ufeff")
    return list(csv.reader(io.StringIO(text[1:], newline="")))


def test_csv_by_hand():
    frame = pd.DataFrame(
        {
            "text": pd.array(["plain", None, 'a "b", c', ""], dtype="string"),
            "whole": pd.array([1, None, -3, 0], dtype="Int64"),
            "real": pd.array([0.1, None, -2.5e-09, 1.0], dtype="Float64"),
            "truth": pd.array([True, None, False, True], dtype="boolean"),
        }
    )
    text = csv_text(frame)
    assert text == (
        '\ufeff"text","whole","real","truth"\n"plain",1,0.1,True\n,,,\n"a ""b"", c",-3,-2.5e-09,False\n"",0,1.0,True\n'
    )  # fmt: skip
    again = pd.read_csv(io.BytesIO(text.encode()), dtype_backend="numpy_nullable")
    assert {name: str(kind) for name, kind in again.dtypes.items()} == {
        "text": "string", "whole": "Int64", "real": "Float64", "truth": "boolean",
    }  # fmt: skip
    assert again["real"].tolist()[2:] == [-2.5e-09, 1.0]
    assert csv_text(frame.iloc[:0]) == '\ufeff"text","whole","real","truth"\n'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t'=1"), ("\rx", "'\rx"), ("\nx", "'\nx"),
        ("\uff1d1", "'\uff1d1"), ("  =1", "'  =1"), ("a;=1", "a;'=1"), ('a; "=1', "a; \"'=1"), ("list\n- one", "list\n'- one"),
        ("a-b = c", "a-b = c"), (" x", " x"), ("", ""), ("\x1b[2J", "\\x1b[2J"), ("\u202ea", "\\u202ea"), ("漢字 é", "漢字 é"), ("\u200b=1", "\\u200b=1"),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(text, shown):
    assert safe_cell(text) == shown


def test_csv_of_hostile_text_opens_as_text():
    frame = pd.DataFrame({"text": pd.array([text.replace("\ud800", "") for text in HOSTILE], dtype="string"), "n": range(len(HOSTILE))})
    rows = read_csv(csv_text(frame))
    assert [row[1] for row in rows] == ["n", *map(str, range(len(HOSTILE)))]
    for row in rows[1:]:
        assert row[0].lstrip()[:1] not in ("=", "+", "-", "@")
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u2028]", row[0])
    assert rows[1][0] == HOSTILE[0]
    # A spreadsheet that splits at semicolons gets no formula either.
    for line in csv_text(pd.DataFrame({"n": [1], "text": ["a;=cmd()"]})).splitlines():
        assert not any(part.strip('" ').startswith("=") for part in line.split(";"))


# --- Parquet and files


def test_parquet_comes_back_equal(report):
    frames = report.to_frames()
    for frame in (frames.runs, frames.cases, frames.matches):
        pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(parquet_bytes(frame))), frame)


def test_parquet_without_pyarrow_says_what_to_install(report, monkeypatch):
    runs = report.to_frames().runs
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(WorkbenchError, match=r"pyarrow, which is missing: pip install 'salience-workbench\[evals\]'.*\.csv"):
        parquet_bytes(runs)


def test_a_file_is_replaced_whole_or_left_as_it_is(tmp_path):
    path = tmp_path / "x.csv"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    (tmp_path / "usual").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode  # a report is to be read by others too
    (tmp_path / "link.csv").symlink_to(path)
    write_whole(tmp_path / "link.csv", b"three")
    assert path.read_bytes() == b"three"
    assert (tmp_path / "link.csv").is_symlink()
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(WorkbenchError, match=r"folder\.csv: cannot be written: "):
        write_whole(tmp_path / "folder.csv", b"four")
    with pytest.raises(WorkbenchError, match="cannot be written: No such file"):
        write_whole(tmp_path / "no" / "x.csv", b"four")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder.csv", "link.csv", "usual", "x.csv"]


# --- Markdown

SNAPSHOT = r"""### Salience report of `runs/x`

|     | model             | policy    |     precision |        recall |            F1 | balanced | specificity | violations | noise | AUROC |             replies | tokens |   cost | seconds |
| --- | ----------------- | --------- | ------------: | ------------: | ------------: | -------: | ----------: | ---------: | ----: | ----: | ------------------: | -----: | -----: | ------: |
| [1] | `mock/m`          | `default` | .50 [.20,.80] | .25 [.10,.45] | .33 [.15,.52] |      .40 |         .90 |        .10 |   .00 |   .75 | 2/1/1/0/0 +1 failed |  1,234 | \$0.02 |    12.3 |
| [2] | `baseline/silent` | -         |             - |           .00 |             - |        - |      1.00\* |          - |     - |     - |           0/4/0/0/0 |      - |      - |    0.00 |

`pets` `0.1.0` (`0123456789ab`), split `dev`: 4 cases in 2 conversations. Rubric `default`. Matcher `classifier`: agreement with labelled pairs kappa .57. In brackets: 95% intervals, conversations resampled. Replies: ok/empty/repaired/cut off/unreadable.

Fewer than 30 conversations: read the intervals with care.

\* recall is below .05: this figure can look good where hardly anything right is said.

- `mock/m@default`: 1 calls failed; the first: `c9`: no answer

<details><summary>[1] by tag, language</summary>

`mock/m@default`

| by tag     | cases | negative | convs. | precision | recall |            F1 | balanced | specificity | violations | AUROC |
| ---------- | ----: | -------: | -----: | --------: | -----: | ------------: | -------: | ----------: | ---------: | ----: |
| `negation` |    50 |       20 |     40 |         - |      - | .40 [.30,.50] |        - |           - |          - |     - |
| `people`   |     5 |        0 |    4\~ |         - |      - |           .50 |        - |           - |          - |     - |

| by language | cases | negative | convs. | precision | recall |  F1 | balanced | specificity | violations | AUROC |
| ----------- | ----: | -------: | -----: | --------: | -----: | --: | -------: | ----------: | ---------: | ----: |
| `de`        |    12 |        3 |   12\~ |         - |      - |   - |        - |           - |          - |     - |

\~ fewer than 30 conversations: too few to conclude from. No interval under 5.

</details>

<details><summary>Signatures</summary>

```text
[1] salience|data:pets-0.1.0-0123456789ab|split:dev|n:4/2|rubric:default|matcher:classifier-3|kappa:0.57|policy:default-abcdef012345|model:mock/m|max_tokens:none|temperature:none|repeats:1|seed:0|openings:none|version:0.1.0
[2] salience|data:pets-0.1.0-0123456789ab|split:dev|n:4/2|rubric:default|matcher:classifier-3|kappa:0.57|policy:none|model:baseline/silent|max_tokens:none|temperature:none|repeats:1|seed:0|openings:none|version:0.1.0
```

</details>
"""


def test_a_whole_markdown_report(report):
    assert report_markdown(report) == SNAPSHOT


def test_what_a_judge_and_silver_labels_add():
    measured = figures(
        coverage=figure(0.6, 0.5, 0.7), atomicity=figure(0.5), unsupported_rate=figure(0.25), recall=figure(0.5, 0.4, 0.6),
        false_memories_per_negative=figure(1.5, 1.0, 2.0),
    )  # fmt: skip
    one = cell("m", "p", figures=measured, totals=counts(negatives=7, predictions=8, support_known=6), cost=0.00001)
    text = report_markdown(Report("x", (one,), silver="taken from <b>LoCoMo</b>"))
    assert "Silver labels: taken from `<b>LoCoMo</b>`" in text
    assert "- [1] recall of silver memories .50 [.40,.60]; memories returned for a turn without one 1.50 [1.00,2.00] (7 turns)" in text
    assert "[1] coverage .60 [.50,.70], F1 that forgives merged, split and repeated memories; atomicity .50, F1 as a share of it." in text
    assert "[1] unsupported .25, predictions that match no label" in text
    assert "(6 of 8 predictions known)" in text
    assert r"&lt;\$0.0001" in text


def test_an_empty_report_is_a_table_without_rows():
    text = report_markdown(Report("x", ()))
    assert text.startswith("### Salience report of `x`\n\n|")
    assert len(text.strip().splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mock/m", "`mock/m`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a``b`", "``` a``b` ```"), ("", "(empty)"), ("  ", "(empty)"),
        ("a\nb", "`a\\nb`"), ("\x1b[2J", "`\\x1b[2J`"),
    ],
)  # fmt: skip
def test_foreign_text_is_code(text, shown):
    assert code(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Fewer than .05, or 12% (kappa): don't well-known 1,784!", "Fewer than .05, or 12% (kappa): don't well-known 1,784!"),
        ("calls of @octocat failed", "calls of `@octocat` failed"), ("see (#12).", "see (`#12`)."), ("1. not a list", "`1`. not a list"),
        ("a **b** c", "a `**b**` c"), ("GH-12 a.b https://x.y z", "`GH-12 a.b https://x.y` z"), ("- a", "`-` a"), ("... a", "`...` a"),
        ("a\nb", "a b"), ("", ""), ("é 漢字 हिन्दी", "é 漢字 `हिन्दी`"),
    ],
)  # fmt: skip
def test_sentences_keep_their_plain_words(text, shown):
    assert plain(text) == shown


def hostile_report(text):
    memory = Memory(id=text or "m", content=text, salience=0.7)
    of = case(text, (memory,), (Forbidden(content=text, reason="secret"),), conversation=text, tags=(text,))
    entry = Prediction(text, 0.9, text, "unmatched", text, text, 0.1)
    one = cell(
        text, text, (result(of, [entry], [text]),), signature=signature(PolicyId(text, text), text, split=text, rubric=text,
                                                                         data=DatasetId(text, text, "0123456789ab"),
                                                                         matcher=MatcherId(text, text, None, True)),
        slices=(Slice(by="tag", name=text, conversations=4, figures=figures(), totals=counts()),), failed=(Excluded(text, text, text),),
    )  # fmt: skip
    return Report(text, (one,), (text, f"word {text} word"), text)


class Text(HTMLParser):
    """What a page shows outside of code, the text of all code, and the names of its elements."""

    def __init__(self):
        super().__init__()
        self.tags, self.outside, self.inside, self.depth, self.attributes = set(), [], [], 0, set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.depth += tag == "code"

    def handle_endtag(self, tag):
        self.depth -= tag == "code"

    def handle_data(self, data):
        (self.inside if self.depth else self.outside).append(data)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_foreign_is_live_in_markdown(text):
    mistune = pytest.importorskip("mistune", reason="mistune, which reads the Markdown here, comes with Jupyter")
    read = mistune.create_markdown(
        escape=False, plugins=["table", "strikethrough", "url", "footnotes", "task_lists", "math", "mark", "spoiler", "def_list", "abbr"]
    )
    page = Text()
    page.feed(read(report_markdown(hostile_report(text))))
    assert page.tags <= {"h3", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li", "code", "pre", "details", "summary"}
    assert page.attributes <= {"style", "class"}
    outside = " ".join(page.outside)
    assert not re.search(r"[@<>`|*]|#\d|://|www\.|GH-|:smile:|evil|alert", outside.replace("* recall", ""))
    rows = read(report_markdown(hostile_report(text))).count("<tr>")
    assert rows == 4  # a header and one row, twice
    if text.strip():
        assert any(printable(text).replace("|", "\\x7c") in shown for shown in page.inside)


def test_a_report_too_long_for_a_comment_leaves_its_slices_out(report):
    many = tuple(replace(report.cells[0].slices[0], name=f"tag-{number}") for number in range(600))
    text = report_markdown(replace(report, cells=(replace(report.cells[0], slices=many),)))
    assert len(text) < 65_536
    assert "The figures by slice are left out" in text
    assert "tag-0" not in text
    assert "Signatures" in text


def test_the_step_summary_is_appended_to(tmp_path):
    path = tmp_path / "summary.md"
    environ = {"GITHUB_STEP_SUMMARY": str(path)}
    assert append_step_summary("# a é\n", environ)
    assert append_step_summary("# b\n", environ)
    assert path.read_text(encoding="utf-8") == "# a é\n\n# b\n"
    assert not append_step_summary("x", {})
    assert not append_step_summary("x", {"GITHUB_STEP_SUMMARY": ""})
    assert not append_step_summary("x", {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "summary.md")})
    assert not append_step_summary("x" * (1 << 20), environ)
    assert path.read_text(encoding="utf-8") == "# a é\n\n# b\n"


# --- JUnit


def junit_report():
    good = result(case("good", (PARROT,)), [HIT, Prediction("x", 0.1, None, "below", None, "low", None, counted=False)])
    optional = result(case("optional"), [Prediction("y", 0.9, None, "optional", "m1", "r", 0.9)])
    bad = result(case("bad", (PARROT,)), [MADE_UP], ["m1"], parted={"m1": "merged"})
    secret = result(case("secret"), [Prediction("pin 1", 0.1, None, "violation", "forbidden[0]", "secret", None, counted=False)])
    below = result(case("low"), [Prediction("z", 0.1, None, "trivial", "m1", "r", 0.4, counted=False)])
    cut = result(case("cut"), status="truncated")
    first = cell(
        "mock/m", "default", (good, optional, bad, secret, below, cut), figures=figures(f1=figure(0.5, 0.25, 0.75), recall=figure(None)),
        failed=(Excluded("c7", "timeout", "no answer within 120 s"),), missing=(Excluded("c8", "missing", "there is no reply yet"),),
        unscored=(Excluded("c9", "unscored", "no matcher reads Hindi"),), seconds=12.0,
    )  # fmt: skip
    again = cell(
        "baseline/rules", None, (result(case("good"), repeat=0), result(case("good"), repeat=1)), seconds=1.0,
        signature=signature(None, "baseline/rules", repeats=3), missing=(Excluded("good", "missing", "there is no reply yet"),),
    )  # fmt: skip
    return Report("runs/x", (first, again), ("A notice.",))


def test_junit_by_hand():
    root = ET.fromstring(junit_xml(junit_report()).encode())
    assert root.attrib == {"name": "runs/x", "tests": "12", "failures": "3", "errors": "4", "skipped": "0", "time": "13.000"}
    first, again = root
    assert first.attrib == {
        "name": "mock/m@default", "tests": "9", "failures": "3", "errors": "3", "skipped": "0", "time": "12.000",
    }  # fmt: skip
    found = {test.get("name"): [child.tag for child in test] for test in first.iter("testcase")}
    assert found == {
        "good": [], "optional": [], "low": [], "bad": ["failure"], "secret": ["failure"], "cut": ["failure"], "c7": ["error"], "c8": ["error"],
        "c9": ["error"],
    }  # fmt: skip
    told = {test.get("name"): test[0] for test in first.iter("testcase") if len(test)}
    assert told["bad"].attrib == {
        "type": "missed, unmatched",
        "message": "missed m1: The user has a parrot (merged in what was returned); unmatched: A cat (m1: similarity .10 < .34)",
    }
    assert told["bad"].text.splitlines() == told["bad"].get("message").split("; ")
    assert told["secret"].attrib == {"type": "violation", "message": "violation: pin 1 (forbidden[0]: secret)"}
    assert told["cut"].attrib == {"type": "unreadable", "message": "the reply was cut off"}
    assert told["c7"].attrib == {"type": "timeout", "message": "no answer within 120 s"}
    assert {test.get("classname") for test in first.iter("testcase")} == {"mock/m@default"}
    assert {test.get("time") for test in first.iter("testcase")} == {"2.000", "0.000"}
    assert [test.get("name") for test in again.iter("testcase")] == ["good (repeat 0)", "good (repeat 1)", "good (not scored 1)"]
    properties = [(one.get("name"), one.get("value")) for one in first.find("properties")]
    assert properties == [
        ("signature", str(junit_report().cells[0].signature)), ("f1", "0.5"), ("f1_low", "0.25"), ("f1_high", "0.75"), ("notice", "A notice."),
    ]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_junit_of_hostile_text_is_xml_and_its_sums_are_right(text):
    root = ET.fromstring(junit_xml(hostile_report(text)).encode("utf-8"))
    assert {element.tag for element in root.iter()} == {"testsuites", "testsuite", "properties", "property", "testcase", "failure", "error"}
    suites = list(root.iter("testsuite"))
    for name, kind in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        assert int(root.get(name)) == sum(int(suite.get(name)) for suite in suites) == len(list(root.iter(kind)))
    assert [test.get("name") for test in root.iter("testcase")] == [printable(text)] * 2
    assert printable(text).strip() in next(root.iter("failure")).text
    assert not any(test.find("failure") is not None and test.find("error") is not None for test in root.iter("testcase"))


def test_an_empty_report_is_valid_junit():
    root = ET.fromstring(junit_xml(Report("x", ())).encode())
    assert root.attrib == {"name": "x", "tests": "0", "failures": "0", "errors": "0", "skipped": "0", "time": "0.000"}
