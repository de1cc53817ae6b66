"""Writing results to stdout."""

from __future__ import annotations

import json
import shutil
import sys

from evals.report.safe import printable


def print_json(content: object) -> None:
    """Write a value as JSON; every character beyond ASCII is escaped, so that no terminal can be moved by it."""
    print(json.dumps(content, indent=2, ensure_ascii=True, allow_nan=False))


def print_text(text: str) -> None:
    """Write text that ends in one line feed. Control characters are written out: whatever it quotes, it moves no terminal."""
    safe = printable(text, keep_lines=True)
    sys.stdout.write(safe if safe.endswith("\n") else safe + "\n")


def terminal_width() -> int | None:
    """Return the columns of the terminal that stdout is, or None if it is none: what is piped is never folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def note(text: str) -> None:
    """Write one line to stderr."""
    print(printable(text), file=sys.stderr, flush=True)
