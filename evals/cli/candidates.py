"""What was found in one text: candidates to stdout, how the reply could be read to stderr, or all of it as values for JSON."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from evals.cli.listening import Listener
from evals.cli.output import note, print_text
from evals.report.safe import printable
from salience import ExtractionResult


def as_dict(result: ExtractionResult) -> dict[str, Any]:
    """Return candidates and evidence as values for JSON."""
    return {
        "candidates": [candidate.to_dict() for candidate in result.candidates],
        "status": result.status,
        "dropped": [asdict(item) for item in result.dropped],
        "reply": asdict(result.reply),
        "parts": [{"status": part.status, "reply": asdict(part.reply)} for part in result.parts],
    }


def print_candidates(result: ExtractionResult) -> None:
    """Write the candidates to stdout, the most salient first."""
    for candidate in result.candidates:
        print_text(f"{candidate.salience:.2f}  {printable(candidate.content)}")


def note_evidence(result: ExtractionResult, options: argparse.Namespace, listener: Listener) -> None:
    """Write to stderr how the reply could be read and what was left out of it.

    Args:
        result: What was found.
        options: Those of `salience extract`.
        listener: Who found it.
    """
    if not result.candidates:
        meaning = "nothing worth remembering" if result.status == "empty" else "no memory is left"
        note(f"({meaning}; reply {result.status}: {result.reply.text[:200]!r})")
    for item in result.dropped:
        note(f"(dropped, {item.reason}: {item.text})")
    policy = listener.policy
    under = "" if listener.client is None else f", policy {policy.name} {policy.hash}"
    note(f"({options.model}{under}, reply {result.status})")


def note_refusals(listener: Listener) -> None:
    """Write to stderr what a server refused of the requests, and was asked without."""
    for name in sorted(listener.client.fallbacks) if listener.client is not None else ():
        note(f"the server refused a part of the request, and was asked without it: {name}")
