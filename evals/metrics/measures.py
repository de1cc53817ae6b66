"""What each task is measured by: its counts and figures, and which of them a table shows, a comparison compares and a gate holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evals.metrics import consolidation, figures, scenario
from evals.metrics.counted import Counted
from evals.metrics.counts import COLUMNS, STATUSES
from evals.setups import Task
from evals.stats import Figure

_PLAYED = ("score", *(f"status_{status}" for status in STATUSES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What a task is measured by.

    Attributes:
        task: Which.
        counted: The counts of a case.
        figures: Every figure, a function of summed counts, by name.
        shown: The figures of the main table: title and name.
        headline: The name of the figure that intervals are drawn of.
        guards: Figures that can look good where hardly anything is done.
        compared: The figures that are compared, the headline first.
        always: How many of them are told even where both sides are undefined.
        lower_is_better: Those of which less is better.
        gated: Those that the margin of a gate can be held against.
        harm: What may not rise: a short name, the words for it, and the figure.
        of_slices: The figures of a slice: title and name.
        beside: The count that is told of a slice beside its cases: title and name, or None.
        told: What the table's columns mean, in sentences: title and text.
    """

    task: Task
    counted: Counted
    figures: Mapping[str, Figure]
    shown: tuple[tuple[str, str], ...]
    headline: str
    guards: frozenset[str] = frozenset()
    compared: tuple[str, ...]
    always: int = 1
    lower_is_better: frozenset[str]
    gated: tuple[str, ...]
    harm: tuple[tuple[str, str, Figure], ...]
    of_slices: tuple[tuple[str, str], ...]
    beside: tuple[str, str] | None = None
    told: tuple[tuple[str, str], ...]


EXTRACTION = Measures(
    task="extraction",
    counted=Counted(COLUMNS),
    figures=figures.FIGURES,
    shown=(
        ("precision", "precision"), ("recall", "recall"), ("F1", "f1"), ("balanced", "balanced"), ("specificity", "specificity"),
        ("violations", "violation_rate"), ("noise", "noise_rate"), ("AUROC", "auroc"),
    ),
    headline="f1",
    guards=frozenset({"specificity", "violation_rate", "noise_rate", "auroc"}),
    compared=(
        "f1", "precision", "recall", "balanced", "specificity", "violation_rate", "noise_rate", "duplicate_rate", "near_miss_rate",
        "unsupported_rate", "language_kept",
    ),
    always=6,
    lower_is_better=frozenset({"violation_rate", "noise_rate", "duplicate_rate", "near_miss_rate", "unsupported_rate"}),
    gated=("f1", "balanced", "precision", "recall", "specificity", "f1_due"),
    harm=(("violations", "violations a case", figures.rate("outcome_violation", "cases")),),
    of_slices=(
        ("precision", "precision"), ("recall", "recall"), ("F1", "f1"), ("balanced", "balanced"), ("specificity", "specificity"),
        ("violations", "violation_rate"), ("AUROC", "auroc"),
    ),
    beside=("negative", "negatives"),
    told=(
        ("F1", "2 hits / (2 hits + false positives + missed). 0 for silence where memories were due."),
        ("precision", "Hits as a share of hits and false positives. Optional memories count nowhere."),
        ("recall", "Share of the required memories that were found."),
        ("balanced", "Harmonic mean of F1 where memories are due and specificity on the negative cases."),
        ("specificity", "Share of the negative cases answered by a readable reply without a false positive."),
        ("violations", "Share of the cases with a forbidden statement in which one was returned."),
        ("noise", "Share of the predictions that are true but trivial."),
        ("AUROC", "Whether salience ranks hits above false positives: 1.00 always, .50 is chance."),
        ("unsupported", "Share of the predictions, of which the judge was asked, that the conversation does not bear out."),
    ),
)  # fmt: skip
CONSOLIDATION = Measures(
    task="consolidation",
    counted=Counted((*consolidation.COUNTED.columns, *_PLAYED)),
    figures=consolidation.FIGURES,
    shown=(
        ("macro F1", "macro_f1"), ("accuracy", "accuracy"), ("target", "target_accuracy"), ("content", "content_match"),
        ("protected", "protected_touched"), ("lost", "facts_lost"), ("stale", "stale_left"), ("fallback", "fallback"),
    ),
    headline="macro_f1",
    compared=(
        "macro_f1", "accuracy", "target_accuracy", "content_match", "protected_touched", "facts_lost", "lossy_update", "stale_left",
        "duplicate_added", "fallback", "invented", "f1_ADD", "f1_UPDATE", "f1_DELETE", "f1_NONE",
    ),
    lower_is_better=frozenset(
        {"protected_touched", "facts_lost", "lossy_update", "stale_left", "duplicate_added", "fallback", "invented", "calls"}
    ),
    gated=("macro_f1", "accuracy", "target_accuracy", "content_match"),
    harm=(
        ("protected touched", "the share of cases with a protected memory touched", consolidation.FIGURES["protected_touched"]),
        ("facts lost", "the share of cases with a fact lost", consolidation.FIGURES["facts_lost"]),
    ),
    of_slices=(
        ("macro F1", "macro_f1"), ("accuracy", "accuracy"), ("target", "target_accuracy"), ("protected", "protected_touched"),
        ("lost", "facts_lost"), ("stale", "stale_left"),
    ),
    told=(
        ("macro F1", "Mean of F1 of ADD, UPDATE, DELETE and NONE, against the labelled action or an acceptable one."),
        ("accuracy", "Share of the decisions that are right as a whole: action, memories, and whether the new fact is kept."),
        ("target", "Share of the right UPDATE and DELETE actions that name the right memory."),
        ("content", "Share of the right decisions with a content whose content says what the labelled one says."),
        ("protected", "Share of the cases with protected memories in which one was changed or retired."),
        ("lost", "Share of the cases after which something true is nowhere any more."),
        ("stale", "Share of the cases in which a memory ceases to be true where it is left as it was, or said again."),
        ("fallback", "Share of the decisions that could not be read or named a memory never offered, so that the fact was added. Wrong."),
    ),
)  # fmt: skip
SCENARIO = Measures(
    task="scenario",
    counted=Counted((*scenario.COUNTED.columns, *_PLAYED)),
    figures=scenario.FIGURES,
    shown=(
        ("balanced", "balanced"), ("live", "recall"), ("stale", "stale_rate"), ("private", "private_stale_rate"), ("lost", "lost_rate"),
        ("memories", "memories_per_person"), ("duplicates", "duplicates_per_person"), ("evidence", "evidence_covered"),
        ("by chance", "evidence_by_chance"), ("answers", "answer_found"), ("calls a session", "calls_per_session"),
    ),
    headline="balanced",
    compared=(
        "balanced", "recall", "stale_rate", "private_stale_rate", "lost_rate", "never_stored_rate", "duplicate_rate", "unlisted_rate",
        "evidence_covered", "answer_found", "fallback_rate", "calls_per_session",
    ),
    lower_is_better=frozenset({
        "stale_rate", "private_stale_rate", "lost_rate", "never_stored_rate", "duplicate_rate", "fallback_rate", "calls_per_session",
        "calls_per_kept", "tokens_per_kept", "invented_per_session", "unreadable_rate",
    }),
    gated=("balanced", "recall"),
    harm=(
        ("private stale", "the share of what was to be forgotten that is live", scenario.FIGURES["private_stale_rate"]),
        ("facts lost", "the share of what was stored and must be live that is not", scenario.FIGURES["lost_rate"]),
    ),
    of_slices=(
        ("balanced", "balanced"), ("live", "recall"), ("stale", "stale_rate"), ("lost", "lost_rate"), ("memories", "memories_per_person"),
        ("duplicates", "duplicates_per_person"), ("answers", "answer_found"),
    ),
    told=(
        ("balanced", "Harmonic mean of live and of the share of retired statements that are gone: silence and keeping all score badly."),
        ("live", "Share of the memories that must be live after the last session that are."),
        ("stale", "Share of the statements that must not be live any longer that are."),
        ("private", "The same, of those that were secret, withdrawn or to be forgotten."),
        ("lost", "Share of the memories that were in the store at some time and must be live that are not."),
        ("memories", "Live memories of a person in the end, a mean number."),
        ("duplicates", "Those of them that say what another one says, a mean number."),
        ("evidence", "Share of the messages that the questions rest on of which something is live that came from their session."),
        ("by chance", "The same with as many memories of the person's other sessions instead: what shared words alone would give."),
        ("answers", "Share of the answerable questions whose answer is among the ten memories that a query finds."),
        ("calls a session", "Model calls for facts and for decisions."),
    ),
)  # fmt: skip
MEASURES: Mapping[str, Measures] = {one.task: one for one in (EXTRACTION, CONSOLIDATION, SCENARIO)}
"""By task."""
