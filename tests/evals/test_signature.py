from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.errors import WorkbenchError
from evals.signature import DatasetId, MatcherId, PolicyId, Signature

PLAIN = Signature(
    data=DatasetId("core-en", "0.1.0-rc1", "1a2b3c4d5e6f"),
    split="test",
    cases=30,
    conversations=12,
    limited=False,
    rubric="user-only",
    matcher=MatcherId("embedding", "1", 0.84, True),
    policy=PolicyId("embedded-default", "0f9e8d7c6b5a"),
    model="openai/vendor/name:free",
    max_tokens=512,
    temperature=0.0,
    repeats=1,
    seed=7,
    openings=2,
    version="0.1.0",
)
LINE = (
    "salience|data:core-en-0.1.0%2Drc1-1a2b3c4d5e6f|split:test|n:30/12|rubric:user-only|matcher:embedding-1|kappa:0.84,provisional"
    "|policy:embedded-default-0f9e8d7c6b5a|model:openai/vendor/name:free|max_tokens:512|temperature:0|repeats:1|seed:7|openings:2|version:0.1.0"
)

words = st.text() | st.sampled_from(
    ["", "none", "-", "a-b", "a|b", "50%", "%7C", "a b\n", "gguf:C:\\x y.gguf", "モデル", "\ud800", "é\u0301"]
)
counts = st.integers(0, 10**9)
signatures = st.builds(
    Signature,
    data=st.builds(DatasetId, words, words, st.text("0123456789abcdef", min_size=12, max_size=12)),
    split=words,
    cases=counts,
    conversations=counts,
    limited=st.booleans(),
    rubric=words,
    matcher=st.builds(MatcherId, words, words, st.none() | st.floats(-1, 1), st.booleans()),
    policy=st.none() | st.builds(PolicyId, words, words),
    model=words,
    max_tokens=st.none() | st.integers(1),
    temperature=st.none() | st.floats(0, allow_infinity=False) | st.integers(0, 3),
    repeats=st.integers(1),
    seed=st.integers(),
    openings=st.none() | st.integers(min_value=0),
    version=words,
)


@settings(deadline=None)
@given(signatures)
def test_what_is_written_reads_back(signature: Signature) -> None:
    line = str(signature)
    assert Signature.parse(line) == signature
    assert str(Signature.parse(line)) == line
    assert line.isprintable()
    assert len(line.split()) == 1


@settings(deadline=None)
@given(signatures, signatures)
def test_different_signatures_are_different_lines(one: Signature, other: Signature) -> None:
    assert (one == other) == (str(one) == str(other))


def test_the_line_as_it_is_printed() -> None:
    assert str(PLAIN) == LINE
    assert Signature.parse(LINE) == PLAIN


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"limited": True}, "|n:30/12,limited|"),
        ({"policy": None}, "|policy:none|"),
        ({"policy": PolicyId("none", "")}, "|policy:none-|"),
        ({"matcher": MatcherId("lexical", "2-b", None, False)}, "|matcher:lexical-2%2Db|kappa:none|"),
        ({"max_tokens": None, "temperature": None}, "|max_tokens:none|temperature:none|"),
        ({"model": "a b|c%"}, "|model:a%20b%7Cc%25|"),
        ({"model": "モデル/x"}, "|model:モデル/x|"),
    ],
)
def test_fields_as_they_are_printed(change: dict[str, Any], part: str) -> None:
    signature = replace(PLAIN, **change)
    assert part in str(signature)
    assert Signature.parse(str(signature)) == signature


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("salience|", "sacrebleu|", "head"),
        ("-1a2b3c4d5e6f", "-1A2B3C4D5E6F", "data"),
        ("data:core-en-0.1.0%2Drc1-1a2b3c4d5e6f", "data:1a2b3c4d5e6f", "data"),
        ("|split:test", "", "split"),
        ("n:30/12", "n:30", "n must"),
        ("n:30/12", "n:30/x", "n must"),
        ("n:30/12", "n:30/-2", "n must"),
        ("n:30/12", "n:030/12", "n must"),
        ("n:30/12", "n:30/12,part", "n must"),
        ("n:30/12", "n:30/12,", "n must"),
        ("matcher:embedding-1", "matcher:embedding", "matcher"),
        ("kappa:0.84", "kappa:high", "kappa"),
        ("kappa:0.84", "kappa:nan", "kappa"),
        ("kappa:0.84", "kappa:1.84", "kappa"),
        ("policy:embedded-default-0f9e8d7c6b5a", "policy:default", "policy"),
        ("model:openai", "model:%zz", "model"),
        ("model:openai", "model:%ff", "model"),
        ("model:openai", "model:two words", "model"),
        ("max_tokens:512", "max_tokens:0", "max_tokens"),
        ("temperature:0", "temperature:inf", "temperature"),
        ("temperature:0", "temperature:0.0", "temperature"),
        ("repeats:1", "repeats:0", "repeats"),
        ("seed:7", "seed:seven", "seed"),
        ("openings:2", "openings:two", "openings"),
        ("openings:2", "openings:-1", "openings"),
        ("version:0.1.0", "edition:0.1.0", "version"),
        ("version:0.1.0", "version:0.1.0|more:1", "the end"),
    ],
)
def test_errors_name_the_field(old: str, new: str, field: str) -> None:
    assert old in LINE
    with pytest.raises(WorkbenchError, match=field):
        Signature.parse(LINE.replace(old, new))


@settings(deadline=None)
@given(st.text())
def test_any_other_text_is_an_error(text: str) -> None:
    with pytest.raises(WorkbenchError):
        Signature.parse(text)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"seed": 8, "model": "b", "policy": None, "version": "9", "cases": 3, "limited": True}, []),
        ({"data": DatasetId("renamed", "2", "1a2b3c4d5e6f"), "matcher": MatcherId("embedding", "1", 0.9, False)}, []),
        ({"data": DatasetId("core-en", "0.1.0-rc1", "000000000000")}, ["data"]),
        (
            {"split": "dev", "rubric": "both-speakers", "matcher": MatcherId("embedding", "2", 0.84, True)},
            ["split", "rubric", "matcher"],
        ),
    ],
)
def test_what_forbids_comparison(change: dict[str, Any], expected: list[str]) -> None:
    other = replace(PLAIN, **change)
    assert PLAIN.obstacles(other) == other.obstacles(PLAIN) == expected
