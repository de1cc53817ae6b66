"""Writers: what proposes new prompt texts. Any model, or a list of hand-written variants, which costs nothing and never changes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy

from evals.errors import WorkbenchError
from evals.tune.adapter import Seat, lm_of, response_of
from evals.tune.canonical import canonical
from evals.tune.engine import Engine
from salience import Reply

BUNDLED = "bundled"
"""The name of the variants that ship, one file a task."""
_SEPARATOR = re.compile(r"^---[ \t]*$", re.MULTILINE)
_FIELDS = re.compile(r"^\d+\. `(\w+)`", re.MULTILINE)
_FILL = "ok"
"""What a list of variants says where an optimiser asks for something that is no prompt, such as a summary of the data."""


def variants_file(name: str, task: str) -> Path:
    """Return the file of variants that a user named: `BUNDLED` for the task's own that ship, else a path."""
    return Path(__file__).parent / "variants" / f"{task}.txt" if name == BUNDLED else Path(name)


def read_variants(path: Path) -> list[str]:
    """Return the variants of a file: a JSON array of strings, or texts with a line `---` between them.

    Raises:
        WorkbenchError: The file cannot be read, or holds no text, or a variant would not survive an optimiser as it stands.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"{path}: the variants cannot be read: {error}") from None
    found: Any = _SEPARATOR.split(text)
    if path.suffix == ".json":
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WorkbenchError(f"{path}: is not JSON: {error}; an array of strings is wanted") from None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise WorkbenchError(f"{path}: must be an array of strings, got {text[:80]!r}")
    variants = [canonical(one).strip() for one in found]
    variants = [one for one in variants if one]
    if not variants:
        raise WorkbenchError(f"{path}: holds no variant; write prompt texts with a line --- between them")
    return list(dict.fromkeys(variants))


class Variants:
    """DSPy's engine over a list of variants: whatever prompt an optimiser asks for, the next one is given, in the form it asks for.

    Args:
        texts: The variants, in the order of their use; after the last comes the first.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.given = self.answered = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Variants:
        return self

    def complete(self, request: Any) -> Any:
        """Return the next variant."""
        system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
        asked = "\n".join([system, *(message.text or "" for message in request.messages)])
        self.answered += 1
        return response_of(Reply(self._answer(asked)), str(request.model))

    def close(self) -> None:
        """Do nothing."""

    def _answer(self, asked: str) -> str:
        outputs = asked.rsplit("Your output fields are:", maxsplit=1)[-1] if "Your output fields are:" in asked else ""
        names = _FIELDS.findall(outputs.split("All interactions")[0])
        if not names:  # an optimiser that wants a bare text, in a fence
            return f"```\n{self._next()}\n```"
        if "Outputs will be a JSON object" in asked:
            return json.dumps({name: self._value(name) for name in names}, ensure_ascii=False)
        return "".join(f"[[ ## {name} ## ]]\n{self._value(name)}\n\n" for name in names) + "[[ ## completed ## ]]"

    def _value(self, name: str) -> str:
        if name == "module_advice":
            return json.dumps({"predict": self._next()}, ensure_ascii=False)
        return self._next() if "instruction" in name or name == "natural_language_rules" else _FILL

    def _next(self) -> str:
        text = self.texts[self.given % len(self.texts)]
        self.given += 1
        return text


def variants_lm(texts: Sequence[str]) -> dspy.LM:
    """Return DSPy's language model over a list of variants."""
    return dspy.LM("variants/list", engine=Variants(texts), cache=False, num_retries=0)


def writer_lm(engine: Engine, temperature: float) -> dspy.LM:
    """Return DSPy's language model over a writer model."""
    return lm_of(engine, temperature=temperature)


def answered(lm: dspy.LM | None) -> int:
    """Return how many answers that are not empty a writer gave."""
    seat = getattr(lm, "engine", None)
    return seat.answered if isinstance(seat, Seat | Variants) else 0
