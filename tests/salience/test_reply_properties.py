"""What holds for every reply: never an exception, whole items and no others, time linear in the length (contract A8 and A9)."""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import read_reply
from salience.lenient_json import Allowance
from salience.reply_search import find_answer
from salience.types import ReplyReading

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "reply_reading.py"
HOSTILE: dict[str, Callable[[int], str]] = runpy.run_path(str(BENCHMARK))["SHAPES"]
PIECES = [
    *"[]{}\"'`“”\\,:：a1#\n <>/.-%$\0\ufeff\ud800",
    *("0.5", "null", "true", "...", "//", "/*", "*/", "<think>", "</think>", "```", "json", '\\"', "\\ud800", "\\x4", "[]", "{}", "[1]"),
    *('"a":', '"content":', '"salience":', '[{"a":', '{"content":"a","salience":1}', "},{", "]}", "tags: "),
]

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
contents = words.map(lambda text: f"x{text}x")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
items = st.fixed_dictionaries(
    {"content": contents, "salience": st.floats(0, 1) | st.sampled_from([0, 1])},
    optional={"tags": st.lists(contents, max_size=3), "source": contents, "meta": st.dictionaries(words, values, max_size=3)},
)
arrays = st.lists(items, max_size=4)


def read_back(reading: ReplyReading) -> list[dict[str, Any]]:
    return [item.to_dict() for item in reading.items]


def without_absent(array: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in item.items() if value not in ([], {})} for item in array]


def check_invariants(text: str) -> ReplyReading:
    reading = read_reply(text)
    assert read_reply(text) == reading
    if reading.status in {"ok", "repaired"}:
        assert reading.items
    if reading.status in {"empty", "malformed"}:
        assert not reading.items
    if reading.status in {"ok", "empty"}:
        assert not reading.dropped
    for item in reading.items:
        assert item.content == item.content.strip() != ""
        assert 0 <= item.salience <= 1
        json.dumps(item.to_dict(), ensure_ascii=False, allow_nan=False).encode()
    for dropped in reading.dropped:
        assert dropped.reason
        assert len(dropped.text.encode().decode()) <= 200
    return reading


@given(st.text() | st.text(st.characters()) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(max_examples=500)
def test_any_text_is_read(text: str) -> None:
    check_invariants(text)


@given(arrays, st.booleans(), st.sampled_from([None, 2]))
def test_a_valid_array_reads_as_it_is(array: list[dict[str, Any]], ascii_only: bool, indent: int | None) -> None:
    reading = read_reply(json.dumps(array, ensure_ascii=ascii_only, indent=indent))
    assert read_back(reading) == without_absent(array)
    assert (reading.status, reading.dropped) == ("ok" if array else "empty", ())


@given(
    arrays,
    st.booleans(),
    st.sampled_from(
        [
            "```json\n%s\n```",
            "Here:\n%s\nThat's all [1].",
            "<think>[{]' \"</think>%s",
            "so [{x}\n</think>\n\n%s",
            '{"memories": %s, "n": 1}',
            "%s<think>[",
        ]
    ),
)
def test_a_valid_array_in_anything_reads_the_same(array: list[dict[str, Any]], ascii_only: bool, around: str) -> None:
    reading = read_reply(around.replace("%s", json.dumps(array, ensure_ascii=ascii_only)))
    assert read_back(reading) == without_absent(array)
    assert (reading.status, reading.dropped) == ("repaired" if array else "empty", ())


@given(st.lists(items, min_size=1, max_size=4))
def test_json_lines_and_python_read_the_same(array: list[dict[str, Any]]) -> None:
    for text in ("\n".join(map(json.dumps, array)), ", ".join(map(json.dumps, array)), json.dumps(array)[:-1] + ",]"):
        reading = read_reply(text)
        assert (read_back(reading), reading.status) == (without_absent(array), "repaired")


@given(st.lists(items, min_size=1, max_size=3), st.sampled_from(["", "Here: ", "```json\n", "<think>]</think>"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_cut_keeps_exactly_the_whole_items(array: list[dict[str, Any]], before: str, ascii_only: bool) -> None:
    rows = [json.dumps(item, ensure_ascii=ascii_only) for item in array]
    text = f"[{','.join(rows)}]"
    ends = [1 + sum(map(len, rows[: n + 1])) + n for n in range(len(rows))]
    for position in range(len(text)):
        reading = read_reply(before + text[:position])
        whole = sum(end <= position for end in ends)
        assert read_back(reading) == without_absent(array[:whole])
        assert reading.status == ("truncated" if position else "malformed")


def test_a_cut_wrapper_keeps_exactly_the_whole_items() -> None:
    rows = ['{"content":"a [b]","salience":1,"tags":["x"]}', '{"content":"c","salience":0.5,"meta":{"y":{"z":[]}}}']
    text = f'{{"memories":[{",".join(rows)}]}}'
    ends = [text.index(row) + len(row) for row in rows]
    for position in range(len(text)):
        reading = read_reply(text[:position])
        assert len(reading.items) == sum(end <= position for end in ends)
        assert reading.status in ({"repaired"} if position == len(text) - 1 else {"truncated", "malformed"})


def test_mutated_replies_are_read() -> None:
    draw = random.Random(20260302)
    base = [{"content": 'Ines says "hi", [often]', "salience": 0.8, "tags": [], "meta": {"x": [1]}}, {"content": "It's", "salience": 1}]
    bases = [json.dumps(base), repr(base), json.dumps(base, indent=1), f"<think>[x</think>```json\n{json.dumps(base)}\n```"]
    for _ in range(20_000):
        chars = list(draw.choice(bases))
        for _ in range(draw.randrange(1, 6)):
            position = draw.randrange(len(chars))
            chars[position : position + draw.randrange(3)] = draw.choices(PIECES, k=draw.randrange(2))
        check_invariants("".join(chars))


def test_a_broken_item_with_empty_fields_never_reads_as_nothing() -> None:
    text = '[{"content":"Ines keeps bees","salience":0.8,"tags":[],"meta":{"refs":[]}}]'
    for position in range(1, len(text)):
        assert read_reply(text[:position] + text[position + 1 :]).status != "empty"
        assert read_reply(text[:position]).status != "empty"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_is_read(name: str) -> None:
    text = HOSTILE[name](1_000_000)
    reading = read_reply(text)
    assert reading.status in {"ok", "empty", "repaired", "truncated", "malformed"}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_linear(name: str) -> None:
    def work(size: int) -> tuple[int, int]:
        text = HOSTILE[name](size)
        allowance = Allowance.for_length(len(text))
        granted = allowance.again
        find_answer(text, allowance)
        return allowance.steps_used, granted - allowance.again

    (steps, again), (double_steps, double_again) = work(40_000), work(80_000)
    assert double_steps <= 2.2 * steps + 1_000
    assert double_again <= 2.5 * again + 10_000


def test_the_allowance_bounds_what_is_read() -> None:
    text = "[" + '{"content":"a","salience":1},' * 100 + "]"
    answer = find_answer(text, Allowance(steps=60, again=0))
    assert answer.truncated
    assert 0 < len(answer.elements) < 100


def test_replies_of_usual_size_stay_within_the_allowance() -> None:
    text = "\n".join(json.dumps({"content": f"Fact {n}", "salience": 0.5, "tags": ["a"], "meta": {"n": [n]}}) for n in range(12_000))
    reading = read_reply(text)
    assert (len(reading.items), reading.status) == (12_000, "repaired")
