"""Slices: which a case belongs to, and that their counts and figures are those of the cases in them."""

import json

import pytest

from evals.cases import Case, Evidence, Memory
from evals.cli.main import main
from evals.metrics.counts import COLUMNS, INDEX
from evals.metrics.slices import BY, SliceTallies, slices_of


def case(name, conversation, text, *tags, language="en", memories=()):
    return Case(
        id=name, conversation=conversation, split="dev", language=language, tags=tags, messages=({"role": "user", "content": text},),
        memories=memories,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("size", "name"),
    [
        (1, "under 120 characters"),
        (119, "under 120 characters"),
        (120, "120 to 299"),
        (299, "120 to 299"),
        (300, "300 to 999"),
        (1000, "1,000 and more"),
    ],
)
def test_lengths_are_parted_by_characters_of_the_messages(size, name):
    assert list(slices_of(case("a", "c", "x" * size), "length")) == [name]


def test_a_case_is_in_the_slice_of_each_of_its_tags_and_of_its_language():
    one = case("a", "c", "x", "health", "negation", "health", language="de")
    assert list(slices_of(one, "tag")) == ["health", "negation"]
    assert list(slices_of(one, "language")) == ["de"]


def test_counts_go_to_the_slices_of_a_case_and_nowhere_else():
    import numpy as np

    tallies = SliceTallies(("language", "length"), 3)
    for name, language, size in (("a", "en", 500), ("b", "en", 10), ("c", "de", 10)):
        row = np.zeros(len(COLUMNS))
        row[INDEX["cases"]], row[INDEX["outcome_hit"]] = 1, {"a": 1, "b": 2, "c": 4}[name]
        tallies.add(case(name, name, "x" * size, language=language), row, [(0.5, True)])
    found = [(by, name, len(tally), tally.totals["outcome_hit"], len(tally.salience)) for by, name, tally in tallies.all()]
    assert found == [
        ("language", "en", 2, 3, 2), ("language", "de", 1, 4, 1),
        ("length", "under 120 characters", 2, 6, 2), ("length", "300 to 999", 1, 1, 1),
    ]  # fmt: skip


def test_a_report_by_language_scores_each_language_as_a_run_of_it_alone(tmp_path, capsys, monkeypatch):
    """`rules` finds "I am allergic to ..." in English; the German case has a memory that it cannot find."""
    monkeypatch.chdir(tmp_path)
    memory = Memory(id="m", content="The user is allergic to kiwi", salience=0.9, evidence=(Evidence(message=0, text="kiwi"),))
    german = Memory(id="m", content="Der Nutzer hat einen Hund", salience=0.9, evidence=(Evidence(message=0, text="Hund"),))
    cases = [
        case("a", "c1", "I am allergic to kiwi.", "health", memories=(memory,)),
        case("b", "c2", "Nice weather.", "small-talk"),
        case("c", "c3", "Was für ein Tag, der Hund bellt!", "pets", language="de", memories=(german,)),
    ]
    import msgspec

    (tmp_path / "mine.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, cases)) + b"\n")
    words = ["eval", "-m", "baseline/rules", "--data", "mine.jsonl", "--matcher", "lexical", "--by", "language", "--by", "tag", "-q"]
    assert main([*words, "-o", "run", "--json"]) == 0
    cell = json.loads(capsys.readouterr().out)["cells"][0]
    recall = {(one["by"], one["name"]): (one["figures"]["recall"]["value"], one["counts"]["cases"]) for one in cell["slices"]}
    assert recall == {
        ("language", "en"): (1.0, 2), ("language", "de"): (0.0, 1),
        ("tag", "health"): (1.0, 1), ("tag", "pets"): (0.0, 1), ("tag", "small-talk"): (None, 1),
    }  # fmt: skip
    assert main(["score", "run", "--matcher", "lexical", "--by", "tag"]) == 0
    shown = capsys.readouterr().out
    assert "by tag" in shown
    assert not any(line.startswith("by language") for line in shown.splitlines())
    assert [line.split()[:6] for line in shown.splitlines() if line.startswith(("health ", "small-talk "))] == [
        ["health", "1", "0", "1~", "1.00", "1.00"], ["small-talk", "1", "1", "1~", "-", "-"],
    ]  # fmt: skip
    assert "95% intervals (none under 5 conversations)" in shown


def test_without_by_there_are_no_slices(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import msgspec

    (tmp_path / "mine.jsonl").write_bytes(msgspec.json.encode(case("a", "c1", "Hello.", "small-talk")) + b"\n")
    assert main(["eval", "-m", "baseline/silent", "--data", "mine.jsonl", "--matcher", "lexical", "-q", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["slices"] == []


@pytest.mark.parametrize("verb", ["eval", "score"])
def test_the_command_offers_every_way_of_slicing(verb, capsys):
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    assert f"--by {{{','.join(BY)}}}" in " ".join(capsys.readouterr().out.split())
