"""Consolidation cases, scenarios and model replies: what is valid, what is a fault, and how a file's kind is told."""

from __future__ import annotations

import copy
import json

import pytest

from evals.cli.main import main
from evals.data.check import validate
from evals.data.files import load_dataset
from evals.data.labelled import describe_labelled, load_labelled
from evals.errors import DataError

CONSOLIDATION = {
    "id": "c-1", "conversation": "c", "split": "dev", "language": "en", "tags": ["contradiction"], "new_fact": "The user left Acme and works at Orla",
    "existing": [{"id": "m4", "content": "The user works at Acme"}, {"id": "m9", "content": "The user's brother works at Acme"}],
    "decision": {"action": "UPDATE", "id": "m4", "content": "The user works at Orla, after leaving Acme"},
    "acceptable": [{"action": "DELETE", "id": "m4", "content": "The user left Acme and works at Orla"}], "protected": ["m9"],
}  # fmt: skip
SCENARIO = {
    "id": "s-1", "split": "test", "language": "en", "owner": {"names": ["Siw"]},
    "sessions": [
        {"date": "2024-02-11", "messages": [{"role": "user", "content": "I tune organs at Acme"}]},
        {"date": "2024-05-02", "messages": [{"role": "user", "content": "New job: Orla!"}, {"role": "assistant", "content": "Congratulations"}]},
    ],
    "final": [{"id": "m1", "content": "The user works at Orla", "paraphrases": ["Orla employs the user"], "sessions": [1]}],
    "retired": [{"content": "The user works at Acme", "session": 1, "reason": "superseded"}],
    "questions": [
        {"kind": "current", "question": "Where do I work?", "answer": "At Orla", "evidence": [{"session": 1, "message": 0, "text": "New job: Orla"}]},
        {"kind": "unanswerable", "question": "What do I earn?", "answer": "not known"},
    ],
}  # fmt: skip
REPLY = {"id": "r-1", "reply": "[{", "status": "truncated", "phenomenon": "cut off"}


def found(row, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    findings, rows = validate(str(path))
    return [f"{finding.field}: {finding.message}" for finding in findings], rows


@pytest.mark.parametrize("row", [CONSOLIDATION, SCENARIO, REPLY])
def test_valid_rows_have_no_fault(row, tmp_path):
    assert found(row, tmp_path)[0] == []


@pytest.mark.parametrize(
    ("base", "path", "value", "expected"),
    [
        (CONSOLIDATION, "decision.id", "m5", "decision: 'm5' is no id of an existing memory; there are: m4, m9"),
        (CONSOLIDATION, "decision.id", "m9", "decision: touches 'm9', which is protected"),
        (CONSOLIDATION, "decision.id", None, "decision.id: must be the id of an existing memory for UPDATE, got None"),
        (CONSOLIDATION, "decision.content", None, "decision.content: is missing; UPDATE carries the merged statement"),
        (CONSOLIDATION, "decision.action", "NONE", "decision.id: must be null for NONE, got 'm4'"),
        (CONSOLIDATION, "decision.action", "ADD", "decision.content: must be null for ADD, got 'The user works at Orla, after leaving Acme'"),
        (CONSOLIDATION, "decision.also_retire", ["m4"], "decision.also_retire: must be empty for UPDATE"),
        (CONSOLIDATION, "acceptable", [CONSOLIDATION["decision"]], "acceptable[0]: is the same decision as one before it"),
        (CONSOLIDATION, "protected", ["m1"], "protected[0]: 'm1' is no id of an existing memory; there are: m4, m9"),
        (CONSOLIDATION, "existing", [], "decision.action: must be ADD where nothing exists yet, got UPDATE"),
        (SCENARIO, "sessions.1.date", "2024-01-01", "sessions[1].date: 2024-01-01 is before the session before it, 2024-02-11"),
        (SCENARIO, "sessions.1.date", "2024-02-30", "sessions[1].date: there is no such date: '2024-02-30'"),
        (SCENARIO, "sessions.0.messages.0.role", "bot", "sessions[0].messages[0].role: must be one of user, assistant, tool, system, got 'bot'"),
        (SCENARIO, "final.0.sessions", [2], "final[0].sessions: is 2, but there are only 2 sessions (from 0)"),
        (SCENARIO, "retired.0.session", 7, "retired[0].session: is 7, but there are only 2 sessions (from 0)"),
        (SCENARIO, "retired.0.content", "orla employs  the USER", "retired[0]: is also live, as 'm1': 'orla employs  the USER'"),
        (SCENARIO, "questions.0.evidence.0.text", "Acme", "questions[0].evidence[0].text: does not stand in message 0 of session 1: 'Acme'"),
        (SCENARIO, "questions.0.evidence.0.message", 5, "questions[0].evidence[0].message: is 5, but session 1 has only 2 messages (from 0)"),
        (SCENARIO, "questions.0.evidence.0.session", 5, "questions[0].evidence[0].session: is 5, but there are only 2 sessions (from 0)"),
        (SCENARIO, "questions.0.kind", "unanswerable", "questions[0].evidence: must be empty for an unanswerable question, and for no other"),
        (REPLY, "status", "ok", "items: is empty, but the status is ok"),
        (REPLY, "items", [{"content": "A b", "salience": 0.5}], None),
    ],
)  # fmt: skip
def test_faults_are_told_by_field(base, path, value, expected, tmp_path):
    row = copy.deepcopy(base)
    place = row
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    faults = found(row, tmp_path)[0]
    assert faults == [] if expected is None else expected in faults


def test_a_conversation_in_two_splits_and_an_id_used_twice_are_faults(tmp_path):
    rows = [CONSOLIDATION, CONSOLIDATION | {"split": "test", "new_fact": "The user paints"}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert {finding.field for finding in validate(str(tmp_path / "x.jsonl"))[0]} == {"id", "split"}


def test_another_kind_is_not_taken_for_extraction_cases(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(CONSOLIDATION) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"holds labelled data of another kind \(consolidation case\)"):
        load_dataset(str(path))
    assert main(["eval", "--data", str(path), "-m", "baseline/rules"]) == 2
    assert "extraction cases are needed here" in capsys.readouterr().err


def test_labelled_rows_are_loaded_and_described(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(SCENARIO) + "\n", encoding="utf-8")
    d = describe_labelled(load_labelled(str(path)))
    assert (d["kind"], d["rows"], d["sessions"], d["retired"]) == ("scenario", 1, 2, {"superseded": 1})
    assert d["questions"] == {"current": 1, "unanswerable": 1}
    assert main(["data", "stats", str(path)]) == 0
    assert "1 of kind scenario" in capsys.readouterr().out
    path.write_text(json.dumps(SCENARIO | {"split": "exam"}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.jsonl:1: split: .*allowed: train, dev, test"):
        load_labelled(str(path))


def test_stats_of_one_split_count_that_split_alone(tmp_path):
    path = tmp_path / "x.jsonl"
    other = CONSOLIDATION | {"id": "c-2", "conversation": "d", "split": "test"}
    path.write_text(f"{json.dumps(CONSOLIDATION)}\n{json.dumps(other)}\n", encoding="utf-8")
    assert [row.id for row in load_labelled(str(path), "test").rows] == ["c-2"]
    with pytest.raises(DataError, match="holds no consolidation case of split 'train'"):
        load_labelled(str(path), "train")
    path.write_text(json.dumps(REPLY) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="belongs to no split; leave --split away"):
        load_labelled(str(path), "dev")
