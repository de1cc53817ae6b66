"""Reading and writing a policy as one JSON file. What a policy means is in `salience.policy`.

The file (`schema_version` 1) is made to be written by hand and to be read in a diff: `system` is an array of lines, absent fields
have their defaults, and a file without `provenance.hash` is taken as it is.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from salience.calibration import CalibrationMap
from salience.errors import OptionError, PolicyError
from salience.policy import Decoding, Example, Policy
from salience.types import ExtractOptions, Turn

SCHEMA_VERSION = 1
_T = TypeVar("_T")


def shipped_names() -> list[str]:
    """Return the names of the policies that ship with the library, sorted."""
    folder = resources.files("salience.prompts")
    return sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))


def load_policy(name_or_path: str | Path, *, check_hash: bool = True) -> Policy:
    """Load a shipped policy by name, or a policy file; see `Policy.load`."""
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or text.endswith(".json") or os.sep in text or "/" in text
    if is_path:
        return policy_from_text(read_text(Path(text)), where=text, check_hash=check_hash)
    if text in shipped_names():
        content = resources.files("salience.prompts").joinpath(f"{text}.json").read_text(encoding="utf-8")
        return policy_from_text(content, where=f"policy {text}", check_hash=check_hash)
    raise PolicyError(f"there is no policy named {text!r}; shipped: {', '.join(shipped_names())}; a file ends in .json")


def read_text(path: Path) -> str:
    """Return the text of a policy file, without a byte order mark.

    Raises:
        PolicyError: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror or error}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def parse(text: str, where: str) -> object:
    """Return what a policy file's text holds.

    Args:
        text: The file's content.
        where: The file's name, for messages.

    Raises:
        PolicyError: It is not JSON, nests too deeply, holds half of a surrogate pair, or a key stands twice in one object.
    """
    try:
        raw = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
        json.dumps(raw, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise PolicyError(f"{where}: is nested too deeply") from None
    except UnicodeEncodeError:
        raise PolicyError(f"{where}: holds half of a surrogate pair (\\ud800 to \\udfff), which is no text") from None
    except ValueError as error:
        raise PolicyError(f"{where}: is not valid JSON: {error}") from None
    return raw


def policy_from_text(text: str, *, where: str, check_hash: bool = True) -> Policy:
    """Return the policy that a file's text describes.

    Args:
        text: The file's content.
        where: The file's name, for messages.
        check_hash: As in `Policy.load`.

    Raises:
        PolicyError: The text is not a policy; the message names `where`, the field, what was given and what is allowed.
    """
    fields = Fields(parse(text, where), where, "")
    version = fields.take("schema_version", int, required=True)
    if version != SCHEMA_VERSION:
        raise PolicyError(f"{where}: schema_version must be {SCHEMA_VERSION}, got {version!r}")
    try:
        policy = _build(fields, where)
    except (OptionError, PolicyError) as error:
        message = str(error)
        raise PolicyError(message if message.startswith(where) else f"{where}: {message}") from None
    fields.done()
    recorded = policy.provenance.get("hash")
    if check_hash and recorded is not None and recorded != policy.hash:
        raise PolicyError(
            f"{where}: provenance.hash is {recorded!r} but the contents have the hash {policy.hash!r}: the file was changed after it "
            f"was saved. To keep the change as a new policy: salience policy save {where} --name NEW -o NEW.json"
        )
    return policy


class Fields:
    """One JSON object of a policy file, taken field by field, so that unknown fields and wrong types are named."""

    def __init__(self, raw: object, where: str, prefix: str) -> None:
        if not isinstance(raw, dict):
            raise PolicyError(f"{where}: {prefix.rstrip('.') or 'the file'} must be a JSON object, got {type(raw).__name__}")
        self.raw, self.where, self.prefix, self.taken = raw, where, prefix, set[str]()

    def take(self, key: str, kind: type | tuple[type, ...], *, required: bool = False, default: Any = None) -> Any:
        """Return a field's value.

        Args:
            key: Its name.
            kind: What it may be.
            required: Whether it must be there.
            default: What stands for it where it is not.

        Raises:
            PolicyError: It is missing or of another type; the message says what is allowed.
        """
        self.taken.add(key)
        if key not in self.raw:
            if required:
                raise PolicyError(f"{self.where}: {self.prefix}{key} is missing")
            return default
        value = self.raw[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            allowed = " or ".join("null" if one is type(None) else one.__name__ for one in kinds)
            raise PolicyError(f"{self.where}: {self.prefix}{key} must be {allowed}, got {json.dumps(value)[:80]}")
        return value

    def nested(self, key: str) -> Fields:
        """Return the fields of an object within; none where it is absent."""
        return Fields(self.take(key, dict, default={}), self.where, f"{self.prefix}{key}.")

    def done(self) -> None:
        """Raise if there is a field that was not taken.

        Raises:
            PolicyError: There is one; the message names it and what is allowed.
        """
        unknown = sorted(set(self.raw) - self.taken)
        if unknown:
            allowed = ", ".join(sorted(self.taken))
            raise PolicyError(f"{self.where}: {self.prefix}{unknown[0]} is not a field of a policy; allowed here: {allowed}")


_NONE = type(None)


def _build(fields: Fields, where: str) -> Policy:
    schema = fields.take("schema", (dict, _NONE))
    return Policy(
        name=fields.take("name", str, required=True),
        system=take_lines(fields),
        examples=tuple(_example(raw, where, f"examples[{i}].") for i, raw in enumerate(fields.take("examples", list, default=[]))),
        examples_as=fields.take("examples_as", str, default="system"),
        options=take_value(fields.nested("options"), ExtractOptions, {
            "min_salience": (int, float), "max_candidates": (int, _NONE), "default_observed": (str, _NONE)}),
        schema_json=None if schema is None else json.dumps(schema),
        decoding=take_value(fields.nested("decoding"), Decoding, {"max_tokens": (int, _NONE), "temperature": (int, float, _NONE)}),
        calibration=_calibration(fields, where),
        operating_threshold=fields.take("operating_threshold", (int, float, _NONE)),
        max_turn_chars=fields.take("max_turn_chars", (int, _NONE)),
        provenance=fields.take("provenance", dict, default={}),
    )  # fmt: skip


def take_value(fields: Fields, make: Callable[..., _T], kinds: Mapping[str, tuple[type, ...]]) -> _T:
    """Return what `make` gives for the fields of these names and types that are there; any other is an error."""
    given = {key: fields.take(key, kind) for key, kind in kinds.items() if key in fields.raw}
    fields.taken |= set(kinds)
    fields.done()
    return make(**given)


def take_lines(fields: Fields) -> str:
    """Return the system prompt: `system`, an array of lines or one text."""
    system = fields.take("system", (list, str), required=True)
    if isinstance(system, str):
        return system
    for number, line in enumerate(system):
        if not isinstance(line, str):
            raise PolicyError(f"{fields.where}: system[{number}] must be a string, got {json.dumps(line)[:80]}")
    return "\n".join(system)


def _example(raw: object, where: str, prefix: str) -> Example:
    fields = Fields(raw, where, prefix)
    reply = fields.take("reply", str, required=True)
    turn = fields.nested("turn")
    text = turn.take("text", str, required=True)
    source, date = turn.take("source", (str, _NONE)), turn.take("date", (str, _NONE))
    turn.done()
    fields.done()
    try:
        return Example(Turn(text, source=source, date=date), reply)
    except (OptionError, PolicyError) as error:
        raise PolicyError(f"{where}: {prefix.rstrip('.')}: {error}") from None


def _calibration(fields: Fields, where: str) -> CalibrationMap | None:
    if fields.take("calibration", (dict, _NONE)) is None:
        return None
    inner = fields.nested("calibration")
    kind = inner.take("kind", str, required=True)
    if kind != "piecewise":
        raise PolicyError(f'{where}: calibration.kind must be "piecewise", got {kind!r}')
    points = inner.take("points", list, required=True)
    inner.done()
    return CalibrationMap(tuple(tuple(point) if isinstance(point, list) else point for point in points))


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """Return the JSON-ready content of a policy's file, with its hash in `provenance`.

    `max_turn_chars` is written only where it is set: without it, the file is one that earlier versions read too.
    """
    options = policy.options
    long_turns = {} if policy.max_turn_chars is None else {"max_turn_chars": policy.max_turn_chars}
    example_turns = [{"text": e.turn.text, "source": e.turn.source, "date": e.turn.date} for e in policy.examples]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": policy.name,
        "system": policy.system.split("\n"),
        "examples_as": policy.examples_as,
        "examples": [{"turn": turn, "reply": e.reply} for turn, e in zip(example_turns, policy.examples, strict=True)],
        "options": {
            "min_salience": options.min_salience,
            "max_candidates": options.max_candidates,
            "default_observed": options.default_observed,
        },
        "schema": policy.schema,
        "decoding": {"max_tokens": policy.decoding.max_tokens, "temperature": policy.decoding.temperature},
        "calibration": policy.calibration and {"kind": "piecewise", "points": [list(point) for point in policy.calibration.points]},
        "operating_threshold": policy.threshold,
        **long_turns,
        "provenance": {**policy.provenance, "hash": policy.hash},
    }


def save_policy(policy: Policy, path: Path) -> None:
    """Write a policy's file, whole or not at all; see `Policy.save`."""
    write_whole(policy_to_dict(policy), path)


def write_whole(content: Mapping[str, Any], path: Path) -> None:
    """Write a policy file's content, whole or not at all.

    Args:
        content: Values for JSON.
        path: Where to; its folder must exist.

    Raises:
        OSError: It cannot be written.
    """
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
