"""A prompt that is canonical reads the same however often DSPy reads, copies and saves it."""

import inspect

import dspy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evals.limits import Budget
from evals.tune.adapter import lm_of, signature_of
from evals.tune.canonical import PromptError, canonical, check_canonical
from evals.tune.engine import Desk, Engine
from evals.tune.modules import PolicyModule
from evals.tune.writers import BUNDLED, read_variants, variants_file
from salience import ConsolidationPolicy, Policy
from tests.evals.tune.tuning_models import base_policy, setup

PIECES = st.sampled_from([*"ab \t\n\r\x0b\x0c\u2028\u3000{}[]'\"\\", "\r\n", "\n    ", "\n\t"])
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS)
@example("\n\t a\n\t\t b\n \n")
@example("a\n        b\n\tc")
def test_a_canonical_text_stays_as_it_is(text):
    once = canonical(text)
    assert canonical(once) == once
    assert inspect.cleandoc(once) == once
    if once.strip():
        check_canonical("p", once)
        signature = dspy.Signature("turn -> reply", once)
        for _ in range(3):
            assert signature.instructions == once
            signature = signature.with_instructions(signature.instructions)


@given(TEXTS.filter(lambda text: canonical(text) != text))
def test_what_is_not_canonical_is_refused_with_the_place(text):
    with pytest.raises(PromptError, match="differs first at character"):
        check_canonical("mine", text)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a\tb", 1), ("a\r\nb", 1), ("\na", 0), (" a", 0), ("a\n", 1), ("a\n  b\n    c", 2), ("a\n\n", 1)],
)
def test_the_place_is_the_first_that_differs(text, place):
    with pytest.raises(PromptError, match=f"the prompt of mine .* at character {place}: "):
        check_canonical("mine", text)


@pytest.mark.parametrize("text", ["a", "a\nb", "a\n\nb\n  c\nd", "a b  c ", "{a} [[ ## b ## ]]", "ä\u2028b"])
def test_ordinary_prompts_are_canonical(text):
    assert canonical(text) == text


@pytest.mark.parametrize("kind", [Policy, ConsolidationPolicy])
def test_the_prompts_that_ship_are_canonical(kind):
    for name in kind.names():
        check_canonical(name, kind.load(name).system)


@pytest.mark.parametrize("task", ["extraction", "consolidation"])
def test_the_variants_that_ship_are_canonical(task):
    texts = read_variants(variants_file(BUNDLED, task))
    assert len(texts) > 1
    for text in texts:
        check_canonical(task, text)


def test_a_base_that_dspy_would_change_is_refused_before_anything_is_asked(tmp_path):
    made = setup("extraction", "labeled", base=Policy(name="odd", system="Keep\tit."))
    with pytest.raises(PromptError, match=r"the prompt of odd .* at character 4"):
        made.search(tmp_path / "log")
    assert made.model.sent == []
    with pytest.raises(PromptError, match="odd"):
        PolicyModule(made.task, made.base)


@pytest.mark.parametrize("written", ["\n    Indented.\n        More.\n", "Tab\tbed.\r\nTwo.", '  "Quoted"  ', "A\n      B\n        C"])
def test_a_text_that_is_not_canonical_is_played_and_exported_as_it_reads(written):
    """An optimiser may write anything: what counts is that the candidate's policy is what was sent."""
    made = setup("extraction", "labeled")
    module = PolicyModule(made.task, made.base)
    module.predict.signature = module.predict.signature.with_instructions(written)
    with Desk(None, Budget()) as desk, dspy.context(lm=lm_of(Engine(made.model, desk))):
        for copy in (module, module.deepcopy(), module.deepcopy().reset_copy()):
            found = copy(turn=made.task.text(made.splits.dev[0]))
            check_canonical("sent", found.candidate.system)
            assert found.candidate.system == copy.policy().system == made.model.sent[-1].messages[0]["content"] == canonical(written)


@pytest.mark.parametrize("task", ["extraction", "consolidation"])
@pytest.mark.parametrize("written", [" \n", "\t", "\r\n", ""])
def test_a_writer_that_writes_nothing_leaves_the_base(written, task):
    made = setup(task, "labeled")
    module = PolicyModule(made.task, made.base)
    module.predict.signature = module.predict.signature.with_instructions(written)
    assert module.policy() == made.base


def test_the_signature_has_one_field_in_and_one_out():
    made = setup("consolidation", "labeled")
    signature = signature_of(made.task, base_policy("consolidation").system)
    assert (list(signature.input_fields), list(signature.output_fields)) == (["facts"], ["reply"])
