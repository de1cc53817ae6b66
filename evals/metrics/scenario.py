"""What a store holds after the sessions of a scenario, against its labels: outcomes, counts, figures, and a view for reports.

Pure functions of a scenario, of what playing it gave, and of a matcher's verdicts; nothing is played and no model is asked.

A version of a memory *says* the retired statements that it matches more closely than any memory of `final` that it matches, else those
memories, and of either the nearest and what lies within the matcher's tie margin of it. Otherwise than in extraction, a memory of `final`
that a guard refused shields nothing: an old value is refused against the new one, and stale all the same.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import msgspec
import numpy as np

from evals.cases import UNLABELLED, Case, Forbidden, Memory, Reason
from evals.matching.base import Verdict
from evals.matching.tables import Grid
from evals.metrics.answers import by_chance, carried, drawn_from
from evals.metrics.counted import Counted
from evals.metrics.outcomes import CaseOutcome, Prediction, Table, admissible, closeness, decide
from evals.metrics.scenario_types import Fate, Played, ScenarioOutcome
from evals.recall_cases import LiveMemory, RetiredMemory, Scenario
from evals.rubric import Rubric
from evals.stats import Figure, HarmonicMean, Proportion
from evals.stats.figures import Floats
from salience import Candidate
from salience.memory import HashedNgrams, StoredMemory

PRIVATE = frozenset({"forgotten", "secret", "withdrawn"})
"""Reasons of a retirement after which a statement that is live breaks a promise, and is not only out of date."""
TIE_MARGIN = 0.02
"""The tie margin of the matchers that ship."""
MOST_COMPARED, SPELT_ALIKE = 150, 0.5
"""Up to so many live memories every two are compared for duplicates; of more only those with this cosine of hashed n-grams."""
DUPLICATE_MARGIN = 0.3
"""The margin from which two live memories say the same, where no label and no judge tells: of the many pairs of a store hardly any do, so
that what is right for a memory and its label finds too many. Of 1,704 pairs of different labels of train and dev the classifier takes 6 in
1,000 for the same at 0 and 2 at 0.3, where it still finds 82% of 242 paraphrases; lexical 19 and 2, and 63%."""

_FAR = closeness(Verdict(None, False, ""))
_TELLING = ("hit", "violation", "duplicate")  # outcomes of memories that say what their label says
_UNREADABLE = frozenset({"truncated", "malformed"})
_DUE = 0.9  # all of `final` is due; how much each matters is not labelled


def grids(scenario: Scenario, played: Played) -> tuple[Grid, ...]:
    """Return the pairs that a matcher must judge.

    First every distinct content of any version against every label. Then, for duplicates, each live content against those written before
    it, a grid each, so that two are judged once. Of more than `MOST_COMPARED` live contents only those are compared that are spelt alike
    (`SPELT_ALIKE`, `HashedNgrams`): duplicates in quite other words are missed there, and their share is a lower bound.

    Args:
        scenario: The scenario.
        played: What playing it gave.
    """
    language, names = scenario.language, scenario.owner.names
    labels = (*map(_phrases, scenario.final), *map(_phrases, scenario.retired))
    live = _contents(played.live)
    against = (Grid((live[row],), tuple((live[other],) for other in others), language, names) for row, others in _compared(live))
    return (Grid(_contents(played.versions), labels, language, names), *against)


def _phrases(label: LiveMemory | RetiredMemory) -> tuple[str, ...]:
    return (label.content, *label.paraphrases)


def _contents(memories: Sequence[StoredMemory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(memory.content for memory in memories))


def _compared(live: Sequence[str]) -> Iterator[tuple[int, list[int]]]:
    """Yield the place of each live content with the places before it that it is compared with, where there are any."""
    if len(live) <= MOST_COMPARED:
        yield from ((row, list(range(row))) for row in range(1, len(live)))
        return
    vectors = np.array(HashedNgrams().embed_batch(live))
    for row in range(1, len(live)):
        alike = np.flatnonzero(vectors[:row] @ vectors[row] >= SPELT_ALIKE)
        if len(alike):
            yield row, alike.tolist()


def judge(scenario: Scenario, played: Played, verdicts: Sequence[Sequence[Verdict]], *, tie_margin: float = TIE_MARGIN) -> ScenarioOutcome:
    """Return what became of every label and every live memory.

    The live memories are assigned to `final` one to one, as predictions are in extraction; what a retired statement takes is left out.

    Args:
        scenario: The scenario.
        played: What playing it gave.
        verdicts: The matcher's verdicts, a row for each of `grids(scenario, played)`.
        tie_margin: The matcher's.
    """
    width, split = len(scenario.final) + len(scenario.retired), len(scenario.final)
    rows = {text: verdicts[0][width * at : width * (at + 1)] for at, text in enumerate(_contents(played.versions))}
    says = {text: _says(row[:split], row[split:], tie_margin) for text, row in rows.items()}
    live = played.live
    decided = decide(
        as_case(scenario),
        [Candidate(memory.content, _salience(memory)) for memory in live],
        Table([_unshielded(rows[one.content][:split], says[one.content]) for one in live], [rows[one.content][split:] for one in live]),
        threshold=0.0, rubric=Rubric(), tie_margin=tie_margin,
    )  # fmt: skip
    fates = _fates(scenario, played, decided.predictions, verdicts[1:])
    now = [says[memory.content] for memory in live]
    said_now = {scenario.final[place].id for final, _ in now for place in final}
    said_ever = {scenario.final[place].id for final, _ in says.values() for place in final}
    stale = sorted({place for _, retired in now for place in retired})
    return ScenarioOutcome(
        live=decided.matched,
        merged=tuple(name for name in decided.missed if name in said_now),
        lost=tuple(name for name in decided.missed if name in said_ever - said_now),
        never_stored=tuple(name for name in decided.missed if name not in said_ever),
        stale=tuple(stale),
        private_stale=tuple(place for place in stale if scenario.retired[place].reason in PRIVATE),
        fates=fates,
        answered=_answered(scenario, played, fates),
        evidence=_evidence(scenario, played),
    )


def _salience(memory: StoredMemory) -> float:
    """What the store says, and 1 where it says nothing: a memory without salience is not less live."""
    return 1.0 if memory.salience is None else memory.salience


_Says = tuple[set[int], set[int]]  # places in `final` and in `retired`; one of the two is empty


def _says(final: Sequence[Verdict], retired: Sequence[Verdict], tie_margin: float) -> _Says:
    nearest = max((closeness(verdict) for verdict in final if verdict.match), default=_FAR)
    closer = {place: closeness(verdict) for place, verdict in enumerate(retired) if verdict.match and closeness(verdict) > nearest}
    if not closer:
        return admissible(final, tie_margin), set()
    return set(), {place for place, near in closer.items() if near >= max(closer.values()) - tie_margin}


def _unshielded(final: Sequence[Verdict], says: _Says) -> Sequence[Verdict]:
    """The verdicts on `final`, of a memory that is stale with those that do not match as far as can be."""
    return [one if one.match else msgspec.structs.replace(one, margin=None) for one in final] if says[1] else final


def _fates(scenario: Scenario, played: Played, predictions: Sequence[Prediction], against: Sequence[Sequence[Verdict]]) -> tuple[Fate, ...]:
    """Say of each live memory what it counts as; a duplicate that the labels do not tell is one by the matcher's verdict."""
    texts = [memory.content for memory in played.live]
    distinct = _contents(played.live)
    alike = {(text, text) for text in distinct}
    for (row, others), verdicts in zip(_compared(distinct), against, strict=True):
        for other, one in zip(others, verdicts, strict=True):
            if one.match and (one.relation is not None or closeness(one) >= DUPLICATE_MARGIN):
                alike.add((distinct[other], distinct[row]))
    alike |= {(second, first) for first, second in alike}
    twins = _twins(texts, predictions, alike)
    labelled = bool(scenario.final or scenario.retired)
    return tuple(_fate(one, texts[twins[row]] if row in twins else None, labelled) for row, one in enumerate(predictions))


def _twins(texts: Sequence[str], predictions: Sequence[Prediction], alike: set[tuple[str, str]]) -> dict[int, int]:
    """Place of a live memory -> place of one that says the same: one that stands for a label, or was written before it."""
    kinds = [one.outcome for one in predictions]
    labels = [one.label if one.outcome in _TELLING else None for one in predictions]
    first = [row for row, kind in enumerate(kinds) if kind in ("hit", "violation")]  # the labels tell these apart
    found: dict[int, int] = {}
    for row in (row for row in range(len(texts)) if row not in first):
        twins = [one for one in first if _same(labels[row], labels[one], (texts[row], texts[one]) in alike)]
        if twins:
            found[row] = twins[0]
        else:
            first.append(row)
    return found


def _same(label: str | None, other: str | None, alike: bool) -> bool:
    """Whether two memories say the same: by their labels where both have one, else by the matcher's verdict."""
    return alike if label is None or other is None else label == other


def _fate(decided: Prediction, twin: str | None, labelled: bool) -> Fate:
    if decided.outcome in _TELLING:
        return Fate(decided.outcome, decided.label, decided.reason, decided.score)
    if twin is not None:
        return Fate("duplicate", None, f"says what {twin!r} says")
    if decided.outcome == "near_miss":
        return Fate("near_miss", decided.label, decided.reason, decided.score)
    return Fate("optional", None, "not labelled; not wrong to keep" if labelled else "nothing is labelled")


def _evidence(scenario: Scenario, played: Played) -> tuple[int, int, float]:
    """How many messages the questions rest on, of how many something from their session is live, and of how many by chance."""
    places = sorted({(one.session, one.message) for question in scenario.questions for one in question.evidence})
    live, stem, covered, chance = played.live, _stems(played), 0, 0.0
    for session, message in places:
        said = scenario.sessions[session].messages[message].get("content", "")
        own = [session in stem.get(one.id, ()) for one in live]
        drawn = [drawn_from(one.content, said, scenario.language, scenario.owner.names) for one in live]
        covered += any(map(operator.and_, own, drawn))
        chance += by_chance(sum(own), len(live) - sum(own), sum(map(operator.gt, drawn, own)))
    return len(places), covered, chance


def _stems(played: Played) -> Mapping[str, set[int]]:
    """Id of a memory -> places of the sessions that it came from: where it, or what it stands in the place of, was written or stated."""
    found: dict[str, set[int]] = {}
    for place, session in enumerate(played.sessions):
        for memory in session.memories:
            found.setdefault(memory, set()).add(place)
    for gone in sorted((one for one in played.versions if one.superseded_by), key=lambda one: str(one.retired)):
        found.setdefault(str(gone.superseded_by), set()).update(found.get(gone.id, ()))
    return found


def _answered(scenario: Scenario, played: Played, fates: Sequence[Fate]) -> tuple[bool | None, ...]:
    """Whether what was found carries the answer, of each question; a found memory is read with all phrases of the label that it says."""
    if not played.found:
        return (None,) * len(scenario.questions)
    labels = {memory.id: _phrases(memory) for memory in scenario.final}
    labels |= {f"forbidden[{place}]": _phrases(gone) for place, gone in enumerate(scenario.retired)}
    telling = ((one.content, fate.label) for one, fate in zip(played.live, fates, strict=True) if fate.outcome in _TELLING)
    known = {text: (text, *labels[label]) for text, label in telling if label is not None}
    return tuple(
        None
        if question.kind == "unanswerable"
        else carried(question, [known.get(text, (text,)) for text in found], scenario.language, scenario.owner.names)
        for question, found in zip(scenario.questions, played.found, strict=True)
    )


COUNTED = Counted([
    "cases", "labelled", "sessions", "asked", "unreadable", "calls", "facts", "invented", "fallbacks",
    "final", "final_live", "merged", "lost", "never_stored",
    "retired", "stale", "fresh", "private", "private_stale",
    "live", "live_labelled", "stale_memories", "duplicates", "near_misses", "unlisted", "kept",
    "questions", "answered", "evidence", "evidence_covered", "evidence_by_chance", "tokens", "tokens_kept",
])  # fmt: skip
"""The counts of a scenario. `final` is `final_live` + `merged` + `lost` + `never_stored`, `retired` is `stale` + `fresh`, and `live`, where
there are labels, `final_live` + `stale_memories` + `duplicates` + `near_misses` + `unlisted`. `live_labelled` is `live` where there are
labels, `tokens_kept` is `kept` where tokens are known, `asked` the sessions in which a model was asked for facts."""


def count(scenario: Scenario, outcome: ScenarioOutcome, played: Played, *, input_tokens: int | None, output_tokens: int | None) -> Floats:
    """Return the counts of one scenario.

    Args:
        scenario: The scenario.
        outcome: What became of its labels and of the live memories.
        played: What playing it gave.
        input_tokens: Tokens of all requests; None where not known.
        output_tokens: Tokens of all replies; None where not known.

    Returns:
        One number for each of `COUNTED.columns`.
    """
    kinds = [fate.outcome for fate in outcome.fates]
    labelled = bool(scenario.final or scenario.retired)
    duplicates = kinds.count("duplicate")
    kept = len(kinds) - kinds.count("violation") - duplicates
    told = [one for one in outcome.answered if one is not None]
    found: dict[str, float] = {
        "cases": 1, "labelled": labelled, "final": len(scenario.final), "final_live": len(outcome.live), "merged": len(outcome.merged),
        "lost": len(outcome.lost), "never_stored": len(outcome.never_stored), "retired": len(scenario.retired), "stale": len(outcome.stale),
        "fresh": len(scenario.retired) - len(outcome.stale), "private": sum(gone.reason in PRIVATE for gone in scenario.retired),
        "private_stale": len(outcome.private_stale), "live": len(kinds), "live_labelled": len(kinds) * labelled,
        "stale_memories": kinds.count("violation"), "duplicates": duplicates, "near_misses": kinds.count("near_miss"),
        "unlisted": kinds.count("optional") * labelled, "kept": kept, "questions": len(told), "answered": sum(told),
        **dict(zip(("evidence", "evidence_covered", "evidence_by_chance"), outcome.evidence, strict=True)),
    }  # fmt: skip
    if input_tokens is not None and output_tokens is not None:
        found |= {"tokens": input_tokens + output_tokens, "tokens_kept": kept}
    return COUNTED.row(found | _of_sessions(played))


def _of_sessions(played: Played) -> dict[str, float]:
    sums = {name: sum(getattr(one, name) for one in played.sessions) for name in ("calls", "facts", "invented", "fallbacks")}
    asked = [one.status for one in played.sessions if one.status != "none"]
    return {"sessions": len(played.sessions), "asked": len(asked), "unreadable": sum(one in _UNREADABLE for one in asked), **sums}


RECALL = COUNTED.rate("final_live", "final")
"""Memories of `final` for which a live memory stands, one to one, of all of them."""

BALANCED = HarmonicMean(RECALL, COUNTED.rate("fresh", "retired"))
"""The headline: harmonic mean of recall and freshness, the share of the retired statements that no live memory makes. A mute store has
recall 0 and one that keeps everything freshness 0, and both have 0 here."""

FIGURES: Mapping[str, Figure] = {
    "balanced": BALANCED,
    "recall": RECALL,
    "stale_rate": COUNTED.rate("stale", "retired"),
    "private_stale_rate": COUNTED.rate("private_stale", "private"),
    "lost_rate": Proportion(COUNTED.total("lost"), COUNTED.total("lost", "merged", "final_live")),
    "merged_rate": COUNTED.rate("merged", "final"),
    "never_stored_rate": COUNTED.rate("never_stored", "final"),
    "duplicate_rate": COUNTED.rate("duplicates", "live"),
    "near_miss_rate": COUNTED.rate("near_misses", "live_labelled"),
    "unlisted_rate": COUNTED.rate("unlisted", "live_labelled"),
    "answer_found": COUNTED.rate("answered", "questions"),
    "evidence_covered": COUNTED.rate("evidence_covered", "evidence"),
    "evidence_by_chance": COUNTED.rate("evidence_by_chance", "evidence"),
    "memories_per_person": COUNTED.mean("live", "cases"),
    "duplicates_per_person": COUNTED.mean("duplicates", "cases"),
    "calls_per_session": COUNTED.mean("calls", "sessions"),
    "calls_per_kept": COUNTED.mean("calls", "kept"),
    "tokens_per_kept": COUNTED.mean("tokens", "tokens_kept"),
    "fallback_rate": COUNTED.rate("fallbacks", "facts"),
    "invented_per_session": COUNTED.mean("invented", "sessions"),
    "unreadable_rate": COUNTED.rate("unreadable", "asked"),
}
"""Every figure by name; NaN where undefined, as those of labels are where there are none.

- stale_rate: retired statements that a live memory makes, of all; private_stale_rate: of those forgotten, withdrawn or secret.
- lost_rate: memories of `final` that a version said and no live memory says, of those that some version said.
- merged_rate: memories of `final` that are said only by a live memory that stands for another of them.
- never_stored_rate: memories of `final` that no version ever said, of all.
- duplicate_rate: live memories that say what another says, beyond the first, of the live ones; one that is stale counts as stale.
- near_miss_rate, unlisted_rate: live memories that differ from a label in what a guard found, and that say nothing labelled, of the live.
- answer_found: questions whose answer is carried by what they find (`carried`), of those that can be answered.
- evidence_covered: messages that a question rests on of which something is live, of all of them: a live memory that came from their
  session, or stands in the place of one that did, is `drawn_from` them.
- evidence_by_chance: the same, with as many memories of other sessions of the person, drawn at random, in the place of those of the
  session (`by_chance`): what the words that all share would cover. Only what evidence_covered is above it tells that something was kept.
- memories_per_person, duplicates_per_person: live memories in the end, and those of them that are duplicates, a mean number a scenario.
- calls_per_kept, tokens_per_kept: calls and tokens for each live memory that is neither stale nor a duplicate; tokens where known.
- fallback_rate: facts that were added for want of a usable decision; invented_per_session: ids that were never offered, a mean count.
- unreadable_rate: sessions whose facts came in a cut-off or unreadable reply, of those in which a model was asked."""


def as_case(scenario: Scenario) -> Case:
    """Return a scenario as reports draw it: all messages, `final` as memories that are due, `retired` as forbidden statements.

    The date of a session stands in front of its first message. A scenario without labels carries the tag of a case without.
    """
    tags = scenario.tags if scenario.final or scenario.retired else tuple(dict.fromkeys((*scenario.tags, UNLABELLED)))
    messages = []
    for session in scenario.sessions:
        first, *others = session.messages
        messages += [{**first, "content": f"[{session.date}] {first.get('content', '')}"}, *others]
    return Case(
        id=scenario.id, conversation=scenario.conversation, split=scenario.split, language=scenario.language, tags=tags,
        date=scenario.sessions[-1].date, owner=scenario.owner, messages=tuple(messages),
        memories=tuple(Memory(id=one.id, content=one.content, paraphrases=one.paraphrases, salience=_DUE) for one in scenario.final),
        forbidden=tuple(
            Forbidden(content=one.content, paraphrases=one.paraphrases, reason=cast(Reason, one.reason)) for one in scenario.retired
        ),  # a retirement has reasons of its own, which reports only show
    )  # fmt: skip


def as_outcome(scenario: Scenario, outcome: ScenarioOutcome, played: Played) -> CaseOutcome:
    """Return what became of a scenario as reports draw it, for the case that `as_case` gives.

    Live memories are the predictions. A memory of `final` that is not live is missed, with "merged", "lost" or "never stored" beside it.
    """
    predictions = tuple(
        Prediction(one.content, _salience(one), one.observed, fate.outcome, fate.label, fate.reason, fate.score)
        for one, fate in zip(played.live, outcome.fates, strict=True)
    )
    states = {name: "merged" for name in outcome.merged} | {name: "lost" for name in outcome.lost}
    states |= {name: "never stored" for name in outcome.never_stored}
    missed = tuple(one.id for one in scenario.final if one.id in states)
    return CaseOutcome(
        predictions, outcome.live, missed, tuple(fate.reason for fate in outcome.fates if fate.outcome == "violation"),
        {name: states[name] for name in missed}, sum(fate.outcome in ("hit", "duplicate") for fate in outcome.fates),
    )  # fmt: skip
