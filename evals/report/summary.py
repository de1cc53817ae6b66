"""The summary of a CI step, where the system has one: a file that Markdown is appended to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub Actions names the file of a step's summary; other services have taken it over."""
_LONGEST_SUMMARY = 1 << 20
"""Bytes; GitHub shows no summary of more, and none of the step's at all."""


def append_step_summary(text: str, environ: Mapping[str, str]) -> bool:
    """Append Markdown to the summary of the CI step, where there is one. It never raises, so that no run fails for its summary.

    Args:
        text: The Markdown.
        environ: The environment, in which `STEP_SUMMARY` names the file.

    Returns:
        Whether it was appended. If not although a file is named, that file cannot be written or would become too long.
    """
    name = environ.get(STEP_SUMMARY)
    if not name:
        return False
    content = text.encode("utf-8", "backslashreplace")
    try:
        with Path(name).open("ab") as file:
            before = file.tell()
            if before + len(content) > _LONGEST_SUMMARY:
                return False
            file.write((b"\n" if before else b"") + content)
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return False
    return True
