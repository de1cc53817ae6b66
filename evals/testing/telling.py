"""What a test tells where a policy cannot be judged: requests that are not recorded, calls that failed. Text only, and escaped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.report.safe import clip, printable
from evals.testing.recorded import Asked
from evals.testing.recordings import Recording

if TYPE_CHECKING:
    from evals.results import Excluded

_SHOWN = 3
"""Requests, and failed calls, that a message shows in full."""


def shown_path(path: Path) -> str:
    """Return a path as a person would give it in the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def unanswered(label: str, failed: Sequence[Excluded], total: int) -> str:
    """Return what is told of calls that failed.

    Args:
        label: The row's model and policy.
        failed: Its cases whose call failed, one or more.
        total: How many calls there were.
    """
    lines = [f"{len(failed)} of {total} calls under {printable(label)} failed, so nothing is known of what the policy finds there:"]
    lines += [f"  case {printable(one.case)}: {one.kind}: {printable(clip(one.message, 300))}" for one in failed[:_SHOWN]]
    if len(failed) > _SHOWN:
        lines.append(f"  ... and {len(failed) - _SHOWN} more")
    return "\n".join(
        [*lines, "Mend the server or the model's name, then run the tests again; what was answered is recorded with --salience-record."]
    )


def unrecorded(missing: Sequence[Asked], total: int, recording: Recording) -> str:
    """Return what is told of requests that are not recorded: their keys, what they belong to and how they begin.

    Args:
        missing: The requests, one or more, all to one model.
        total: How many requests there are.
        recording: Where their replies are looked for.
    """
    model = missing[0].key[0]
    lines = [f"{len(missing)} of {total} requests to {printable(model)} are not recorded in {printable(shown_path(recording.path))}:"]
    places = {one.place for one in recording.replies.values()}
    for one in missing[:_SHOWN]:
        lines += _shown(one, places)
    if len(missing) > _SHOWN:
        lines.append(f"  ... and {len(missing) - _SHOWN} more")
    how = "Nothing was asked. To ask the model and keep its replies, run the same tests with --salience-record, then commit the file."
    return "\n".join([*lines, how])


def _shown(one: Asked, places: set[tuple[str, str, str, int, int]]) -> list[str]:
    model, hashed, seed = one.key
    about = f"case {printable(one.case)}, policy {printable(one.policy)}, model {printable(model)}, repeat {seed}, part {one.part}"
    lines = [f"  request {hashed}", f"    {about}"]
    if (model, one.case, one.policy, seed, one.part) in places:
        lines.append("    (a reply to another request is recorded there: the policy or the case has changed since)")
    for message in (one.request.messages[0], one.request.messages[-1]):
        content = message["content"].strip().split("\n")
        lines += [f"    [{printable(message['role'])}] {printable(clip(content[0], 100))}"]
        lines += [f"      {printable(clip(text, 100))}" for text in content[1:4] if text.strip()]
    return lines
