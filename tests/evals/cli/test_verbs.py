"""The smaller verbs, through the command."""

import json
from pathlib import Path

import pytest

from evals.cli.main import main
from salience import Policy


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_data_validate_names_faults_and_exits_1(capsys, cases):
    assert run(capsys, "data", "validate", cases)[:2] == (0, f"{cases}: 12 cases, 0 faults\n")
    cases.write_text(
        cases.read_text()
        .replace('"text": "plays the oboe"', '"text": "plays"')
        .replace('"text": "works at the harbour"', '"text": "works at sea"')
    )
    code, out, _ = run(capsys, "data", "validate", cases)
    assert code == 1
    assert f"{cases}:2: memories[0].evidence[0].text: does not stand in message 0: 'works at sea'" in out
    code, out, _ = run(capsys, "data", "validate", cases, "--json")
    assert code == 1
    assert json.loads(out)["faults"][0]["line"] == 2


def test_data_stats_describes(capsys, cases):
    code, out, _ = run(capsys, "data", "stats", cases, "--json")
    described = json.loads(out)
    assert code == 0
    assert (described["cases"], described["conversations"], described["negatives"]) == (12, 6, 4)
    assert described["splits"]["dev"] == {"cases": 12, "conversations": 6, "negatives": 4}
    assert described["grades"] == {"required": 8}
    assert run(capsys, "data", "stats")[1].startswith("extraction ")


def test_policies_are_listed_shown_and_saved(capsys):
    code, out, _ = run(capsys, "policy", "show")
    assert code == 0
    assert {line.split()[1] for line in out.splitlines()} == set(Policy.names())
    _, out, _ = run(capsys, "policy", "show", "embedded-default")
    assert Policy.load("embedded-default").hash in out
    assert out.count("example ") == 8
    code, out, _ = run(capsys, "policy", "save", "default", "--name", "mine", "-o", "mine.json")
    assert code == 0
    text = Path("mine.json").read_text()
    Path("mine.json").write_text(text.replace("One fact in each statement.", "One fact each."))
    code, _, err = run(capsys, "policy", "show", "mine.json")
    assert code == 2
    assert "salience policy save mine.json --name NEW" in err
    assert run(capsys, "policy", "save", "mine.json", "--name", "ours", "-o", "ours.json")[0] == 0
    ours = Policy.load("ours.json")
    assert (ours.name, ours.hash == Policy.load("default").hash) == ("ours", False)
    code, _, err = run(capsys, "policy", "save", "default", "--name", "x", "-o", "ours.json")
    assert code == 2
    assert "never overwritten" in err
    assert Policy.load("ours.json") == ours
    code, _, err = run(capsys, "policy", "save", "plain", "--name", "default", "-o", "d.json")
    assert code == 2
    assert "a policy that ships" in err


def test_policy_json_is_the_files_content(capsys):
    _, out, _ = run(capsys, "policy", "show", "default", "--json")
    Path("copy.json").write_text(out)
    assert Policy.load("copy.json") == Policy.load("default")


def test_models_are_listed_with_what_is_missing(capsys):
    code, out, _ = run(capsys, "models", "list", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert {"embedded/smollm2", "gguf:FILE", "openai/NAME", "ollama/NAME", "baseline/silent"} <= set(rows)
    assert rows["openai/NAME"]["state"] == "needs OPENAI_API_KEY"
    assert rows["embedded/smollm2"]["state"] == "not fetched"


def test_matcher_validate_prints_agreement(capsys):
    code, out, _ = run(capsys, "matcher", "validate", "--matcher", "lexical")
    assert code == 0
    for word in ("what models returned", "written to test", "kappa", "by language", "by phenomenon", "guards"):
        assert word in out
    assert "provisional" not in out
    code, out, _ = run(capsys, "matcher", "validate", "--matcher", "lexical", "--half", "dev", "--json")
    found = json.loads(out)
    assert (found["half"], found["written"]["half"]) == ("dev", "dev")
    assert found["at_rates"] == []
    assert [one["near_misses"] for one in found["written"]["at_rates"]] == [0.1, 0.2, 0.3]


def test_agreement_of_the_label_passes(capsys):
    code, out, _ = run(capsys, "data", "agreement", "--split", "train", "--matcher", "lexical", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["cases"] == 42
    assert 0.5 < found["memories_f1"] <= 1
    assert found["negative_kappa"] == pytest.approx(1)


def test_examples_are_drawn_from_train_and_the_best_set_on_dev_is_saved(capsys, server):
    words = ["policy", "examples", "-m", "mock", "--base-url", server.url, "--sets", "2", "--name", "shot", "-o", "shot.json", "-q"]
    code, _, err = run(capsys, *words)
    assert code == 0, err
    policy = Policy.load("shot.json")
    assert (policy.name, policy.examples_as, len(policy.examples)) == ("shot", "turns", 8)
    assert sum(example.reply == "[]" for example in policy.examples) == 2
    from evals.data.files import load_dataset

    train = {case.id for case in load_dataset().of_split("train").cases}
    assert set(policy.provenance["examples"]) <= train
    assert len(policy.provenance["dev_f1_of_all_sets"]) == 2
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "never overwritten" in err


def test_the_embedded_model_extracts_and_is_benchmarked(capsys, smollm2_path, monkeypatch):
    """The real model, the real weights, the embedding matcher: what it answers is a report's matter, that it answers is this test's."""
    monkeypatch.setenv("SALIENCE_CACHE", str(smollm2_path.parent.parent))
    code, out, err = run(capsys, "extract", "My sister Tove is allergic to latex.", "-m", "embedded/smollm2", "--json", "-q")
    assert code == 0, err
    result = json.loads(out)
    assert result["status"] in ("ok", "empty", "repaired", "truncated")
    assert all(0 <= candidate["salience"] <= 1 for candidate in result["candidates"])
    words = ["eval", "-m", "embedded/smollm2", "-n", "2", "-q", "--json"]
    code, out, err = run(capsys, *words)
    assert code == 0, err
    first = json.loads(out)["cells"][0]
    assert first["counts"]["cases"] == 2
    assert first["output_tokens"] > 0
    assert (first["failed"], first["cached"]) == ([], 0)
    _, out, _ = run(capsys, *words)
    again = json.loads(out)["cells"][0]
    assert again["cached"] == 2
    assert again["figures"] == first["figures"]
