"""Prompt text that survives DSPy: `Signature.instructions` passes through `inspect.cleandoc` at every read, which is not idempotent."""

from __future__ import annotations

import inspect

from evals.errors import WorkbenchError


class PromptError(WorkbenchError):
    """A prompt that cannot be tuned as it stands."""


def canonical(text: str) -> str:
    """Return a text as it is after any number of reads: line ends are LF, tabs are spaces, common indentation and blank ends are gone."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    while (read := inspect.cleandoc(text)) != text:
        text = read
    return text


def check_canonical(name: str, text: str) -> None:
    """Check that a prompt can be scored as it is.

    Args:
        name: Whose prompt it is, for the message.
        text: The prompt.

    Raises:
        PromptError: DSPy would change it.
    """
    if canonical(text) != text:
        where = next((i for i, (a, b) in enumerate(zip(text, canonical(text), strict=False)) if a != b), len(canonical(text)))
        raise PromptError(
            f"the prompt of {name} would not be scored as it stands: an optimiser reads it without tabs, carriage returns, blank lines and "
            f"spaces at its ends and common indentation; it differs first at character {where}: {text[where : where + 20]!r}. Write it so"
        )
