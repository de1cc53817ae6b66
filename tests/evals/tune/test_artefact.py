"""The artefact: what comes back from a file, what is refused, and what its hashes hold."""

import hashlib
import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

from evals.errors import WorkbenchError
from evals.metrics.measures import MEASURES
from evals.tune.artefact import HEADLINES, read_artefact, write_artefact
from salience import ConsolidationPolicy, Policy
from tests.evals.tune import artefacts as made


def written(artefact, path=Path("artefact.json")):
    write_artefact(artefact, path)
    return json.loads(path.read_text(encoding="ascii"))


@pytest.mark.parametrize("name", made.POLICIES)
def test_what_is_written_is_read(name):
    artefact = made.artefact(made.POLICIES[name], note=made.HOSTILE, suppliers=(made.HOSTILE,))
    written(artefact)
    back = read_artefact(Path("artefact.json"))
    assert back == artefact
    assert (back.hash, back.policy.hash, back.base.hash) == (artefact.hash, artefact.policy.hash, artefact.base.hash)
    assert back.policy.schema_json == artefact.policy.schema_json  # the order of its keys too


def test_the_file_is_the_same_for_the_same_artefact_and_sorted_and_ascii():
    first = made.artefact(options={"b": 1, "a": 2}, versions={"y": "1", "x": "2"})
    second = made.artefact(options={"a": 2, "b": 1}, versions={"x": "2", "y": "1"})
    write_artefact(first, Path("first.json"))
    write_artefact(second, Path("second.json"))
    content = Path("first.json").read_bytes()
    assert content == Path("second.json").read_bytes()
    assert content.isascii()
    assert list(json.loads(content)) == sorted(json.loads(content))
    assert content.endswith(b"}\n")


def test_suppliers_are_sorted_and_mappings_are_copied():
    options = {"inner": {"depth": 1}}
    artefact = made.artefact(suppliers=["b", "a", "b"], options=options)
    options["inner"]["depth"] = 2
    assert artefact.suppliers == ("a", "b")
    assert artefact.options == {"inner": {"depth": 1}}
    with pytest.raises(FrozenInstanceError):
        artefact.note = "x"


def test_numbers_of_numpy_are_kept_and_what_is_not_a_number_is_null():
    artefact = made.artefact(scores={"dev": {"tuned": {"f1": [np.float64(0.5), float("nan"), np.float32(0.25)]}, "n": np.int64(4)}})
    assert artefact.scores == {"dev": {"tuned": {"f1": [0.5, None, 0.25]}, "n": 4}}
    written(artefact)


def test_the_hash_is_of_all_but_gate_and_date():
    artefact = made.artefact(gates=())
    content = written(artefact)
    for name in ("gates", "made", "hash", "sha256"):
        del content[name]
    del content["policy"]["name"]
    text = json.dumps(content, separators=(",", ":"))  # the file is sorted already, apart from the schema, which there is none of
    assert artefact.hash == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert replace(artefact, made="2027-01-01T10:00:00Z").hash == artefact.hash
    assert artefact.with_gate(made.PASS, {"test": {"mine": {"f1": [1, 1, 1]}}}).hash == artefact.hash
    assert replace(artefact, policy=replace(artefact.policy, name="other")).hash == artefact.hash
    for change in ({"seed": 8}, {"note": "x"}, {"model": "known/other"}, {"base": Policy("default", "Other.")}, {"scores": {}}):
        assert replace(artefact, **change).hash != artefact.hash


def test_the_order_of_a_schema_is_part_of_the_hash():
    one = made.artefact(Policy("mine", "x", schema_json='{"a":{},"b":{}}'))
    other = made.artefact(Policy("mine", "x", schema_json='{"b":{},"a":{}}'))
    assert one.hash != other.hash


def test_a_gate_is_added_and_a_second_is_marked():
    artefact = made.artefact(gates=())
    assert artefact.gate is None
    assert not artefact.passed
    told = {"test": {"default": {"f1": [0.25, 0, 0.5]}, "mine": {"f1": [0.5, 0, 1]}, "baseline/rules": {"f1": [0, 0, 0]}, "n": 16}}
    once = artefact.with_gate(made.FAIL, told)
    assert (once.gate["verdict"], once.gate["reused"], once.passed) == ("fail", False, False)
    assert list(once.scores["test"]) == ["base:default", "baseline/rules", "n", "tuned"]
    assert once.figures("test") == {"f1": [0.5, 0.0, 1.0]}
    assert once.figures("dev") == artefact.figures("dev")
    twice = once.with_gate(made.PASS)
    assert (len(twice.gates), twice.gate["reused"], twice.passed) == (2, True, True)
    assert artefact.gates == ()
    written(twice)
    assert read_artefact(Path("artefact.json")) == twice
    with pytest.raises(WorkbenchError, match=r"gates\[1\].reused must be true, as test had been opened before, got False"):
        made.artefact(gates=(made.PASS, made.PASS))


FAULTS = [
    (["seed"], -1, "seed must be a whole number from 0 up, got -1"),
    (["seed"], True, "seed must be a whole number from 0 up, got True"),
    (["candidates"], 1.5, "candidates must be a whole number from 0 up, got 1.5"),
    (["schema_version"], 2, "schema_version must be 1, got 2"),
    (["task"], "scenario", 'task must be "extraction" or "consolidation", got \'scenario\''),
    (["task"], [], 'task must be "extraction" or "consolidation", got []'),
    (["task"], "consolidation", "policy: has no task, so it is a policy of extraction"),
    (["model"], " ", "model must be a non-empty text, got ' '"),
    (["note"], None, "note must be a text, got None"),
    (["made"], "today", 'made must be an ISO 8601 date or time such as "2026-03-02", got \'today\''),
    (["made"], 20261201, "made must be an ISO 8601 date or time"),
    (["fingerprint"], [], "fingerprint must be an object, got []"),
    (["options"], "x", "options must be an object, got 'x'"),
    (["data"], {}, "data.argument must be a non-empty text, got None"),
    (["data", "train"], 3, "data.train must be an object, got 3"),
    (["data", "dev", "cases"], -1, "data.dev.cases must be a whole number from 0 up, got -1"),
    (["data", "version"], 2, "data.version must be a text, got 2"),
    (["suppliers"], "c1", "suppliers must be an array of texts, got 'c1'"),
    (["suppliers"], [1], "suppliers must be an array of texts, got [1]"),
    (["scores"], {"all": {}}, "scores must be an object whose keys are among train, dev, test"),
    (["scores", "dev"], [], "scores.dev must be an object from policies to figures, got []"),
    (["scores", "dev", "tuned"], "x", "scores.dev.tuned must be a whole number from 0 up, got 'x'"),
    (["scores", "dev", "tuned", "f1"], [1, 2], "scores.dev.tuned.f1 must be [value, low, high], each a number or null, got [1, 2]"),
    (["scores", "dev", "tuned", "f1"], [1, 2, True], "scores.dev.tuned.f1 must be [value, low, high]"),
    (["scores", "dev", "tuned", "f1"], [10**400, 0, 0], "scores.dev.tuned.f1 must be [value, low, high]"),
    (["gates"], {}, "gates must be an array, got {}"),
    (["gates", 0, "verdict"], "passed", 'gates[0].verdict must be "pass", "fail" or "inconclusive", got \'passed\''),
    (["gates", 0, "reasons"], "because", "gates[0].reasons must be an array of texts, got 'because'"),
    (["gates", 0, "reused"], 0, "gates[0].reused must be true or false, got 0"),
    (["gates", 0, "date"], None, "gates[0].date must be an ISO 8601 date"),
    (["spent", "calls"], -1, "spent.calls must be a number from 0 up, or null, got -1"),
    (["versions", "python"], 3, "versions.python must be a text, got 3"),
    (["policy"], None, "policy: the file must be a JSON object, got NoneType"),
    (["policy", "system"], [], "policy: system must be a non-empty string"),
    (["policy", "decoding", "temperature"], 9, "policy: decoding.temperature must be None or a number from 0 to 2, got 9"),
    (["base", "eval"], "1", "base: eval is not a field of a policy"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "told"), FAULTS)
def test_a_bad_field_is_named_with_what_was_given_and_what_is_allowed(place, value, told):
    content = written(made.artefact())
    inside = content
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    Path("bad.json").write_text(json.dumps(content))
    with pytest.raises(WorkbenchError) as error:
        read_artefact(Path("bad.json"))
    assert str(error.value).startswith("bad.json: ")
    assert told in str(error.value)


CHANGES = [
    (["policy", "system"], ["Other."]),
    (["gates", 0, "verdict"], "fail"),
    (["gates"], []),
    (["made"], "2026-12-03"),
    (["scores", "dev", "tuned", "f1"], [0.9, 0.8, 1.0]),
    (["hash"], "000000000000"),
    (["sha256"], None),
    (["policy", "name"], "other"),
    (["note"], "x"),
]


@pytest.mark.parametrize(("place", "value"), CHANGES)
def test_a_file_that_was_changed_is_refused(place, value):
    content = written(made.artefact())
    inside = content
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    Path("bad.json").write_text(json.dumps(content))
    with pytest.raises(WorkbenchError, match="bad.json: (hash|sha256) is .* the file was changed after it was made"):
        read_artefact(Path("bad.json"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not valid JSON"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[]", "is no artefact of salience tune"),
        (b'{"schema_version": 1}', "base is missing"),
        (b'{"schema_version": 1, "schema_version": 1}', "stands twice"),
        (b'{"schema_version": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"schema_version": 1, "__import__": ' + b"[" * 300 + b"]" * 300 + b"}", "'__import__' is not a field of an artefact"),
        (b'{"schema_version": 1, "note": "\\ud800"}', "half of a surrogate pair"),
        (b"__import__('os').system('touch owned')", "is not valid JSON"),
    ],
)
def test_a_hostile_file_is_one_message(content, told):
    Path("bad.json").write_bytes(content)
    with pytest.raises(WorkbenchError) as error:
        read_artefact(Path("bad.json"))
    assert str(error.value).startswith("bad.json: ")
    assert told in str(error.value)
    assert not Path("owned").exists()


@pytest.mark.parametrize("depth", [60, 300, 900, 985])
@pytest.mark.parametrize("field", ["options", "schema", "provenance"])
def test_deep_nesting_is_one_message(field, depth):
    content = written(made.artefact(Policy("mine", "x", schema_json="{}")))
    nested = {}
    for _ in range(depth):
        nested = {"a": nested}
    (content if field == "options" else content["policy"])[field] = nested
    text = json.dumps(content) if depth < 500 else json.dumps(content | {"options": 0, "policy": 0}).replace(
        '"options": 0', '"options": ' + ('{"a":' * depth + "{}" + "}" * depth if field == "options" else "{}")
    ).replace('"policy": 0', '"policy": {"schema_version": 1, "name": "x", "system": "x"' + (
        "" if field == "options" else f', "{field}": ' + '{"a":' * depth + "{}" + "}" * depth) + "}")  # fmt: skip
    Path("bad.json").write_text(text)
    with pytest.raises(WorkbenchError, match=r"^bad.json: .*(nested|changed after it was made)"):
        read_artefact(Path("bad.json"))


def test_no_such_file_a_folder_and_no_such_folder():
    for name in ("none.json", "."):
        with pytest.raises(WorkbenchError, match="cannot be read"):
            read_artefact(Path(name))
    with pytest.raises(WorkbenchError, match="cannot be written"):
        write_artefact(made.artefact(), Path("none/artefact.json"))


def test_what_cannot_be_kept_leaves_the_file_that_was_there():
    before = written(made.artefact())
    for broken in (made.artefact(Policy("mine", made.LONE)), made.artefact(note=made.LONE)):
        with pytest.raises(WorkbenchError, match="half of a surrogate pair"):
            write_artefact(broken, Path("artefact.json"))
    assert json.loads(Path("artefact.json").read_text()) == before
    assert [path.name for path in Path().iterdir()] == ["artefact.json"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"policy": ConsolidationPolicy()}, "base must be a salience.ConsolidationPolicy for the task consolidation"),
        ({"task": "consolidation"}, "policy must be a salience.ConsolidationPolicy for the task consolidation"),
        ({"options": {1: 2}}, "options must be what JSON can hold"),
        ({"options": {"a": {1, 2}}}, "options.a must be what JSON can hold"),
        ({"fingerprint": {"a": float("inf")}}, "fingerprint.a must be what JSON can hold"),
        ({"policy": Policy("mine", "x", schema_json='{"maximum": 1e400}')}, "policy.schema.maximum must be what JSON can hold"),
        ({"policy": Policy("mine", "x", provenance={"a": object()})}, "policy.provenance.a must be what JSON can hold"),
    ],
)
def test_what_cannot_be_an_artefact_is_told_at_once(fields, told):
    with pytest.raises(WorkbenchError) as error:
        made.artefact(**{"base": Policy("default", "x")} | fields)
    assert told in str(error.value)


def test_the_headlines_are_those_of_the_measures():
    assert {task: MEASURES[task].headline for task in HEADLINES} == HEADLINES
