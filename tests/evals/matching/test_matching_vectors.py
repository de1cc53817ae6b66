"""The vector store: what goes in comes out, from several processes, and without a usable folder."""

from __future__ import annotations

import logging
import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from evals.matching.vectors import VectorStore


def _vector(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).standard_normal(8).astype(np.float32)


def _write(path: Path, start: int) -> None:
    store = VectorStore(path)
    for number in range(start, start + 20):
        store.put("m", {f"text {number}": _vector(number)})


@pytest.mark.parametrize("on_disk", [True, False])
def test_round_trip(tmp_path: Path, on_disk: bool) -> None:
    store = VectorStore(tmp_path / "deep" / "v.sqlite" if on_disk else None)
    assert store.persistent is on_disk
    assert store.get("m", ["a"]) == {}
    store.put("m", {"a": _vector(1), "ü\ud800": _vector(2)})
    store.put("m", {"a": _vector(3)})
    found = store.get("m", ["a", "ü\ud800", "b"])
    assert found.keys() == {"a", "ü\ud800"}
    assert np.array_equal(found["ü\ud800"], _vector(2))
    assert store.get("other model", ["a"]) == {}


def test_more_texts_than_sqlite_takes_at_once(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v.sqlite")
    store.put("m", {str(number): _vector(number) for number in range(1200)})
    assert len(store.get("m", [str(number) for number in range(1200)])) == 1200


def test_a_vector_that_is_there_stays(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v.sqlite")
    store.put("m", {"a": _vector(1)})
    store.put("m", {"a": _vector(2)})
    assert np.array_equal(store.get("m", ["a"])["a"], _vector(1))


def test_several_processes_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(path, start)) for start in (0, 10, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(VectorStore(path).get("m", [f"text {number}" for number in range(40)])) == 40


def test_an_unusable_folder_costs_a_notice_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    store = VectorStore(tmp_path / "file" / "v.sqlite")
    with caplog.at_level(logging.WARNING):
        store.put("m", {"a": _vector(1)})
        store.put("m", {"b": _vector(2)})
    assert len(caplog.records) == 1
    assert "stay in memory" in caplog.text
    assert store.get("m", ["a", "b"]).keys() == {"a", "b"}


def test_a_broken_file_costs_a_notice_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(b"this is no database" * 100)
    store = VectorStore(path)
    with caplog.at_level(logging.WARNING):
        assert store.get("m", ["a"]) == {}
    assert len(caplog.records) == 1
