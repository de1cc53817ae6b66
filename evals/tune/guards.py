"""What a candidate must not be, whatever it scores: too long, or a copy of cases that it is judged on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evals.text import word_ngrams
from evals.tune.tasks import AnyPolicy, TuningTask

SPAN = 10
"""Words in a row (or three times as many characters without spaces) that a prompt may not share with a case that it is judged on."""
MOST_CHARS = 12_000
"""Of the whole prompt, examples included, unless the user says otherwise."""
_FRAME = re.compile(
    r'^(?:Date|Source): .*$|^Turn:$|^\[[^\]\n]*\] |^Known memories:$|^New facts:$|^\{"(?:id|fact)": \d+, "content": "|"\}$', re.M
)
"""What is around the content of every case: an example of a train case shares it with any dev case."""


def prompt_text(task: TuningTask, policy: AnyPolicy) -> str:
    """Return all that a policy sends before a case."""
    return "\n".join([policy.system, *(part for shown in task.shown(policy) for part in shown)])


def copied(prompt: str, base: str, texts: Iterable[str]) -> str | None:
    """Return a span of `SPAN` words that a prompt shares with one of the cases it is judged on and that its base does not have.

    Args:
        prompt: All that is sent before a case.
        base: The same of the base.
        texts: The user messages of those cases.
    """
    grams = _grams(prompt) - _grams(base)
    for text in texts:
        shared = grams & _grams(text)
        if shared:
            return min(shared)
    return None


def _grams(text: str) -> set[str]:
    return word_ngrams(_FRAME.sub(" ", text), SPAN)
