"""Hugging Face tables, offline: folders, saved tables, parquet, our own format, and what is said where something is not there."""

import datetime
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evals.data.columns import ColumnMap
from evals.data.files import data_folder, read_cases
from evals.data.foreign import open_foreign
from evals.data.hub import open_hub
from evals.errors import DataError

ROOT = Path(__file__).resolve().parents[3]
ROWS = [{"q": "I moved to Oulu", "m": ["The user lives in Oulu"], "z": 1}, {"q": "Hi", "m": [], "z": 2}]
COLUMNS = ["text=q", "memories=m", "language=:en"]


@pytest.fixture
def hf(tmp_path, monkeypatch):
    """The package, offline and with a cache of the test's own."""
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("HF_UPDATE_DOWNLOAD_COUNTS", "0")
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    return datasets


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def told(data):
    return [(case.id, case.messages[0]["content"], [memory.content for memory in case.memories]) for case in data.read()]


EXPECTED = [("row-1", "I moved to Oulu", ["The user lives in Oulu"]), ("row-2", "Hi", [])]


def test_a_folder_of_json_lines(hf, tmp_path):
    write(tmp_path / "mine" / "rows.jsonl", ROWS)
    data = open_foreign(f"hf:{tmp_path / 'mine'}", COLUMNS)
    assert told(data) == EXPECTED == told(data)
    assert (data.name, data.report().memories, data.silver) == ("mine", 1, ColumnMap.parse(COLUMNS).silver)
    assert told(open_foreign(f"hf:{tmp_path / 'mine'}@train", COLUMNS)) == EXPECTED
    assert told(open_foreign(f"hf:{tmp_path / 'mine'}@train[1:]", COLUMNS)) == [("row-1", "Hi", [])]


@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_a_file(hf, kind, tmp_path):
    path = tmp_path / f"rows.{kind}"
    rows = [row | {"m": json.dumps(row["m"])} for row in ROWS] if kind == "csv" else ROWS
    getattr(hf.Dataset.from_list(rows), f"to_{kind}")(str(path))
    assert told(open_hub(str(path), ColumnMap.parse(COLUMNS))) == EXPECTED


def test_a_saved_table_and_saved_splits(hf, tmp_path):
    table = hf.Dataset.from_list(ROWS)
    table.with_format("numpy").save_to_disk(str(tmp_path / "one"))
    hf.DatasetDict({"a": table, "b": table.select([1])}).save_to_disk(str(tmp_path / "two"))
    columns = ColumnMap.parse(COLUMNS)
    assert told(open_hub(str(tmp_path / "one"), columns)) == EXPECTED
    assert told(open_hub(f"{tmp_path / 'two'}@b", columns)) == [("row-1", "Hi", [])]
    assert open_hub(f"{tmp_path / 'two'}@b", columns).name == "two@b"
    with pytest.raises(DataError, match=r"has several splits; name one of hf:.*two@a, hf:.*two@b"):
        open_hub(str(tmp_path / "two"), columns)
    with pytest.raises(DataError, match="there is no split 'c'; there are: a, b"):
        open_hub(f"{tmp_path / 'two'}@c", columns)
    with pytest.raises(DataError, match="there is no split 'c'; there are: none"):
        open_hub(f"{tmp_path / 'one'}@c", columns)
    with pytest.raises(DataError, match="knows no configs; leave :x out"):
        open_hub(f"{tmp_path / 'one'}:x", columns)


def test_dates_nested_values_and_messages_of_a_table(hf, tmp_path):
    row = {
        "when": datetime.datetime(2026, 3, 2, 10, 15), "meta": {"who": "Aino", "id": 4},
        "turns": [{"role": "human", "content": "I eloped", "name": None}, {"role": "gpt", "content": "Oh!", "name": None}],
        "facts": [{"text": "The user eloped", "grade": 0.9}],
    }  # fmt: skip
    hf.Dataset.from_list([row, row | {"meta": {"who": None, "id": 5}, "facts": None}]).to_parquet(str(tmp_path / "t.parquet"))
    columns = [
        "id=meta.id", "owner=meta.who", "date=when", "messages=turns", "memories=facts", "memories.content=text", "memories.salience=grade", "language=:en",
    ]  # fmt: skip
    first, second = open_hub(str(tmp_path / "t.parquet"), ColumnMap.parse(columns)).read()
    assert (first.id, first.owner.names, first.date) == ("4", ("Aino",), "2026-03-02")
    assert first.messages == ({"role": "user", "content": "I eloped"}, {"role": "assistant", "content": "Oh!"})
    assert [(memory.content, memory.salience) for memory in first.memories] == [("The user eloped", 0.9)]
    assert (second.owner.names, second.memories) == ((), ())


def test_a_column_that_is_not_mapped_is_not_decoded(hf, tmp_path):
    broken = {"bytes": b"no image", "path": None}
    features = hf.Features({"q": hf.Value("string"), "photo": hf.Image()})
    table = hf.Dataset.from_dict({"q": ["Hi"], "photo": [broken]}, features=features)
    table.save_to_disk(str(tmp_path / "photos"))
    assert told(open_hub(str(tmp_path / "photos"), ColumnMap.parse(["text=q", "language=:en"]))) == [("row-1", "Hi", [])]
    with pytest.raises(DataError, match="row 1 cannot be decoded: "):
        list(open_hub(str(tmp_path / "photos"), ColumnMap.parse(["text=photo", "language=:en"])).read())


def test_our_own_format_needs_no_map(hf, tmp_path):
    own = data_folder() / "extraction" / "dev.jsonl"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "dev.jsonl").write_bytes(own.read_bytes())
    data = open_foreign(f"hf:{tmp_path / 'own'}")
    assert list(data.read()) == [case for _, case in read_cases(own)] == list(data.read())
    assert data.silver == ""


def test_our_own_format_is_checked(hf, tmp_path, labelled):
    case = labelled(0) | {"extra": 1}
    write(tmp_path / "good" / "rows.jsonl", [case])
    assert [case.id for case in open_hub(str(tmp_path / "good")).read()] == ["case-000"]
    write(tmp_path / "bad" / "rows.jsonl", [case, case | {"id": "b", "split": "training"}])
    with pytest.raises(DataError, match="bad: row 2: split: Invalid enum value 'training'"):
        list(open_hub(str(tmp_path / "bad")).read())


def test_what_is_missing_is_said_with_what_there_is(hf, tmp_path):
    folder = tmp_path / "many"
    for name in "abc":
        write(folder / f"{name}.jsonl", ROWS)
    splits = "  data_files:\n  - {split: train, path: b.jsonl}\n  - {split: test, path: c.jsonl}\n"
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: one\n  data_files: a.jsonl\n- config_name: two\n{splits}---\n")
    columns = ColumnMap.parse(COLUMNS)
    assert told(open_hub(f"{folder}:one", columns)) == EXPECTED
    assert open_hub(f"{folder}:two@test", columns).name == "many:two@test"
    for name, said in [
        ("", r"cannot be loaded: .*available configs: \['one', 'two'\]"),
        (":three", r"cannot be loaded: .*'three' not found. Available: \['one', 'two'\]"),
        (":two", r"has several splits; name one of hf:.*many:two@train, hf:.*many:two@test"),
        (":two@dev", r"cannot be loaded: .*Unknown split .dev.. Should be one of \['train', 'test'\]"),
    ]:
        with pytest.raises(DataError, match=said):
            open_hub(f"{folder}{name}", columns)
    with pytest.raises(DataError, match=r"hf:.*:one: text=x: there is no column 'x'; there are: 'q', 'm', 'z'"):
        open_hub(f"{folder}:one", ColumnMap.parse(["text=x", "language=:en"]))
    with pytest.raises(DataError, match=r"needs a column map, such as text=COLUMN .*; its columns: 'q', 'm', 'z'"):
        open_hub(f"{folder}:one")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("./nope", "there is no folder or file './nope'"),
        ("/nope@train", "there is no folder or file '/nope'"),
        ("s3://bucket/x", "must be hf:NAME"), ("name@", "must be hf:NAME"), ("name:", "must be hf:NAME"), (":config", "must be hf:NAME"), ("@split", "must be hf:NAME"),
        ("nobody/nothing", "the Hugging Face Hub cannot be reached: .*Try again with a network, or fetch the data .*--local-dir FOLDER.* and give hf:FOLDER"),
        ("no body//x", "cannot be (loaded|reached)"),
    ],
)  # fmt: skip
def test_a_name_that_leads_nowhere_is_one_message(hf, name, said):
    with pytest.raises(DataError, match=said):
        open_hub(name, ColumnMap.parse(COLUMNS))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"q":\n', "cannot be loaded: DatasetGenerationError.*JSON"),
        ("a.parquet", b"no parquet", "cannot be loaded: .*[Pp]arquet"),
        ("a.txt", b"x", r"a file must end in \.parquet, \.arrow, \.jsonl, \.json, \.csv, and has no config"),
    ],
)
def test_a_broken_file_is_one_message(hf, name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        open_hub(str(tmp_path / name), ColumnMap.parse(COLUMNS))


def test_broken_folders_are_one_message(hf, tmp_path):
    for name, file in [("empty", None), ("script", "script.py"), ("saved", "state.json")]:
        (tmp_path / name).mkdir()
        if file:
            (tmp_path / name / file).write_text("raise SystemExit('this ran')")
        with pytest.raises(DataError, match="cannot be loaded: "):
            open_hub(str(tmp_path / name), ColumnMap.parse(COLUMNS))


def test_what_lies_here_wins_over_the_signs_in_its_name(hf, tmp_path):
    write(tmp_path / "a@b:c" / "rows.jsonl", ROWS)
    assert told(open_hub(str(tmp_path / "a@b:c"), ColumnMap.parse(COLUMNS))) == EXPECTED


@pytest.mark.parametrize("spec", [None, importlib.machinery.ModuleSpec("datasets", None, is_package=True)])
def test_our_folder_of_the_same_name_is_not_taken_for_the_package(spec, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(DataError, match=r"needs Hugging Face's package 'datasets'.*pip install 'salience-workbench\[evals\]'"):
        open_hub("some/name", ColumnMap.parse(COLUMNS))


def test_a_command_in_the_checkout_is_quiet_and_writes_to_its_own_cache_alone(tmp_path):
    write(tmp_path / "mine" / "rows.jsonl", ROWS)
    code = (
        "import os, sys\nfrom evals.data.foreign import open_foreign\nassert 'datasets' not in sys.modules\n"
        f"print(len(list(open_foreign('hf:{tmp_path / 'mine'}', {COLUMNS!r}).read())))\n"
        "import datasets, huggingface_hub.constants as hub\n"
        "print(hub.HF_HUB_DISABLE_TELEMETRY, datasets.config.HF_UPDATE_DOWNLOAD_COUNTS, datasets.are_progress_bars_disabled())\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    home = tmp_path / "home"
    home.mkdir()
    env = kept | {"HOME": str(home), "HF_HOME": str(tmp_path / "hf"), "HF_DATASETS_OFFLINE": "1", "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["2", "True", "False", "False"], "")
    assert not any(home.iterdir())
