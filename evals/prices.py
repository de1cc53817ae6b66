"""What tokens cost. A price is the user's own, or is looked up in the table that LiteLLM ships where that is installed, or is unknown."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evals.errors import WorkbenchError

VARIABLE = "SALIENCE_PRICES"
"""The environment variable that names a price file."""
_TABLE = "model_prices_and_context_window_backup.json"
_MILLION = 1_000_000
_LOCAL = ("embedded/", "gguf:", "scripted/", "baseline/")
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        input: Of the request, 0 or more.
        output: Of the reply, reasoning included, 0 or more.
        source: Where the price comes from.
    """

    input: float
    output: float
    source: str

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION

    def to_dict(self) -> dict[str, Any]:
        """Return the price as JSON-ready values."""
        return asdict(self)


def price_from_dict(content: Mapping[str, Any] | None) -> Price | None:
    """Return a price from what `Price.to_dict` made, None for None."""
    return None if content is None else Price(float(content["input"]), float(content["output"]), str(content["source"]))


def read_prices(path: Path) -> dict[str, Price]:
    """Return the prices of a TOML file, by model name.

    Each model is a table such as `["openai/NAME"]` with the numbers `input` and `output`: US dollars for a million tokens.

    Raises:
        WorkbenchError: The file cannot be read or is not as above; the message names file, model and field.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WorkbenchError(f"{path}: the prices cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorkbenchError(f'{path}: is not TOML: {error}; write ["openai/NAME"] and below it input = 0.05 and output = 0.40') from None
    return {name: _price(path, name, entry) for name, entry in content.items()}


def _price(path: Path, name: str, entry: Any) -> Price:
    if not isinstance(entry, dict):
        raise WorkbenchError(f'{path}: {name}: must be a table ["{name}"] with input and output, got {entry!r}')
    unknown = sorted(set(entry) - {"input", "output"})
    if unknown:
        raise WorkbenchError(f"{path}: {name}.{unknown[0]}: is not a field of a price; allowed: input, output (dollars a million tokens)")
    for field in ("input", "output"):
        value = entry.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise WorkbenchError(f"{path}: {name}.{field}: must be a number of dollars a million tokens from 0 up, got {value!r}")
    return Price(float(entry["input"]), float(entry["output"]), path.name)


class Prices:
    """Prices by model name.

    Args:
        path: The user's file; None takes the one that `SALIENCE_PRICES` names, if any.
        environ: The environment.

    Raises:
        WorkbenchError: The file cannot be read or is not valid.
    """

    def __init__(self, path: Path | None = None, environ: Mapping[str, str] = os.environ) -> None:
        named = path or (Path(environ[VARIABLE]) if environ.get(VARIABLE) else None)
        self._own = read_prices(named) if named else {}
        self._shipped: dict[str, Any] | None = None

    def of(self, model: str, fingerprint: Mapping[str, Any] | None = None) -> Price | None:
        """Return a model's price, or None where it is not known.

        The user's file decides first. What runs in this process is free. OpenAI's own models and those behind LiteLLM are looked up in
        LiteLLM's table; the same name on another server may cost something else and stays unknown.

        Args:
            model: The name as the user wrote it.
            fingerprint: The model's fingerprint, which tells the server.
        """
        if model in self._own:
            return self._own[model]
        if model.startswith(_LOCAL):
            return Price(0.0, 0.0, "runs in this process")
        endpoint = (fingerprint or {}).get("endpoint")
        if model.startswith("litellm/"):
            name = model.removeprefix("litellm/")
            return self._look_up(name, name.partition("/")[2])
        if model.startswith("openai/") and endpoint == OPENAI_URL:
            return self._look_up(model.removeprefix("openai/"))
        return None

    def _look_up(self, *names: str) -> Price | None:
        if self._shipped is None:
            self._shipped = _shipped_table()
        for name in names:
            entry = self._shipped.get(name)
            if not isinstance(entry, dict):
                continue
            given, made = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
            if isinstance(given, int | float) and isinstance(made, int | float):
                return Price(round(given * _MILLION, 9), round(made * _MILLION, 9), "LiteLLM's table")
        return None


def _shipped_table() -> dict[str, Any]:
    """LiteLLM's table, read as data: the package, slow to load, is not imported. Nothing where it is absent or has moved."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return {}
    try:
        content = json.loads((Path(spec.origin).parent / _TABLE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
