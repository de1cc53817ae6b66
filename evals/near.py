"""How close cases of different splits, or of different conversations, come to each other by meaning.

Shared wording is the business of `evals.data.check` (across splits) and `evals.data.describe`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evals.data.kinds import EXTRACTION, RowKind
from evals.errors import WorkbenchError
from evals.matching.encoders import Encoder, MultilingualE5, encode_cached
from evals.matching.vectors import VectorStore

NEAR = 0.95
"""Cosine of multilingual-e5-small from which two exchanges tell the same; unrelated ones of one language lie near .80."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two cases and the cosine of their messages, 0 to 1."""

    first: str
    second: str
    cosine: float


def nearest(
    cases: Sequence[Any],
    store: VectorStore,
    *,
    most: int = 5,
    within: bool = False,
    kind: RowKind = EXTRACTION,
    encoder: Encoder | None = None,
) -> list[Neighbours]:
    """Return the closest pairs of cases that are in different splits, the closest first.

    Args:
        cases: Cases of several splits and of one kind. What is compared is what tells by their kind: the messages of an extraction case,
            the new fact of a consolidation case, the sessions of a scenario.
        store: Where vectors are kept.
        most: How many pairs.
        within: Compare cases of different conversations instead, in whatever split they are.
        kind: What the cases are.
        encoder: None takes multilingual-e5-small.

    Raises:
        WorkbenchError: The encoder is not installed, or the kind has no splits.
    """
    encoder = encoder or MultilingualE5()
    missing = encoder.missing()
    if missing:
        raise WorkbenchError(f"cases cannot be compared by embeddings: {missing}")
    texts = ["\n".join(kind.texts(case)) for case in cases]
    if not all(texts):
        raise WorkbenchError(f"a {kind.name} belongs to no split, so that there is nothing to compare")
    vectors = encode_cached(encoder, texts, store)
    matrix = np.array([vectors[text] for text in texts], dtype=np.float64)
    similar = matrix @ matrix.T
    groups = np.array([case.conversation if within else case.split for case in cases])
    rows, columns = np.nonzero(np.triu(groups[:, None] != groups[None, :]))
    order = np.argsort(-similar[rows, columns], kind="stable")[:most]
    return [Neighbours(cases[rows[i]].id, cases[columns[i]].id, float(min(1.0, similar[rows[i], columns[i]]))) for i in order]
