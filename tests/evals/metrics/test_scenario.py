"""Scenarios: outcomes of hand-made stores, worked by hand; answers in three languages; the bundled scenarios played by an oracle."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.data.labelled import load_labelled
from evals.matching.base import Verdict
from evals.matching.tables import Grid
from evals.metrics.answers import by_chance, carried, drawn_from
from evals.metrics.outcomes import FALSE_POSITIVES
from evals.metrics.scenario import COUNTED, FIGURES, MOST_COMPARED, as_case, as_outcome, count, grids, judge
from evals.metrics.scenario_types import Played, PlayedSession
from evals.recall_cases import LiveMemory, Question, RetiredMemory, Scenario, Session, Witness
from salience.memory import StoredMemory

NAN = float("nan")


def live(name, content, *paraphrases):
    return LiveMemory(id=name, content=content, paraphrases=paraphrases, sessions=(0,))


def gone(content, reason="superseded", *paraphrases):
    return RetiredMemory(content=content, paraphrases=paraphrases, session=1, reason=reason)


DAY = Session(date="2024-02-11", messages=({"role": "user", "content": "Hello", "name": "Siw"}, {"role": "assistant", "content": "Hi"}))
LATER = Session(date="2024-05-02", messages=({"role": "user", "content": "Again"},))


def scenario(final=(), retired=(), questions=(), language="en", **more):
    return Scenario(
        id="s-1", split="dev", language=language, tags=("work",), sessions=(DAY, LATER), final=tuple(final), retired=tuple(retired),
        questions=tuple(questions), **more,
    )  # fmt: skip


ORLA, KIWI, DOG = live("m1", "works at Orla", "is at Orla"), live("m2", "is allergic to kiwi"), live("m3", "has a dog")
ACME, CODE, WARD = gone("works at Acme"), gone("has the code 4471", "secret"), gone("looks after Tui", "forgotten")
LABELLED = scenario([ORLA, KIWI, DOG], [ACME, CODE, WARD])


def store(*contents, past=(), sessions=(), found=()):
    """`past` are the contents of versions that are retired, written before the live ones."""
    before = [StoredMemory(text, id=f"p{i}", retired="2024-05-02T00:00:00.000000Z", reason="updated") for i, text in enumerate(past)]
    now = [StoredMemory(text, id=f"n{i}") for i, text in enumerate(contents)]
    return Played((*before, *now), tuple(sessions), tuple(found))


def verdict(margin, guard=None):
    return Verdict(score=max(0.0, margin), match=margin >= 0 and guard is None, reason=f"margin {margin}", guard=guard, margin=margin)


def exact(wanted: Grid, told=None):
    """Verdicts on a grid: `told` has a margin or a verdict for (predicted, content of the label); else only equal words match."""
    rows = []
    for pair in wanted.pairs():
        one = (told or {}).get((pair.predicted, pair.phrases[0]), 1.0 if pair.predicted in pair.phrases else -1.0)
        rows.append(one if isinstance(one, Verdict) else verdict(one))
    return rows


def judged(labelled, played, told=None, **more):
    return judge(labelled, played, [exact(grid, told) for grid in grids(labelled, played)], **more)


def counted(labelled, played, told=None, tokens=(None, None)):
    outcome = judged(labelled, played, told)
    return count(labelled, outcome, played, input_tokens=tokens[0], output_tokens=tokens[1])


def figures(*rows):
    total = np.sum(rows, axis=0)
    return {name: float(figure(total)) for name, figure in FIGURES.items()}


def counts(row):
    return dict(zip(COUNTED.columns, row.tolist(), strict=True))


def same(found, **expected):
    for name, value in expected.items():
        assert math.isnan(found[name]) if math.isnan(value) else found[name] == pytest.approx(value), name


def kinds(outcome):
    return [fate.outcome for fate in outcome.fates]


def test_a_store_that_holds_exactly_what_is_final_is_perfect():
    played = store("is at Orla", "is allergic to kiwi", "has a dog", past=["works at Acme"])
    same(
        figures(counted(LABELLED, played)), balanced=1, recall=1, stale_rate=0, private_stale_rate=0, lost_rate=0, merged_rate=0,
        never_stored_rate=0, duplicate_rate=0, near_miss_rate=0, unlisted_rate=0,
    )  # fmt: skip
    assert judged(LABELLED, played).live == {"m1": 0, "m2": 1, "m3": 2}


def test_a_store_that_keeps_every_version_is_stale_and_not_balanced():
    everything = [one.content for one in (*LABELLED.final, *LABELLED.retired)]
    found = figures(counted(LABELLED, store(*everything)))
    same(found, balanced=0, recall=1, stale_rate=1, private_stale_rate=1, lost_rate=0, unlisted_rate=0, duplicate_rate=0)


def test_a_mute_store_has_no_stale_memory_and_is_not_balanced():
    found = figures(counted(LABELLED, store()))
    same(
        found,
        balanced=0,
        recall=0,
        stale_rate=0,
        private_stale_rate=0,
        never_stored_rate=1,
        lost_rate=NAN,
        duplicate_rate=NAN,
        unlisted_rate=NAN,
    )
    same(found, calls_per_session=NAN, calls_per_kept=NAN, tokens_per_kept=NAN, fallback_rate=NAN, unreadable_rate=NAN)


def test_lost_is_what_was_stored_once_and_never_stored_is_what_was_not():
    played = store("is at Orla", past=["has a dog"])
    outcome = judged(LABELLED, played)
    assert (outcome.lost, outcome.never_stored, outcome.merged) == (("m3",), ("m2",), ())
    same(figures(counted(LABELLED, played)), recall=1 / 3, lost_rate=1 / 2, never_stored_rate=1 / 3, balanced=2 * (1 / 3) / (1 / 3 + 1))


def test_a_memory_that_says_two_labels_stands_for_one_and_the_other_is_merged_not_lost():
    both = "is allergic to kiwi and has a dog"
    told = {(both, "is allergic to kiwi"): 0.5, (both, "has a dog"): 0.49}
    outcome = judged(LABELLED, store("works at Orla", both, past=["has a dog"]), told)
    assert (dict(outcome.live), outcome.merged, outcome.lost) == ({"m1": 0, "m2": 1}, ("m3",), ())
    assert judged(LABELLED, store("works at Orla", both), told, tie_margin=0.0).never_stored == ("m3",)


@pytest.mark.parametrize(
    ("told", "kind", "stale"),
    [
        ({("x", "works at Acme"): 0.4}, "violation", (0,)),
        ({("x", "works at Acme"): 0.4, ("x", "works at Orla"): 0.4}, "hit", ()),  # ties go to what is final
        ({("x", "works at Acme"): 0.4, ("x", "works at Orla"): 0.3}, "violation", (0,)),
        # a guard refuses the old value against the new one: nothing is shielded, however alike they are
        ({("x", "works at Acme"): 0.4, ("x", "works at Orla"): verdict(0.9, "number")}, "violation", (0,)),
        ({("x", "works at Acme"): verdict(0.9, "tense")}, "optional", ()),
        ({("x", "works at Orla"): verdict(0.9, "number")}, "near_miss", ()),
        # one memory makes every retired statement that is about as near
        ({("x", "works at Acme"): 0.4, ("x", "has the code 4471"): 0.39, ("x", "looks after Tui"): 0.3}, "violation", (0, 1)),
        ({}, "optional", ()),
    ],
)
def test_what_a_memory_counts_as(told, kind, stale):
    outcome = judged(LABELLED, store("x"), told)
    assert kinds(outcome) == [kind]
    assert outcome.stale == stale
    assert outcome.private_stale == tuple(place for place in stale if place > 0)


def test_private_statements_are_those_that_were_secret_forgotten_or_withdrawn():
    reasons = ["superseded", "ended", "corrected", "never-true", "withdrawn", "forgotten", "secret"]
    labelled = scenario([ORLA], [gone(f"says {reason}", reason) for reason in reasons])
    row = counted(labelled, store("works at Orla", "says ended", "says forgotten"))
    same(counts(row), retired=7, private=3, stale=2, private_stale=1, stale_memories=2)
    same(figures(row), stale_rate=2 / 7, private_stale_rate=1 / 3, balanced=2 * (5 / 7) / (1 + 5 / 7))


@pytest.mark.parametrize(
    ("contents", "told", "expected"),
    [
        (["works at Orla", "is at Orla"], {("is at Orla", "works at Orla"): 0.9}, ["hit", "duplicate"]),  # the labels tell
        (["cats", "felines"], {("felines", "cats"): 0.5}, ["optional", "duplicate"]),  # the matcher tells, by the pair of the two
        (["cats", "pets"], {("pets", "cats"): 0.2}, ["optional", "optional"]),  # which must be surer than of a label
        (
            ["cats", "pets"],
            {("pets", "cats"): Verdict(0.8, True, "r", relation="same", margin=0.1)},
            ["optional", "duplicate"],
        ),  # or a judge
        (["cats", "cats"], {}, ["optional", "duplicate"]),  # word for word
        (["Orla", "works at Orla"], {("works at Orla", "Orla"): 0.5}, ["duplicate", "hit"]),  # what stands for a label is no duplicate
        # two that stand for different labels are none, whatever the matcher says of the two
        (["works at Orla", "has a dog"], {("has a dog", "works at Orla"): 0.5}, ["hit", "hit"]),
        # a chain: the third is like the second only, which is none to be kept; so it stays
        (["a", "b", "c"], {("b", "a"): 0.5, ("c", "b"): 0.5}, ["optional", "duplicate", "optional"]),
        (["works at Acme", "works at Acme"], {}, ["violation", "violation"]),  # stale counts as stale, however often
    ],
)
def test_duplicates(contents, told, expected):
    outcome = judged(LABELLED, store(*contents), told)
    assert kinds(outcome) == expected


def test_the_reason_of_a_duplicate_names_its_twin():
    outcome = judged(LABELLED, store("cats", "felines"), {("felines", "cats"): 0.5})
    assert outcome.fates[1].reason == "says what 'cats' says"
    assert outcome.fates[0].reason == "not labelled; not wrong to keep"


def test_every_two_live_contents_are_judged_once_and_versions_against_all_phrases():
    wanted = grids(LABELLED, store("a", "b", "a", "c", past=["z", "b"]))
    assert wanted[0].predicted == ("z", "b", "a", "c")
    assert wanted[0].labels[:2] == (("works at Orla", "is at Orla"), ("is allergic to kiwi",))
    assert len(wanted[0].labels) == 6
    assert [(grid.predicted, grid.labels) for grid in wanted[1:]] == [(("b",), (("a",),)), (("c",), (("a",), ("b",)))]


def test_of_many_live_memories_only_those_spelt_alike_are_compared():
    fruit = [f"the number {i * 7919} is written on door {chr(97 + i % 26) * 5}" for i in range(MOST_COMPARED)]
    played = store(*fruit, "The user collects postage stamps from Peru", "The user collects postage stamps of Peru")
    wanted = grids(scenario(), played)
    pairs = {(grid.predicted[0], label[0]) for grid in wanted[1:] for label in grid.labels}
    stamps = ("The user collects postage stamps of Peru", "The user collects postage stamps from Peru")
    assert stamps in pairs
    assert not any(stamps[0] == one and other in fruit for one, other in pairs)
    outcome = judged(scenario(), played, {stamps: 0.5})
    assert kinds(outcome).count("duplicate") == 1


def test_a_scenario_without_labels_has_no_figures_of_labels_and_all_others():
    sessions = [PlayedSession("2024-02-11", "ok", 3, 4, 1, 2), PlayedSession("2024-05-02", "truncated", 2, 0, 0, 0)]
    labelled = scenario(questions=[question("Where do I work?", "At Orla")])
    played = store("cats", "felines", "The user works at Orla", sessions=sessions, found=[("The user works at Orla",)])
    found = figures(counted(labelled, played, {("felines", "cats"): 0.5}, tokens=(90, 10)))
    label_figures = ("balanced", "recall", "stale_rate", "private_stale_rate", "lost_rate", "merged_rate", "never_stored_rate")
    same(found, **dict.fromkeys((*label_figures, "near_miss_rate", "unlisted_rate"), NAN))
    same(
        found, duplicate_rate=1 / 3, answer_found=1, calls_per_session=5 / 2, calls_per_kept=5 / 2, tokens_per_kept=50, fallback_rate=1 / 2,
        invented_per_session=1 / 2, unreadable_rate=1 / 2,
    )  # fmt: skip
    assert not as_case(labelled).labelled
    assert as_case(LABELLED).labelled


def test_unknown_tokens_are_undefined_and_leave_other_scenarios_alone():
    played = store("works at Orla", "cats", "works at Acme")
    unknown = [counted(LABELLED, played, tokens=tokens) for tokens in ((None, None), (5, None), (None, 5))]
    known = counted(LABELLED, played, tokens=(30, 10))
    assert all(math.isnan(figures(row)["tokens_per_kept"]) for row in unknown)
    same(figures(known), tokens_per_kept=20)  # the stale memory is not kept
    same(figures(known, *unknown), tokens_per_kept=20)


def test_sessions_without_a_model_are_not_asked_and_so_not_unreadable():
    sessions = [PlayedSession("2024-02-11", status, 0, 2, 0, 0) for status in ("none", "none", "ok", "malformed")]
    row = counted(LABELLED, store(sessions=sessions))
    same(counts(row), sessions=4, asked=2, unreadable=1)
    same(figures(row), unreadable_rate=1 / 2, calls_per_session=0, fallback_rate=0, invented_per_session=0)


def question(asked, answer, kind="current", evidence=()):
    return Question(kind=kind, question=asked, answer=answer, evidence=tuple(Witness(session=0, message=0, text=text) for text in evidence))


@pytest.mark.parametrize(
    ("language", "asked", "answer", "found", "expected"),
    [
        ("en", "Where do I work, and since when?", "At the Pomfret Theatre, since 2024-10-07",
         ["The user joined the Pomfret Theatre on 7 October 2024"], True),
        ("en", "Where do I work, and since when?", "At the Pomfret Theatre, since 2024-10-07",
         ["The user joined the Pomfret Theatre in October 2024"], False),  # a date less precise
        ("en", "When did I join?", "In October 2024", ["The user joined the theatre on 2024-10-07"], True),  # or more
        ("en", "When is the year's end?", "On 30 September", ["The user's year ends on 2024-09-30"], True),
        ("en", "When is the year's end?", "On 30 September", ["The user's year ends on 2024-09-01"], False),
        ("en", "Which dose of candesartan do I take?", "16 mg every morning", ["The user takes candesartan 16 mg each morning"], True),
        ("en", "Which dose of candesartan do I take?", "16 mg every morning", ["The user takes candesartan 8 mg each morning"], False),
        ("en", "How much is my rent?", "£1,150", ["The user's rent is 1150 pounds"], True),
        ("en", "Who has the egg allergy?", "Efa", ["The user's daughter Efa has an egg allergy"], True),
        ("en", "Who has the egg allergy?", "Efa", ["The user's daughter Efa plays the harp"], False),  # a lone name proves nothing
        ("en", "Which inhaler did I have before?", "The blue one; budesonide since November 2024",
         ["The user has used a budesonide inhaler since 2024-11"], False),  # every part
        ("en", "Which exams have I done, and which comes next?", "Mynediad in 2024; Sylfaen in June 2026",
         ["The user passed the exam Mynediad in 2024", "The user sits the exam Sylfaen in 2026-06"], True),  # from two memories
        ("en", "Do I work?", "Yes", ["The user works"], False),
        ("en", "Am I?", "No", ["The user is"], None),
        ("de", "Wann sieht Jonte seine Mutter?", "Am ersten Sonntag im Monat, 14 bis 16 Uhr, begleitet",
         ["Jonte sieht seine Mutter nur am ersten Sonntag im Monat von 14 bis 16 Uhr, begleitet."], True),
        ("de", "Wann sieht Jonte seine Mutter?", "Am ersten Sonntag im Monat, 14 bis 16 Uhr, begleitet",
         ["Jonte sieht seine Mutter am ersten Sonntag im Monat von 15 bis 17 Uhr, begleitet."], False),
        ("de", "Seit wann bin ich Jontes Vormund?", "Seit 2025-05-20", ["Der Nutzer ist seit dem 20. Mai 2025 Jontes Vormund."], True),
        ("de", "Wie viele Hühner habe ich?", "Vierunddreißig", ["Der Nutzer hat 34 Hühner."], True),
        ("zh", "我现在吃多少毫克的缬沙坦？", "每天160毫克", ["用户每天服用缬沙坦160毫克。"], True),
        ("zh", "我现在吃多少毫克的缬沙坦？", "每天160毫克", ["用户每天服用缬沙坦80毫克。"], False),
        ("zh", "我什么时候搬到成都的？", "2024年9月3日", ["用户于2024-09-03搬到成都。"], True),
        ("zh", "谁对花生过敏？", "妹妹小雨", ["用户的妹妹小雨对花生过敏。"], True),
        ("zh", "谁对花生过敏？", "妹妹小雨", ["用户的弟弟对花生过敏。"], False),
    ],
)  # fmt: skip
def test_an_answer_is_carried_by_dates_numbers_and_words(language, asked, answer, found, expected):
    assert carried(question(asked, answer), [(text,) for text in found], language) is expected


def test_a_memory_is_about_a_question_by_its_evidence_too():
    asked = "Who is it that may not eat it?"
    assert carried(question(asked, "Maud"), [("Maud is allergic to penicillin",)], "en") is False
    assert (
        carried(question(asked, "Maud", evidence=["no penicillin, my sister has it"]), [("Maud is allergic to penicillin",)], "en") is True
    )


def test_a_found_memory_is_read_with_the_words_of_its_label_and_unanswerable_questions_do_not_count():
    asked = [
        question("Where do I work?", "At Orla"),
        question("What do I earn?", "not known", "unanswerable"),
        question("Pet?", "A dog, Rex"),
    ]
    labelled = scenario([live("m1", "The user works at Orla")], [ACME], asked)
    played = store("Der Nutzer arbeitet dort", found=[("Der Nutzer arbeitet dort",), (), ()])
    told = {("Der Nutzer arbeitet dort", "The user works at Orla"): 0.5}
    assert judged(labelled, played, told).answered == (True, None, False)
    assert judged(labelled, played).answered == (False, None, False)
    row = counted(labelled, played, told)
    same(counts(row), questions=2, answered=1)
    same(figures(row), answer_found=1 / 2)
    nothing_asked = counted(labelled, store("x"))
    same(figures(nothing_asked), answer_found=NAN)


def test_a_near_miss_lends_a_memory_no_words():
    labelled = scenario([live("m1", "The user works at Orla")], questions=[question("Where do I work?", "At Orla")])
    played = store("The user works there", found=[("The user works there",)])
    told = {("The user works there", "The user works at Orla"): verdict(0.9, "subject")}
    assert judged(labelled, played, told).answered == (False,)


def bundled():
    return load_labelled("scenarios").rows


@pytest.mark.parametrize("labelled", bundled(), ids=lambda one: one.id)
def test_bundled_scenarios_are_perfect_for_an_oracle_and_stale_for_a_store_that_keeps_everything(labelled):
    texts = [memory.content for memory in labelled.final]
    found = tuple(tuple(texts[:10]) for _ in labelled.questions)
    oracle = counted(labelled, store(*texts, found=found))
    same(figures(oracle), balanced=1, recall=1, stale_rate=0, never_stored_rate=0, duplicate_rate=0, unlisted_rate=0)
    asked = [one for one in labelled.questions if one.kind != "unanswerable"]
    assert counts(oracle)["questions"] <= len(asked)
    everything = counted(labelled, store(*texts, *(one.content for one in labelled.retired)))
    same(figures(everything), balanced=0, recall=1, stale_rate=1, duplicate_rate=0)


def test_answers_that_stand_in_the_store_are_found_in_most_bundled_scenarios_and_in_no_other_persons():
    """With every memory of the owner at hand, but only those of `final`; and with those of somebody else of the same language."""
    own, others = [], []
    rows = [row for row in bundled() if row.split != "test"]
    for labelled, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        for one in labelled.questions:
            if one.kind == "current":
                own.append(carried(one, [(m.content,) for m in labelled.final], labelled.language, labelled.owner.names))
                others.append(carried(one, [(m.content,) for m in other.final], labelled.language, labelled.owner.names))
    assert sum(own) / len(own) > 0.9
    assert sum(others) == 0


WORDS = [*(one.content for one in (*LABELLED.final, *LABELLED.retired)), "is at Orla", "cats", "felines"]


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(WORDS)), st.lists(st.sampled_from(WORDS)), st.sets(st.sampled_from(range(3)))), max_size=4),
    st.dictionaries(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), st.sampled_from([-0.5, 0.2, 0.5, verdict(0.6, "number")])),
)
def test_counts_of_one_scenario_and_of_sums_add_up(stores, told):
    rows = []
    for contents, past, left_out in stores:
        labelled = scenario([one for i, one in enumerate(LABELLED.final) if i not in left_out], LABELLED.retired)
        played = store(*contents, past=past)
        outcome = judged(labelled, played, told)
        assert sorted([*outcome.live, *outcome.merged, *outcome.lost, *outcome.never_stored]) == sorted(one.id for one in labelled.final)
        assert sorted(outcome.live.values()) == [place for place, kind in enumerate(kinds(outcome)) if kind == "hit"]
        assert bool(outcome.stale) == ("violation" in kinds(outcome))
        rows.append(count(labelled, outcome, played, input_tokens=1, output_tokens=1))
    total = counts(np.sum([np.zeros(len(COUNTED.columns)), *rows], axis=0))
    assert total["final"] == total["final_live"] + total["merged"] + total["lost"] + total["never_stored"]
    assert total["retired"] == total["stale"] + total["fresh"]
    parts = ("final_live", "stale_memories", "duplicates", "near_misses", "unlisted")
    assert total["live"] == total["live_labelled"] == sum(total[name] for name in parts)
    assert total["kept"] == total["tokens_kept"] == total["live"] - total["stale_memories"] - total["duplicates"]
    for value in figures(*rows).values() if rows else ():
        assert math.isnan(value) or value >= 0


def test_the_order_of_writing_does_not_change_what_is_live_lost_or_stale():
    contents = ["is at Orla", "works at Orla", "works at Acme", "cats", "has a dog"]
    one, other = judged(LABELLED, store(*contents)), judged(LABELLED, store(*reversed(contents)))
    assert set(one.live) == set(other.live)
    assert (one.lost, one.never_stored, one.stale) == (other.lost, other.never_stored, other.stale)
    assert sorted(kinds(one)) == sorted(kinds(other))


def test_the_view_of_a_scenario_has_every_message_and_label():
    case = as_case(LABELLED)
    assert [message["content"] for message in case.messages] == ["[2024-02-11] Hello", "Hi", "[2024-05-02] Again"]
    assert [message["role"] for message in case.messages] == ["user", "assistant", "user"]
    assert case.messages[0]["name"] == "Siw"
    assert (case.memories[0].id, case.memories[0].salience, case.memories[0].phrases[-1]) == ("m1", 0.9, "is at Orla")
    assert [one.reason for one in case.forbidden] == ["superseded", "secret", "forgotten"]
    assert (case.conversation, case.date, case.tags) == ("s-1", "2024-05-02", ("work",))


def test_the_view_of_an_outcome_is_drawn_by_the_renderer_of_cases():
    from evals.report.terminal import render_case
    from evals.results import CaseResult

    played = store("works at Orla", "works at Orla now", "has the code 4471", "cats", past=["has a dog"])
    played = replace(played, versions=(*played.versions[:-1], replace(played.versions[-1], salience=0.25, observed="stated")))
    outcome = judged(LABELLED, played, {("works at Orla now", "works at Orla"): 0.5})
    view = as_outcome(LABELLED, outcome, played)
    assert [one.outcome for one in view.predictions] == ["hit", "duplicate", "violation", "optional"]
    assert (view.missed, view.parted, view.violations) == (("m2", "m3"), {"m2": "never stored", "m3": "lost"}, ("secret",))
    assert sum(one.outcome in FALSE_POSITIVES for one in view.predictions) == 2
    assert render_case(CaseResult(as_case(LABELLED), "ok", view, None, {}, 0, ())).splitlines() == [
        "s-1 (en, 2024-05-02; work); reply: ok",
        "  [user] [2024-02-11] Hello",
        "  [assistant] Hi",
        "  [user] [2024-05-02] Again",
        "  gold:",
        "    0.9 works at Orla  <- found",
        "    0.9 is allergic to kiwi  <- missed (never stored)",
        "    0.9 has a dog  <- missed (lost)",
        "    must not: works at Acme (superseded)",
        "    must not: has the code 4471 (secret)",
        "    must not: looks after Tui (forgotten)",
        "  predicted:",
        "    1.00 works at Orla  -> hit m1 (margin 1.0)",
        "    1.00 works at Orla now  -> duplicate m1 (m1 is already matched)",
        "    1.00 has the code 4471  -> violation forbidden[1] (secret)",
        "    0.25 cats  -> optional (not labelled; not wrong to keep)",
    ]


@pytest.mark.parametrize(
    ("memory", "drawn"),
    [
        ("Caroline went to a support group on 2023-05-07", True),
        ("Caroline is powerful", False),  # one word is no evidence
        ("Caroline bought a piano, a drum kit and a support group", False),  # too little of it was said
    ],
)
def test_a_memory_is_drawn_from_a_message_by_what_it_shares(memory, drawn):
    assert drawn_from(memory, "I went to a support group yesterday and it was so powerful", "en", ("Caroline",)) is drawn


def test_by_chance_is_the_chance_that_as_many_other_memories_cover_a_message():
    assert by_chance(1, 4, 1) == pytest.approx(1 / 4)
    assert by_chance(2, 4, 1) == pytest.approx(1 / 2)  # 1 - C(3, 2) / C(4, 2)
    assert by_chance(2, 4, 2) == pytest.approx(5 / 6)  # 1 - C(2, 2) / C(4, 2)
    assert by_chance(7, 4, 1) == 1  # there are no more than four to take
    assert (by_chance(0, 4, 4), by_chance(3, 0, 0), by_chance(3, 9, 0)) == (0, 0, 0)
    assert 0 < by_chance(80, 1900, 10) < 1


CHOIR, TURKU = "I joined the harbour choir", "The choir sings in Turku on Mondays"
SPOKEN = (
    Session(date="2024-02-11", messages=({"role": "user", "content": CHOIR}, {"role": "user", "content": "Bye"})),
    Session(date="2024-05-02", messages=({"role": "user", "content": TURKU},)),
)
PLACES = [Witness(session=0, message=0, text="choir"), Witness(session=1, message=0, text="Turku")]
RESTS = [
    Question(kind="multi", question="Which choir, where?", answer="The harbour choir in Turku", evidence=tuple(PLACES)),
    Question(kind="current", question="What did I join?", answer="A choir", evidence=(PLACES[0],)),
]
ASKED = msgspec.structs.replace(scenario([ORLA], questions=RESTS), sessions=SPOKEN)


def came(first, second):
    """Two sessions, with the ids of the memories that came from each."""
    days = ("2024-02-11", "2024-05-02")
    return [PlayedSession(day, "ok", 1, 1, 0, 0, tuple(ids)) for day, ids in zip(days, (first, second), strict=True)]


def test_evidence_is_covered_message_by_message():
    row = counted(ASKED, store("The user joined the harbour choir", sessions=came(["n0"], [])))
    same(counts(row), evidence=2, evidence_covered=1, evidence_by_chance=0)  # a message counts once, however many questions rest on it
    same(figures(row), evidence_covered=1 / 2, evidence_by_chance=0)
    same(figures(counted(scenario([ORLA]), store("x"))), evidence_covered=NAN, evidence_by_chance=NAN)


def test_a_memory_of_another_session_covers_a_message_only_by_chance():
    """All that was said in February is forgotten; what May left shares two words with it ("user" is none)."""
    contents = ("The user likes the harbour choir", "The user likes rye", "The user rows", "The user sings in Turku")
    row = counted(ASKED, store(*contents, sessions=came([], ["n0", "n1", "n2", "n3"])))
    same(counts(row), evidence=2, evidence_covered=1, evidence_by_chance=0)  # Turku; and nothing can be taken for what is not there
    # one of February, of which nothing was said in the message, and three of May, of which one shares its words: 1 of 3
    row = counted(ASKED, store(*contents, sessions=came(["n3"], ["n0", "n1", "n2"])))
    same(counts(row), evidence=2, evidence_covered=0, evidence_by_chance=1 / 3 + 1)  # and the only one of February says Turku
    # two of each: in the place of the two of February both of May are taken, and the choir is among them
    row = counted(ASKED, store(*contents, sessions=came(["n1", "n2"], ["n0", "n3"])))
    same(counts(row), evidence=2, evidence_covered=1, evidence_by_chance=1 + 0)
    same(figures(row), evidence_covered=1 / 2, evidence_by_chance=1 / 2)


def test_a_memory_came_from_every_session_that_wrote_or_stated_it_or_what_it_stands_in_the_place_of():
    choir = "The user joined the harbour choir"
    known = counted(ASKED, store(choir, sessions=came([], ["n0"])))
    same(counts(known), evidence_covered=0)
    stated_twice = counted(ASKED, store(choir, sessions=came(["n0"], ["n0"])))
    same(counts(stated_twice), evidence_covered=1)
    retired = {"retired": "2024-05-02T00:00:00.000000Z", "reason": "contradicted"}
    before = StoredMemory("The user likes to sing", id="a", superseded_by="b", **retired)
    between = StoredMemory("The user is in a choir", id="b", superseded_by="n0", **{**retired, "retired": "2024-05-03T00:00:00.000000Z"})
    versions = (between, before, StoredMemory(choir, id="n0"))
    heir = counted(ASKED, Played(versions, tuple(came(["a"], ["b", "n0"])), ()))
    same(counts(heir), evidence_covered=1)


def test_memories_and_duplicates_are_a_mean_a_person():
    first = counted(LABELLED, store("cats", "felines", "works at Orla"), {("felines", "cats"): 0.5})
    second = counted(LABELLED, store(*(f"fact {letter}" for letter in "abcdef")))
    same(figures(first), memories_per_person=3, duplicates_per_person=1, duplicate_rate=1 / 3)
    same(figures(first, second), memories_per_person=9 / 2, duplicates_per_person=1 / 2, duplicate_rate=1 / 9)
