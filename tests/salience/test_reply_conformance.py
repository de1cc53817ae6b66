"""Every bundled reply is read as its label says: worked out by hand from the contract, before the reader was tried on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from salience import read_reply

FILE = Path(__file__).resolve().parents[2] / "datasets" / "replies" / "replies.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_reply_is_read_as_labelled(row):
    reading = read_reply(row["reply"])
    found = [
        {
            "content": item.content, "salience": item.salience, "source": item.source, "observed": item.observed, "date": item.date,
            "tags": list(item.tags), "meta": dict(item.meta),
        }
        for item in reading.items
    ]  # fmt: skip
    assert (reading.status, found) == (row["status"], row["items"])
