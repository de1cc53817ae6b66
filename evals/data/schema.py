"""The JSON schema of an extraction case, made from the types, for people and tools that do not use this package."""

from __future__ import annotations

from typing import Any

import msgspec

from evals.cases import Case


def case_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of one line of a data file. `datasets/extraction/schema.json` holds it."""
    schema = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Case)))  # defaults become JSON's own types
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Labelled extraction case", **schema}
