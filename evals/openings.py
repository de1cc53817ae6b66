"""The log of test openings: every time that scores on a test split are made, one line in `.salience/test_openings.jsonl`.

A test split that was looked at often is worn out; the log makes that visible. It is not tracked by git.
"""

from __future__ import annotations

import json
import time
from typing import Literal

from evals.data.dataset import Dataset
from evals.errors import RunError
from evals.paths import state_dir

FILE = "test_openings.jsonl"


def _test_hash(dataset: Dataset) -> str | None:
    """The hash of the test cases among the given ones, None if there is none."""
    return dataset.of_split("test").hash if "test" in dataset.cases.splits else None


def log_opening(dataset: Dataset, purpose: Literal["benchmark", "gate"] = "benchmark") -> None:
    """Add one opening, if there are test cases among those that are scored.

    Args:
        dataset: The cases that are scored.
        purpose: What for.

    Raises:
        RunError: The log cannot be written.
    """
    digest = _test_hash(dataset)
    if digest is None:
        return
    path = state_dir() / FILE
    entry = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "data": dataset.name, "hash": digest, "purpose": purpose}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    except OSError as error:
        raise RunError(f"{path}: the opening of the test split cannot be logged: {error.strerror or error}") from None


def count_openings(dataset: Dataset) -> int | None:
    """Return how often the test cases among the given ones were opened, as far as this project's log knows.

    Returns:
        The count; None if there is no test case. Unreadable lines are not counted.
    """
    digest = _test_hash(dataset)
    if digest is None:
        return None
    path = state_dir() / FILE
    if not path.exists():
        return 0
    count = 0
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        count += isinstance(entry, dict) and entry.get("hash") == digest
    return count
