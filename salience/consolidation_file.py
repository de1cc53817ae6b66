"""Reading and writing a consolidation policy as one JSON file. What it means is in `salience.consolidation_policy`.

The file has the form of a policy file (`salience.policy_file`): `schema_version` 1, `system` as an array of lines, absent fields have their
defaults, a file without `provenance.hash` is taken as it is. It is told apart by `"task": "consolidation"`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from salience.consolidation_policy import TASK, ConsolidationExample, ConsolidationPolicy
from salience.errors import PolicyError
from salience.policy import Decoding
from salience.policy_file import SCHEMA_VERSION, Fields, parse, read_text, take_lines, take_value, write_whole

_NONE = type(None)


def load_policy(path: Path, *, check_hash: bool = True) -> ConsolidationPolicy:
    """Load a policy file; see `ConsolidationPolicy.load`."""
    return policy_from_dict(parse(read_text(path), str(path)), where=str(path), check_hash=check_hash)


def policy_from_dict(content: object, *, where: str, check_hash: bool = True) -> ConsolidationPolicy:
    """Return the policy that a policy file's content stands for.

    Args:
        content: The file's JSON value.
        where: The file's name, for messages.
        check_hash: As in `ConsolidationPolicy.load`.

    Raises:
        PolicyError: The content is not valid; the message names the field.
    """
    fields = Fields(content, where, "")
    version = fields.take("schema_version", int, required=True)
    if version != SCHEMA_VERSION:
        raise PolicyError(f"{where}: schema_version must be {SCHEMA_VERSION}, got {version!r}")
    task = fields.take("task", str, default=None)
    if task != TASK:
        given = "has no task, so it is a policy of extraction (salience.Policy)" if task is None else f"has the task {task!r}"
        raise PolicyError(f'{where}: {given}; a consolidation policy has "task": "{TASK}"')
    try:
        policy = _build(fields, where)
    except PolicyError as error:
        message = str(error)
        raise PolicyError(message if message.startswith(where) else f"{where}: {message}") from None
    fields.done()
    recorded = policy.provenance.get("hash")
    if check_hash and recorded is not None and recorded != policy.hash:
        raise PolicyError(
            f"{where}: provenance.hash is {recorded!r} but the contents have the hash {policy.hash!r}: the file was changed after it "
            f"was saved. To keep the change as a new policy: ConsolidationPolicy.load({where!r}, check_hash=False).save('NEW.json')"
        )
    return policy


def _build(fields: Fields, where: str) -> ConsolidationPolicy:
    schema = fields.take("schema", (dict, _NONE))
    examples = fields.take("examples", list, default=[])
    return ConsolidationPolicy(
        name=fields.take("name", str, required=True),
        system=take_lines(fields),
        examples=tuple(_example(raw, where, f"examples[{i}].") for i, raw in enumerate(examples)),
        examples_as=fields.take("examples_as", str, default="system"),
        schema_json=None if schema is None else json.dumps(schema),
        decoding=take_value(fields.nested("decoding"), Decoding, {"max_tokens": (int, _NONE), "temperature": (int, float, _NONE)}),
        provenance=fields.take("provenance", dict, default={}),
    )


def _example(raw: object, where: str, prefix: str) -> ConsolidationExample:
    fields = Fields(raw, where, prefix)
    facts, existing = fields.take("facts", list, required=True), fields.take("existing", list, default=[])
    reply = fields.take("reply", str, required=True)
    fields.done()
    try:
        return ConsolidationExample(tuple(facts), tuple(existing), reply)
    except PolicyError as error:
        raise PolicyError(f"{where}: {prefix.rstrip('.')}: {error}") from None


def policy_to_dict(policy: ConsolidationPolicy) -> dict[str, Any]:
    """Return the JSON-ready content of a policy's file, with its hash in `provenance`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "task": TASK,
        "name": policy.name,
        "system": policy.system.split("\n"),
        "examples_as": policy.examples_as,
        "examples": [{"facts": list(e.facts), "existing": list(e.existing), "reply": e.reply} for e in policy.examples],
        "schema": policy.schema,
        "decoding": {"max_tokens": policy.decoding.max_tokens, "temperature": policy.decoding.temperature},
        "provenance": {**policy.provenance, "hash": policy.hash},
    }


def save_policy(policy: ConsolidationPolicy, path: Path) -> None:
    """Write a policy's file, whole or not at all; see `ConsolidationPolicy.save`."""
    write_whole(policy_to_dict(policy), path)
