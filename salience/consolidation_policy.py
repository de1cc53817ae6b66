"""What a team versions of consolidation: its prompt with everything else that decides what a model is asked.

A value of its own beside `salience.policy.Policy`, as that is about turns and salience: its examples, options, calibration and threshold
mean nothing here, and a field for the task would have to be kept out of every hash there is. The file has the same form, with `task`, so
that neither is ever loaded as the other.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from salience.errors import PolicyError
from salience.policy import Decoding, Policy
from salience.prompts.recall import CONSOLIDATION_SCHEMA, CONSOLIDATION_SYSTEM_PROMPT

TASK = "consolidation"


@dataclass(frozen=True, slots=True)
class ConsolidationExample:
    """New facts, known memories, and the reply, word for word, that a model should give; memories are numbered from 1 as they stand.

    Raises:
        PolicyError: There is no fact, or a fact, memory or the reply is no non-empty string.
    """

    facts: tuple[str, ...]
    existing: tuple[str, ...]
    reply: str

    def __post_init__(self) -> None:
        for name in ("facts", "existing"):
            if isinstance(getattr(self, name), str):
                raise PolicyError(f"{name} of an example must be a sequence of strings, got {getattr(self, name)!r}")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        texts = (*self.facts, *self.existing, self.reply)
        if not self.facts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise PolicyError(f"an example needs facts, existing memories and a reply, all non-empty strings, got {self!r}")


@dataclass(frozen=True, slots=True)
class ConsolidationPolicy:
    """Everything that decides what a model is asked about new facts and known memories.

    Attributes:
        name: What people call it; not part of the hash.
        system: The system prompt.
        examples: Facts and memories with the replies that they should get.
        examples_as: "turns" sends examples as user and assistant messages (needs a `ChatClient`), "system" appends them to the system text.
        schema_json: The JSON schema of a reply as JSON text, or None. It must let what the default prompt describes through.
        decoding: Limits and temperature of the answer.
        provenance: Where it comes from, for people and files; not part of the hash, nor compared.

    Raises:
        PolicyError: A field is not valid; the message names it.
    """

    name: str = "plain"
    system: str = CONSOLIDATION_SYSTEM_PROMPT
    examples: tuple[ConsolidationExample, ...] = ()
    examples_as: Literal["system", "turns"] = "system"
    schema_json: str | None = None
    decoding: Decoding = Decoding()  # noqa: RUF009  (an immutable value)
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", tuple(self.examples))
        for i, example in enumerate(self.examples):
            if not isinstance(example, ConsolidationExample):
                raise PolicyError(f"examples[{i}] must be a ConsolidationExample, got {example!r}")
        # what both kinds of policy have is checked, and the schema made compact, by the same code
        object.__setattr__(self, "schema_json", self.seam_policy().schema_json)

    def seam_policy(self) -> Policy:
        """Return a `Policy` that asks the same of a client, examples aside: what `salience.seams` chooses a method by."""
        shared = {"examples_as": self.examples_as, "schema_json": self.schema_json, "decoding": self.decoding}
        return Policy(name=self.name, system=self.system, provenance=self.provenance, **shared)  # type: ignore[arg-type]

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
        fields = {
            "task": TASK,
            "system": self.system,
            "examples": [[example.facts, example.existing, example.reply] for example in self.examples],
            "examples_as": self.examples_as if self.examples else None,
            "schema": self.schema_json,
            "decoding": [self.decoding.max_tokens, self.decoding.temperature],
        }
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]

    @classmethod
    def load(cls, name_or_path: str | Path, *, check_hash: bool = True) -> ConsolidationPolicy:
        """Load a policy by the name of one that ships (`ConsolidationPolicy.names()`), or from a JSON file.

        Args:
            name_or_path: A shipped name, or a path. Text with a path separator or ending in `.json` is always a path.
            check_hash: Whether a file whose `provenance.hash` is not the hash of its contents is refused.

        Returns:
            The policy. "plain" is the prompt alone and needs no more than an `LlmClient`; "default" has a reply schema, a limit of 2,000
            tokens and temperature 0.

        Raises:
            PolicyError: No such policy, or the file is not valid; the message names file and field.
        """
        from salience.consolidation_file import load_policy  # a cycle otherwise: reading a file needs this class

        text = str(name_or_path)
        if isinstance(name_or_path, Path) or text.endswith(".json") or os.sep in text or "/" in text:
            return load_policy(Path(text), check_hash=check_hash)
        if text == "plain":
            return cls()
        if text == "default":
            return cls("default", schema_json=CONSOLIDATION_SCHEMA, decoding=Decoding(2000, 0.0))
        raise PolicyError(
            f"there is no consolidation policy named {text!r}; shipped: {', '.join(cls.names())}; the name of a file ends in .json"
        )

    @staticmethod
    def names() -> list[str]:
        """Return the names of the policies that ship with this library."""
        return ["default", "plain"]

    def save(self, path: str | Path) -> None:
        """Write the policy to one JSON file, with its hash in `provenance.hash`; an existing file is replaced as a whole.

        Raises:
            OSError: The file cannot be written.
        """
        from salience.consolidation_file import save_policy

        save_policy(self, Path(path))
