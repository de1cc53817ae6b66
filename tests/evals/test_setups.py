"""What a row of consolidation or of scenarios runs under: by name, in a manifest, as a hash."""

import json

import pytest

from evals.errors import WorkbenchError
from evals.setups import RULES, baseline_setup, load_setup, setup_from_dict
from salience import ConsolidationPolicy, Policy, recall_policy


@pytest.mark.parametrize(
    ("name", "told", "finds", "decides"),
    [
        ("default", "default+default", Policy.load("default"), ConsolidationPolicy.load("default")),
        ("embedded-default+plain", "embedded-default+plain", Policy.load("embedded-default"), ConsolidationPolicy()),
        ("recall+default", "recall+default", recall_policy("default"), ConsolidationPolicy.load("default")),
        ("recall-plain+nearest-update", "recall-plain+nearest-update", recall_policy("plain"), None),
        ("+distance", "default+distance", Policy.load("default"), None),
        ("default+", "default+default", Policy.load("default"), ConsolidationPolicy.load("default")),
    ],
)
def test_a_scenario_s_policy_has_two_halves(name, told, finds, decides):
    setup = load_setup("scenario", name)
    assert (setup.name, setup.extraction, setup.consolidation) == (told, finds, decides)
    assert setup.recall is name.startswith("recall")
    assert (setup.rule is None) == (decides is not None)


def test_files_are_taken_for_either_half_and_keep_their_names(tmp_path):
    Policy.load("default").save(tmp_path / "find+all.json")
    ConsolidationPolicy("mine", system="Decide.").save(tmp_path / "mine.json")
    assert load_setup("consolidation", str(tmp_path / "mine.json")).name == "mine"
    both = load_setup("scenario", f"default+{tmp_path / 'mine.json'}")
    assert (both.name, both.consolidation.system) == ("default+mine", "Decide.")
    assert load_setup("scenario", str(tmp_path / "find+all.json")).name == "default+default"  # a plus within a file's name


@pytest.mark.parametrize("setup", [load_setup("consolidation", "default"), load_setup("scenario", "recall+always-none"),
                                   load_setup("scenario", "embedded-default+default")])  # fmt: skip
def test_a_manifest_gives_the_same_setup_back(setup):
    again = setup_from_dict(json.loads(json.dumps(setup.to_dict())), "run")
    assert (again, again.hash, again.decoding) == (setup, setup.hash, setup.decoding)


def test_the_hash_tells_what_is_asked_and_a_consolidation_policy_keeps_its_own():
    assert load_setup("consolidation", "default").hash == ConsolidationPolicy.load("default").hash
    names = ["default+default", "default+plain", "recall+default", "default+always-add", "default+distance", "embedded-default+default"]
    assert len({load_setup("scenario", name).hash for name in names}) == len(names)


@pytest.mark.parametrize("rule", RULES)
def test_baselines_of_scenarios_take_every_rule(rule):
    setup = baseline_setup("scenario", f"baseline/rules+{rule}")
    assert (setup.baseline, setup.rule, setup.consolidation) == ("rules", rule, None)


def test_a_changed_policy_in_a_manifest_is_refused():
    content = load_setup("consolidation", "default").to_dict()
    content["consolidation"]["system"] = ["Other words."]
    with pytest.raises(WorkbenchError, match=r"run: provenance\.hash"):
        setup_from_dict(content, "run")


@pytest.mark.parametrize("name", ["default+nothing", "nothing", "recall+mine.json", "missing.json+default"])
def test_what_is_not_there_is_an_error(name):
    with pytest.raises(WorkbenchError):
        load_setup("scenario", name)
