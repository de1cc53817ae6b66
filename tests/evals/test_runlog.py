"""The run file: appended, torn, locked, and read back."""

import json

import pytest

from evals.errors import RunError
from evals.runlog import MANIFEST, REPLIES, Failure, Record, RunLog, read_manifest, read_records, write_json, write_lines


def record(case, **more):
    return Record(model="m", policy="p", case=case, **({"reply": "[]"} | more))


def failed(case, kind="timeout"):
    return record(case, reply=None, error=Failure(kind, "x"))


def test_records_come_back_as_they_were(tmp_path):
    records = [record("a", reply='é 漢字 \n\r\u2028 "x" \x00', seconds=0.25, input_tokens=3), failed("b"), record("c", cached=True)]
    with RunLog(tmp_path) as log:
        for one in records:
            log.append(one)
    assert list(read_records(tmp_path)) == records
    assert (tmp_path / REPLIES).read_bytes().count(b"\n") == 3


@pytest.mark.parametrize("keep", [0, 1, 20])
def test_a_torn_last_line_is_passed_over_and_cut_off_before_the_next_append(tmp_path, keep):
    with RunLog(tmp_path) as log:
        log.append(record("a"))
        log.append(record("b"))
    path = tmp_path / REPLIES
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:keep])
    assert [one.case for one in read_records(tmp_path)] == ["a"]
    with RunLog(tmp_path) as log:
        log.append(record("c"))
    assert [one.case for one in read_records(tmp_path)] == ["a", "c"]


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path):
    with RunLog(tmp_path) as log:
        log.append(record("a"))
    with (tmp_path / REPLIES).open("ab") as file:
        file.write(b"x" * 200_000)
    with RunLog(tmp_path) as log:
        log.append(record("b"))
    assert [one.case for one in read_records(tmp_path)] == ["a", "b"]


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    (tmp_path / REPLIES).write_text('{"model": "m"}\n')
    with pytest.raises(RunError, match=r"replies\.jsonl:1: is not a record"):
        list(read_records(tmp_path))


def test_a_second_writer_is_refused(tmp_path):
    with RunLog(tmp_path), pytest.raises(RunError, match="another process"):
        RunLog(tmp_path)
    RunLog(tmp_path).__exit__(None, None, None)


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(RunError, match=r"is not a run: it has no manifest\.json"):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text('{"schema_version": 9}')
    with pytest.raises(RunError, match="schema_version must be 2"):
        read_manifest(tmp_path)


def test_files_are_written_whole_or_not_at_all(tmp_path):
    write_json(tmp_path / "a.json", {"ü": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {"x": object()})
    assert json.loads((tmp_path / "a.json").read_text()) == {"ü": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    with pytest.raises(RunError, match="cannot be written"):
        write_json(tmp_path / "nowhere" / "a.json", {})
    write_lines(tmp_path / "b.jsonl", iter([{"n": 1}, [2]]))
    assert (tmp_path / "b.jsonl").read_text() == '{"n": 1}\n[2]\n'


def test_an_unwritable_folder_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be opened for writing"):
        RunLog(tmp_path / "file")


def test_a_full_disk_is_said_and_what_is_there_is_kept(tmp_path, monkeypatch):
    import evals.runlog as module

    with RunLog(tmp_path) as log:
        log.append(record("a"))
        real, left = module.os.write, [10]

        def write(handle, data):
            if not left:
                raise OSError(28, "No space left on device")
            return real(handle, data[: left.pop()])

        monkeypatch.setattr(module.os, "write", write)
        with pytest.raises(RunError, match="could not be written: No space left on device"):
            log.append(record("b"))
    monkeypatch.undo()
    assert [one.case for one in read_records(tmp_path)] == ["a"]
