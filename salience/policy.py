"""What a team versions, compares and ships: a prompt with everything else that decides what an extractor returns.

A policy is an immutable value. How its JSON file is read and written is in `salience.policy_file`; how it becomes messages is in
`salience.rendering`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from salience.calibration import CalibrationMap
from salience.errors import OptionError, PolicyError
from salience.prompts import SALIENCE_SYSTEM_PROMPT
from salience.types import MIN_TURN_CHARS, ExtractOptions, Turn, number_in_unit_interval

DEFAULT_THRESHOLD = 0.5
"""The operating threshold of a policy that states none and has no calibration map."""


@dataclass(frozen=True, slots=True)
class Example:
    """A turn and the reply, word for word, that a model should give to it."""

    turn: Turn
    reply: str

    def __post_init__(self) -> None:
        if not isinstance(self.turn, Turn) or not isinstance(self.reply, str) or not self.reply.strip():
            raise PolicyError(f"an example needs a Turn and a non-empty reply, got {self.turn!r} and {self.reply!r}")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the model is to decode; None leaves the server's default.

    Attributes:
        max_tokens: The most tokens of an answer, from 1.
        temperature: 0 (greedy) to 2.
    """

    max_tokens: int | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        limit, heat = self.max_tokens, self.temperature
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise PolicyError(f"decoding.max_tokens must be None or a whole number from 1 up, got {limit!r}")
        if heat is not None:
            if isinstance(heat, bool) or not isinstance(heat, int | float) or not 0 <= heat <= 2:
                raise PolicyError(f"decoding.temperature must be None or a number from 0 to 2, got {heat!r}")
            object.__setattr__(self, "temperature", float(heat))


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that decides what an extractor returns for a turn, besides the model.

    Attributes:
        name: What people call it; not part of the hash.
        system: The system prompt.
        examples: Turns with the replies that they should get.
        examples_as: "turns" sends examples as user and assistant messages (needs a `ChatClient`), "system" appends them to the system text.
        options: What is done with the candidates.
        schema_json: The JSON schema of a reply as JSON text, or None. Text, because the order of its keys matters to a model.
        decoding: Limits and temperature of the answer.
        calibration: A map from the model's salience to a calibrated one, applied before the options, or None.
        operating_threshold: Candidates of this (calibrated) salience and above are what a memory host keeps and what is scored; 0 to 1.
            None means 0.5, and is an error beside a calibration map. Unlike `options.min_salience` it drops nothing.
        max_turn_chars: A turn whose text is longer is split into parts of at most so many characters, each asked about on its own,
            duplicates merged; from 200. None never splits.
        provenance: Where it comes from, for people and files; not part of the hash, nor compared.

    Raises:
        PolicyError: A field is not valid; the message names it.
    """

    name: str = "plain"
    system: str = SALIENCE_SYSTEM_PROMPT
    examples: tuple[Example, ...] = ()
    examples_as: Literal["system", "turns"] = "system"
    options: ExtractOptions = ExtractOptions()  # noqa: RUF009  (an immutable value)
    schema_json: str | None = None
    decoding: Decoding = Decoding()
    calibration: CalibrationMap | None = None
    operating_threshold: float | None = None
    max_turn_chars: int | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PolicyError(f"name must be a non-empty string, got {self.name!r}")
        if not isinstance(self.system, str) or not self.system.strip():
            raise PolicyError(f"system must be a non-empty string, got {self.system!r}")
        if self.examples_as not in ("system", "turns"):
            raise PolicyError(f'examples_as must be "system" or "turns", got {self.examples_as!r}')
        self._check_values()
        object.__setattr__(self, "operating_threshold", self._checked_threshold())
        if self.schema_json is not None:
            object.__setattr__(self, "schema_json", _compact_schema(self.schema_json))

    def _check_values(self) -> None:
        object.__setattr__(self, "examples", tuple(self.examples))
        for i, example in enumerate(self.examples):
            if not isinstance(example, Example):
                raise PolicyError(f"examples[{i}] must be an Example, got {example!r}")
        for name, kind in (("options", ExtractOptions), ("decoding", Decoding), ("provenance", Mapping)):
            if not isinstance(getattr(self, name), kind):
                raise PolicyError(f"{name} must be of type {kind.__name__}, got {getattr(self, name)!r}")
        if self.calibration is not None and not isinstance(self.calibration, CalibrationMap):
            raise PolicyError(f"calibration must be a CalibrationMap or None, got {self.calibration!r}")
        limit = self.max_turn_chars
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < MIN_TURN_CHARS):
            raise PolicyError(f"max_turn_chars must be None or a whole number from {MIN_TURN_CHARS} up, got {limit!r}")

    def _checked_threshold(self) -> float:
        if self.operating_threshold is not None:
            try:
                return number_in_unit_interval("operating_threshold", self.operating_threshold)
            except OptionError as error:
                raise PolicyError(str(error)) from None
        if self.calibration is not None:
            raise PolicyError("operating_threshold must be given beside a calibration map, on the calibrated scale")
        return DEFAULT_THRESHOLD

    @property
    def threshold(self) -> float:
        """The operating threshold as a plain number, 0 to 1."""
        return self.operating_threshold if self.operating_threshold is not None else DEFAULT_THRESHOLD

    @property
    def schema(self) -> dict[str, Any] | None:
        """The reply schema as a fresh mapping, or None."""
        return None if self.schema_json is None else dict(json.loads(self.schema_json))

    @property
    def needs_chat(self) -> bool:
        """Whether a `ChatClient` is needed: for a schema, examples sent as turns, or decoding parameters."""
        return self.schema_json is not None or bool(self.examples and self.examples_as == "turns") or self.decoding != Decoding()

    @property
    def hash(self) -> str:
        """The first 12 hex digits of the SHA-256 of the canonical JSON of every field that changes behaviour."""
        text = json.dumps(behaviour(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]

    @classmethod
    def load(cls, name_or_path: str | Path, *, check_hash: bool = True) -> Policy:
        """Load a policy by the name of one that ships (`Policy.names()`), or from a JSON file.

        Args:
            name_or_path: A shipped name, or a path. Text with a path separator or ending in `.json` is always a path.
            check_hash: Whether a file whose `provenance.hash` is not the hash of its contents is refused.

        Returns:
            The policy.

        Raises:
            PolicyError: No such policy, or the file is not valid; the message names file and field.
        """
        from salience.policy_file import load_policy  # a cycle otherwise: reading a file needs this class

        return load_policy(name_or_path, check_hash=check_hash)

    @staticmethod
    def names() -> list[str]:
        """Return the names of the policies that ship with this library."""
        from salience.policy_file import shipped_names

        return shipped_names()

    def save(self, path: str | Path) -> None:
        """Write the policy to one JSON file, with its hash in `provenance.hash`; an existing file is replaced as a whole.

        Raises:
            OSError: The file cannot be written.
        """
        from salience.policy_file import save_policy

        save_policy(self, Path(path))


def behaviour(policy: Policy) -> dict[str, Any]:
    """Return the fields of a policy that change what it does, as JSON-ready values. The schema stays text: its key order matters.

    `max_turn_chars` is among them only where it is set, so that policies from before there was such a field keep their hashes.
    """
    options = policy.options
    long_turns = {} if policy.max_turn_chars is None else {"max_turn_chars": policy.max_turn_chars}
    return long_turns | {
        "system": policy.system,
        "examples": [
            [example.turn.text, example.turn.source, example.turn.date, example.reply]  # what is rendered of a turn
            for example in policy.examples
        ],
        "examples_as": policy.examples_as if policy.examples else None,
        "options": [float(options.min_salience), options.max_candidates, options.default_observed],
        "schema": policy.schema_json,
        "decoding": [policy.decoding.max_tokens, policy.decoding.temperature],
        "calibration": None if policy.calibration is None else [list(point) for point in policy.calibration.points],
        "operating_threshold": policy.threshold,
    }


def _compact_schema(text: str) -> str:
    try:
        schema = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyError(f"schema_json must be the JSON text of a schema: {error}") from None
    if not isinstance(schema, dict):
        raise PolicyError(f"schema_json must be the JSON text of an object, got {text[:80]!r}")
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=True)
