"""Verdicts that are kept: the same as the matcher's, asked for once, and never those of another matcher or code."""

import sqlite3

import pytest

from evals.matching.base import Verdict
from evals.matching.lexical import LexicalMatcher
from evals.matching.tables import Grid, VerdictTables, score_grids

GRIDS = [
    Grid(("The user plays the oboe", "It rained"), (("The user plays the oboe", "Plays oboe"), ("The user has a cat",)), "en"),
    Grid((), (("x",),), "en"),
    Grid(("x",), (), "en"),
    Grid(("Ana lives in Tartu",), (("The user lives in Tartu",),), "en", ("Ana",)),
]


class Counting:
    """Passes pairs on and counts them; it can be told to be another, or to be unable to score."""

    def __init__(self, version="1", able=True):
        self.inner, self.id, self.version, self.able, self.asked = LexicalMatcher(), "lexical", version, able, 0

    def describe(self):
        return self.inner.describe()

    def score(self, pairs):
        self.asked += len(pairs)
        return self.inner.score(pairs) if self.able else [Verdict(None, False, "unscored: no model") for _ in pairs]


def test_verdicts_are_the_matchers_own_and_asked_for_once(tmp_path):
    expected = score_grids(LexicalMatcher(), GRIDS)
    assert [len(row) for row in expected] == [4, 0, 0, 1]
    first, second = Counting(), Counting()
    assert VerdictTables(first, tmp_path / "a" / "v.sqlite").score(GRIDS) == expected
    assert first.asked == 5
    assert VerdictTables(second, tmp_path / "a" / "v.sqlite").score(GRIDS[::-1]) == expected[::-1]
    assert second.asked == 0


@pytest.mark.parametrize("changed", [
    Grid(GRIDS[0].predicted[:1], GRIDS[0].labels, "en"), Grid(GRIDS[0].predicted, GRIDS[0].labels[::-1], "en"),
    Grid(GRIDS[0].predicted, GRIDS[0].labels, "de"), Grid(GRIDS[0].predicted, GRIDS[0].labels, "en", ("Bo",)),
])  # fmt: skip
def test_whatever_decides_a_verdict_is_in_the_key(tmp_path, changed):
    VerdictTables(Counting(), tmp_path / "v.sqlite").score(GRIDS[:1])
    again = Counting()
    VerdictTables(again, tmp_path / "v.sqlite").score([changed])
    assert again.asked == len(changed.pairs())


def test_another_matcher_or_other_code_asks_anew(tmp_path, monkeypatch):
    VerdictTables(Counting(), tmp_path / "v.sqlite").score(GRIDS)
    other = Counting(version="2")
    VerdictTables(other, tmp_path / "v.sqlite").score(GRIDS)
    assert other.asked == 5
    monkeypatch.setattr("evals.matching.tables._code", lambda: "changed")
    same = Counting()
    VerdictTables(same, tmp_path / "v.sqlite").score(GRIDS)
    assert same.asked == 5


def test_what_could_not_be_scored_is_not_kept(tmp_path):
    unable = Counting(able=False)
    assert VerdictTables(unable, tmp_path / "v.sqlite").score(GRIDS)[0][0].score is None
    able = Counting()
    assert VerdictTables(able, tmp_path / "v.sqlite").score(GRIDS) == score_grids(LexicalMatcher(), GRIDS)
    assert able.asked == 5


@pytest.mark.parametrize("spoil", ["no database", "blob"])
def test_a_damaged_file_is_passed_over_with_a_warning(tmp_path, caplog, spoil):
    path = tmp_path / "v.sqlite"
    VerdictTables(Counting(), path).score(GRIDS)
    if spoil == "no database":
        path.write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    else:
        connection = sqlite3.connect(path)
        connection.execute("UPDATE verdicts SET verdicts = x'00'")
        connection.commit()
        connection.close()
    assert VerdictTables(Counting(), path).score(GRIDS) == score_grids(LexicalMatcher(), GRIDS)
    assert "cannot be used" in caplog.text
