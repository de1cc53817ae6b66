"""What a stored text drops, by hand; and on the bundled decisions, whose labels and second opinions drop nothing."""

import json
from pathlib import Path

import pytest

from evals.data.labelled import load_labelled
from evals.metrics.consolidation_drops import MOST, NEARLY_ALL, detail_dropped, dropped, keeps
from evals.recall_cases import ConsolidationCase

PASSES = Path(__file__).parents[3] / "datasets" / "consolidation" / "passes"
DOSE = "The user takes 8 mg of candesartan every morning, prescribed by Maren Lindqvist on 2026-03-04"


@pytest.mark.parametrize(
    ("text", "statement", "language", "what"),
    [
        (DOSE, DOSE, "en", None),
        ("Since 4 March 2026 the user has taken 8 mg of candesartan every morning (Maren Lindqvist) and now walks a lot", DOSE, "en", None),
        ("The user takes candesartan every morning, prescribed by Maren Lindqvist on 2026-03-04", DOSE, "en", "an amount: 8 mg is missing"),
        (
            "The user takes 16 mg of candesartan every morning, prescribed by Maren Lindqvist on 2026-03-04",
            DOSE,
            "en",
            "an amount: 16 mg vs 8 mg",
        ),
        ("The user takes 8 mg of candesartan every morning, prescribed on 2026-03-04", DOSE, "en", "a name: lindqvist is missing"),
        ("The user takes 8 mg of candesartan every morning, prescribed by Maren Lindqvist", DOSE, "en", "the date 2026-03-04"),
        ("The user takes 8 mg of candesartan every morning, prescribed by Maren Lindqvist in 2026", DOSE, "en", "the date 2026-03-04"),
        ("The user moved on 2024-05-02", "The user moved in May 2024", "en", None),  # more precise
        ("The user's birthday is on 2001-05-02", "The user's birthday is on 2 May", "en", None),
        ("The user's birthday is on 3 May", "The user's birthday is on 2 May", "en", "the date 05-02"),
        ("The track is 4.2 m wide", "The track is 420 cm wide", "en", None),
        ("The choir meets at 4:30", "The choir meets at 16:30", "en", None),
        ("The choir meets in the hall", "The choir meets at 16:30 in the hall", "en", "the time 16:30"),
        ("The choir meets on Mondays", "The choir meets on Mondays and Thursdays", "en", "the weekday Thursday"),
        ("The user eats nuts", "The user does not eat nuts", "en", "the negation"),
        ("The user has declined to eat nuts", "The user does not eat nuts", "en", None),
        ("The user works on weekdays", "The user works on weekdays unless the child is ill", "en", "the condition"),
        ("Settings are in conf", "Settings are in /etc/app/conf.toml", "en", "a code: /etc/app/conf.toml is missing"),
        ("The user works at Orla", "The user works at Orla as a night welder because the day shift was full", "en", "most of the words"),
        ("El usuario vive con su hermana", "El usuario vive con su hermana Inés", "es", "a name: ines is missing"),
        ("Die Nutzerin trinkt Kaffee", "Die Nutzerin trinkt keinen Kaffee", "de", "the negation"),
        ("用户每天早上服药", "用户每天早上服用8毫克药", "zh", "an amount: 8毫克 is missing"),
        ("ユーザーは函館に住んでいる", "ユーザーは2024年から函館に住んでいる", "ja", "the date 2024"),
    ],
)
def test_what_is_dropped(text, statement, language, what):
    assert dropped(text, statement, language) == what


def test_words_are_no_detail():
    assert dropped("The user works at Orla", "The user works at Orla as a night welder on the quay", "en") == "most of the words"
    assert detail_dropped("The user works at Orla", "The user works at Orla as a night welder on the quay", "en") is None


MEMORY = "The user's son Lwazi sees a speech therapist on Wednesdays because of a stammer"


@pytest.mark.parametrize(
    ("text", "beside", "kept"),
    [
        (MEMORY, "", True),
        (f"{MEMORY}; his sister Nontando does not", "Nontando does not see a speech therapist", True),
        ("On Wednesdays the user's son Lwazi sees a speech therapist because of his stammer, and then a dentist", "", True),
        ("The user's son Lwazi no longer sees a speech therapist on Wednesdays because of a stammer", "", False),
        ("The user's son Lwazi might see a speech therapist on Wednesdays because of a stammer", "", False),
        ("The user's daughter Nontando sees a speech therapist on Wednesdays because of a stammer", "", False),
        ("The user's daughter sees a speech therapist on Wednesdays", "", False),
    ],
)
def test_what_has_taken_over_a_memory(text, beside, kept):
    assert keeps(text, MEMORY, "en", beside) == kept


BUNDLED = load_labelled("consolidation").rows


def own(one: ConsolidationCase):
    """The memories that no right decision touches."""
    touched = {name for option in (one.decision, *one.acceptable) for name in (option.id, *option.also_retire)}
    return [known.content for known in one.existing if known.id not in touched]


def test_a_memory_and_a_fact_side_by_side_keep_the_memory():
    pairs = [(f"{memory}; {one.new_fact}", memory, one) for one in BUNDLED for memory in own(one)]
    kept = [keeps(text, memory, one.language, one.new_fact) for text, memory, one in pairs]
    assert len(kept) > 600
    assert sum(kept) / len(kept) > 0.99


def test_facts_that_are_near_a_memory_do_not_keep_it():
    wrong = [(one.id, memory) for one in BUNDLED if one.split != "test" for memory in own(one) if keeps(one.new_fact, memory, one.language)]
    assert not wrong  # what the documentation of NEARLY_ALL says
    half = [one.id for one in BUNDLED if one.split != "test" for memory in own(one) if dropped(one.new_fact, memory, one.language) is None]
    assert half
    assert MOST < 0.8 < NEARLY_ALL


def test_updates_by_a_second_hand_drop_nothing_of_the_labelled_content():
    lines = (PASSES / "blind.jsonl").read_text(encoding="utf-8").splitlines()
    labelled = {one.id: one for one in BUNDLED}
    found = []
    for row in map(json.loads, lines):
        one, made = labelled[row["id"]], row["decision"]
        contents = [option.content for option in (one.decision, *one.acceptable) if (option.action, option.id) == ("UPDATE", made["id"])]
        if made["action"] == "UPDATE" and contents:
            found.append(all(dropped(made["content"], content, one.language) for content in contents))
    assert len(found) > 30
    assert not any(found)
