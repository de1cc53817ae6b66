"""Cases of different splits that tell the same, found by a stand-in encoder whose vectors are known."""

import numpy as np
import pytest

from evals.cases import Case
from evals.data.files import load_dataset
from evals.errors import WorkbenchError
from evals.matching.vectors import VectorStore
from evals.near import NEAR, nearest


class Angles:
    """A text is an angle in degrees; its vector is the point on the unit circle."""

    id, hash = "angles", "0" * 64

    def __init__(self, lacking=None):
        self.lacking = lacking

    def missing(self):
        return self.lacking

    def encode(self, texts):
        return [np.array([np.cos(np.radians(float(t))), np.sin(np.radians(float(t)))], dtype=np.float32) for t in texts]


def case(name, split, angle):
    return Case(id=name, conversation=name, split=split, language="en", messages=({"role": "user", "content": str(angle)},), memories=())


def test_only_pairs_across_splits_count_and_the_closest_come_first(tmp_path):
    cases = [case("a", "train", 0), case("b", "train", 1), case("c", "dev", 60), case("d", "test", 61), case("e", "dev", 30)]
    found = nearest(cases, VectorStore(tmp_path / "v.sqlite"), most=3, encoder=Angles())
    assert [(pair.first, pair.second) for pair in found] == [("c", "d"), ("b", "e"), ("a", "e")]
    assert [pair.cosine for pair in found] == pytest.approx([np.cos(np.radians(d)) for d in (1, 29, 30)], abs=1e-5)


def test_within_compares_conversations_of_any_split(tmp_path):
    cases = [case("a", "train", 0), case("b", "train", 1), case("c", "dev", 60), case("d", "test", 63)]
    found = nearest(cases, VectorStore(tmp_path / "v.sqlite"), most=2, within=True, encoder=Angles())
    assert [(pair.first, pair.second) for pair in found] == [("a", "b"), ("c", "d")]


def test_a_missing_encoder_is_said(tmp_path):
    with pytest.raises(WorkbenchError, match="install it"):
        nearest([case("a", "dev", 0)], VectorStore(tmp_path / "v.sqlite"), encoder=Angles("install it"))


def test_the_bundled_splits_hold_no_near_duplicates(tmp_path):
    found = nearest(load_dataset().cases, VectorStore(tmp_path / "v.sqlite"))
    assert found[0].cosine < NEAR
