"""Baselines without intelligence: what silence and copying score. The one with rules is in `evals.models.rules`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import ClassVar

from evals.cases import Case
from evals.models.base import Fingerprint
from evals.models.sentences import split_sentences


def reply_text(items: Iterable[tuple[str, float]]) -> str:
    """Return (content, salience) pairs as a reply in the reply convention; of equal contents the first stays."""
    unique: dict[str, float] = {}
    for content, salience in items:
        unique.setdefault(content, salience)
    return json.dumps([{"content": content, "salience": salience} for content, salience in unique.items()], ensure_ascii=False)


def user_sentences(case: Case) -> list[str]:
    """Return the sentences of the user's messages that memories are due from."""
    return [sentence for message in case.messages if message["role"] == "user" for sentence in split_sentences(message["content"])]


class SilentBaseline:
    """Always answers that nothing is worth keeping: right on every negative case, with a recall of 0."""

    name = "baseline/silent"
    fingerprint: ClassVar[Fingerprint] = {"engine": "baseline", "baseline": "silent", "version": 1}

    def reply(self, case: Case) -> str:  # noqa: ARG002 - the seam's signature
        """Return an empty array."""
        return "[]"


class VerbatimBaseline:
    """Answers with each sentence of each user message, all equally salient: what a store gets that keeps everything."""

    name = "baseline/verbatim"
    fingerprint: ClassVar[Fingerprint] = {"engine": "baseline", "baseline": "verbatim", "version": 1}

    def reply(self, case: Case) -> str:
        """Return every user sentence with salience 0.5."""
        return reply_text((sentence, 0.5) for sentence in user_sentences(case))
