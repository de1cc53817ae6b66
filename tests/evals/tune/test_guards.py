"""What a candidate must not be: a copy of what it is judged on, or too long."""

import pytest

from evals.tune.guards import SPAN, copied, prompt_text
from salience import ConsolidationExample, ConsolidationPolicy, Example, Policy, Turn
from salience.consolidation_requests import render_consolidation
from tests.evals.tune.tuning_models import VARIANTS, base_policy, knowing, make_cases, setup

SAID = "My sister Ilse moved to Tartu in March and now works at the harbour there."
WORDS = SAID.lower().split()
CASE = f"Date: 2026-03-02\nSource: chat\nTurn:\n[user] {SAID}"


@pytest.mark.parametrize(
    ("prompt", "span"),
    [
        (f"Keep facts. For example: {SAID}", True),
        (" ".join(WORDS[2 : 2 + SPAN]), True),
        (" ".join(WORDS[2 : 1 + SPAN]), False),
        ("\n".join(WORDS), True),
        (SAID.upper(), True),
        (SAID.replace("Tartu", "Oslo"), False),
        (f"{SAID[:40]} and more {SAID[40:]}", False),
        ("Date: 2026-03-02\nSource: chat\nTurn:\n[user] Nothing of the kind was ever said by me.", False),
        ("", False),
    ],
)
def test_ten_words_in_a_row_are_a_copy(prompt, span):
    found = copied(prompt, "", ["Turn:\n[user] short", CASE])
    assert (found is not None) == span
    assert found is None or found in " ".join(WORDS)
    assert copied(prompt, f"The base says so too: {SAID}", [CASE]) is None


@pytest.mark.parametrize(
    ("said", "other"),
    [
        (
            "私の妹は三月に東京へ引っ越して、今は港の近くにある小さな出版社で働いています。",
            "私の妹は三月に大阪へ引っ越して、今は港の近くの会社にいます。",
        ),
        ("我姐姐三月份搬到了上海，现在在港口附近的一家小出版社工作，每天骑自行车上班，周末去爬山。", "我姐姐三月份搬到了北京。"),
    ],
)
def test_a_copy_is_seen_in_a_script_without_spaces(said, other):
    case = f"Date: 2026-03-02\nTurn:\n[user] {said}"
    assert copied(f"例：{said}", "", [case])
    assert copied(f"例：{other}", "", [case]) is None


def test_what_frames_every_case_is_no_copy():
    """An example of a train case stands in the same frame as a dev case."""
    shown = render_consolidation(["The user works as a nurse"], ["The user works as a cook", "The user was born in spring"])
    judged = render_consolidation(["The user lives in Oslo"], ["The user works as a diver", "The user was born in autumn"])
    assert copied(shown, "", [judged]) is None
    assert copied(shown, "", [shown])


@pytest.mark.parametrize("where", ["system", "turns"])
def test_the_prompt_is_all_that_is_sent_before_a_case(where):
    made = setup("extraction", "labeled")
    policy = Policy(system="SYSTEM", examples=(Example(Turn("said {x}"), "[1]"), Example(Turn("more"), "[2]")), examples_as=where)
    assert prompt_text(made.task, policy) == "SYSTEM\nTurn:\nsaid {x}\n[1]\nTurn:\nmore\n[2]"
    other = setup("consolidation", "labeled")
    given = ConsolidationPolicy(system="S", examples=(ConsolidationExample(("f",), ("m",), "R"),), examples_as=where)
    assert prompt_text(other.task, given) == f"S\n{render_consolidation(['f'], ['m'])}\nR"


MAGIC = "HARBOUR"


def searched(tmp_path, variants, **more):
    made = setup("extraction", "copro", answer=lambda golds: knowing(golds, MAGIC), variants=variants, **more)
    return made, made.search(tmp_path / "log")


def test_a_prompt_that_is_too_long_is_set_aside_and_the_next_best_is_taken(tmp_path):
    long, short = f"{MAGIC} {'and so on ' * 100}", f"Think of the {MAGIC}."
    _, found = searched(tmp_path, [long.strip(), short], most_chars=500)
    assert found.best.policy.system == short
    assert found.gained
    _, found = searched(tmp_path, [long.strip(), VARIANTS[0]], most_chars=500)
    assert found.best is found.base
    assert not found.gained
    assert [(tried.policy.system, why) for tried, why in found.set_aside] == [
        (long.strip(), "its prompt has 1007 characters, more than 500")
    ]


def test_examples_count_for_the_length(tmp_path):
    made = setup("extraction", "labeled", answer=lambda golds: knowing(golds, "of train"), most_chars=300)
    found = made.search(tmp_path / "log")
    assert found.best is found.base
    assert len(found.set_aside) == len(found.ledger.tried) - 1
    assert all("characters, more than 300" in why for _, why in found.set_aside)


def test_a_prompt_that_copies_a_dev_case_is_set_aside(tmp_path):
    dev = make_cases("extraction")[1][2].messages[0]["content"]
    copy = f"{MAGIC}. Such as: {dev}"
    _, found = searched(tmp_path, [copy, VARIANTS[0]])
    assert not found.gained
    (aside,) = found.set_aside
    assert aside[0].policy.system == copy
    assert aside[1].startswith("it repeats a dev case: '")
    assert aside[0].objective(found.ledger.dev) > found.best.objective(found.ledger.dev)
    _, found = searched(tmp_path, [copy, f"Fair: {MAGIC}."])
    assert found.best.policy.system == f"Fair: {MAGIC}."


def test_what_the_base_says_may_stay(tmp_path):
    dev = make_cases("extraction")[1][2].messages[0]["content"]
    base = Policy(name="told", system=f"Keep it. Such as: {dev}")
    _, found = searched(tmp_path, [f"{MAGIC}. Such as: {dev}"], base=base)
    assert (found.gained, found.set_aside) == (True, ())


@pytest.mark.parametrize("task", ["extraction", "consolidation"])
def test_examples_of_train_cases_are_no_copies(task, tmp_path):
    made = setup(task, "labeled", base=base_policy(task, examples_as="turns"), answer=lambda golds: knowing(golds, "train"))
    found = made.search(tmp_path / "log")
    assert found.gained
    assert found.set_aside == ()
