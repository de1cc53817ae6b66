"""B2 to B5: what a reply about new facts comes to. Whatever it is, nothing is lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import ConsolidationDecision, ConsolidationPolicy, KnownMemory, Reply, read_consolidation
from salience.consolidation_search import find_decisions
from salience.lenient_json import Allowance, LenientParser

FACT = "The user left Acme for Orla on 2031-03-01"
KNOWN = [
    KnownMemory("u-7", "The user works at Acme"),
    KnownMemory("u-9", "The user owns a kayak"),
    KnownMemory("u-2", "Acme pays for lunch"),
]
ADD, NONE = ConsolidationDecision("ADD"), ConsolidationDecision("NONE")


def update(target, content):
    return ConsolidationDecision("UPDATE", target, content)


def delete(target, content=None, *also):
    return ConsolidationDecision("DELETE", target, content, also)


def read(text, facts=(FACT,), existing=KNOWN, finish_reason="stop"):
    return read_consolidation(ConsolidationPolicy(), facts, existing, Reply(text, finish_reason))


def only(text, **options):
    (result,) = read(text, **options)
    return result


def wrapped(**decision):
    return json.dumps({"decisions": [decision]})


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ({"action": "ADD", "id": None, "content": None, "also_retire": []}, ADD),
        ({"action": "UPDATE", "id": 1, "content": "The user works at Orla", "also_retire": []}, update("u-7", "The user works at Orla")),
        ({"action": "DELETE", "id": 1, "content": FACT, "also_retire": [3]}, delete("u-7", FACT, "u-2")),
        ({"action": "DELETE", "id": 1, "content": None, "also_retire": []}, delete("u-7")),
        ({"action": "NONE", "id": 1, "content": None, "also_retire": []}, NONE),
    ],
)
def test_a_reply_of_the_form_asked_for_is_ok(decision, expected):
    result = only(wrapped(fact=1, **decision))
    assert (result.decision, result.status, result.fallback, result.invented) == (expected, "ok", False, 0)
    assert result.known_by == ("u-7" if expected is NONE else None)


ORLA = '"action": "UPDATE", "id": 1, "content": "The user works at Orla"'


@pytest.mark.parametrize(
    "text",
    [
        "{" + ORLA + "}",
        "[{" + ORLA + "}]",
        '{"fact": 1, ' + ORLA + "}",
        'Sure:\n```json\n{"decisions": [{' + ORLA + "}]}\n```\nDone.",
        '<think>maybe {"action": "DELETE", "id": 2}?</think>{' + ORLA + "}",
        '<think>never closed but once {"action": "DELETE", "id": 2}</think> [{' + ORLA + "}]",
        '{"action": "DELETE", "id": 2} closing thought</think>{' + ORLA + "}",
        '{"result": {"decisions": [{' + ORLA + "}]}}",
        "{" + ORLA.replace("UPDATE", "update") + "}",
        "{" + ORLA.replace("UPDATE", " Update. ") + "}",
        "{" + ORLA.replace('"id": 1', '"id": "1"') + "}",
        "{" + ORLA.replace('"id": 1', '"id": "[1]"') + "}",
        "{" + ORLA.replace('"id": 1', '"id": "#1"') + "}",
        "{" + ORLA.replace('"id": 1', '"id": "memory 1"') + "}",
        "{" + ORLA.replace('"id": 1', '"id": [1]') + "}",
        "{" + ORLA.replace('"id": 1', '"id": 1.0') + "}",
        "{" + ORLA.replace('"action"', '"Action"').replace('"id"', '"ID"') + "}",
        "{" + ORLA + ', "also_retire": [2]}',
        "{" + ORLA.replace('"', "'") + ",}",
        "\ufeff{" + ORLA + "}\0",
        json.dumps('{"decisions": [{' + ORLA + "}]}"),
        '{"action": "DELETE", "id": 2} No, better:\n{' + ORLA + "}",
        '[{"action": "DELETE", "id": 2}] No, better:\n[{' + ORLA + "}]",
        "[{" + ORLA + "}, {" + ORLA + "}]",
        "[{" + ORLA + "}] as said in [1, 2] and {this}",
    ],
)
def test_what_stands_around_or_is_nearly_right_is_read(text):
    result = only(text)
    assert (result.decision, result.status, result.fallback) == (update("u-7", "The user works at Orla"), "repaired", False)


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", "malformed", "no decision"),
        ("I would add it.", "malformed", "no decision"),
        ("[]", "malformed", "no decision"),
        ('{"decisions": []}', "malformed", "no decision"),
        ("<think>" + wrapped(action="DELETE", id=1), "malformed", "no decision"),
        (wrapped(action="MERGE", id=1), "malformed", "action is none of"),
        (wrapped(action="ADD|UPDATE|DELETE|NONE", id=1), "malformed", "action is none of"),
        (wrapped(action=None, id=1), "malformed", "action is none of"),
        (wrapped(action={"name": "DELETE"}, id=1), "malformed", "action is none of"),
        (wrapped(action="UPDATE", id=1), "malformed", "UPDATE without content"),
        (wrapped(action="UPDATE", id=1, content=""), "malformed", "UPDATE without content"),
        (wrapped(action="UPDATE", id=1, content="<merged statement>"), "malformed", "UPDATE without content"),
        (wrapped(action="UPDATE", id=1, content="null"), "malformed", "UPDATE without content"),
        (wrapped(action="UPDATE", id=1, content=7), "malformed", "UPDATE without content"),
        (wrapped(action="UPDATE", id=1, content="the user works at ACME."), "malformed", "leaves the memory as it is"),
        (wrapped(action="UPDATE", id=1, content="The user owns THE kayak"), "malformed", "UPDATE only repeats another memory"),
        (wrapped(action="UPDATE", id=1, content="at Orla " * 200), "malformed", "many times longer"),
        (wrapped(action="UPDATE", id=1, content="Zevrin tunes harmoniums in Drenmouth"), "malformed", "prompt's own text"),
        (wrapped(action="UPDATE", id=1, content="Never touch a memory"), "malformed", "prompt's own text"),
        (wrapped(action="UPDATE", content="The user works at Orla"), "malformed", "UPDATE without id"),
        (wrapped(action="DELETE", id=None), "malformed", "DELETE without id"),
        (wrapped(action="DELETE", id="null"), "malformed", "DELETE without id"),
        (wrapped(action="DELETE", id=[1, 2]), "malformed", "several memories"),
        (wrapped(fact=2, action="DELETE", id=1), "malformed", "no decision"),
        (wrapped(action="DELETE", id=1)[:-2] + ', {"action": "NONE"}]}', "malformed", "different decisions"),
        ('{"decisions": [{"action": "DELETE", "id": 1', "truncated", "no decision"),
        ('{"action": "DELETE", "id": 1', "truncated", "no decision"),
        ('{"decisions": [', "truncated", "no decision"),
    ],
)
def test_b3_what_cannot_be_used_adds_the_fact(text, status, reason):
    result = only(text)
    assert (result.decision, result.status, result.fallback, result.invented) == (ADD, status, True, 0)
    assert reason in result.reason


@pytest.mark.parametrize(
    ("decision", "invented"),
    [
        ({"action": "UPDATE", "id": 12, "content": "x y"}, 1),
        ({"action": "UPDATE", "id": 0, "content": "x y"}, 1),
        ({"action": "UPDATE", "id": -1, "content": "x y"}, 1),
        ({"action": "UPDATE", "id": "-1", "content": "x y"}, 1),
        ({"action": "UPDATE", "id": 4, "content": "x y"}, 1),
        ({"action": "UPDATE", "id": "u-7", "content": "x y"}, 1),
        ({"action": "UPDATE", "id": True, "content": "x y"}, 1),
        ({"action": "UPDATE", "id": 1e300, "content": "x y"}, 1),
        ({"action": "DELETE", "id": 9}, 1),
        ({"action": "DELETE", "id": 1, "also_retire": [2, 8, 9, 9]}, 2),
        ({"action": "DELETE", "id": 7, "also_retire": "8"}, 2),
        ({"action": "NONE", "id": 12}, 1),
    ],
)
def test_b4_an_id_that_was_never_offered_is_refused_and_counted(decision, invented):
    result = only(wrapped(fact=1, **decision))
    assert (result.decision, result.fallback, result.invented, result.status) == (ADD, True, invented, "ok")
    assert "never offered" in result.reason


def test_b4_nothing_was_offered_so_every_id_is_invented():
    result = only(wrapped(action="DELETE", id=1), existing=[])
    assert (result.decision, result.invented) == (ADD, 1)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"content": None}, None),
        ({"content": ""}, None),
        ({"content": "null"}, None),
        ({}, FACT),
        ({"content": "..."}, FACT),
        ({"content": ["x"]}, FACT),
        ({"content": "The user works at Acme."}, FACT),
        ({"content": "The user owns a kayak"}, FACT),
        ({"content": "The user is at Orla"}, "The user is at Orla"),
    ],
)
def test_b5_delete_keeps_the_new_truth_unless_the_model_says_there_is_none(given, kept):
    assert only(wrapped(action="DELETE", id=1, **given)).decision == delete("u-7", kept)


@pytest.mark.parametrize("also", [[3, 3, 1], "3", 3, ["#3", None]])
def test_what_delete_retires_beside_its_id_is_named_once(also):
    assert only(wrapped(action="DELETE", id=1, content=None, also_retire=also)).decision == delete("u-7", None, "u-2")


@pytest.mark.parametrize("target", [None, 0, "", "none", []])
def test_none_needs_no_id(target):
    result = only(wrapped(action="NONE", id=target))
    assert (result.decision, result.known_by, result.fallback) == (NONE, None, False)


def test_content_can_always_be_written_and_is_no_more_than_text():
    result = only('{"action": "UPDATE", "id": 1, "content": " at \\ud83d Orla\\u0000 "}')
    assert result.decision.content == "at \ufffd Orla"


def test_the_prompt_s_example_names_are_no_leak_where_the_fact_has_them():
    (result,) = read(wrapped(action="UPDATE", id=1, content="Works with Zevrin at Acme"), facts=["The user works with Zevrin"])
    assert result.decision == update("u-7", "Works with Zevrin at Acme")


def test_a_reply_that_repeats_the_prompt_touches_nothing():
    """The prompt holds an example with real decisions; its contents give it away, and it has several for one number."""
    results = read(ConsolidationPolicy().system, facts=[FACT, "The user likes tea", "The user has a cat"])
    assert {result.decision for result in results} == {ADD}


def test_several_facts_are_told_apart_by_number():
    text = (
        '[{"fact": 2, "action": "NONE", "id": 2}, {"fact": "1", ' + ORLA + '}, {"fact": 9, "action": "ADD"}, {"action": "DELETE", "id": 3}]'
    )
    first, second, third = read(text, facts=[FACT, "The user has a kayak", "The user likes tea"])
    assert (first.decision, second.decision, second.known_by) == (update("u-7", "The user works at Orla"), NONE, "u-9")
    assert (third.decision, third.fallback, third.status) == (ADD, True, "malformed")
    assert [item.reason for item in first.dropped] == ["names a fact that was not given", "no fact number"]


def test_json_lines_belong_together_until_a_fact_comes_again():
    lines = '{"fact": 1, "action": "DELETE", "id": 1}\nthen\n{"fact": 2, "action": "NONE"}\n'
    again = '{"fact": 1, "action": "ADD"}\n{"fact": 2, "action": "NONE", "id": 3}'
    facts = [FACT, "Lunch is free at Acme"]
    assert [result.decision for result in read(lines, facts=facts)] == [delete("u-7", FACT), NONE]
    assert [(result.decision, result.known_by) for result in read(lines + again, facts=facts)] == [(ADD, None), (NONE, "u-2")]


def test_of_a_cut_reply_whole_decisions_are_kept():
    text = '{"decisions": [{"fact": 1, "action": "NONE", "id": 1}, {"fact": 2, "action": "DELETE", "id": 2, "con'
    first, second = read(text, facts=[FACT, "The user sold the kayak"], finish_reason="length")
    assert (first.decision, first.status, first.fallback) == (NONE, "truncated", False)
    assert (second.decision, second.status, second.fallback) == (ADD, "truncated", True)
    assert [item.reason for item in first.dropped] == ["cut off"]


def applied(decisions, facts, existing):
    """Return what a store holds after decisions: its live memories, and those in its history."""
    live, history = {memory.id: memory.content for memory in existing}, {}
    for number, (decision, fact) in enumerate(zip(decisions, facts, strict=True)):
        for one in decision.touched:
            history[one, number] = live.pop(one)
        if decision.action == "UPDATE":
            live[decision.id] = decision.content
        elif decision.action == "ADD" or (decision.action == "DELETE" and decision.content):
            live["new", number] = decision.content or fact
    return live, history


PIECES = st.sampled_from(
    ['{"decisions": [', "]}", "{", "}", "[", "]", ", ", ": ", '"action"', '"ADD"', '"UPDATE"', '"DELETE"', '"NONE"', '"id"', '"fact"', '"content"',
     '"also_retire"', "1", "2", "3", "9", "-1", "null", '"x y"', "<think>", "</think>", "```", '"', "\\", wrapped(action="DELETE", id=1),
     wrapped(fact=1, action="UPDATE", id=2, content="two"), '{"action": "NONE"}', "\0", "\ud800", "\u2028"]
)  # fmt: skip
REPLIES = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join))


@given(REPLIES, st.integers(0, 3))
def test_nothing_is_lost_whatever_the_reply(text, count):
    """A fact is gone only if the reply says in so many words that it is known or a pure retraction; a memory only if it is named."""
    existing = KNOWN[:count]
    result = only(text, existing=existing)
    decision = result.decision
    live, history = applied([decision], [FACT], existing)
    assert set(decision.touched) <= {memory.id for memory in existing}
    everywhere = [*live.values(), *history.values()]
    assert all(memory.content in everywhere for memory in existing)
    assert all(live[memory.id] == memory.content for memory in existing if memory.id not in decision.touched)
    if decision.action == "ADD":
        assert FACT in live.values()
    elif decision.action in ("UPDATE", "DELETE"):
        assert decision.action in text.upper()
        assert decision.content is None or decision.content in live.values()
        assert decision.content is not None or "content" in text
    else:
        assert "NONE" in text.upper()
    assert result.fallback == bool(result.reason)


@given(REPLIES)
def test_the_same_reply_is_always_read_the_same(text):
    facts = [FACT, "The user has a kayak"]
    assert read(text, facts=facts) == read(text, facts=facts)


HOSTILE = {
    "open brackets": "[" * 1_000_000,
    "open braces": "{" * 1_000_000,
    "nested wrappers": '{"a":' * 200_000,
    "nested decisions": '{"action":{"action":' * 50_000,
    "actions": '{"action":"DELETE","id":1},' * 38_000,
    "an array of actions": "[" + '{"action":"DELETE","id":1},' * 38_000 + "]",
    "different actions": "".join(f'{{"fact":1,"action":"DELETE","id":{n}}}' for n in range(30_000)),
    "different facts": "".join(f'{{"fact":{n},"action":"DELETE","id":1}}\n' for n in range(26_000)),
    "many to retire": wrapped(action="DELETE", id=1, also_retire=list(range(1, 150_000))),
    "a long content": wrapped(action="UPDATE", id=1, content="x" * 1_000_000),
    "a long action": wrapped(action="D" * 1_000_000, id=1),
    "a long id": '{"action":"DELETE","id":' + "9" * 1_000_000 + "}",
    "a long id as text": wrapped(action="DELETE", id=" 1" * 500_000),
    "many keys": "{" + "".join(f'"action{n}":1,' for n in range(60_000)) + '"action":"ADD"}',
    "tags": "<think>" * 140_000,
    "closing tags": '{"action":"ADD"}</think>' * 40_000,
    "quotes": '{"action":"' + '\\"' * 500_000,
    "half quotes": '{"action":' + "'\"" * 500_000,
    "surrogates": "\ud800" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies_end_and_are_read_once(name, monkeypatch):
    """The parser's own allowance bounds the steps; no container is parsed for the second time."""
    starts = []
    parse = LenientParser.parse
    monkeypatch.setattr(LenientParser, "parse", lambda self, start: starts.append(start) or parse(self, start))
    text = HOSTILE[name]
    (result,) = read(text)
    assert result.decision == (delete("u-7", FACT) if name in {"actions", "an array of actions", "different facts"} else ADD)
    assert starts == sorted(set(starts))
    assert len(starts) <= Allowance.for_length(len(text)).steps


def test_the_elements_of_a_reply_have_their_own_text():
    found = find_decisions('so [{"action": "ADD", "x": 1}, {"action": ]')
    assert [text for _, text in found.elements] == ['{"action": "ADD", "x": 1}']
    assert not found.exact
