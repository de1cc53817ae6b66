"""The log of test openings: every time that scores on a test split are made, one line in `.salience/test_openings.jsonl`.

A test split that was looked at often is worn out; the log makes that visible. It is not tracked by git.
"""

from __future__ import annotations

import json
import time
from typing import Literal

from evals.data.files import Dataset
from evals.errors import RunError
from evals.paths import state_dir

FILE = "test_openings.jsonl"


def log_opening(dataset: Dataset, purpose: Literal["benchmark", "gate"] = "benchmark") -> None:
    """Add one opening of a dataset's test split.

    Raises:
        RunError: The log cannot be written.
    """
    path = state_dir() / FILE
    entry = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "data": dataset.name, "hash": dataset.hash, "purpose": purpose}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    except OSError as error:
        raise RunError(f"{path}: the opening of the test split cannot be logged: {error.strerror or error}") from None


def count_openings(dataset_hash: str) -> int:
    """Return how often data of this hash was opened, as far as this project's log knows; unreadable lines are not counted."""
    path = state_dir() / FILE
    if not path.exists():
        return 0
    count = 0
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        count += isinstance(entry, dict) and entry.get("hash") == dataset_hash
    return count
