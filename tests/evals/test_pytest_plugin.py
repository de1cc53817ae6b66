"""The plugin as a project uses it: real pytest runs over a small project of its own, and what is behind it piece by piece."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import msgspec
import pytest

from evals.data.files import load_dataset
from evals.errors import CallError, DataError, WorkbenchError
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.models import ModelReply, ScriptedModel
from evals.models.base import RefusedParameterError
from evals.plan import RunConfig, make_plan
from evals.results import CaseResult
from evals.testing import assert_finds, assert_never
from evals.testing.recorded import RecordedModel, requests_of
from evals.testing.recordings import Recorded, Recording, read_recording
from evals.testing.running import Laboratory, UnansweredError, UnrecordedError, Wanted
from evals.testing.tidying import tidy, unused_lines
from salience import Policy

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "tests" / "examples"

TESTS = """
import pytest
from evals.testing import assert_finds, assert_never

@pytest.fixture(scope="module")
def row(salience_run):
    return salience_run(cases="cases.jsonl", matcher="lexical")

def test_found(row):
    assert_finds(row, "case-000", "m1", "parrot named Kiko")

@pytest.mark.salience_cases(data="cases.jsonl", ids=["case-001", "case-002"])
def test_each(salience_extract, salience_case):
    assert_finds(salience_extract(matcher="lexical"), salience_case)
"""


def project(folder, write_cases, tests=TESTS, count=3, conftest='pytest_plugins = ["evals.pytest_plugin"]\n'):
    """A project with a plugin, cases, and one file of tests."""
    (folder / "tests").mkdir(parents=True)
    (folder / "pytest.ini").write_text(
        "[pytest]\nsalience_model = openai/small\naddopts = -p no:cacheprovider --strict-markers\n", encoding="utf-8"
    )
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    (folder / "tests" / "test_memory.py").write_text(tests, encoding="utf-8")
    write_cases(folder / "tests" / "cases.jsonl", count)
    return folder


def pytest_in(folder, *words, **environ):
    """Run pytest in a folder as a person would; text and exit code."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ}
    env.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words], cwd=folder, capture_output=True, text=True, check=False, env=env, timeout=300
    )
    return done.stdout + done.stderr, done.returncode


@pytest.fixture
def recording_path(tmp_path):
    return tmp_path / "tests" / "recordings" / "test_memory.jsonl"


def test_it_never_loads_by_itself(tmp_path, write_cases):
    mine = {point.value for point in metadata.entry_points(group="pytest11")}
    assert not [value for value in mine if value.startswith("evals")]
    out, code = pytest_in(project(tmp_path, write_cases, "def test_a(salience_run):\n    pass\n", conftest=""))
    assert code == 1
    assert "fixture 'salience_run' not found" in out


def test_loading_it_loads_nothing_heavy():
    code = "import pytest, sys; before = set(sys.modules); import evals.pytest_plugin; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(done.stdout.split()) == {"evals", "evals.errors", "evals.pytest_plugin", "evals.report", "evals.report.safe"}


def test_record_then_replay_then_live(tmp_path, write_cases, server, recording_path):
    """One project through the whole day: nothing is asked in replay, only what is missing in record, everything live."""
    folder = project(tmp_path, write_cases)
    live = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-that-nobody-may-see"}

    out, code = pytest_in(folder, **live)
    assert code == 1
    assert "2 failed, 1 error" in out  # two tests ask themselves; for the third a fixture does
    assert "ERROR at setup of test_found" in out
    assert "3 of 3 requests to openai/small are not recorded in tests/recordings/test_memory.jsonl" in out
    assert len(set(re.findall(r"request ([0-9a-f]{64})", out))) == 3
    assert "case case-001, policy default, model openai/small, repeat 0, part 0" in out
    assert "[user] Date: 2026-03-02" in out
    assert "Case 1: by the way" in out
    assert "--salience-record" in out
    assert server.bodies == []
    assert not recording_path.exists()

    out, code = pytest_in(folder, "--salience-record", **live)
    assert code == 0, out
    assert "test_memory.jsonl: 3 recorded" in out
    assert len(server.bodies) == 3
    first = recording_path.read_bytes()
    rows = [json.loads(line) for line in first.splitlines()]
    assert [row["case"] for row in rows] == ["case-000", "case-001", "case-002"]
    assert json.loads(rows[0]["reply"]) == [{"content": "The user has a parrot named Kiko", "salience": 0.8}]
    assert (rows[0]["input_tokens"], rows[0]["output_tokens"]) == (20, 10)
    assert b"key-that-nobody-may-see" not in first
    assert list(recording_path.parent.iterdir()) == [recording_path]

    out, code = pytest_in(folder)  # no address and no key
    assert code == 0, out
    assert "3 passed" in out
    out, code = pytest_in(folder, "--salience-record", **live)  # nothing is missing
    assert code == 0, out
    assert len(server.bodies) == 3
    assert recording_path.read_bytes() == first

    recording_path.write_bytes(b"not read and not written")
    out, code = pytest_in(folder, "--salience-live", **live)
    assert code == 0, out
    assert len(server.bodies) == 8  # three for the row, and one for each of two cases
    assert recording_path.read_bytes() == b"not read and not written"

    out, code = pytest_in(folder)
    assert code == 1
    assert "test_memory.jsonl:1: is no recorded reply" in out
    out, code = pytest_in(folder, "--salience-live", "--salience-record")
    assert code == 4
    assert "do not go together" in out


FAILING = '''
import pytest
from evals.testing import assert_finds, assert_never

MODEL = "scripted/tests/replies.jsonl"

def test_misses(salience_run):
    assert_finds(salience_run(model=MODEL, cases="cases.jsonl", matcher="lexical"), "case-000")

def test_stores(salience_run):
    assert_never(salience_run(model=MODEL, cases="cases.jsonl", matcher="lexical"), None, "boat")

@pytest.mark.salience_cases(data="cases.jsonl")
def test_each(salience_extract, salience_case):
    salience_extract(model=MODEL, matcher="lexical")

def test_no_such_policy(salience_run):
    salience_run("policies/absent.json")

@pytest.mark.salience_cases(data="cases.jsonl", ids="case-000")
def test_replayed(salience_extract):
    salience_extract(model="openai/other", matcher="lexical")
'''  # fmt: skip


def test_failures_show_the_memories_and_failed_calls_are_errors(tmp_path, write_cases, labelled):
    """Failures of assertions, of calls and of recordings, in the terminal and in JUnit; hostile text is shown escaped."""
    folder = project(tmp_path, write_cases, FAILING)
    cases = [labelled(0), labelled(1)]
    cases[0]["messages"][0]["content"] += " \x1b[31mred\u202eedoc"
    (folder / "tests" / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    replies = [
        {"match": "Case 0", "reply": json.dumps([{"content": "The user has a boat\x1b]0;title\x07", "salience": 0.9}])},
        {"match": "Case 1", "error": {"kind": "http", "message": "500 \x1b[2Jgone"}},
    ]
    (folder / "tests" / "replies.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies), encoding="utf-8")
    (folder / "tests" / "cases-1.jsonl").write_text(json.dumps(cases[0]) + "\n", encoding="utf-8")
    tests = folder / "tests" / "test_memory.py"
    tests.write_text(tests.read_text("utf-8").replace('cases="cases.jsonl"', 'cases="cases-1.jsonl"'), encoding="utf-8")

    out, code = pytest_in(folder, "--salience-live", "--junitxml=junit.xml", "-k", "not replayed")
    assert code == 1
    assert "2 failed, 1 passed, 1 deselected, 2 errors" in out  # two assertions fail; one policy and one call are errors
    assert "case case-000: not found: m1" in out
    assert "! missed        m1 (0.7): The user has a parrot named Kiko" in out
    assert r"[1] near_miss (nearest m1) 0.90: The user has a boat\x1b]0;title\x07  <- guard name: kiko is missing" in out
    assert r"\x1b[31mred\u202eedoc" in out
    assert "case case-000: must never be stored (boat): [1] The user has a boat" in out
    assert r"case case-001: http: 500 \x1b[2Jgone" in out
    assert not set("\x1b\x07\u202e") & set(out)
    shown = {case.get("name"): case for case in ElementTree.parse(folder / "junit.xml").iter("testcase")}
    assert set(shown) == {"test_misses", "test_stores", "test_each[case-000]", "test_each[case-001]", "test_no_such_policy"}
    outcomes = {name: [child.tag for child in case] for name, case in shown.items()}
    assert outcomes == {
        "test_misses": ["failure"], "test_stores": ["failure"], "test_each[case-000]": [], "test_each[case-001]": ["error"],
        "test_no_such_policy": ["error"],
    }  # fmt: skip
    assert "absent.json" in shown["test_no_such_policy"][0].text
    assert "policy_file.py" not in out  # a mistake shows the line of the test, and no traceback through the workbench

    out, code = pytest_in(folder, "--junitxml=junit.xml", "-k", "replayed")
    shown = {case.get("name"): case for case in ElementTree.parse(folder / "junit.xml").iter("testcase")}
    assert [child.tag for child in shown["test_replayed[case-000]"]] == ["failure"]


MISUSED = """
import pytest

@pytest.mark.salience_cases(data="cases.jsonl", ids=["case-0000"])
def test_unknown_id(salience_case):
    pass
"""


def test_a_mistake_in_a_marker_is_told_when_tests_are_collected(tmp_path, write_cases):
    out, code = pytest_in(project(tmp_path, write_cases, MISUSED))
    assert code == 2
    assert "there is no case 'case-0000' in this split; did you mean case-000" in out
    assert "Traceback" not in out
    (tmp_path / "tests" / "test_memory.py").write_text(MISUSED.replace('ids=["case-0000"]', "tags='x'"), encoding="utf-8")
    out, code = pytest_in(tmp_path)
    assert "salience_cases takes data, split, tag, ids by name, got tags" in out


def test_unused_replies_are_told_and_stay(tmp_path, write_cases, server, recording_path):
    folder = project(tmp_path, write_cases)
    folder.joinpath("pytest.ini").write_text("[pytest]\nsalience_model = openai/small\nsalience_recordings = kept\n", encoding="utf-8")
    live = {"OPENAI_BASE_URL": server.url}
    assert pytest_in(folder, "--salience-record", **live)[1] == 0
    kept = folder / "kept" / "test_memory.jsonl"
    before = kept.read_bytes()
    assert not recording_path.exists()
    out, code = pytest_in(folder, "-vv", "-k", "case-002")
    assert code == 0, out
    assert "kept/test_memory.jsonl: 2 recorded replies were not used by the tests that ran (lines 1, 2)" in out
    assert "not used" not in pytest_in(folder, "-k", "case-002")[0]
    assert pytest_in(folder, "--salience-record", "-k", "case-002", **live)[1] == 0
    assert kept.read_bytes() == before


# What is behind it, in this process.


@pytest.fixture
def laboratory():
    opened = []

    def make(mode="replay"):
        opened.append(Laboratory(mode))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def rows(laboratory, tmp_path, **wanted):
    """Run a row, each in a scratch folder of its own."""
    scratch = tmp_path / f"scratch-{len(list(tmp_path.glob('scratch-*')))}"
    scratch.mkdir()
    return laboratory.row(Wanted(**{"policy": "default", "matcher": "lexical", **wanted}), tmp_path / "r.jsonl", scratch, tmp_path)


def test_cases_are_ids_cases_or_a_file(laboratory, tmp_path, write_cases):
    write_cases(tmp_path / "mine.jsonl", 4)
    lab = laboratory()
    every = list(load_dataset(str(tmp_path / "mine.jsonl")).cases)
    by_file = rows(lab, tmp_path, model="baseline/verbatim", cases="mine.jsonl")
    by_data = rows(lab, tmp_path, model="baseline/verbatim", data=Path("mine.jsonl"))
    by_case = rows(lab, tmp_path, model="baseline/verbatim", cases=every[:2])
    by_id = rows(lab, tmp_path, model="baseline/verbatim", data="mine.jsonl", cases=["case-001"])
    assert [len(row.cases) for row in (by_file, by_data, by_case, by_id)] == [4, 4, 2, 1]
    assert by_id.cases[0].case == every[1]
    assert by_file.signature.data.hash == by_data.signature.data.hash
    for cases, told in (([], "empty list"), (["case-001", every[0]], "all ids"), (["case-9"], "no case 'case-9'")):
        with pytest.raises(WorkbenchError, match=told):
            rows(lab, tmp_path, model="baseline/verbatim", data="mine.jsonl", cases=cases)


def test_a_replay_asks_nobody(laboratory, tmp_path, write_cases, server, monkeypatch):
    """Neither the model nor a judge; a policy may be a value, and each repeat has a reply of its own."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    write_cases(tmp_path / "mine.jsonl", 2)
    wanted = {"model": "openai/small", "cases": "mine.jsonl", "policy": Policy(name="own", system="Say what to keep."), "repeats": 2}
    with pytest.raises(UnrecordedError, match="(?s)4 of 4 requests .* policy own, .* repeat 1, part 0"):
        rows(laboratory(), tmp_path, **wanted)
    with pytest.raises(WorkbenchError, match="only --salience-live allows"):
        rows(laboratory(), tmp_path, model="baseline/rules", cases="mine.jsonl", matcher="judge:openai/small")
    assert server.bodies == []
    recorded = rows(laboratory("record"), tmp_path, **wanted)
    assert sorted(one.seed for _, one in read_recording(tmp_path / "r.jsonl")) == [0, 0, 1, 1]
    replayed = rows(laboratory(), tmp_path, **wanted)
    assert replayed.figures == recorded.figures
    assert len(server.bodies) == 4
    changed = {**wanted, "policy": Policy(name="own", system="Say all."), "repeats": 1}
    with pytest.raises(UnrecordedError, match="a reply to another request is recorded there"):
        rows(laboratory(), tmp_path, **changed)


def test_a_failed_call_is_an_error_and_is_not_recorded(laboratory, tmp_path, write_cases):
    write_cases(tmp_path / "mine.jsonl", 3)
    script = [{"match": "number 2", "error": {"kind": "auth", "message": "no such key"}}, {"match": None, "reply": "[]"}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in script), encoding="utf-8")
    with pytest.raises(UnansweredError, match="(?s)1 of 3 calls under scripted/.*@default failed.*case case-002: auth: no such key"):
        rows(laboratory("record"), tmp_path, model=f"scripted/{tmp_path / 's.jsonl'}", cases="mine.jsonl")
    assert sorted(one.case for _, one in read_recording(tmp_path / "r.jsonl")) == ["case-000", "case-001"]


def test_an_async_test_is_told_to_call_from_a_plain_one(laboratory, tmp_path):
    async def inside():
        rows(laboratory(), tmp_path, model="baseline/rules")

    with pytest.raises(WorkbenchError, match="from a plain test"):
        asyncio.run(inside())


@pytest.fixture
def plan(tmp_path, write_cases):
    write_cases(tmp_path / "mine.jsonl", 2)
    return make_plan(RunConfig(data=str(tmp_path / "mine.jsonl"), models=("openai/small",)))


def send(model, asked):
    request = asked.request
    return asyncio.run(
        model.chat(request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature, seed=0)
    )


def test_what_is_recorded_is_what_was_answered(plan, tmp_path, monkeypatch):
    """Secrets and what no file can hold are written out, an input that is too long is an answer, and the same comes back."""
    monkeypatch.setenv("SOME_API_KEY", "letters-of-a-secret")
    asked = requests_of(plan)
    text = "[] letters-of-a-secret \ud800"
    long = CallError("too_long", "http://me:pw@host says: too long")
    live = ScriptedModel([ModelReply(text, "stop", 5, 2, fallbacks=("no-seed",), reasoning_tokens=1), long])
    path = tmp_path / "r.jsonl"
    first = RecordedModel("openai/small", Recording(path), asked, live)
    assert send(first, asked[0]).text == r"[] [redacted] \ud800"
    with pytest.raises(CallError, match="too long"):
        send(first, asked[1])
    assert "letters-of" not in path.read_text("utf-8")
    assert "pw@" not in path.read_text("utf-8")

    again = RecordedModel("openai/small", Recording(path), asked)
    assert send(again, asked[0]) == ModelReply(r"[] [redacted] \ud800", "stop", 5, 2, fallbacks=("no-seed",), reasoning_tokens=1)
    with pytest.raises(CallError, match="says: too long") as caught:
        send(again, asked[1])
    assert caught.value.kind == "too_long"
    other = RecordedModel("openai/small", Recording(tmp_path / "none.jsonl"), asked)
    with pytest.raises(CallError, match=asked[0].key[1]):
        send(other, asked[0])


def test_a_reply_without_a_refused_parameter_is_recorded_under_what_was_asked(plan, tmp_path):
    asked = requests_of(plan)

    async def again():
        return ModelReply("[]", fallbacks=("no-schema",))

    live = ScriptedModel([RefusedParameterError(CallError("http", "no schema here", status=400), again)])
    recording = Recording(tmp_path / "r.jsonl")
    with pytest.raises(RefusedParameterError) as caught:
        send(RecordedModel("openai/small", recording, asked, live), asked[0])
    assert recording.replies == {}
    assert asyncio.run(caught.value.again()).fallbacks == ("no-schema",)
    assert recording.replies[asked[0].key].fallbacks == ("no-schema",)


def line(number, *, case="c", policy="p", reply="[]", **more):
    return Recorded(model="m", case=case, policy=policy, request=f"{number:064x}", reply=reply, **more)


def write(path, rows):
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def test_tidying_sorts_and_takes_out_what_is_superseded(tmp_path):
    path = tmp_path / "r.jsonl"
    old, used, other = line(1, case="a"), line(2, case="a"), line(3, case="b")
    new, twice = line(4, case="a"), line(3, case="b", reply="the second one does not count")
    write(path, [other, used, new, old, twice])
    assert tidy(path, {new.key}, {used.key}) == 1
    assert [one for _, one in read_recording(path)] == [used, new, other]
    assert unused_lines(path, {new.key}) == [1, 3]
    before = path.read_bytes()
    assert tidy(path, {new.key}, {used.key}) == 0
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_line_is_added_on_a_line_of_its_own(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(msgspec.json.encode(line(1)))
    Recording(path).add(line(2))
    assert [one for _, one in read_recording(path)] == [line(1), line(2)]


GOOD = msgspec.json.encode(line(1)).decode()


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("{", "truncated"),
        ("[]", "Expected `object`, got `array`"),
        (GOOD.replace('"reply":"[]"', '"reply":"[]","\\u001b[2J":1'), r"unknown field `\x1b[2J`"),
        (GOOD.replace('"model":"m",', ""), "missing required field `model`"),
        (GOOD.replace("0" * 60, "x" * 60), "request"),
        (GOOD.replace(',"reply":"[]"', ""), "either `reply` or `too_long`"),
        (GOOD.replace('"reply":"[]"', '"reply":"[]","seed":-1'), "seed"),
        (GOOD.replace('"reply":"[]"', '"reply":"[]","too_long":"x"'), "either `reply` or `too_long`"),
        (GOOD.replace('"reply":"[]"', '"reply":[[[[["x"]]]]]'), "reply"),
        ("[" * 100_000, "is no recorded reply"),
        ("\udcff", "is not UTF-8"),
    ],
)  # fmt: skip
def test_a_broken_line_is_named_with_its_file(tmp_path, broken, told):
    path = tmp_path / "r.jsonl"
    path.write_bytes(f"{GOOD}\n\n{broken}\n".encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as caught:
        assert Recording(path).replies
    assert str(caught.value).startswith(f"{path}:3: ")
    assert told in str(caught.value)
    assert "\x1b" not in str(caught.value)


WRITER = """
import sys
from pathlib import Path
from evals.testing.recordings import Recorded, Recording
from evals.testing.tidying import tidy
path, start = Path(sys.argv[1]), int(sys.argv[2])
recording = Recording(path)
for number in range(start, start + 150):
    recording.add(Recorded(model="m", case=f"c{number}", policy="p", request=f"{number:064x}", reply="x" * (number * 50 % 9000)))
    if number % 10 == 0:
        tidy(path, recording.added, recording.used)
tidy(path, recording.added, recording.used)
"""


def test_processes_that_record_at_once_lose_nothing(tmp_path):
    """Also while one of them puts the sorted file in place of the one that another has open."""
    path = tmp_path / "r.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(start)], cwd=ROOT) for start in (0, 1000, 2000)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    found = [one for _, one in read_recording(path)]
    assert {one.key for one in found} == {("m", f"{start + i:064x}", 0) for start in (0, 1000, 2000) for i in range(150)}
    assert len(found) == 450
    assert all(one.reply == "x" * (int(one.case[1:]) * 50 % 9000) for one in found)


def test_what_workers_did_is_taken_over(tmp_path):
    """pytest-xdist: a worker hands on what it used and recorded, and only the main process sorts."""
    import evals.pytest_plugin as plugin

    path = tmp_path / "r.jsonl"
    write(path, [line(2, case="b"), line(1, case="a")])
    main = SimpleNamespace(stash={plugin._STATE: plugin.SessionState("record")}, get_verbosity=lambda: 1)
    for number in (1, 2):
        state = plugin.SessionState("record")
        state.laboratory = Laboratory("record")
        recording = state.laboratory.recordings[path] = Recording(path)
        recording.added.add(line(number).key)
        worker = SimpleNamespace(stash={plugin._STATE: state}, workeroutput={}, get_verbosity=lambda: 1)
        plugin.pytest_sessionfinish(SimpleNamespace(config=worker))
        assert [one.case for _, one in read_recording(path)] == ["b", "a"]
        output = json.loads(json.dumps(worker.workeroutput))  # only plain values travel
        plugin.pytest_testnodedown(SimpleNamespace(workeroutput=output, config=main), None)
    plugin.pytest_sessionfinish(SimpleNamespace(config=main))
    assert [one.case for _, one in read_recording(path)] == ["a", "b"]
    assert main.stash[plugin._STATE].told == [f"{path}: 2 recorded"]


@pytest.fixture
def scored(tmp_path, labelled):
    """One scored case: m1 found, m2 missed, a secret returned below the threshold, and something unlabelled."""
    case = labelled(0)
    case["messages"][0]["content"] += " I sail, I sold the cat, and my PIN is 4711."
    sails = {"id": "m2", "content": "The user sails", "paraphrases": ["Sailing is what the user does"], "salience": 0.9}
    case["memories"].append(sails | {"evidence": [{"message": 0, "text": "I sail"}]})
    case["forbidden"] = [
        {"content": "The PIN is 4711", "reason": "secret", "contains": "4711"},
        {"content": "The user owns a cat", "reason": "negated"},
    ]
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
    predictions = (
        Prediction("The user has a parrot named Kiko", 0.8, None, "hit", "m1", "exact", 1.0),
        Prediction("PIN 4711", 0.1, None, "violation", "forbidden[0]", "secret", None, counted=False),
        Prediction("The user drinks TEA", 0.7, None, "unmatched", "m2", "cosine .20", 0.2),
        Prediction("The user drinks wine", 0.2, None, "below", None, "salience 0.2 is below 0.5", None, counted=False),
    )
    outcome = CaseOutcome(predictions, {"m1": 0}, ("m2",), ("secret",))
    return CaseResult(load_dataset(str(path)).cases[0], "ok", outcome, "[]", {})


@pytest.mark.parametrize("wanted", ["m1", "The user has a parrot named Kiko", "drinks  tea"])
def test_finds_what_is_there(scored, wanted):
    assert_finds(scored, "case-000", wanted)
    assert_finds(scored, scored.case, wanted, "m1")
    assert_finds(scored, None, wanted)


def test_an_id_that_no_label_has_is_refused(scored):
    with pytest.raises(WorkbenchError, match=r"has no memory m9; it has m1, m2"):
        assert_finds(scored, "case-000", "m9")


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ((), "case case-000: not found: m2"),
        (("m1", "m2"), "case case-000: not found: m2"),
        (("Sailing is what the user does",), "! missed        m2 (0.9): The user sails"),
        (("m1 and more",), "not found: m1 and more"),
        (("wine",), "not found: wine"),  # below the threshold, so that it is not stored
    ],
)
def test_says_what_is_not_found(scored, wanted, told):
    with pytest.raises(AssertionError) as caught:
        assert_finds(scored, "case-000", *wanted)
    text = str(caught.value)
    assert told in text
    assert "  found by [1]  m1 (0.7): The user has a parrot named Kiko" in text
    assert "must not be   (secret): The PIN is 4711" in text
    assert "[3] unmatched (nearest m2) 0.70: The user drinks TEA  <- cosine .20" in text


@pytest.mark.parametrize("unwanted", ["negated", "injection", "The user owns a cat", "wine", "coffee"])
def test_never_passes_where_it_is_not_stored(scored, unwanted):
    assert_never(scored, "case-000", unwanted)


@pytest.mark.parametrize(("unwanted", "row"), [("secret", 2), ("The PIN is 4711", 2), ("Drinks tea", 3), ("parrot", 1)])
def test_never_says_what_was_stored(scored, unwanted, row):
    with pytest.raises(AssertionError, match="must never be stored") as caught:
        assert_never(scored, None, unwanted)
    marked = [line for line in str(caught.value).splitlines() if line.startswith("  ! ")]
    assert len(marked) == 1
    assert marked[0].startswith(f"  ! [{row}] ")


def test_a_case_that_is_not_there_is_a_mistake_and_no_failure(scored):
    with pytest.raises(WorkbenchError, match="case 'case-001' is not among the scored cases .case-000."):
        assert_never(scored, "case-001", "secret")
    with pytest.raises(WorkbenchError, match="blank"):
        assert_finds(scored, "case-000", " ")


def test_an_assertion_over_a_row_that_could_not_fail_is_a_mistake(laboratory, tmp_path, labelled):
    cases = [labelled(0), labelled(1)]
    cases[0]["messages"][0]["content"] += " Is it a cat?"
    cases[0]["forbidden"] = [{"content": "The user has a cat", "reason": "question"}]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    row = rows(laboratory(), tmp_path, model="baseline/silent", cases="mine.jsonl")
    assert_never(row, None, "question")
    assert_never(row, "case-000", "question")
    for case, reason, there in ((None, "secret", "question"), ("case-001", "question", "none")):
        with pytest.raises(WorkbenchError, match=f"'{reason}', so this could not fail; there are: {there}"):
            assert_never(row, case, reason)
    assert_never(row.cases[1], "case-001", "question")  # one of many that a test runs over
    with pytest.raises(AssertionError, match="case case-000: not found: m1"):
        assert_finds(row, None)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sercet", "secret"), ("Secret", "secret"), (" secrets ", "secret"), ("wrong_subject", "wrong-subject"), ("superceded", "superseded")],
)
def test_a_misspelt_reason_is_refused_with_the_reasons(scored, laboratory, tmp_path, write_cases, word, meant):
    with pytest.raises(WorkbenchError, match=f"is no reason, but close to '{meant}'; the reasons: hypothetical, .*, relative-date"):
        assert_never(scored, "case-000", word)
    write_cases(tmp_path / "mine.jsonl", 1)
    with pytest.raises(WorkbenchError, match="give more of that text than this one word"):
        assert_never(rows(laboratory(), tmp_path, model="baseline/silent", cases="mine.jsonl"), None, word)


@pytest.mark.parametrize("text", ["secretary", "a sercet", "boat", "negative"])
def test_other_texts_are_not_taken_for_a_reason(scored, text):
    assert_never(scored, "case-000", text)


def test_a_forbidden_wording_is_not_taken_for_a_reason(scored):
    forbidden = msgspec.structs.replace(scored.case.forbidden[1], content="Secrets")
    named = msgspec.structs.replace(scored.case, forbidden=(scored.case.forbidden[0], forbidden))
    assert_never(replace(scored, case=named), "case-000", "Secrets")


# What a team copies.


@pytest.fixture
def team(tmp_path):
    """A project that copied the examples as they say."""
    (tmp_path / "tests").mkdir()
    shutil.copy(EXAMPLES / "test_memory_policy.py", tmp_path / "tests")
    shutil.copytree(EXAMPLES / "recordings", tmp_path / "tests" / "recordings")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["evals.pytest_plugin"]\n', encoding="utf-8")
    return tmp_path


def test_the_workflow_example_runs_as_it_stands(team):
    """Every step but the installation, in a shell as GitHub starts it; the summary and the JUnit file are there afterwards."""
    yaml = pytest.importorskip("yaml")
    flow = yaml.safe_load((EXAMPLES / "ci.yml").read_text("utf-8"))
    (job,) = flow["jobs"].values()
    assert flow[True].keys() == {"push", "pull_request"}  # YAML 1.1 reads the key `on` as true
    assert flow["permissions"] == {"contents": "read"}
    assert job["defaults"]["run"]["shell"] == "bash"
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[0] == "python -m pip install 'salience-workbench[evals,local]' pytest"
    env = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    env |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": "summary.md"}
    for command in commands[1:]:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=team,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (upload,) = (step for step in job["steps"] if step.get("uses", "").startswith("actions/upload-artifact@"))
    suite = next(ElementTree.parse(team / upload["with"]["path"]).iter("testsuite"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("10", "0", "0")
    summary = (team / "summary.md").read_text("utf-8").splitlines()
    assert summary[:2] == ["### Memory policy", ""]
    assert all(text.startswith("    ") for text in summary[2:])
    assert "9 passed, 1 xfailed" in summary[-1]


def test_a_changed_policy_needs_new_replies_and_fails_without(team):
    mine = Policy.load("embedded-default")
    Policy(name="mine", system=mine.system + " Be brief.").save(team / "tests" / "mine.json")
    tests = team / "tests" / "test_memory_policy.py"
    tests.write_text(tests.read_text("utf-8").replace('POLICY = "embedded-default"', 'POLICY = "mine.json"'), encoding="utf-8")
    out, code = pytest_in(team, "-k", "secret or joke", "-p", "no:cacheprovider")
    assert code == 1
    assert "2 failed, 8 deselected" in out  # failures and no errors: the model was not at fault, what is sent has changed
    assert "3 of 3 requests to embedded/smollm2 are not recorded in tests/recordings/test_memory_policy.jsonl" in out
