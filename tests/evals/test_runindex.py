"""Which record counts, and where it is."""

import pytest

from evals.errors import RunError
from evals.runindex import RunIndex
from evals.runlog import REPLIES, Failure, Record, RunLog

ROWS = [("m", "p"), ("b", "")]
IDS = ["a", "b", "c", "d"]


def record(case, reply="[]", **more):
    return Record(model="m", policy="p", case=case, **({"reply": reply} | more))


def failed(case, kind="timeout", **more):
    return record(case, None, error=Failure(kind, "x"), **more)


def write(folder, *records):
    with RunLog(folder) as log:
        for one in records:
            log.append(one)


def test_the_last_answer_counts_and_a_failure_never_replaces_one(tmp_path):
    write(
        tmp_path, failed("a"), record("a", "1"), failed("a"), failed("b"), failed("b", "http"), failed("c", "too_long"), failed("c"),
        record("d", "1"), record("d", "2"), record("unknown"), Record(model="b", policy="", case="a", reply="base"),
    )  # fmt: skip
    with RunIndex(tmp_path, ROWS, IDS, 1) as index:
        read = [index.read(0, place, 0) for place in range(4)]
        assert [(one.reply, one.error and one.error.kind) for one in read] == [("1", None), (None, "http"), (None, "too_long"), ("2", None)]
        assert [index.has(0, place, 0) for place in range(4)] == [True] * 4
        assert [index.has(0, place, 0, answered=True) for place in range(4)] == [True, False, True, True]
        assert index.read(1, 0, 0).reply == "base"
        assert index.read(1, 1, 0) is None
        assert index.any_answered(0)
        assert index.any_failed()


def test_repeats_and_parts_are_told_apart(tmp_path):
    write(
        tmp_path,
        record("a", "r0"),
        record("a", "r1", repeat=1),
        record("a", "p1", part=1),
        failed("a", part=2),
        record("a", "r9", repeat=9),
    )
    with RunIndex(tmp_path, ROWS, IDS, 2) as index:
        assert [index.read(0, 0, repeat).reply for repeat in (0, 1)] == ["r0", "r1"]
        assert index.read(0, 0, 0, 1).reply == "p1"
        assert index.read(0, 0, 1, 1) is None
        assert index.has(0, 0, 0, 2)
        assert not index.has(0, 0, 0, 2, answered=True)
        assert index.any_failed()


def test_an_empty_folder_and_a_torn_line(tmp_path):
    with RunIndex(tmp_path, ROWS, IDS, 1) as index:
        assert index.read(0, 0, 0) is None
        assert not index.any_answered(0)
        assert not index.any_failed()
    write(tmp_path, record("a"), record("b"))
    path = tmp_path / REPLIES
    path.write_bytes(path.read_bytes()[:-5])
    with RunIndex(tmp_path, ROWS, IDS, 1) as index:
        assert index.has(0, 0, 0)
        assert not index.has(0, 1, 0)


def test_a_line_that_is_no_record_is_named(tmp_path):
    (tmp_path / REPLIES).write_text('{"model": 3}\n')
    with pytest.raises(RunError, match=r"replies\.jsonl:1: is not a record"):
        RunIndex(tmp_path, ROWS, IDS, 1)
    (tmp_path / REPLIES).write_text('{"model": "m", "policy": "p", "case": "a", "seconds": "x"}\n')
    with RunIndex(tmp_path, ROWS, IDS, 1) as index, pytest.raises(RunError, match="byte 0 cannot be read"):
        index.read(0, 0, 0)
