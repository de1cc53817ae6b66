"""The arguments of `salience memory`, and those of `salience extract` that are about a memory store. Only argparse is imported."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verbs = argparse._SubParsersAction
Add = Callable[..., argparse.ArgumentParser]
"""Adds a verb: the group of verbs that it belongs to, name, handler, what it does, epilog."""

EXTRACT = """\
examples:
  salience extract "My sister Tove is allergic to latex." -m embedded/smollm2
  salience extract "I moved to Tartu." -m embedded/smollm2 --memory mine.sqlite --user ada
  salience extract "I left Acme, I'm at Orla now." -m ollama/NAME --memory mine.sqlite --user ada
  salience memory list mine.sqlite

With --memory the model is also asked what becomes of what is known already. Each candidate is
  ADDED    new
  UPDATED  put into a memory that it completes or corrects: was, now
  RETIRED  what ends or contradicts memories: which, and what is stored in their place
  KNOWN    said before, which is counted
  SKIPPED  not worth it (below the policy's threshold), or nearly said before where distance decides
and nothing is erased: `salience memory history` shows what was, when and why it ended.
"""
_MEMORY = """\
examples:
  salience extract "I moved to Tartu." -m embedded/smollm2 --memory mine.sqlite --user ada
  salience memory list mine.sqlite --user ada --all
  salience memory query mine.sqlite "where does she live" --user ada -n 3
  salience memory history mine.sqlite 3f2a9c01 --user ada
  salience memory export mine.sqlite --user ada -o ada.jsonl
  salience memory import other.sqlite ada.jsonl --user ada
"""


def memory_options(extract: argparse.ArgumentParser) -> None:
    """Declare the options of `salience extract` that are about a memory store."""
    group = extract.add_argument_group("memory")
    group.add_argument("--memory", metavar="FILE", help="put what is found into this memory store; it is made where there is none")
    group.add_argument("--user", metavar="NAME", help="whose memories these are; nobody's are shown or changed but theirs")
    group.add_argument(
        "--consolidation", metavar="NAME|FILE",
        help="what decides what becomes of memories: a consolidation policy of the model, a rule such as nearest-update, or none, so that "
        "distance decides (default: default)",
    )  # fmt: skip
    group.add_argument("--source-id", metavar="ID", help="which message, session or document it was said in; kept with the memories")


def memory_verbs(verbs: Verbs[argparse.ArgumentParser], add: Add, whole: Callable[[str], int]) -> None:
    """Declare the verbs.

    Args:
        verbs: Where `memory` belongs.
        add: Adds a verb to a group.
        whole: Reads a whole number from 1 up.
    """
    group = add(verbs, "memory", "", "See what a memory store knows, what was superseded, when and why.", _MEMORY).add_subparsers(
        metavar="ACTION", required=True
    )
    listing = add(group, "list", "evals.cli.memory:show_list", "List the memories of a user.", "")
    query = add(group, "query", "evals.cli.memory:query", "Find the memories of a user that are nearest to a text.", "")
    history = add(
        group, "history", "evals.cli.memory:show_history",
        "Show every version of memories: when it was written, when and why it was retired, and what stands in its place.", "",
    )  # fmt: skip
    forget = add(group, "forget", "evals.cli.memory:forget", "Retire a memory by hand; its history stays.", "")
    export = add(group, "export", "evals.cli.memory:export", "Write all versions of a user's memories as JSON Lines.", "")
    take_in = add(group, "import", "evals.cli.memory:take_in", "Take in what export wrote, all or nothing.", "")
    for parser in (listing, query, history, forget, export):
        parser.add_argument("file", metavar="FILE", help="the memory store; it is never made")
    take_in.add_argument("file", metavar="FILE", help="the memory store; it is made where there is none")
    listing.add_argument("--all", action="store_true", help="every version, retired ones too")
    query.add_argument("text", metavar="TEXT", help="what the memories should be about")
    query.add_argument("-n", "--limit", type=whole, default=10, metavar="N", help="at most N memories (default: 10)")
    query.add_argument("--threshold", type=_cosine, metavar="X", help="only those at least so similar, from -1 to 1")
    history.add_argument("id", nargs="?", metavar="ID", help="one memory and what it superseded; the beginning of its id is enough")
    forget.add_argument("id", metavar="ID", help="a live memory; the beginning of its id is enough")
    forget.add_argument("--because", metavar="TEXT", help="why, for the history")
    export.add_argument("-o", "--output", metavar="OUT.jsonl", help="the file to write (default: to stdout)")
    export.add_argument("--force", action="store_true", help="replace OUT.jsonl if it is there")
    take_in.add_argument("lines", metavar="IN.jsonl", help='what export wrote, or "-" to read it from stdin')
    for parser in (listing, query, history, forget, export):
        parser.add_argument("--user", metavar="NAME", help="whose memories (default: the only user there is)")
    take_in.add_argument("--user", required=True, metavar="NAME", help="whose memories they become")
    for parser in (listing, query, history, forget, take_in):
        parser.add_argument("--json", action="store_true", help="as JSON on stdout")


def _cosine(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 2.0
    if not -1 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a cosine similarity from -1 to 1, got {text!r}")
    return value
