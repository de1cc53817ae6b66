"""The reply schema of one request: the default schema narrowed to what can be answered to it. Nothing is sent or read here.

Where a server holds a model to a schema, the model then cannot name a memory that was not offered, decide on a fact that was not given or
on one fact twice, or leave out what an action needs. What a model answers without a schema is read as carefully as ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from salience.prompts.recall import CONSOLIDATION_SCHEMA

_DEFAULT = json.loads(CONSOLIDATION_SCHEMA)


def fit_schema(schema: Mapping[str, Any] | None, facts: int, memories: int) -> dict[str, Any] | None:
    """Return the schema of one request.

    Args:
        schema: That of the policy. Only the default one is narrowed; any other is returned as it is.
        facts: How many new facts are asked about, from 1.
        memories: How many memories are offered, from 0.
    """
    if schema is None:
        return None
    if schema != _DEFAULT:
        return dict(schema)
    numbers = list(range(1, memories + 1))
    one = {"type": "integer", "enum": numbers}
    some = {"type": "array", "items": one, "maxItems": len(numbers) - 1} if len(numbers) > 1 else _nothing()
    null, text = {"type": "null"}, {"type": "string"}
    kinds = [_decision("ADD", facts, null, null, _nothing())]
    if numbers:
        kinds += [
            _decision("UPDATE", facts, one, text, _nothing()),
            _decision("DELETE", facts, one, {"type": ["string", "null"]}, some),
            _decision("NONE", facts, {"type": ["integer", "null"], "enum": [*numbers, None]}, null, _nothing()),
        ]
    decisions = {"type": "array", "items": {"anyOf": kinds}, "minItems": facts, "maxItems": facts}
    return {"type": "object", "properties": {"decisions": decisions}, "required": ["decisions"], "additionalProperties": False}


def _nothing() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "integer"}, "maxItems": 0}


def _decision(action: str, facts: int, target: dict[str, Any], content: dict[str, Any], also: dict[str, Any]) -> dict[str, Any]:
    """One kind of decision; the keys in the order of the prompt."""
    properties = {
        "fact": {"type": "integer", "enum": list(range(1, facts + 1))},
        "action": {"type": "string", "enum": [action]},
        "id": target,
        "content": content,
        "also_retire": also,
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
