"""C3: real processes are killed while they write, and several write at once. Every turn is there whole or not at all."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from salience.memory import SqliteStore

KILLS = 30

# Each turn writes three memories, the third superseding that of the turn before, updates a counter, and marks itself; once it is
# committed its number is printed.
WRITER = """
import sys
from salience.memory import NewMemory, SqliteStore, TurnMark, EmbeddingModel
path, name, begin, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
model, vector = EmbeddingModel("m", 16), [1.0] * 16
print("begun", flush=True)
with SqliteStore(path) as store:
    for number in range(begin, begin + turns):
        with store.turn(name, model) as turn:
            for part in range(3):
                turn.write(NewMemory(f"turn {number} part {part}", meta={"turn": number}), vector, memory_id=f"{number}-{part}")
            if turn.get(f"{number - 1}-2"):
                turn.retire(f"{number - 1}-2", "superseded", superseded_by=f"{number}-2")
            counter = NewMemory(f"counted to {number}")
            turn.revise("counter", counter, vector) if turn.get("counter") else turn.write(counter, vector, memory_id="counter")
            turn.mark(TurnMark("test", str(number), "d"))
        print(number, flush=True)
"""


def start(path, name, begin=0, turns=100_000):
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", WRITER, str(path), name, str(begin), str(turns)]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


def turns_held(store, name):
    """Check that the store holds every turn wholly or not at all, and return their numbers."""
    numbers = [int(mark.source_id) for mark in store.turns(name)]
    memories = store.list(name, retired=True)
    parts = Counter(memory.meta["turn"] for memory in memories if memory.meta)
    assert parts == dict.fromkeys(numbers, 3)
    live = {memory.id for memory in memories if memory.live}
    for number in numbers:
        assert (f"{number}-2" in live) == (number + 1 not in parts)
    counters = [memory for memory in memories if memory.id == "counter"]
    assert [memory.content for memory in counters] == [f"counted to {number}" for number in numbers]
    assert [memory.live for memory in counters] == [False] * (len(numbers) - 1) + [True] * bool(numbers)
    return numbers


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_process_leaves_whole_turns(tmp_path):
    draw, path, begin, interrupted = random.Random(11), tmp_path / "m.db", 0, 0
    for _ in range(KILLS):
        process = start(path, "u", begin)
        assert process.stdout.readline() == "begun\n"
        time.sleep(draw.uniform(0, 0.12))
        process.kill()
        told = [int(line) for line in process.communicate()[0].splitlines()]
        assert process.returncode == -signal.SIGKILL
        with SqliteStore(path) as store:
            numbers = turns_held(store, "u")
            assert numbers == list(range(len(numbers)))
            assert begin + len(told) <= len(numbers) <= begin + len(told) + 1  # what was told of is there
            interrupted += len(numbers) > begin
            assert store._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert store._db.execute("PRAGMA foreign_key_check").fetchall() == []
            begin = len(numbers)
    assert interrupted  # some were killed amid their turns, not all before the first


def test_several_processes_at_once_lose_nothing(tmp_path):
    path = tmp_path / "m.db"
    processes = [start(path, name, begin, 15) for name, begin in (("u", 0), ("v", 0), ("w", 0), ("x", 0))]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    with SqliteStore(path) as store:
        assert set(store.users()) == {"u", "v", "w", "x"}
        for name in store.users():
            assert turns_held(store, name) == list(range(15))


def test_a_store_that_another_process_makes_meanwhile_is_not_taken_for_a_foreign_file(tmp_path, monkeypatch):
    """The other one makes its tables between what this one reads of the file, or would if it were let."""
    path, others, connect = tmp_path / "m.db", [], sqlite3.connect

    class Slow(sqlite3.Connection):
        def execute(self, text, *values):
            found = super().execute(text, *values)
            if text != "PRAGMA application_id" or others:
                return found
            (row,) = found.fetchall()
            others.append(threading.Thread(target=lambda: SqliteStore(path).close()))
            others[0].start()
            others[0].join(timeout=0.5)
            return SimpleNamespace(fetchone=lambda: row)

    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: connect(*given, **options, factory=Slow))
    with SqliteStore(path) as store:
        assert store.users() == []
    others[0].join()


def test_several_processes_write_for_one_user(tmp_path):
    code = (
        "import sys; from salience.memory import Memory, HashedNgrams\n"
        "class Lines:\n    def extract(self, text): return [text, 'User is known to all']\n"
        "memory = Memory(sys.argv[1], HashedNgrams(16), Lines())\n"
        "for number in range(10): memory.extract(f'User told {sys.argv[2]} the number {number}', 'u', 'test', f'{sys.argv[2]} {number}')\n"
    )
    root, path = Path(__file__).resolve().parents[3], tmp_path / "m.db"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path), name], cwd=root) for name in ("one", "two", "three")]
    assert [process.wait() for process in processes] == [0, 0, 0]
    with SqliteStore(path) as store:
        assert store.count("u") == 31
        assert store.same_words("u", "User is known to all").seen == 30
        assert len(store.turns("u")) == 30
