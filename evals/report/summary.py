"""The summary of a CI step, where the system has one: a file that Markdown is appended to."""

from __future__ import annotations

from collections.abc import Mapping

VARIABLE = "GITHUB_STEP_SUMMARY"


def append_step_summary(text: str, environ: Mapping[str, str]) -> str:
    """Append Markdown to the summary of the CI step, if there is one. A summary that cannot be written fails nothing.

    Args:
        text: The Markdown.
        environ: The environment; `GITHUB_STEP_SUMMARY` names the file.

    Returns:
        What went wrong, in a sentence; "" if nothing did.
    """
    path = environ.get(VARIABLE)
    if not path:
        return ""
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text if text.endswith("\n") else text + "\n")
    except OSError as error:
        return f"{path}: the step summary cannot be written: {error.strerror or error}"
    return ""
