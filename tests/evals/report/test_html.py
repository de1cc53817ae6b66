"""The HTML page: what its tables say, that nothing in it acts, and, in headless Chromium, that it works and stays calm under hostile text."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from evals.calibration.curve import CurvePoint
from evals.calibration.figures import Items, consistency_band, keep_figures, reliability
from evals.calibration.grade import grade_figures
from evals.cases import Case, Evidence, Forbidden, Memory
from evals.errors import WorkbenchError
from evals.metrics.counts import COLUMNS
from evals.metrics.figures import FIGURES
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.report import html_data
from evals.report.html import html_page
from evals.report.html_data import OUTCOMES, case_lines, script_json
from evals.report.html_elements import element, shown
from evals.report.numbers import share
from evals.results import CaseResult, CellResult, Excluded, Report, Salience, Slice
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import Interval

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")

HOSTILE = (
    "</script><script>document.title='pwned'</script>", '<img src=x onerror="document.title=\'pwned\'">', '"><svg onload=document.title=1>',
    "{{7*7}} ${7*7} $script", "a\u2028b\u2029c", "left\u202eright\u2066x", "nul\x00 bell\x07 esc\x1b[2J", "half \ud800 pair", "javascript:document.title='pwned'",
    "]]><!-- <style>body{display:none}</style> </template></title></textarea>",
)  # fmt: skip
EVIL = " ".join(HOSTILE)


# ---- Reports by hand ----


def figure(value, low=None, high=None):
    return Interval(value=value, low=low, high=high, conversations=40, undefined=0.0, method="none" if low is None else "bootstrap")


def signed(model, policy, **more):
    base = {
        "data": DatasetId("extraction", "0.1.0", "0123456789ab"), "split": "dev", "cases": 4, "conversations": 40, "limited": False,
        "rubric": "default", "matcher": MatcherId("embedding", "1", 0.7, True), "policy": policy and PolicyId(policy, "abc"), "model": model,
        "max_tokens": None, "temperature": None, "repeats": 1, "seed": 0, "openings": None, "version": "0.1.0",
    }  # fmt: skip
    return Signature(**(base | more))


NOTHING = Items(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
SOME = Items(np.array([0.25, 0.25, 0.75, 0.75, 0.75]), np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.arange(5))


def salience(items):
    if not len(items):
        return Salience(keep_figures(items), grade_figures(()), {}, {})
    return Salience(keep_figures(items), grade_figures(()), reliability(items), consistency_band(items))


def row(model, policy, cases, values=None, items=NOTHING, **more):
    figures = {name: figure(None) for name in [*FIGURES, "auroc"]} | (values or {})
    totals = dict.fromkeys(COLUMNS, 0) | more.pop("totals", {})
    base = {
        "signature": signed(model, policy), "macro_f1": None, "salience": salience(items), "failed": (), "missing": (), "unscored": (),
        "input_tokens": 1000, "output_tokens": 234, "seconds": 12.34, "cached": 0,
    }  # fmt: skip
    return CellResult(model=model, policy=policy, figures=figures, cases=cases, totals=totals, **(base | more))


def predicted(text, outcome, label=None, reason="similarity .91", **more):
    return Prediction(text, 0.9, None, outcome, label, reason, 0.91 if label else None, **more)


def case(name, text, *, tags=(), language="en", memories=(), **more):
    return Case(id=name, conversation=f"v-{name}", split="dev", language=language, tags=tags, messages=({"role": "user", "content": text},),
                memories=memories, **more)  # fmt: skip


PARROT = case(
    "c-1", "My parrot Kiko\nis loud and lives in the kitchen", tags=("pets",), date="2026-03-02",
    context=({"role": "assistant", "content": "Anything new?", "name": "Ada"},),
    memories=(
        Memory(id="m1", content="The user has a parrot named Kiko", salience=0.7, evidence=(Evidence(message=0, text="parrot Kiko"),)),
        Memory(id="m2", content="The parrot lives in the kitchen", salience=0.6, paraphrases=("Kiko's cage is in the kitchen",)),
        Memory(id="m3", content="The parrot is loud", salience=0.2),
    ),
    forbidden=(Forbidden(content="The user is loud", reason="wrong-subject"),),
)  # fmt: skip
WEATHER = case("c-2", "Wetter heute wieder grau", tags=("small-talk",), language="de")
PARROT_MODEL = CaseResult(
    PARROT, "repaired",
    CaseOutcome(
        (predicted("Has a parrot, Kiko", "hit", "m1"), predicted("The user is loud", "violation", "forbidden[0]", "wrong-subject")),
        {"m1": 0}, ("m2",), ("wrong-subject",),
    ),
    '[{"content": "Has a parrot, Kiko"},', {},
)  # fmt: skip
WEATHER_MODEL = CaseResult(WEATHER, "ok", CaseOutcome((predicted("It rains on Sundays", "unmatched"),), {}, (), ()), "[1]", {})
PARROT_RULES = CaseResult(PARROT, "empty", CaseOutcome((), {}, ("m1", "m2"), ()), "[]", {})
WEATHER_RULES = CaseResult(WEATHER, "empty", CaseOutcome((), {}, (), ()), "[]", {})
VALUES = {
    "precision": figure(0.5, 0.2, 0.8), "recall": figure(0.3333, 0.1, 0.45), "f1": figure(0.4, 0.15, 0.52), "specificity": figure(0.9),
    "auroc": figure(0.75, 0.6, 0.9),
}  # fmt: skip
SILENT = {"recall": figure(0.0), "f1": figure(0.0), "specificity": figure(1.0), "violation_rate": figure(0.0)}
PET_SLICE = Slice(by="tag", name="pets", conversations=12, figures={name: figure(None) for name in [*FIGURES, "auroc"]} | VALUES,
                  totals=dict.fromkeys(COLUMNS, 0) | {"cases": 13, "negatives": 2})  # fmt: skip
CURVE = (CurvePoint(0.75, 1.0, 0.125, 0.222, 1), CurvePoint(0.5, 0.625, 0.375, 0.875, 2))


def two_rows():
    model = row(
        "mock/m", "default", (PARROT_MODEL, WEATHER_MODEL), VALUES, SOME, slices=(PET_SLICE,),
        totals={"status_ok": 1, "status_repaired": 1, "outcome_hit": 1, "outcome_unmatched": 1, "outcome_violation": 1, "missed": 1},
        failed=(Excluded("c-9", "timeout", "no answer"),),
    )  # fmt: skip
    rules = row("baseline/rules", None, (PARROT_RULES, WEATHER_RULES), SILENT, totals={"status_empty": 2, "missed": 2}, cost=0.0)
    return Report("runs/x", (model, rules), ("A notice.",))


PAGE = html_page(two_rows(), (CURVE, ()), (0.5, 0.5))


def hostile():
    gold = Memory(id=EVIL, content=EVIL, paraphrases=(EVIL,), salience=0.7, evidence=(Evidence(message=0, text=EVIL),))
    forbidden = Forbidden(content=EVIL, reason="secret", contains=EVIL)
    message = {"role": EVIL, "content": EVIL, "name": EVIL, EVIL: EVIL}
    one = Case(id=EVIL, conversation=EVIL, split="dev", language="en", tags=(EVIL,), source=EVIL, context=(message,), messages=(message,),
               memories=(gold,), forbidden=(forbidden,))  # fmt: skip
    entry = Prediction(EVIL, 0.9, EVIL, "hit", EVIL, EVIL, 0.5)
    result = CaseResult(one, "ok", CaseOutcome((entry,), {EVIL: 0}, (), (), {EVIL: EVIL}), EVIL, {})
    bad = Slice(
        by="tag", name=EVIL, conversations=1, figures={name: figure(None) for name in [*FIGURES, "auroc"]}, totals=dict.fromkeys(COLUMNS, 0)
    )
    signature = signed(
        EVIL, EVIL, data=DatasetId(EVIL, EVIL, "0123456789ab"), split=EVIL, rubric=EVIL, matcher=MatcherId(EVIL, EVIL, None, False)
    )
    cell = row(EVIL, EVIL, (result,), VALUES, SOME, signature=signature, slices=(bad,), failed=(Excluded(EVIL, EVIL, EVIL),),
               fallbacks={EVIL: 1})  # fmt: skip
    return Report(EVIL, (cell, replace(cell, policy=None)), (EVIL,), EVIL)


# ---- The text of the page ----


class Tables(HTMLParser):
    """The text of every cell, by table caption and row; void elements do not matter here."""

    def __init__(self, page):
        super().__init__()
        self.found, self._caption, self._row, self._inside = {}, None, None, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._inside = tag if tag in ("caption", "th", "td") else self._inside
        if tag == "caption":
            self._caption = ""
        elif tag == "tr":
            self._row = []
            self.found.setdefault(self._caption, []).append(self._row)
        elif tag in ("th", "td"):
            self._row.append("")

    def handle_endtag(self, tag):
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data):
        if self._inside == "caption":
            self._caption += data
        elif self._inside:
            self._row[-1] += data


def test_the_leaderboard_in_numbers():
    table = Tables(PAGE).found["Figures of every row, in brackets their 95% intervals, conversations resampled"]
    assert table[0] == [
        "model and policy", "F1 with its interval0F1.60", "F1", "precision", "recall", "balanced", "specificity", "violations", "noise",
        "AUROC", "replies", "tokens", "cost", "seconds",
    ]  # fmt: skip
    assert table[1] == [
        "row 1mock/mdefault", "", ".40 [.15,.52]", ".50 [.20,.80]", ".33 [.10,.45]", "-", ".90", "-", "-", ".75 [.60,.90]",
        "1 ok, 1 repaired, 1 failed", "1,234", "unknown", "12.3",
    ]  # fmt: skip
    assert table[2] == ["row 2baseline/rules", "", ".00", "-", ".00", "-", "1.00*", ".00*", "-", "-", "2 empty", "-", "-", "12.3"]
    assert 'aria-label="F1 .40 [.15,.52]"' in PAGE
    assert "* Recall is below .05" in PAGE


def test_other_tables_in_numbers():
    tables = Tables(PAGE).found
    head, first, second = tables["Predictions by outcome, and missed memories"]
    assert dict(zip(head, first, strict=True)) == {
        "model and policy": "row 1mock/mdefault", "hit": "1", "optional": "0", "trivial": "0", "duplicate": "0", "near miss": "0",
        "violation": "1", "unmatched": "1", "missed": "1",
    }  # fmt: skip
    assert second[-1] == "2"
    assert tables["Row 1, mock/m@default: by tag"][1] == [
        "pets", "13", "2", "12~", ".40 [.15,.52]", ".50 [.20,.80]", ".33 [.10,.45]", "-", ".90", "-", ".75 [.60,.90]",
    ]  # fmt: skip
    assert tables["What the calls took"][1][1:7] == ["1,000", "234", "unknown", "unknown", "12.3", "6.2"]
    assert tables["1 cases that are in no figure"][1] == ["c-9", "1", "failed: timeout", "no answer"]


def test_what_stands_above_the_tables():
    text = re.sub(r"<[^>]+>", " ", PAGE.split("<main>")[0])
    for part in (
        "extraction 0.1.0",
        "0123456789ab",
        "4 in 40 conversations",
        "embedding 1",
        "kappa .70 (provisional)",
        "A notice.",
        "runs/x",
    ):
        assert part in text
    assert str(signed("mock/m", "default")) in text
    assert "Silver labels: those of LoCoMo" in html_page(replace(two_rows(), silver="those of LoCoMo"), (CURVE, ()))


def test_the_policy_of_the_page_allows_our_style_and_script_and_nothing_else():
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', PAGE)[1]
    style, script = (re.search(rf"<{name}>(.*?)</{name}>", PAGE, re.S)[1] for name in ("style", "script"))
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; base-uri 'none'")
    assert "unsafe" not in policy
    assert "innerHTML" not in script
    assert not re.search(r"\son\w+=|style=\"|<link|@import|url\(|<iframe|<img", PAGE)
    assert set(re.findall(r"https?://[^\"' ]*", PAGE)) == {"http://www.w3.org/2000/svg"}  # a name of SVG in the script, never loaded


def test_data_cannot_leave_its_script_element():
    page = html_page(hostile(), (CURVE, CURVE))
    assert page.encode("utf-8").decode("utf-8") == page
    assert page.count("<script") == page.count("</script") == 3
    assert "\u2028" not in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert page.count("<title>") == page.count("</title>") == 1
    assert script_json("</script>&\u2028") == r'"\u003c/script\u003e\u0026\u2028"'
    assert json.loads(script_json(shown(EVIL))) == shown(EVIL)


def test_elements_escape_all_that_is_not_markup():
    made = element("a", "<b>", element("i", "x"), None, ["&", 7], href='"><script>', class_="c", hidden=True, title=None)
    assert made == '<a href="&quot;&gt;&lt;script&gt;" class="c" hidden>&lt;b&gt;<i>x</i>&amp;7</a>'


def test_foreign_text_shows_what_is_hidden_in_it():
    assert shown("a\tb\nc\u202ed\x00\ud800") == "a\tb\nc\\u202ed\\x00\\ud800"


def test_the_data_of_the_case_browser():
    lines = [json.loads(line) for line in case_lines(two_rows())]
    index = lines[0]
    assert [one[0] for one in index["cases"]] == ["c-1", "c-2"]
    assert (index["tags"], index["languages"]) == (["pets", "small-talk"], ["en", "de"])
    mask = sum(1 << OUTCOMES.index(name) for name in ("hit", "violation", "missed"))
    assert index["results"] == [
        [0, 0, 0, 2, mask, 1, 1, 1], [0, 1, 0, 1, 1 << OUTCOMES.index("missed"), 0, 0, 2],
        [1, 0, 0, 0, 1 << OUTCOMES.index("unmatched"), 0, 1, 0], [1, 1, 0, 1, 0, 0, 0, 0],
    ]  # fmt: skip
    assert lines[1]["context"] == [["assistant", "Anything new?", "Ada"]]
    assert [one["reply"] for one in lines[1]["results"]] == ['[{"content": "Has a parrot, Kiko"},', "[]"]


def test_a_case_is_stored_once_and_the_frame_is_small():
    long = case("c-3", "word " * 2000)
    cells = [row(f"mock/{n}", "p", (CaseResult(long, "ok", CaseOutcome((), {}, (), ()), "[]", {}),)) for n in range(4)]
    page = html_page(Report("r", tuple(cells)), [()] * 4)
    assert len(page) < 10_000 + len(html_page(Report("r", ()), ())) + 4 * 8_000
    assert len(html_page(Report("r", ()), ())) < 100_000


def test_a_page_holds_so_many_results_at_most(monkeypatch):
    monkeypatch.setattr(html_data, "MOST_RESULTS", 2)
    page = html_page(two_rows(), (CURVE, ()))
    assert "2 results are not in this page, which holds 2 at most" in page
    assert len(json.loads(next(case_lines(two_rows())))["results"]) == 2


@pytest.mark.parametrize(("curves", "thresholds"), [((), None), (((), ()), (0.5,))])
def test_as_many_curves_and_thresholds_as_rows(curves, thresholds):
    with pytest.raises(WorkbenchError, match="one entry for each of the report's 2 rows, got"):
        html_page(two_rows(), curves, thresholds)


def test_a_long_path_of_a_model_is_cut_short_and_kept_in_the_title():
    path = "gguf:/srv/models/" + "x" * 50 + "/tiny.gguf"
    page = html_page(Report("r", (row(path, "p", ()),)), ((),))
    assert "gguf:…/tiny.gguf@p" in page
    assert f'title="{path}"' in page


# ---- The page in a browser ----


class Browser:
    """A headless Chromium, spoken to over two pipes."""

    def __init__(self, folder):
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{read} 4>&{write}', "-", CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={folder}/profile", "--remote-debugging-pipe"],
            pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self._folder, self._number, self._rest, self._session, self.events = folder, 0, b"", None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": self._session} if self._session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        while b"\0" not in self._rest:
            data = os.read(self._read, 1 << 20)
            assert data, "chromium has ended"
            self._rest += data
        one, _, self._rest = self._rest.partition(b"\0")
        return json.loads(one)

    def open(self, page, hash_="", width=1400, height=1000):
        path = self._folder / "page.html"
        path.write_text(page, encoding="utf-8")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        for address in ("about:blank", f"{path.as_uri()}{hash_}"):  # the first, as a new hash alone would load nothing
            self.events = []
            self.send("Page.navigate", url=address)
            while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
                self.events.append(self._next())
        return self

    def run(self, code):
        answer = self.send("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector):
        return self.run(f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)")

    def press(self, key):
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "End": 35}
        more = {"text": key} if len(key) == 1 else {"windowsVirtualKeyCode": codes[key], "code": key}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def troubles(self):
        """Exceptions, console messages and refusals by the page's policy."""
        return [
            event
            for event in self.events
            if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        ]

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]

    def close(self):
        self._session = None
        os.write(self._write, b'{"id": 0, "method": "Browser.close"}\0')
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


IDS = ".option .id"


@needs_chromium
@pytest.mark.parametrize("hash_", ["", "#case=" + "c-1" + "&row=1&compare=1"])
def test_the_page_loads_nothing_and_complains_of_nothing(browser, hash_):
    browser.open(PAGE, hash_)
    assert [url.partition("#")[0].rpartition("/")[2] for url in browser.requests()] == ["page.html"]
    assert browser.troubles() == []
    assert browser.text(IDS) == ["c-1", "c-1", "c-2", "c-2"]
    assert browser.run("document.querySelectorAll('#reliability-chart svg.chart').length") > 0
    assert browser.run("document.querySelectorAll('#threshold-chart figure svg').length") == 3


@needs_chromium
@pytest.mark.parametrize(
    ("hash_", "found"),
    [
        ("#outcome=missed", ["c-1 1", "c-1 2"]), ("#outcome=unmatched", ["c-2 1"]), ("#outcome=wrong", ["c-1 1", "c-2 1"]),
        ("#outcome=clean", ["c-2 2"]), ("#q=kitchen", ["c-1 1", "c-1 2"]), ("#q=SUNDAYS", ["c-2 1"]), ("#q=kitchen+kiko&only=2", ["c-1 2"]),
        ("#q=v-c-2", ["c-2 1", "c-2 2"]), ("#tag=pets&only=1", ["c-1 1"]), ("#lang=de", ["c-2 1", "c-2 2"]), ("#status=repaired", ["c-1 1"]),
        ("#q=SIMILARITY+kiko", ["c-1 1"]), ("#q=wrong-subject", ["c-1 1", "c-1 2"]), ("#length=under+120+characters&only=1", ["c-1 1", "c-2 1"]),
        ("#length=120%20to%20299", []),
        ("#q=nowhere", []), ("#tag=unknown", []), ("#only=2", ["c-1 2", "c-2 2"]),
    ],
)  # fmt: skip
def test_filters_by_address(browser, hash_, found):
    browser.open(PAGE, hash_)
    assert (
        browser.run(
            "[...document.querySelectorAll('.option .first')].map((one) => `${one.children[1].textContent} ${one.children[0].textContent}`)"
        )
        == found
    )
    assert browser.text("#count") == [str(len(found))]


LONG = case("c-3", "x" * 300)
LONG_MODEL = CaseResult(LONG, "empty", CaseOutcome((), {}, (), ()), "[]", {})


def by_length():
    """A row with cases of two lengths, the longer one first, and the slice of one of them."""
    slices = (replace(PET_SLICE, by="length", name="300 to 999"),)
    return Report("r", (row("mock/m", "p", (LONG_MODEL, PARROT_MODEL, WEATHER_MODEL), VALUES, slices=slices),))


def test_the_lengths_of_cases_stand_from_short_to_long():
    index = json.loads(next(case_lines(by_length())))
    assert index["lengths"] == ["under 120 characters", "300 to 999"]
    assert [(one[0], one[6]) for one in index["cases"]] == [("c-3", 1), ("c-1", 0), ("c-2", 0)]


@needs_chromium
def test_cases_are_filtered_by_length(browser):
    browser.open(html_page(by_length(), ((),)))
    assert browser.text("#filter-length option") == ["any", "under 120 characters", "300 to 999"]
    link = browser.run("document.querySelector('#slice-tables tbody th a').getAttribute('href')")
    assert link == "#only=1&length=300%20to%20999"
    browser.open(html_page(by_length(), ((),)), link)
    assert browser.text(IDS) == ["c-3"]
    assert browser.run("document.getElementById('filter-length').value") == "300 to 999"
    choose = "(() => { const one = document.getElementById('filter-length'); one.value = 'under 120 characters'; one.dispatchEvent(new Event('change')); })()"
    browser.run(choose)
    assert browser.text(IDS) == ["c-1", "c-2"]
    assert "length=under+120+characters" in browser.run("location.hash")


@needs_chromium
def test_a_nearest_label_is_not_shown_as_a_pairing(browser):
    kinds = ("hit", "optional", "trivial", "duplicate", "unmatched", "unsupported", "near_miss")
    entries = (*(predicted(f"says {kind}", kind, "m1") for kind in kinds), predicted("says violation", "violation", "forbidden[0]"))
    result = replace(PARROT_MODEL, outcome=CaseOutcome((*entries, predicted("says nothing", "unmatched")), {"m1": 0}, ("m2",), ()))
    browser.open(html_page(Report("r", (row("mock/m", "p", (result,)),)), ((),)), "#case=c-1&row=1")
    lines = browser.text("#detail section[aria-label=Predictions] .line")
    assert [re.search(r"(paired with|nearest:) (\S+?)salience", line)[0].removesuffix("salience") for line in lines[:-1]] == [
        *["paired with m1"] * 4, *["nearest: m1"] * 3, "paired with forbidden[0]",
    ]  # fmt: skip
    assert "paired" not in lines[-1]
    assert "nearest" not in lines[-1]
    pairs = browser.run("[...document.querySelectorAll('#detail section[aria-label=Predictions] li')].map((one) => one.dataset.pair || '')")
    assert pairs == [*["m1"] * 4, "", "", "", "forbidden[0]", ""]
    assert browser.text("#detail section[aria-label=Predictions] h4") == ["Predictions, by salience"]


@needs_chromium
def test_a_case_with_all_that_belongs_to_it(browser):
    browser.open(PAGE, "#case=c-1&row=1")
    text = browser.run("document.getElementById('detail').innerText")
    for part in (
        "My parrot Kiko\nis loud", "assistant (Ada), context: no memory is due from it", "Anything new?", "The user has a parrot named Kiko",
        "found", "missed", "not returned, not required", "wrong-subject", "returned", "Has a parrot, Kiko", "similarity .91",
        '[{"content": "Has a parrot, Kiko"},', "repaired",
    ):  # fmt: skip
        assert part in text
    assert browser.text("#detail mark") == ["parrot Kiko"]
    assert browser.text("#detail .entries .outcome") == ["found", "missed", "not returned, not required", "returned", "hit", "violation"]
    browser.open(PAGE, "#case=c-1&row=1&compare=1")
    assert browser.text("#detail .states tbody .outcome") == ["found", "missed", "missed", "missed", "not returned", "not returned"]
    assert len(browser.text("#detail .side > section")) == 2
    browser.open(PAGE, "#case=gone&row=1")
    assert "This report has no case gone" in browser.text("#detail")[0]


@needs_chromium
def test_keys(browser):
    browser.open(PAGE)
    browser.press("/")
    assert browser.run("document.activeElement.id") == "q"
    browser.press("j")  # a letter of the search while one types
    assert browser.run("document.getElementById('q').value") == "j"
    browser.press("Escape")
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "list"
    browser.press("j")
    browser.press("ArrowDown")
    browser.press("k")
    assert browser.run("location.hash") == "#case=c-1&row=2"
    assert browser.run("document.getElementById('list').getAttribute('aria-activedescendant')") == "option-1"
    browser.press("End")
    assert browser.run("document.querySelector('[aria-selected=true]').getAttribute('aria-posinset')") == "4"
    browser.press("c")
    assert browser.run("location.hash") == "#case=c-2&row=2&compare=1"
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "detail"
    browser.press("Escape")
    assert browser.run("document.activeElement.id") == "list"


@needs_chromium
def test_columns_sort_with_what_is_undefined_last(browser):
    browser.open(PAGE)
    names = "[...document.querySelectorAll('.leaders tbody .model')].map((one) => one.textContent)"
    click = "[...document.querySelectorAll('.leaders .sort')].find((one) => one.textContent === '{}').click()"
    browser.run(click.format("specificity"))
    assert browser.run(names) == ["baseline/rules", "mock/m"]
    browser.run(click.format("precision"))
    browser.run(click.format("precision"))  # upwards: the row without one stays last
    assert browser.run(names) == ["mock/m", "baseline/rules"]
    assert browser.run("document.querySelector('.leaders [aria-sort]').textContent") == "precision"


@needs_chromium
def test_figures_at_another_threshold_are_written_as_everywhere(browser):
    browser.open(PAGE)
    line = "[...document.querySelectorAll('#threshold-chart .scroll')][0].querySelector('tbody tr').innerText.split('\\t').slice(1)"
    assert browser.run(line) == [share(0.625), share(0.375), share(0.875), "2", ".50"]
    move = "(() => {{ const one = document.getElementById('threshold-at'); one.value = '{}'; one.dispatchEvent(new Event('input')); }})()"
    browser.run(move.format(0.6))
    assert browser.run(line) == ["1.00", share(0.125), share(0.222), "1", ".50"]
    browser.run(move.format(0.8))
    assert browser.run(line) == ["-", ".00", ".00", "0", ".50"]


@needs_chromium
def test_hostile_text_stays_text(browser):
    report = hostile()
    page = html_page(report, (CURVE, CURVE))
    browser.open(page)
    title = browser.run("document.title")
    assert "pwned" in title  # as a part of the data's name, which the title shows as it is
    assert title.startswith("</script><script>")
    assert browser.troubles() == []
    for _ in range(2):
        assert (
            browser.run(
                "document.querySelectorAll('img, iframe, object, embed, template, textarea, [onload], [onerror], [onclick]').length"
            )
            == 0
        )
        assert browser.run("document.querySelectorAll('script').length") == 3
        assert browser.run("document.querySelectorAll('style').length") == 1
        assert browser.run("[...document.querySelectorAll('[href]')].every((one) => one.getAttribute('href').startsWith('#'))")
        assert browser.run("document.querySelectorAll('svg:not(.chart):not([class^=c]):not([width])').length") == 0
        visible = browser.run("document.getElementById('detail').innerText")
        for part in (
            "</script><script>document.title='pwned'</script>",
            "{{7*7}}",
            r"a\u2028b",
            r"left\u202eright",
            r"nul\x00",
            r"half \ud800 pair",
        ):
            assert part in visible
        browser.press("/")
        browser.press("Enter")
        browser.press("c")
    assert browser.run("document.title") == title
    assert browser.run("getComputedStyle(document.body).display") != "none"
    browser.open(page, f"#tag={'%3C%2Fscript%3E'}&q=pwned")
    assert browser.troubles() == []


@needs_chromium
@pytest.mark.parametrize(
    ("report", "curves", "says"),
    [
        (Report("r", ()), (), "No case was completed"),
        (Report("r", (row("mock/m", "p", ()),)), ((),), "No case was completed"),
        (Report("r", (row("mock/m", "p", (WEATHER_MODEL,)),)), ((),), "There is nothing to draw for this row."),
        (Report("r", (row("mock/m", "p", (replace(WEATHER_MODEL, repeat=1), WEATHER_MODEL)),)), ((),), "repeat 2"),
        (Report("r", (row("mock/m", "p", (PARROT_MODEL,), VALUES, SOME),)), (CURVE,), "Fewer than 100 candidates"),
    ],
)
def test_reports_with_little_in_them(browser, report, curves, says):
    browser.open(html_page(report, curves))
    assert browser.troubles() == []
    assert says in browser.run("document.body.innerText")


@needs_chromium
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_the_page_never_scrolls_sideways(browser, width):
    for page, hash_ in ((PAGE, "#case=c-1&row=1&compare=1"), (html_page(hostile(), (CURVE, CURVE)), "")):
        browser.open(page, hash_, width=width)
        assert browser.run("document.documentElement.scrollWidth") <= width


@needs_chromium
def test_the_whole_leaderboard_fits_a_window_of_1280_pixels(browser):
    """Every figure with an interval, a judge's column, and long numbers."""
    values = {name: figure(0.44, 0.38, 0.51) for name in [*FIGURES, "auroc"]}
    totals = {f"status_{name}": 100 for name in ("ok", "empty", "repaired", "truncated", "malformed")} | {"support_known": 3}
    full = row("gguf:some-model-of-1.5b-instruct", "embedded-default", (PARROT_MODEL,), values, totals=totals, cost=12.3456,
               input_tokens=1_234_567, seconds=1234.5)  # fmt: skip
    browser.open(html_page(Report("r", (full,)), ((),)), width=1280)
    assert browser.run("document.querySelectorAll('.leaders thead th').length") == 15
    assert browser.run(
        "(() => { const one = document.querySelector('.leaders').parentElement; return one.scrollWidth <= one.clientWidth; })()"
    )


@needs_chromium
def test_every_table_that_may_scroll_can_be_reached_with_the_keyboard(browser):
    for hash_ in ("", "#case=c-1&row=1&compare=1"):
        browser.open(PAGE, hash_)
        assert browser.run("document.querySelectorAll('#threshold-chart .scroll').length") == 2
        assert browser.run(
            "[...document.querySelectorAll('.scroll')].every((one) => "
            "one.tabIndex === 0 && one.getAttribute('role') === 'region' && one.getAttribute('aria-label'))"
        )


@needs_chromium
def test_every_control_and_table_has_a_name(browser):
    browser.open(PAGE, "#case=c-1&row=1")
    assert browser.run("[...document.querySelectorAll('input, select')].filter((one) => !one.labels.length).length") == 0
    assert browser.run("[...document.querySelectorAll('table')].every((one) => one.caption && one.querySelector('th[scope]'))")
    assert (
        browser.run("[...document.querySelectorAll('svg:not([aria-hidden])')].filter((one) => !one.getAttribute('aria-label')).length") == 0
    )
    assert browser.run(
        "[...document.querySelectorAll('section[id]')].every((one) => document.getElementById(one.getAttribute('aria-labelledby')))"
    )
    ids = browser.run("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
