"""What the narrowed schema lets through, as a schema validator of its own reads it."""

import json

import jsonschema
import pytest

from salience import ConsolidationPolicy, Decoding, Reply, build_consolidation_request, read_consolidation
from salience.consolidation_schema import fit_schema

DEFAULT = ConsolidationPolicy.load("default")


def decision(action: str, *, fact: int = 1, target: object = None, content: object = None, also: tuple[int, ...] = ()) -> dict[str, object]:
    return {"fact": fact, "action": action, "id": target, "content": content, "also_retire": list(also)}


def accepted(decisions: list[dict[str, object]], facts: int, memories: int) -> bool:
    return jsonschema.Draft202012Validator(fit_schema(DEFAULT.schema, facts, memories)).is_valid({"decisions": decisions})


@pytest.mark.parametrize(
    ("one", "memories", "fine"),
    [
        (decision("ADD"), 2, True),
        (decision("ADD"), 0, True),
        (decision("ADD", target=1), 2, False),
        (decision("ADD", content="The user has a boat"), 2, False),
        (decision("UPDATE", target=2, content="merged"), 2, True),
        (decision("UPDATE", target=3, content="merged"), 2, False),
        (decision("UPDATE", target=0, content="merged"), 2, False),
        (decision("UPDATE", content="merged"), 2, False),
        (decision("UPDATE", target=1), 2, False),
        (decision("UPDATE", target=1, content="merged", also=(2,)), 2, False),
        (decision("DELETE", target=1, content=None), 2, True),
        (decision("DELETE", target=1, content="kept", also=(2,)), 2, True),
        (decision("DELETE", target=1, content="kept", also=(2,)), 1, False),
        (decision("DELETE", target=1, content="kept", also=(7,)), 2, False),
        (decision("DELETE", content="kept"), 2, False),
        (decision("NONE"), 2, True),
        (decision("NONE", target=2), 2, True),
        (decision("NONE", target=3), 2, False),
        (decision("NONE"), 0, False),
        (decision("FORGET", target=1), 2, False),
        (decision("ADD", fact=2), 2, False),
    ],
)
def test_a_decision_names_only_what_was_offered_and_carries_what_its_action_needs(one, memories, fine):
    assert accepted([one], 1, memories) is fine


def test_there_is_one_decision_for_each_fact():
    both = [decision("ADD"), decision("NONE", fact=2, target=1)]
    assert accepted(both, 2, 1)
    assert not accepted(both[:1], 2, 1)
    assert not accepted([*both, decision("ADD")], 2, 1)
    assert not accepted(both, 1, 1)


def test_all_that_the_narrowed_schema_lets_through_the_policy_s_own_lets_through():
    narrowed = [decision("ADD"), decision("UPDATE", target=1, content="x"), decision("DELETE", target=2, also=(1,)), decision("NONE")]
    for one in narrowed:
        assert accepted([one], 1, 2)
        jsonschema.validate({"decisions": [one]}, DEFAULT.schema)


def test_a_request_carries_it_and_the_policy_stays_as_it_was():
    request = build_consolidation_request(DEFAULT, ["The user has a boat"], [("a", "The user rows"), ("b", "The user sails")])
    assert request.schema == fit_schema(DEFAULT.schema, 1, 2) != DEFAULT.schema
    assert DEFAULT.hash == ConsolidationPolicy.load("default").hash
    assert list(request.schema["properties"]["decisions"]["items"]["anyOf"][1]["properties"]) == [
        "fact",
        "action",
        "id",
        "content",
        "also_retire",
    ]  # fmt: skip - the order of the prompt


def test_another_schema_is_sent_as_it_is():
    own = {"type": "object", "properties": {"decisions": {"type": "array"}}, "required": ["decisions"]}
    policy = ConsolidationPolicy("own", schema_json=json.dumps(own), decoding=Decoding(100, 0.0))
    assert build_consolidation_request(policy, ["x"], [("a", "y")]).schema == own
    assert build_consolidation_request(ConsolidationPolicy(), ["x"], [("a", "y")]).schema is None


def test_what_it_forbids_is_still_refused_where_no_server_holds_to_it():
    answer = json.dumps({"decisions": [decision("UPDATE", target=9, content="merged")]})
    (result,) = read_consolidation(DEFAULT, ["The user has a boat"], [("a", "The user rows")], Reply(answer))
    assert (result.decision.action, result.fallback, result.invented) == ("ADD", True, 1)
