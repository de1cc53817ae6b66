"""The form of a prompt that DSPy leaves as it is. No DSPy here; that its signatures do no more than this is what the tests hold.

DSPy passes the instructions of a signature through `inspect.cleandoc` at every read: the first line loses its indent, the others what all
of them share, tabs become spaces, empty lines at both ends go. That is not idempotent, as the second line may become the first. A text that
comes out of it unchanged is canonical, and only such a text is scored as it was written.
"""

from __future__ import annotations

import inspect

from evals.errors import WorkbenchError


class PromptError(WorkbenchError):
    """A prompt cannot be tuned as it stands; the message says where it is not canonical and what to write instead."""


def canonical(text: str) -> str:
    r"""Return the canonical form of a prompt: the fixpoint of `inspect.cleandoc` and of line ends written as `\n`.

    What DSPy's clean-up makes of a text has the same canonical form as the text itself, however often it was applied.

    Args:
        text: Any text.
    """
    while True:
        cleaned = inspect.cleandoc(text)
        if cleaned == text:  # line ends only now, or a text that was cleaned up before would come to another fixpoint
            cleaned = text.replace("\r\n", "\n").replace("\r", "\n")
        if cleaned == text:
            return text
        text = cleaned


def check_canonical(text: str, what: str = "the prompt") -> None:
    """Make sure that a prompt is canonical.

    Args:
        text: The prompt.
        what: What it is called in the message.

    Raises:
        PromptError: It is not canonical, is empty, or is no text that a file or request can hold.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PromptError(f"{what} holds a lone surrogate at character {error.start}, which no file can hold; remove it") from None
    right = canonical(text)
    if not right.strip():
        raise PromptError(f"{what} is empty; write what the model is to do")
    if right == text:
        return
    at = next((i for i, (one, other) in enumerate(zip(text, right, strict=False)) if one != other), min(len(text), len(right)))
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    raise PromptError(
        f"{what} is not canonical, so that DSPy would score another text than it: at line {line}, column {column} stands "
        f"{text[at : at + 20]!r} where {right[at : at + 20]!r} would stand. Remove indents that all lines after the first share or that the "
        "first has, tabs, carriage returns, and empty lines at both ends; evals.tune.canonical.canonical(text) does it"
    )
