"""`salience memory`: what a store knows of a user, what was superseded, when and why; and moving it out and in.

The verbs that read change nothing, and make no file.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from evals.cli.memory_text import counted, found, history, listing
from evals.cli.output import note, print_json, print_text, terminal_width
from evals.cli.stores import check_user, embeddings_of, find_id, named, opened, short_ids, whose
from evals.errors import WorkbenchError
from evals.report.safe import printable
from salience.memory import SqliteStore, StoredMemory, export_lines, import_lines, model_of


def show_list(options: argparse.Namespace) -> int:
    """Run `salience memory list`."""
    with opened(options.file) as store:
        user = whose(store, options.user)
        every = store.list(user, retired=True)
        memories = every if options.all else [one for one in every if one.live]
        _print_versions(options, memories, listing(memories, _ids(every), terminal_width(), every=options.all))
        told = counted(len(memories), "version", "versions") if options.all else counted(len(memories), "memory", "memories")
        retired = len(every) - len(memories)
        more = f"; --all shows {counted(retired, 'retired version', 'retired versions')} too" if retired else ""
        _note_user(store, user, f"{told} of {user}{more}")
    return 0


def query(options: argparse.Namespace) -> int:
    """Run `salience memory query`."""
    if not options.text.strip():
        raise WorkbenchError("the text is empty; say what the memories should be about")
    with opened(options.file) as store:
        user = whose(store, options.user)
        embeddings = embeddings_of(store, user)
        hits = store.nearest(user, embeddings.embed(options.text), model_of(embeddings), limit=options.limit)
        hits = [hit for hit in hits if options.threshold is None or hit.similarity >= options.threshold]
        if options.json:
            print_json([{"similarity": hit.similarity, **hit.memory.to_dict()} for hit in hits])
        elif hits:
            print_text(found(hits, _ids(store.list(user, retired=True)), terminal_width()))
        _note_user(store, user, f"{counted(len(hits), 'memory', 'memories')} of {user}; similar means spelt alike, by {embeddings.name}")
    return 0


def show_history(options: argparse.Namespace) -> int:
    """Run `salience memory history`."""
    with opened(options.file) as store:
        user = whose(store, options.user)
        every = store.list(user, retired=True)
        ids = _ids(every)
        shown = every if options.id is None else store.history(user, find_id(options.id, list(ids)))
        _print_versions(options, shown, history(shown, ids, terminal_width()))
        _note_user(store, user, f"{counted(len(shown), 'version', 'versions')}, in the order of writing")
    return 0


def forget(options: argparse.Namespace) -> int:
    """Run `salience memory forget`: a memory is live no longer; its history stays."""
    with opened(options.file) as store:
        user = whose(store, options.user)
        live = [one.id for one in store.list(user)]
        memory_id = find_id(options.id, live)
        with store.turn(user) as turn:
            gone = turn.retire(memory_id, "deleted", because=options.because)
        if options.json:
            print_json(gone.to_dict())
        else:
            print_text(f"forgotten: {printable(gone.content)}")
        _note_user(store, user, f"{counted(len(live) - 1, 'memory', 'memories')} of {user} left; its history stays")
    return 0


def export(options: argparse.Namespace) -> int:
    """Run `salience memory export`."""
    with opened(options.file) as store:
        user = whose(store, options.user)
        if user not in store.users():
            raise WorkbenchError(f"{options.file} knows no user {user!r}; it has {named(store.users()) or 'none'}")
        lines = export_lines(store, user)
        if options.output is None:
            for line in lines:
                sys.stdout.write(line.replace("\x7f", "\\u007f") + "\n")  # all else is printable ASCII
            return 0
        path = Path(options.output)
        if path.exists() and not options.force:
            raise WorkbenchError(f"{path} exists already; choose another name, or --force to replace it")
        if path.exists() and path.samefile(options.file):
            raise WorkbenchError(f"{path} is the memory store itself; choose another name")
        _write(path, lines)
        versions = counted(store.count(user, retired=True), "version", "versions")
        print_text(f"{printable(str(path))}: {versions} of memories of {printable(user)}, {store.count(user)} live")
    return 0


def take_in(options: argparse.Namespace) -> int:
    """Run `salience memory import`."""
    check_user(options.user)
    lines = _lines(options.lines)
    with opened(options.file, create=True) as store:
        done = import_lines(store, options.user, lines, embeddings_of(store, options.user))
    if options.json:
        print_json({"versions": done.versions, "known": done.known, "turns": done.turns})
    else:
        new = counted(done.versions, "new version", "new versions")
        print_text(f"{printable(options.file)}: {new} of memories of {printable(options.user)}, {done.known} known already")
    return 0


def _ids(memories: Sequence[StoredMemory]) -> dict[str, str]:
    return short_ids([one.id for one in memories])


def _print_versions(options: argparse.Namespace, memories: Sequence[StoredMemory], text: str) -> None:
    if options.json:
        print_json([one.to_dict() for one in memories])
    elif memories:
        print_text(text)


def _note_user(store: SqliteStore, user: str, text: str) -> None:
    """Write to stderr what was shown, or that there is no such user, which a slip of the pen may have made."""
    users = store.users()
    if user in users:
        note(f"({text})")
    else:
        note(f"({store.filename} knows no user {user!r}; it has {named(users) or 'none'})")


def _lines(name: str) -> list[str]:
    try:
        if name == "-":
            return sys.stdin.read().splitlines()
        with Path(name).open(encoding="utf-8") as file:
            return list(file)
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"{name}: this is no text in UTF-8: {error.reason} at byte {error.start}; give what export wrote") from None


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file that only its owner can read, as memories are private; whole or not at all."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
