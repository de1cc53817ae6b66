"""The reader of labelled pairs, and the errors it makes of bad lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.errors import DataError
from evals.matching.pairs import PHENOMENA, LabelledPair, bundled_pairs, pairs_hash, read_pairs, weights_at
from evals.text import fold

GOOD = {
    "predicted": "Vegan.",
    "gold": "The user is vegan.",
    "match": True,
    "phenomenon": "paraphrase",
    "language": "en",
    "predicted_language": "en",
    "half": "dev",
}


def _file(folder: Path, *lines: str) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_pairs_are_read(tmp_path: Path) -> None:
    (pair,) = read_pairs(_file(tmp_path, json.dumps(GOOD), ""))
    assert (pair.predicted, pair.match, pair.cross) == ("Vegan.", True, False)
    assert pair.pair().phrases == ("The user is vegan.",)


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    one = pairs_hash(read_pairs(_file(tmp_path, json.dumps(GOOD))))
    assert one == pairs_hash(read_pairs(_file(tmp_path, "", json.dumps(dict(reversed(GOOD.items()))))))
    assert one != pairs_hash(read_pairs(_file(tmp_path, json.dumps(GOOD | {"match": False}))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"match": "yes"}, ["line 2", "field match", "true or false", "'yes'"]),
        ({"predicted": " "}, ["field predicted", "non-empty string"]),
        ({"gold": 3}, ["field gold", "got 3"]),
        ({"language": "English"}, ["field language", "ISO 639-1", "'English'"]),
        ({"half": "test"}, ["field half", "dev, report", "'test'"]),
        ({"phenomenon": ["x"]}, ["field phenomenon", "paraphrase"]),
        ({"extra": 1}, ["line 2, field 'extra'", "is not known", "predicted, gold, match"]),
        ({}, ["line 2", "this is the pair of line 1"]),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, object], words: list[str]) -> None:
    path = _file(tmp_path, json.dumps(GOOD), json.dumps(GOOD | change))
    with pytest.raises(DataError) as caught:
        read_pairs(path)
    assert all(word in str(caught.value) for word in [str(path), *words])


def test_what_may_be_left_out_is_filled_in_and_what_may_not_is_named(tmp_path: Path) -> None:
    short = {name: GOOD[name] for name in ("predicted", "gold", "match", "language")}
    (pair,) = read_pairs(_file(tmp_path, json.dumps(short)))
    assert (pair.predicted_language, pair.phenomenon, pair.half) == ("en", "other", "report")
    with pytest.raises(DataError, match=r"line 1, field match: is missing; a pair needs predicted, gold, match, language"):
        read_pairs(_file(tmp_path, json.dumps({name: value for name, value in short.items() if name != "match"})))


@pytest.mark.parametrize("line", ["{", "[1]", '"x"'])
def test_a_line_that_is_no_object(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match="line 1"):
        read_pairs(_file(tmp_path, line))


def test_no_pairs_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no pairs"):
        read_pairs(_file(tmp_path, ""))
    with pytest.raises(DataError, match="cannot be read"):
        read_pairs(tmp_path / "absent.jsonl")


def test_the_labelled_pairs_that_ship() -> None:
    pairs = read_pairs(bundled_pairs())
    for half in ("dev", "report"):
        part = [pair for pair in pairs if pair.half == half]
        assert len(part) >= 60
        assert {pair.phenomenon for pair in part} == set(PHENOMENA)
    assert len({(pair.predicted, pair.gold) for pair in pairs}) == len(pairs)


def test_the_halves_of_the_bundled_pairs_share_no_statement() -> None:
    texts: dict[str, set[str]] = {"dev": set(), "report": set()}
    for pair in read_pairs(bundled_pairs()):
        texts[pair.half] |= {fold(pair.predicted), fold(pair.gold)}
    assert texts["dev"] & texts["report"] == set()


def test_weights_give_near_misses_their_share_and_leave_the_rest_in_proportion() -> None:
    """Two near misses of four pairs at a share of a fifth: .4 each, and 1.6 for either of the others."""
    kinds = [(True, "paraphrase"), (False, "number"), (False, "negation"), (False, "unrelated")]
    pairs = [LabelledPair("a", "b", match, phenomenon, "en", "en", "dev") for match, phenomenon in kinds]
    assert weights_at(pairs, 0.2) == pytest.approx([1.6, 0.4, 0.4, 1.6])
    assert weights_at(pairs[1:3], 0.2) == weights_at(pairs[::3], 0.2) == [1.0, 1.0]
