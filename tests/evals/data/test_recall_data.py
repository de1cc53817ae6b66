"""The data of consolidation and of scenarios as datasets."""

import json

import pytest

from evals.data.labelled import load_labelled
from evals.data.recall_data import load_recall
from evals.data.select import Selection, select
from evals.errors import DataError
from evals.recall_cases import ConsolidationCase, Scenario

CASE = {
    "id": "c-1", "conversation": "c", "split": "dev", "language": "en", "new_fact": "The user has a boat",
    "existing": [{"id": "a", "content": "The user rows"}], "decision": {"action": "ADD"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "task", "kind"), [("consolidation", "consolidation", ConsolidationCase), ("scenarios", "scenario", Scenario)]
)
def test_bundled_data_is_that_of_validate_and_stats(name, task, kind):
    data = load_recall(name, task)
    assert all(isinstance(case, kind) for case in data.cases)
    rows = load_labelled(name)
    assert (data.name, data.version, data.hash) == (rows.name, rows.version, rows.hash)
    assert [case.id for case in data.cases] == [row.id for row in rows.rows]


def test_splits_and_samples_are_taken_by_conversation():
    dev = load_recall("consolidation", "consolidation").to_score("dev")
    assert {case.split for case in dev.cases} == {"dev"}
    some = select(dev.cases, Selection(limit=10, seed=3))
    assert len({case.conversation for case in some}) == 10


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_file_and_a_folder_of_one_s_own(tmp_path):
    lines(tmp_path / "one.jsonl", CASE)
    lines(tmp_path / "two.jsonl", {**CASE, "id": "c-2"})
    assert load_recall(str(tmp_path / "one.jsonl"), "consolidation").cases.ids == ["c-1"]
    assert load_recall(str(tmp_path), "consolidation").cases.ids == ["c-1", "c-2"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{**CASE, "decision": {"action": "KEEP"}}], r"mine.jsonl:1: decision.action: .*'KEEP'|mine.jsonl:1: decision.action"),
        ([{**CASE, "decision": {"action": "UPDATE", "id": "z", "content": "x"}}], r"mine.jsonl:1: decision: 'z' is no id of an existing"),
        ([CASE, CASE], r"mine.jsonl:2: id 'c-1' is already used at .*mine.jsonl:1"),
        ([{**CASE, "colour": 1}], r"mine.jsonl:1: .*colour"),
    ],
)  # fmt: skip
def test_faults_name_file_line_and_field(tmp_path, rows, says):
    with pytest.raises(DataError, match=says):
        load_recall(lines(tmp_path / "mine.jsonl", *rows), "consolidation")


def test_data_of_another_kind_names_the_task_that_it_is_for(tmp_path):
    with pytest.raises(DataError, match="--task scenario evaluates it"):
        load_recall("scenarios", "consolidation")
    with pytest.raises(DataError, match=r"matcher pair\); the task scenario needs a scenario a line$"):
        load_recall("matching", "scenario")
    with pytest.raises(DataError, match="there is no dataset or file"):
        load_recall("nothing", "scenario")
