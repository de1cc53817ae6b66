"""A14: policies as values and as files."""

import hashlib
import json
import pickle
from dataclasses import replace

import pytest

from salience import CalibrationMap, Decoding, Example, ExtractOptions, Policy, PolicyError, Turn

SCHEMA = '{"type": "array", "items": {"type": "object"}}'
FULL = Policy(
    name="full",
    system="Line one.\nLine two.",
    examples=(Example(Turn("[user] hi", source="chat", date="2026-03-02"), "[]"),),
    examples_as="turns",
    options=ExtractOptions(min_salience=0.1, max_candidates=3, default_observed="stated"),
    schema_json=SCHEMA,
    decoding=Decoding(max_tokens=100, temperature=0),
    calibration=CalibrationMap(((0.0, 0.1), (1.0, 0.8))),
    operating_threshold=0.3,
    provenance={"who": "a test"},
)


def test_the_hash_is_the_documented_one():
    """Worked by hand from the clause: the first 12 hex digits of the SHA-256 of the canonical JSON of what changes behaviour."""
    policy = Policy(name="x", system="S")
    canonical = (
        '{"calibration":null,"decoding":[null,null],"examples":[],"examples_as":null,"operating_threshold":0.5,'
        '"options":[0.0,null,null],"schema":null,"system":"S"}'
    )
    assert policy.hash == hashlib.sha256(canonical.encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    "change",
    [
        {"system": "Line one.\nLine two!"},
        {"examples": ()},
        {"examples": (Example(Turn("[user] hi", source="chat", date="2026-03-03"), "[]"),)},
        {"examples": (Example(Turn("[user] hi", source="chat", date="2026-03-02"), "[ ]"),)},
        {"examples_as": "system"},
        {"options": ExtractOptions(min_salience=0.2, max_candidates=3, default_observed="stated")},
        {"schema_json": None},
        {"schema_json": '{"items": {"type": "object"}, "type": "array"}'},
        {"decoding": Decoding(max_tokens=101, temperature=0)},
        {"calibration": CalibrationMap(((0.0, 0.1), (1.0, 0.7)))},
        {"operating_threshold": 0.4},
        {"max_turn_chars": 200},
    ],
)
def test_every_field_that_changes_behaviour_changes_the_hash(change):
    assert replace(FULL, **change).hash != FULL.hash


@pytest.mark.parametrize(
    "change", [{"name": "other"}, {"provenance": {"who": "else"}}, {"schema_json": '{"type":"array","items":{"type":"object"}}'}]
)
def test_name_provenance_and_white_space_in_the_schema_do_not(change):
    assert replace(FULL, **change).hash == FULL.hash


def test_integers_and_floats_of_the_same_value_hash_alike():
    assert replace(FULL, decoding=Decoding(max_tokens=100, temperature=0.0)).hash == FULL.hash
    assert Policy(options=ExtractOptions(min_salience=0)).hash == Policy(options=ExtractOptions(min_salience=0.0)).hash


def test_max_turn_chars_is_in_the_hash_only_where_it_is_set():
    """So policies that have none keep the hashes they had before there was such a field."""
    canonical = (
        '{"calibration":null,"decoding":[null,null],"examples":[],"examples_as":null,"max_turn_chars":4000,"operating_threshold":0.5,'
        '"options":[0.0,null,null],"schema":null,"system":"S"}'
    )
    assert Policy(name="x", system="S", max_turn_chars=4000).hash == hashlib.sha256(canonical.encode()).hexdigest()[:12]
    assert Policy(name="x", system="S", max_turn_chars=None).hash == Policy(name="x", system="S").hash
    assert Policy(max_turn_chars=4000) != Policy()


def test_a_file_holds_max_turn_chars_only_where_it_is_set(tmp_path):
    for policy in (Policy(), Policy(max_turn_chars=4000)):
        policy.save(tmp_path / "p.json")
        assert json.loads((tmp_path / "p.json").read_text()).get("max_turn_chars", "absent") == (policy.max_turn_chars or "absent")
    (tmp_path / "mine.json").write_text(json.dumps(BASE | {"max_turn_chars": None}))
    assert Policy.load(tmp_path / "mine.json").max_turn_chars is None


@pytest.mark.parametrize("value", [199, 0, -1, 200.0, True, "400"])
def test_max_turn_chars_out_of_range_names_field_value_and_what_is_allowed(value):
    with pytest.raises(PolicyError, match="max_turn_chars must be None or a whole number from 200 up") as caught:
        Policy(max_turn_chars=value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    "policy", [Policy(), FULL, replace(FULL, max_turn_chars=4000), replace(FULL, system="Zeile\n\n  mit Umlaut: ü\t漢字 \u2028\n")]
)
def test_a_saved_policy_loads_as_the_same_value(policy, tmp_path):
    path = tmp_path / "p.json"
    policy.save(path)
    loaded = Policy.load(path)
    assert loaded == policy
    assert loaded.hash == policy.hash
    assert loaded.name == policy.name
    raw = json.loads(path.read_text(encoding="utf-8"))
    assert raw["schema_version"] == 1
    assert isinstance(raw["system"], list)
    assert raw["provenance"]["hash"] == policy.hash
    assert list(tmp_path.iterdir()) == [path]


def test_the_key_order_of_a_schema_survives_the_file(tmp_path):
    policy = Policy(schema_json='{"type":"object","properties":{"b":{},"a":{}}}')
    policy.save(tmp_path / "p.json")
    assert list(Policy.load(tmp_path / "p.json").schema["properties"]) == ["b", "a"]


def test_a_hand_written_file_needs_no_hash(tmp_path):
    (tmp_path / "mine.json").write_text('{"schema_version": 1, "name": "mine", "system": ["One.", "Two."]}')
    policy = Policy.load(str(tmp_path / "mine.json"))
    assert (policy.name, policy.system, policy.threshold) == ("mine", "One.\nTwo.", 0.5)


def test_a_changed_file_is_refused_and_the_command_is_named(tmp_path):
    path = tmp_path / "p.json"
    FULL.save(path)
    path.write_text(path.read_text().replace("Line two.", "Line 2."))
    with pytest.raises(PolicyError, match=r"salience policy save .*p\.json --name NEW"):
        Policy.load(path)
    assert Policy.load(path, check_hash=False).system == "Line one.\nLine 2."


BASE = {"schema_version": 1, "name": "p", "system": ["S"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 2}, "schema_version must be 1, got 2"),
        ({"schema_version": None}, "schema_version must be int"),
        ({"name": 3}, "name must be str, got 3"),
        ({"name": " "}, "name must be a non-empty string"),
        ({"system": []}, "system must be a non-empty string"),
        ({"system": ["a", 1]}, r"system\[1\] must be a string, got 1"),
        ({"sytem": ["a"]}, "sytem is not a field of a policy; allowed here: .*system"),
        ({"options": {"min_salence": 1}}, "options.min_salence is not a field"),
        ({"options": {"min_salience": 2}}, "min_salience must be a number from 0 to 1, got 2"),
        ({"options": {"max_candidates": True}}, "options.max_candidates must be int or null, got true"),
        ({"decoding": {"max_tokens": 0}}, "max_tokens must be None or a whole number from 1 up, got 0"),
        ({"decoding": {"temperature": 3}}, "temperature must be None or a number from 0 to 2, got 3"),
        ({"examples": [{"turn": {"text": "x"}}]}, r"examples\[0\].reply is missing"),
        ({"examples": [{"turn": {"text": "x", "date": "soon"}, "reply": "[]"}]}, r"examples\[0\]: Turn.date"),
        ({"examples": [{"turn": {"text": "x"}, "reply": "  "}]}, r"examples\[0\]: an example needs"),
        ({"examples_as": "both"}, 'examples_as must be "system" or "turns"'),
        ({"calibration": {"kind": "magic", "points": []}}, 'calibration.kind must be "piecewise"'),
        ({"calibration": {"kind": "piecewise", "points": [[0, 0]]}}, "operating_threshold must be given beside a calibration map"),
        ({"calibration": {"kind": "piecewise", "points": [[0, 1], [1, 0]]}, "operating_threshold": 0.5}, "must rise"),
        ({"calibration": {"kind": "piecewise", "points": ["x"]}, "operating_threshold": 0.5}, "pairs of numbers"),
        ({"operating_threshold": 7}, "operating_threshold must be a number from 0 to 1, got 7"),
        ({"schema": "x"}, "schema must be dict or null"),
        ({"max_turn_chars": 100}, "max_turn_chars must be None or a whole number from 200 up, got 100"),
        ({"max_turn_chars": True}, "max_turn_chars must be int or null, got true"),
        ({"max_turn_chars": "400"}, 'max_turn_chars must be int or null, got "400"'),
        ({"max_turn_char": 400}, "max_turn_char is not a field of a policy; allowed here: .*max_turn_chars"),
    ],
)  # fmt: skip
def test_a_bad_field_is_named_with_what_was_given_and_what_is_allowed(change, said, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(BASE | change))
    with pytest.raises(PolicyError, match=said) as caught:
        Policy.load(path)
    assert "bad.json" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not valid JSON"),
        (b"[1]", "must be a JSON object"),
        (b'{"name": "a", "name": "b"}', "'name' stands twice"),
        (b'{"schema_version": NaN}', "NaN is not a JSON number"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply|not valid JSON"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(content, said, tmp_path):
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(PolicyError, match=said):
        Policy.load(tmp_path / "bad.json")


def test_missing_files_and_names():
    with pytest.raises(PolicyError, match=r"nowhere\.json: cannot be read"):
        Policy.load("nowhere.json")
    with pytest.raises(PolicyError, match="no policy named 'nope'; shipped: .*default.*plain"):
        Policy.load("nope")


@pytest.mark.parametrize("name", Policy.names())
def test_every_shipped_policy_loads_with_its_hash_checked(name):
    policy = Policy.load(name)
    assert policy.name == name
    assert policy.provenance["hash"] == policy.hash


def test_the_default_needs_no_more_than_complete():
    assert not Policy().needs_chat
    assert Policy.load("plain") == Policy()
    assert Policy.load("default").needs_chat
    assert Policy.load("default").system == Policy().system


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("examples", ("a",)),
        ("options", None),
        ("decoding", None),
        ("calibration", 0.5),
        ("provenance", "x"),
        ("name", ""),
        ("system", " "),
        ("schema_json", "["),
    ],
)
def test_the_constructor_names_a_field_that_is_not_valid(field, value):
    with pytest.raises(PolicyError, match=field):
        Policy(**{field: value})


def test_half_a_surrogate_pair_is_no_text(tmp_path):
    (tmp_path / "p.json").write_text('{"schema_version": 1, "name": "p", "system": ["a \\ud800 b"]}')
    with pytest.raises(PolicyError, match="surrogate"):
        Policy.load(tmp_path / "p.json")


def test_policies_are_values():
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    FULL.schema["type"] = "changed"
    assert FULL.schema["type"] == "array"


@pytest.mark.parametrize(
    ("points", "raw", "calibrated"),
    [
        (((0.0, 0.0), (1.0, 1.0)), 0.3, 0.3),
        (((0.2, 0.1), (0.6, 0.5)), 0.4, 0.3),
        (((0.2, 0.1), (0.6, 0.5)), 0.0, 0.1),
        (((0.2, 0.1), (0.6, 0.5)), 1.0, 0.5),
        (((0.2, 0.1), (0.6, 0.5)), 0.6, 0.5),
        (((0.5, 0.25),), 0.9, 0.25),
    ],
)
def test_a_calibration_map_is_piecewise_linear_and_flat_outside(points, raw, calibrated):
    assert CalibrationMap(points)(raw) == pytest.approx(calibrated)
