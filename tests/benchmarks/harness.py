"""Measures the harness around calls: against bare aiohttp, on a warm cache, in memory, and at its start.

Used by `table.py`; alone it prints its own lines:

    PYTHONPATH=. python tests/benchmarks/harness.py
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import loopback
import simple_cases

DELAY = 0.05


async def _bare(url: str, calls: int, jobs: int) -> None:
    """What the harness is compared with: aiohttp with the same requests, a body made and a reply parsed, nothing else.

    The prompt and the schema are those of the policy `default`, read as data so that nothing of ours is loaded.
    """
    import aiohttp

    policy = json.loads((simple_cases.ROOT / "salience" / "prompts" / "default.json").read_text(encoding="utf-8"))
    system, schema = "\n".join(policy["system"]), json.loads(policy["schema"]) if isinstance(policy["schema"], str) else policy["schema"]
    form = {"type": "json_schema", "json_schema": {"name": "memories", "strict": False, "schema": schema}}
    left = iter(range(calls))

    async def work(session: aiohttp.ClientSession) -> None:
        for number in left:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": f"Turn:\n[user] {number}: I am one who counts."}]
            body = {"model": "m", "messages": messages, "max_tokens": 400, "temperature": 0, "seed": 0, "response_format": form}
            async with session.post(f"{url}/chat/completions", data=json.dumps(body)) as response:
                json.loads(await response.read())

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=jobs)) as session:
        await asyncio.gather(*(work(session) for _ in range(jobs)))


def _calls_only(folder: Path, url: str, jobs: int) -> None:
    """The part of `salience eval` that makes calls, without scoring: for the CPU that a call costs."""
    from evals.cli.progress import Silent
    from evals.models import open_model
    from evals.plan import RunConfig, make_plan
    from evals.run import Desk, run_plan

    plan = make_plan(RunConfig(data=str(folder / "c.jsonl"), models=("m",), base_url=url))
    model = open_model("m", base_url=url, jobs=jobs)
    with asyncio.Runner() as runner:
        run_plan(plan, folder / "run", Desk(models={"m": model}, runner=runner, progress=Silent(), jobs=jobs))
        runner.run(model.close())  # type: ignore[union-attr]


def _served(words: list[str], folder: Path) -> tuple[simple_cases.Ended, dict[str, Any]]:
    """Run a command against a fresh server; "URL" in the words stands for its address."""
    with loopback.serving(delay=DELAY) as url:
        ended = simple_cases.run([word.replace("URL", url) for word in words], folder)
        if ended.code:
            raise RuntimeError(f"{' '.join(words)} ended with {ended.code}: {ended.err}")
        return ended, loopback.counts(url)


def _eval(calls: int, jobs: int, *more: str) -> list[str]:
    return simple_cases.command(
        "eval", "--data", f"c{calls}.jsonl", "--matcher", "lexical", "-m", "m", "--base-url", "URL", "-j", str(jobs), "-q", *more
    )


def against_aiohttp(folder: Path, jobs: int, calls: int = 1000, rounds: int = 7) -> dict[str, float]:
    """Return efficiency of both (ideal time / time from the first request to the last reply), their ratio, and how much later we start.

    The median of some rounds, in which both take turns, so that a busy moment hits both.
    """
    simple_cases.write(folder / f"c{calls}.jsonl", calls)
    bare = [sys.executable, __file__, "bare", "URL", str(calls), str(jobs)]
    found: dict[str, list[float]] = {"ours": [], "aiohttp": [], "ratio": [], "later": []}
    for number in range(rounds):
        both = []
        for words in (_eval(calls, jobs, "--no-cache", "-o", f"run-{jobs}-{number}"), bare):
            ended, seen = _served(words, folder)
            both.append((calls * DELAY / jobs / (seen["seconds"] + DELAY), seen["first"] - ended.started))
        (ours, our_start), (theirs, their_start) = both
        for name, value in zip(found, (ours, theirs, ours / theirs, our_start - their_start), strict=True):
            found[name].append(value)
    return {name: statistics.median(values) for name, values in found.items()}


def cpu_a_call(folder: Path, jobs: int = 32, few: int = 500, many: int = 2500) -> dict[str, float]:
    """Return milliseconds of CPU that one more call costs us and aiohttp: from two runs of different length, so that starting drops out."""
    found = {}
    for name in ("ours", "aiohttp"):
        cpu = []
        for calls in (few, many):
            place = folder / f"{name}-{calls}"
            place.mkdir()
            simple_cases.write(place / "c.jsonl", calls)
            words = ["calls", str(place), "URL", str(jobs)] if name == "ours" else ["bare", "URL", str(calls), str(jobs)]
            cpu.append(min(_served([sys.executable, __file__, *_again(words, place, turn)], place)[0].cpu for turn in range(2)))
        found[name] = 1000 * (cpu[1] - cpu[0]) / (many - few)
    return found


def _again(words: list[str], place: Path, turn: int) -> list[str]:
    """The words of a further turn, in a folder of its own."""
    if words[0] != "calls":
        return words
    copy = place / str(turn)
    copy.mkdir()
    simple_cases.write(copy / "c.jsonl", sum(1 for _ in (place / "c.jsonl").open()))
    return ["calls", str(copy), *words[2:]]


def warm(folder: Path, cases: int = 5000, rounds: int = 5) -> dict[str, float]:
    """Return microseconds a case of a run that is answered from the cache, and its requests: the calls' part, without scoring.

    The best of some rounds, as other processes can only make one slower.
    """
    simple_cases.write(folder / "c.jsonl", cases)
    from evals.cache import ReplyCache
    from evals.cli.progress import Silent
    from evals.models import open_model
    from evals.plan import RunConfig, make_plan
    from evals.run import Desk, run_plan

    with loopback.serving() as url, asyncio.Runner() as runner, ReplyCache(folder / "replies.sqlite") as cache:
        plan = make_plan(RunConfig(data=str(folder / "c.jsonl"), models=("m",), base_url=url))
        model = open_model("m", base_url=url, jobs=32)
        desk = Desk(models={"m": model}, runner=runner, progress=Silent(), cache=cache, jobs=32)
        run_plan(plan, folder / "first", desk)
        before = loopback.counts(url)["requests"]
        spent = []
        for number in range(rounds):
            begin = time.perf_counter()
            run_plan(plan, folder / f"warm-{number}", desk)
            spent.append(time.perf_counter() - begin)
        requests = loopback.counts(url)["requests"] - before
        runner.run(model.close())  # type: ignore[union-attr]
    return {"microseconds": 1e6 * min(spent) / cases, "requests": requests}


def memory(folder: Path, cases: int) -> float:
    """Return the most megabytes that a whole `salience eval`, scoring included, holds at so many cases."""
    simple_cases.write(folder / f"c{cases}.jsonl", cases)
    with loopback.serving() as url:
        _, _, _, *words = [word.replace("URL", url) for word in _eval(cases, 32, "--no-cache", "-o", f"memory-{cases}")]
        ended = simple_cases.run([sys.executable, __file__, "peak", "--", *words], folder)
    return int(ended.err.rsplit("peak", 1)[1]) / 1024


def _peak(words: list[str]) -> None:
    """Run a command in this process and write its peak memory in kilobytes; what the kernel tells a parent holds the parent's own too."""
    from evals.cli.main import main as command

    command(words)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print("peak", next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1], file=sys.stderr)


def help_cpu(folder: Path) -> float:
    """Return seconds of CPU of `salience --help`, the best of five."""
    return min(simple_cases.run(simple_cases.command("--help"), folder).cpu for _ in range(5))


def main() -> None:
    """Be one of the measured processes, or measure and print."""
    parser = argparse.ArgumentParser(description="Measure the harness around calls.")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    words = parser.parse_args().words
    if words[:1] == ["bare"]:
        asyncio.run(_bare(words[1], int(words[2]), int(words[3])))
    elif words[:1] == ["peak"]:
        _peak(words[1:])
    elif words[:1] == ["calls"]:
        _calls_only(Path(words[1]), words[2], int(words[3]))
    else:
        with tempfile.TemporaryDirectory() as place:
            for jobs in (32, 128):
                print(f"{jobs} in flight:", against_aiohttp(Path(place), jobs))
            print("CPU ms a call:", cpu_a_call(Path(place)))
            print("warm:", warm(Path(place)))
            print("help:", help_cpu(Path(place)))


if __name__ == "__main__":
    main()
