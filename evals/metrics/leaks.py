"""Memories that come out of the prompt and not out of the turn: its own wording, or its examples."""

from __future__ import annotations

from collections.abc import Sequence

from evals.text import fold, ngrams_of_words, word_ngrams
from salience import Candidate, Policy, Turn, read_reply
from salience.rendering import render_turn

RUN = 6
"""So many words in a row (or three times as many characters without spaces) are no coincidence."""


class LeakFinder:
    """Finds what a policy's text leaked into candidates.

    A candidate leaks if it holds the whole content of a memory of an example, or shares a run of `RUN` words with the system prompt
    or an example, and the turn itself does not hold that text.
    """

    def __init__(self, policy: Policy) -> None:
        texts = [policy.system]
        contents: set[str] = set()
        for example in policy.examples:
            texts += [render_turn(example.turn), example.reply]
            contents |= {fold(item.content).rstrip(".。।") for item in read_reply(example.reply).items}
        self._runs: set[str] = set().union(*(word_ngrams(text, RUN) for text in texts))
        self._words = frozenset(" ".join(self._runs).split())
        self._contents = contents

    def leaks(self, candidates: Sequence[Candidate], turn: Turn) -> list[int]:
        """Return the indices of the candidates that leak."""
        found = []
        for i, candidate in enumerate(candidates):
            content = fold(candidate.content)
            known = [one for one in self._contents if one in content]
            runs = self._shared_runs(content.split())
            copied = bool(known) and any(one not in fold(turn.text) for one in known)
            if copied or (runs and runs - word_ngrams(turn.text, RUN)):  # most share nothing, and the turn may be long
                found.append(i)
        return found

    def _shared_runs(self, words: Sequence[str]) -> set[str]:
        if all(word.isascii() for word in words) and sum(word in self._words for word in words) < RUN:
            return set()  # as nearly always
        return ngrams_of_words(words, RUN) & self._runs
