"""An OpenAI-compatible server for benchmarks: cheap, with a fixed delay, seeded faults, and counts of what it was asked.

    python tests/benchmarks/loopback.py [--delay SECONDS] [--fault KIND --rate SHARE] [--seed N]

It prints its port on the first line and runs until its stdin closes. `GET /counts` gives the counts as JSON. What goes wrong with a request
is decided by the seed, the turn and how often that turn was asked before, so that it does not depend on the order of requests.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FAULTS = (
    "429", "429-after", "500", "503", "529", "reset", "timeout", "cut", "malformed", "html", "empty", "no-choice", "drip", "lost-usage",
)  # fmt: skip
"""Kinds of faults; `429-after` carries Retry-After, `timeout` never answers, `cut` ends within the body, `lost-usage` is a good reply."""
GOOD = frozenset({"", "lost-usage"})


def reply_text(turn: str) -> str:
    """Return what is answered to a turn: one memory, made of the turn's last line, or none where it is small talk."""
    last = turn.rsplit("\n", 1)[-1].split("] ", 1)[-1]
    return "[]" if last.startswith("Good morning") else json.dumps([{"content": last[:120], "salience": 0.7}])


class Plan:
    """Decides what goes wrong, and counts."""

    def __init__(self, delay: float, fault: str, rate: float, seed: int) -> None:
        self.delay, self.fault, self.rate, self.seed = delay, fault, rate, seed
        self.asked: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self.answered: set[str] = set()
        self.starts: list[float] = []

    def next(self, turn: str) -> str:
        """Return the fault of this request, "" for none."""
        key = hashlib.sha256(turn.encode()).hexdigest()[:16]
        self.asked[key] += 1
        self.starts.append(time.monotonic())
        draw = random.Random(f"{self.seed}/{key}/{self.asked[key]}").random()
        kind = self.fault if draw < self.rate else ""
        if kind == "mixed":
            kind = random.Random(f"{self.seed}/{key}/{self.asked[key]}/kind").choice(FAULTS)
        self.kinds[kind or "good"] += 1
        if kind in GOOD:
            self.answered.add(key)
        return kind

    def counts(self) -> dict[str, Any]:
        """Return what was asked so far."""
        gaps = Counter(int(start - self.starts[0]) for start in self.starts)
        return {
            "requests": sum(self.asked.values()), "turns": len(self.asked), "answered": len(self.answered),
            "most_for_one": max(self.asked.values(), default=0), "first": self.starts[0] if self.starts else None,
            "kinds": dict(self.kinds), "most_in_flight": self.most_in_flight, "most_in_a_second": max(gaps.values(), default=0),
            "seconds": self.starts[-1] - self.starts[0] if self.starts else 0.0,
        }  # fmt: skip


def _http(status: int, body: bytes, extra: str = "", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n{extra}\r\n".encode() + body


def _good(turn: str, usage: bool = True) -> bytes:
    message = {"role": "assistant", "content": reply_text(turn)}
    answer: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    if usage:
        answer["usage"] = {"prompt_tokens": len(turn) // 4, "completion_tokens": len(message["content"]) // 4}
    return json.dumps(answer).encode()


class Connection(asyncio.Protocol):
    """Reads pipelined requests from one connection and answers each after the delay."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.buffer = plan, b""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request in the buffer."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + size:
                return
            body = self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            if head.startswith(b"get"):
                self.transport.write(_http(200, json.dumps(self.plan.counts()).encode()))
                continue
            turn = json.loads(body)["messages"][-1]["content"]
            self.plan.in_flight += 1
            self.plan.most_in_flight = max(self.plan.most_in_flight, self.plan.in_flight)
            asyncio.get_running_loop().call_later(self.plan.delay, self.answer, turn, self.plan.next(turn))

    def answer(self, turn: str, kind: str) -> None:  # noqa: C901 - one line a fault
        """Send what the plan says."""
        self.plan.in_flight -= 1
        send, good = self.transport.write, _good(turn)
        if kind in {"429", "500", "503", "529"}:
            send(_http(int(kind), b'{"error": {"message": "injected"}}'))
        elif kind == "429-after":
            send(_http(429, b'{"error": {"message": "injected"}}', "Retry-After: 1\r\n"))
        elif kind == "reset":
            self.transport.abort()
        elif kind == "cut":
            send(_http(200, good[: len(good) // 2], length=len(good)))
            self.transport.close()
        elif kind == "drip":
            send(_http(200, good[:10], length=len(good)))
        elif kind == "malformed":
            send(_http(200, good[: len(good) // 2]))
        elif kind == "html":
            send(_http(200, b"<html><body>502 Bad Gateway</body></html>"))
        elif kind == "empty":
            send(_http(200, b""))
        elif kind == "no-choice":
            send(_http(200, b'{"choices": []}'))
        elif kind in GOOD:
            send(_http(200, _good(turn, usage=not kind)))
        # "timeout": nothing is ever sent


@contextmanager
def serving(**options: Any) -> Iterator[str]:
    """Run the server in a process of its own; yields its base address, such as "http://127.0.0.1:1234/v1"."""
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with subprocess.Popen([sys.executable, __file__, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def counts(base_url: str) -> dict[str, Any]:
    """Return the counts of a running server."""
    with urllib.request.urlopen(base_url + "/counts", timeout=10) as response:
        found: dict[str, Any] = json.load(response)
    return found


async def _serve(plan: Plan) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(plan), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


def main() -> None:
    """Serve until stdin closes."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server with faults.")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--fault", choices=[*FAULTS, "mixed", ""], default="")
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(_serve(Plan(options.delay, options.fault, options.rate, options.seed)))


if __name__ == "__main__":
    main()
