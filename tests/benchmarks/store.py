"""Times the memory store: writing and querying 1,000, 10,000 and 100,000 memories of one user. Prints one line for each size.

    PYTHONPATH=. python tests/benchmarks/store.py [--sizes 1000 10000] [--dimensions 384] [--plain]

`fill` is turns of 100 memories, `turn` one turn of three, `cold` the first query of a process, which loads the vectors (and numpy), `query`
the median and the slowest of the further ones (without making the query's vector), `after write` a query after another process wrote.
`--plain` goes without numpy. `table.py` uses `queries`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from salience.memory import EmbeddingModel, NewMemory, SqliteStore
from salience.memory import vectors as vectors_module

USER = "u"


def seconds(act: Callable[[], object]) -> float:
    """Return how long something takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def write(store: SqliteStore, model: EmbeddingModel, draw: random.Random, count: int) -> None:
    """Write one turn of random memories."""
    with store.turn(USER, model) as turn:
        for _ in range(count):
            vector = [draw.gauss(0, 1) for _ in range(model.dimensions)]
            turn.write(NewMemory(f"User's fact number {draw.random()} about things that matter"), vector)


def ask(path: Path, model: EmbeddingModel) -> dict[str, float]:
    """Return how long the first query of this process takes, and the further ones in the median, in seconds."""
    draw = random.Random(7)
    asked = [[draw.gauss(0, 1) for _ in range(model.dimensions)] for _ in range(21)]
    with SqliteStore(path) as store:
        first = seconds(lambda: store.nearest(USER, asked[0], model))
        warm = [seconds(lambda vector=vector: store.nearest(USER, vector, model)) for vector in asked[1:]]  # type: ignore[misc]
    return {"cold": first, "query": statistics.median(warm), "slowest": max(warm)}


def ask_anew(path: Path, model: EmbeddingModel, *, plain: bool = False) -> dict[str, float]:
    """Return what `ask` does in a process of its own, which has loaded nothing yet."""
    words = [sys.executable, __file__, "--ask", str(path), "--dimensions", str(model.dimensions), *(["--plain"] if plain else [])]
    found: dict[str, float] = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return found


def queries(path: Path, size: int, dimensions: int = 384, rounds: int = 3) -> dict[str, float]:
    """Return what the first and the further queries of a process over so many memories take, in the median of some processes."""
    model, draw = EmbeddingModel("random", dimensions), random.Random(size)
    with SqliteStore(path) as store:
        for _ in range(size // 500):
            write(store, model, draw, 500)
    found = [ask_anew(path, model) for _ in range(rounds)]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def measure(path: Path, size: int, model: EmbeddingModel, draw: random.Random, *, plain: bool = False) -> dict[str, float]:
    """Return the timings of one size, in seconds."""
    with SqliteStore(path) as store:
        times = {"fill": seconds(lambda: [write(store, model, draw, 100) for _ in range(size // 100)])}
        times["turn"] = statistics.median(seconds(lambda: write(store, model, draw, 3)) for _ in range(20))
    times |= ask_anew(path, model, plain=plain)
    asked = [draw.gauss(0, 1) for _ in range(model.dimensions)]
    with SqliteStore(path) as store, SqliteStore(path) as other:
        store.nearest(USER, asked, model)
        write(other, model, draw, 3)
        times["after write"] = seconds(lambda: store.nearest(USER, asked, model))
        times["count"] = seconds(lambda: store.count(USER))
        times["clear"] = seconds(lambda: store.clear(USER))
    return times


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time the memory store.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--plain", action="store_true", help="without numpy")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        vectors_module.numpy_or_none = lambda: None  # type: ignore[assignment]
    model = EmbeddingModel("random", options.dimensions)
    if options.ask:
        print(json.dumps(ask(options.ask, model)))
        return 0
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as place:
            times = measure(Path(place) / "m.db", size, model, random.Random(size), plain=options.plain)
        shown = "  ".join(f"{name} {value * 1000:.1f} ms" for name, value in times.items())
        print(f"{size:>7,} memories of {options.dimensions} dimensions: {shown}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
