"""Maps against scikit-learn and betacal, the choice between them, thresholds by hand, and that the extractor applies the very numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from betacal import BetaCalibration
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from evals.calibration.calibrate import calibrate, calibrated, on_scale
from evals.calibration.maps import MAPS, apply, beta, choose_map, flat, folds_of, isotonic, platt
from evals.calibration.threshold import best_threshold, levels
from evals.cases import Case, Memory
from evals.cell_scoring import Matched
from evals.errors import WorkbenchError
from evals.matching.base import Verdict
from evals.metrics.outcomes import Table
from evals.rubric import Rubric
from salience import Candidate, ModelSalienceExtractor, Policy, Turn
from tests.evals.calibration.test_calibration_figures import items, simulated

GRID = np.linspace(0.02, 0.98, 25)


def test_platts_map_is_scikit_learns_logistic_regression():
    one = simulated(500, 3.0)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(one.salience[:, None], one.kept)
    assert apply(platt(one), np.linspace(0, 1, 101)) == pytest.approx(model.predict_proba(np.linspace(0, 1, 101)[:, None])[:, 1], abs=1e-5)


def test_the_beta_map_is_betacals():
    one = simulated(800, 3.0, seed=2)
    one = one.part((one.salience > 0.01) & (one.salience < 0.99))  # beyond, this project clips and betacal does not
    theirs = BetaCalibration("abm").fit(one.salience[:, None], one.kept)
    assert apply(beta(one), GRID) == pytest.approx(theirs.predict(GRID), abs=5e-3)
    likelihoods = [log_loss(one.kept, values) for values in (apply(beta(one), one.salience), theirs.predict(one.salience))]
    assert likelihoods[0] <= likelihoods[1] + 1e-6  # betacal's optimiser stops a little short of the best


def test_the_isotonic_map_is_scikit_learns():
    one = simulated(300, 2.0)
    model = IsotonicRegression(y_min=0.01, y_max=0.99, out_of_bounds="clip").fit(one.salience, one.kept)
    assert apply(isotonic(one), one.salience) == pytest.approx(model.predict(one.salience), abs=2e-6)


@pytest.mark.parametrize("kind", [name for name in MAPS if name not in ("identity", "isotonic")])
def test_a_map_never_falls(kind):
    reverse = simulated(400)
    reverse = reverse.mapped(1 - reverse.salience)
    assert MAPS[kind](reverse) == flat(reverse)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=30))
def test_every_map_is_a_map_of_any_items(pairs):
    one = items([level / 10 for level, _ in pairs], [kept for _, kept in pairs])
    for fit in MAPS.values():
        mapped = apply(fit(one), np.linspace(0, 1, 33))
        assert (np.diff(mapped) >= 0).all()
        assert (mapped >= 0).all()
        assert (mapped <= 1).all()


def test_identity_is_chosen_where_salience_is_a_probability_already():
    assert choose_map(simulated(2000, 1.0)).kind == "identity"


def test_a_curved_salience_is_mended():
    one = simulated(1500, 4.0)
    chosen = choose_map(one)
    assert chosen.kind in ("platt", "beta", "isotonic")
    before, after = (float(np.mean((values - one.kept) ** 2)) for values in (one.salience, chosen.crossed))
    assert after < before - 0.05
    assert chosen.scores[chosen.kind] == min(chosen.scores.values())


def test_few_items_allow_identity_and_platt_only():
    assert set(choose_map(simulated(99)).scores) == {"identity", "platt"}
    assert set(choose_map(simulated(100)).scores) == set(MAPS)


def test_salience_that_tells_nothing_ends_flat():
    """Kept or not has nothing to do with salience: the map is the base rate, and behind it there is no skill and no harm."""
    generator = np.random.default_rng(4)
    one = items(np.full(300, 0.7), generator.random(300) < 0.2, generator.integers(0, 40, 300))
    chosen = choose_map(one)
    assert apply(chosen.map, np.array([0.1, 0.7, 0.9])) == pytest.approx(one.kept.mean(), abs=1e-6)


def test_a_conversation_never_scores_itself():
    """One conversation's items are all hits at .5, the others' none: a map that had seen it would lift .5 for it."""
    rest = [(0.2, 0, number) for number in range(1, 40)] + [(0.9, 1, number) for number in range(1, 40)]
    rows = rest + [(0.5, 1, 0)] * 30 + [(0.5, 0, number) for number in range(1, 31)]
    one = items(*zip(*rows, strict=True))
    chosen = choose_map(one)
    assert chosen.crossed[one.owner == 0].max() < chosen.map(0.5)


def test_folds_hold_conversations_together():
    owner = np.array([3, 3, 7, 7, 7, 9, 1])
    folds = folds_of(owner, seed=0)
    assert all(len(set(folds[owner == one])) == 1 for one in set(owner))
    assert len(set(folds)) == 4
    assert (folds_of(owner, seed=0) == folds).all()


def test_too_little_to_learn_from_is_said():
    with pytest.raises(WorkbenchError, match="two conversations or more"):
        choose_map(items([0.2, 0.8], [0, 1], [0, 0]))


def test_levels_lie_between_values():
    assert levels([0.2, 0.8, 0.8, 0.4]) == [0.0, 0.3, 0.5, 0.6, pytest.approx(0.800001)]
    assert levels([]) == [0.0, 0.5]
    assert len(levels(list(np.linspace(0, 1, 5000)))) <= 203


def test_the_best_threshold_by_hand():
    """At 0: 3 hits, 5 false, 1 missed, F1 6/12. At .6: 3, 1, 1, F1 6/8. At .9: 1, 0, 3, F1 2/5."""
    counts = np.zeros((4, 4, 3))
    counts[0] = counts[1] = [[1, 2, 0], [1, 1, 0], [1, 1, 0], [0, 1, 1]]
    counts[2] = [[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]
    counts[3] = [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]
    found = best_threshold(counts, [0.0, 0.5, 0.6, 0.9], [0.5, 0.7, 0.95], beta=1.0, seed=0)
    assert (found.raw, found.score, found.at_half) == (0.6, 0.75, 0.5)
    assert found.crossed == 0.75  # every three of the conversations agree on .6
    assert found.plateau == (0.5, 0.7)


def test_the_default_counts_what_lies_between_it_and_the_next_value():
    """Right facts at .9 and .45, false ones at .3: .5 loses half of the right ones, and .375 nothing."""
    salience = [0.9] * 4 + [0.45] * 4 + [0.3] * 4
    tried = levels(salience)
    counts = np.zeros((len(tried), 4, 3))
    for place, threshold in enumerate(tried):
        kept = [(threshold <= 0.9), (threshold <= 0.45), (threshold <= 0.3)]
        counts[place] = [[kept[0] + kept[1], kept[2], 2 - kept[0] - kept[1]]] * 4
    found = best_threshold(counts, tried, salience, beta=1.0, seed=0)
    assert (found.raw, found.score, found.at_half) == (0.375, 1.0, pytest.approx(2 / 3))


def test_the_default_is_kept_where_it_is_as_good():
    counts = np.ones((3, 3, 3))
    assert best_threshold(counts, [0.0, 0.5, 0.95], [0.9], beta=1.0, seed=0).raw == 0.5


def test_nothing_due_and_nothing_returned_has_no_threshold():
    found = best_threshold(np.zeros((2, 2, 3)), [0.0, 0.5], [], beta=1.0, seed=0)
    assert (found.raw, found.score, found.crossed) == (0.5, None, None)


@given(st.floats(0.05, 0.95), st.integers(0, 50))
def test_a_threshold_parts_the_same_candidates_behind_the_map(raw, seed):
    one = simulated(120, 3.0, seed)
    for kind in ("platt", "isotonic"):
        chosen = MAPS[kind](one)
        mapped, limit = apply(chosen, one.salience), on_scale(chosen, raw, one)
        kept_before, kept_after = one.salience >= raw, mapped >= limit
        assert kept_after[kept_before].all()
        wrongly = kept_after & ~kept_before  # only where the map makes two equal
        assert not wrongly.any() or mapped[wrongly].max() >= mapped[kept_before].min(initial=2) or not kept_before.any()


YES, NO = Verdict(0.9, True, "same", margin=0.8), Verdict(0.1, False, "other", margin=-0.5)


class Says:
    """A client with one answer."""

    def __init__(self, text):
        self.text = text

    def complete(self, *, system, prompt):
        return self.text


def cell(count=60):
    """Cases with one memory each and two candidates: a hit of .9 in half of the cases, a false one of .5 in all."""
    memory = Memory(id="m1", content="right", salience=0.8)
    for number in range(count):
        case = Case(
            id=f"c{number}", conversation=f"talk-{number // 2}", split="dev", language="en",
            messages=({"role": "user", "content": "right"},), memories=(memory,),
        )  # fmt: skip
        candidates = (Candidate("right", 0.9 if number % 2 else 0.6), Candidate("wrong", 0.5))
        yield Matched(case, candidates, Table([[YES if number % 2 else NO], [NO]], [[], []]))


def test_a_cell_is_calibrated():
    """Thirty hits of .9, thirty misses of .6 and sixty false ones of .5: 90 false, base rate a quarter."""
    found = calibrate(list(cell()), Rubric(), 0.02)
    assert (found.raw.items, found.raw.conversations, found.raw.base_rate) == (120, 30, 0.25)
    assert found.raw.auroc == 1.0
    assert found.choice is not None
    assert found.mapped is not None
    assert found.mapped.skill > found.raw.skill
    assert 0.6 < found.threshold.raw <= 0.9
    assert found.threshold.score == found.threshold.crossed == pytest.approx(2 * 30 / (2 * 30 + 30))  # 30 hits, no false one, 30 missed
    assert found.grade.pairs == 30
    assert found.grade.bias == pytest.approx(0.1)


def test_the_policy_applies_the_very_numbers_that_were_scored(tmp_path):
    found = calibrate(list(cell()), Rubric(), 0.02)
    made = calibrated(Policy(), found, "mine", "a run")
    made.save(tmp_path / "mine.json")
    loaded = Policy.load(tmp_path / "mine.json")
    raw = [0.0, 0.333, 0.5, 0.6, 0.77, 0.9, 1.0]
    text = json.dumps([{"content": f"fact {value}", "salience": value} for value in raw])
    found_by = ModelSalienceExtractor(Says(text), policy=loaded)
    given_back = {one.content: one.salience for one in found_by.extract_salient(Turn("hello"))}
    wanted = apply(found.choice.map, np.array(raw))
    assert [given_back[f"fact {value}"] for value in raw] == pytest.approx(list(wanted), abs=1e-6)
    assert loaded.threshold == found.operating_threshold
    assert loaded.provenance["calibration_kind"] == found.choice.kind


def test_without_a_map_there_is_no_policy():
    few = [next(iter(cell()))]
    with pytest.raises(WorkbenchError, match="cannot be learned"):
        calibrated(Policy(), calibrate(few, Rubric(), 0.02), "mine", "a run")
