"""A store with a clock that ticks a second at every write, and helpers that write one memory."""

import itertools

import pytest

from salience.memory import HashedNgrams, NewMemory, SqliteStore, model_of

EMBEDDINGS = HashedNgrams(256)
MODEL = model_of(EMBEDDINGS)


class Clock:
    def __init__(self):
        self.ticks = itertools.count()

    def __call__(self):
        return f"2026-03-02T09:00:{next(self.ticks):02d}.000000Z"


@pytest.fixture
def embeddings():
    return EMBEDDINGS


@pytest.fixture
def model():
    return MODEL


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    numbers = itertools.count(1)
    name = tmp_path / "m.db" if request.param == "file" else ":memory:"
    with SqliteStore(name, clock=Clock(), new_id=lambda: f"id{next(numbers)}") as opened:
        yield opened


@pytest.fixture
def write():
    """Write one memory in a turn of its own, and return it."""

    def one(store, user, content, **fields):
        with store.turn(user, MODEL) as turn:
            memory_id = fields.pop("memory_id", None)
            return turn.write(NewMemory(content, **fields), EMBEDDINGS.embed(content), memory_id=memory_id)

    return one


@pytest.fixture
def contents():
    """The contents of what a list or a query returned, in order."""
    return lambda found: [getattr(one, "memory", one).content for one in found]
