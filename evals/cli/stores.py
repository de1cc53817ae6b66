"""Memory stores as the verbs name them: which file, whose memories, by which id, compared by which embeddings. No memory is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from evals.errors import WorkbenchError
from evals.report.safe import printable
from salience.memory import EmbeddingsProvider, HashedNgrams, SqliteStore, storable

MAKE_ONE = "salience extract TEXT -m MODEL --memory {} --user NAME makes one"
_FEWEST = 8
_MOST_NAMED = 10


@contextmanager
def opened(filename: str, *, create: bool = False) -> Iterator[SqliteStore]:
    """Open a store for one verb.

    Args:
        filename: Its file, as the user wrote it.
        create: Whether it is made where there is none.

    Raises:
        WorkbenchError: It is not there, or is none.
        StoreError: It cannot be opened.
    """
    path = Path(filename)
    if filename == ":memory:" or not filename.strip():
        raise WorkbenchError(f"a memory store must be a file that stays after the command, got {filename!r}")
    if not create:
        if not path.exists():
            raise WorkbenchError(f"{filename}: there is no such memory store; {MAKE_ONE.format(filename)}")
        if not path.is_file() or not path.stat().st_size:
            raise WorkbenchError(f"{filename}: this is no memory store; {MAKE_ONE.format('FILE')}")
    with SqliteStore(filename) as store:
        yield store


def check_user(user: str) -> None:
    """Refuse a name that no memories can be kept under.

    Raises:
        WorkbenchError: It is one.
    """
    if not user.strip() or storable(user) != user:
        raise WorkbenchError(f"--user must be a name, in valid UTF-8, got {user!r}")


def whose(store: SqliteStore, given: str | None) -> str:
    """Return the user that a verb is about: the one that was named, or the only one there is.

    Raises:
        WorkbenchError: None was named, and there is none or more than one; the name cannot be one.
    """
    if given is not None:
        check_user(given)
        return given
    users = store.users()
    if not users:
        raise WorkbenchError(f"{store.filename} holds no memories yet; {MAKE_ONE.format(store.filename).replace('one', 'some')}")
    if len(users) > 1:
        raise WorkbenchError(f"{store.filename} holds memories of several users: {named(users)}; say whose with --user NAME")
    return users[0]


def named(users: Sequence[str]) -> str:
    """Return names of users for a message, at most ten of them."""
    shown = ", ".join(printable(one) for one in users[:_MOST_NAMED])
    return shown + (f" and {len(users) - _MOST_NAMED} more" if len(users) > _MOST_NAMED else "")


def embeddings_of(store: SqliteStore, user: str) -> EmbeddingsProvider:
    """Return embeddings whose vectors compare with those that a user has; the lexical ones where there are none.

    Raises:
        WorkbenchError: The vectors are of a model that this command does not ask.
    """
    model, own = store.model(user), HashedNgrams()
    if model is None or model == (own.name, own.dimensions):
        return own
    if model.name == own.name:
        return HashedNgrams(model.dimensions)
    raise WorkbenchError(
        f"{store.filename}: the vectors of {user!r} are of {model.name} with {model.dimensions} dimensions, which this command does not "
        "make; use salience.memory from Python with these embeddings, or move the memories to another file with `salience memory export` "
        f"and `salience memory import`, which gives them vectors of {own.name}"
    )


def find_id(given: str, ids: Sequence[str]) -> str:
    """Return the id that a user means: a whole one, or the beginning of one and no other.

    Args:
        given: What the user wrote; escapes count as they are shown.
        ids: All ids there are, each once.

    Raises:
        WorkbenchError: It is the beginning of none, or of several.
    """
    if given in ids:
        return given
    found = [one for one in ids if given and (one.startswith(given) or printable(one).startswith(given))]
    if len(found) == 1:
        return found[0]
    shown = short_ids(ids)
    if not found:
        raise WorkbenchError(f"no memory of this user has an id that begins with {given!r}; `salience memory list --all` shows all")
    several = ", ".join(shown[one] for one in found[:_MOST_NAMED])
    raise WorkbenchError(f"{given!r} begins several ids: {several}{' and more' if len(found) > _MOST_NAMED else ''}; give more of it")


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return what to show of each id: so much of its beginning, from 8 characters on, that it is that of no other."""
    ordered = sorted(set(ids))
    shared = [_shared(one, other) for one, other in pairwise(ordered)]
    needed = [max(before, after) + 1 for before, after in zip([0, *shared], [*shared, 0], strict=True)]
    return {one: printable(one[: max(_FEWEST, most)]) for one, most in zip(ordered, needed, strict=False)}


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), min(len(one), len(other)))
