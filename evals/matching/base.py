"""The seam between a prediction and a labelled statement: pairs in, verdicts out. No similarity is computed here.

Three numbered sentences are the contract of every matcher, and the tests hold each matcher to them:

1. `score` returns one verdict for each pair, in order, and the same verdict whatever other pairs are in the call.
2. A pair that no suitable model can judge has `score` None and `match` False, and the reason says what is missing.
3. `describe` names everything that can change a verdict: two matchers that describe themselves alike judge alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from evals.errors import WorkbenchError


@dataclass(frozen=True, slots=True)
class Pair:
    """One prediction against one labelled statement.

    Attributes:
        predicted: The predicted statement.
        phrases: The statement's content and all its paraphrases; the phrase nearest to the prediction decides.
        language: ISO 639-1 code of the case.
        owner_names: What the owner of the memories is called in the case.
    """

    predicted: str
    phrases: tuple[str, ...]
    language: str
    owner_names: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """What a matcher says of a pair.

    Attributes:
        score: Similarity of the nearest phrase, 0 to 1; None where the pair could not be scored.
        match: Whether the score passes the threshold and no guard refused.
        reason: Why, in words for a reader.
        guard: The guard that refused a pair which similarity proposed (a near miss), else None.
        relation: What a judge calls the relation of the two ("same", "merged", "split"); None from matchers that cannot tell.
        margin: How far the score lies above the threshold, as a share of the way from threshold to identity: 1 is identical,
            0 at the threshold, negative below. On this scale verdicts of different models and languages can be compared.
    """

    score: float | None
    match: bool
    reason: str
    guard: str | None = None
    relation: str | None = None
    margin: float | None = None


class Matcher(Protocol):
    """Decides whether predictions state what labelled statements state."""

    @property
    def id(self) -> str:
        """Name of the matcher in signatures."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever verdicts may change for the same thresholds and models."""
        ...

    @property
    def tells_relations(self) -> bool:
        """Whether verdicts say how two statements relate, as a judge's do."""
        ...

    @property
    def tie_margin(self) -> float:
        """Verdict margins that differ by no more than this count as equally near."""
        ...

    def describe(self) -> Mapping[str, str | float | int]:
        """Return thresholds, model hashes and version, for signatures and manifests."""
        ...

    def score(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Return one verdict for each pair, in order."""
        ...

    def language_of(self, text: str, expected: str) -> str:
        """Return the ISO 639-1 code of the language of `text`, with `expected`, the case's language, as prior."""
        ...


def _lexical() -> Matcher:
    from evals.matching.lexical import LexicalMatcher

    return LexicalMatcher()


def _embedding() -> Matcher:
    from evals.matching.embedding import EmbeddingMatcher

    return EmbeddingMatcher()


def _classifier() -> Matcher:
    from evals.matching.classifier import ClassifierMatcher

    return ClassifierMatcher()


_MATCHERS: Mapping[str, Callable[[], Matcher]] = {"classifier": _classifier, "embedding": _embedding, "lexical": _lexical}


def create_matcher(name: str) -> Matcher:
    """Return the matcher of that name, with the committed thresholds; a judge is made by `evals.scorers.matcher_named`.

    Args:
        name: "classifier", "embedding" or "lexical".

    Returns:
        A matcher; its models load at the first pair that needs them.

    Raises:
        WorkbenchError: There is no matcher of that name; the message lists the names.
    """
    if name not in _MATCHERS:
        check_matcher(name)
        raise WorkbenchError(f"{name} asks a model, which is not done here; choose one of: {', '.join(sorted(_MATCHERS))}.")
    return _MATCHERS[name]()


def judge_model(name: str) -> str | None:
    """Return the model of a matcher "judge:MODEL", or None for any other name."""
    kind, _, model = name.partition(":")
    return model if kind == "judge" and model.strip() else None


def check_matcher(name: str) -> None:
    """Raise if there is no matcher of that name; nothing is loaded.

    Raises:
        WorkbenchError: There is none; the message lists the names.
    """
    if name not in _MATCHERS and judge_model(name) is None:
        known = ", ".join(sorted(_MATCHERS))
        raise WorkbenchError(f"There is no matcher {name!r}; choose one of: {known}, judge:MODEL.")
