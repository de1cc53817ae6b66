"""What a search tried: every candidate with what became of each case, as it happened. It decides nothing."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.requests import request_hash
from evals.tune.tasks import AnyPolicy, Judged, TuningTask, figures_of
from salience import Reply


@dataclass(slots=True)
class Tried:
    """A candidate.

    Attributes:
        number: From 0, in the order of their first case.
        policy: The policy that would ship.
        judged: By user message what the case is worth.
        calls: Requests that the model had been sent when the candidate came up.
    """

    number: int
    policy: AnyPolicy
    calls: int
    judged: dict[str, Judged] = field(default_factory=dict)

    def objective(self, texts: Sequence[str]) -> float:
        """Return the mean objective over cases; NaN where one of them was not tried."""
        return sum(self.judged[text].score for text in texts) / len(texts) if self.covers(texts) else math.nan

    def covers(self, texts: Sequence[str]) -> bool:
        """Whether every one of some cases was tried."""
        return bool(texts) and all(text in self.judged for text in texts)


class Ledger:
    """Every candidate of a search, safe with many threads.

    Args:
        task: What is tuned.
        dev: The user messages of the dev cases.
        watch: Is called after each judged case, or None.
        replies: A file that takes every answer as a line that `scripted/FILE` answers with again; None for none.
    """

    def __init__(
        self, task: TuningTask, dev: Sequence[str], watch: Callable[[Ledger], None] | None = None, replies: Path | None = None
    ) -> None:
        self.task, self.dev = task, tuple(dev)
        self._replies, self._told = replies, set[str]()
        self.tried: dict[str, Tried] = {}
        self.asked = 0
        self._watch = watch
        self._lock = threading.Lock()
        self._memo: dict[tuple[str, str, tuple[str, ...], bool], Judged] = {}

    def judge(self, policy: AnyPolicy, text: str, played: Any, calls: int) -> Judged:
        """Return what an answer is worth, and note it unless it was an exploring one.

        Args:
            policy: The candidate.
            text: The user message.
            played: What became of it.
            calls: Requests that the model has been sent so far.
        """
        key = (policy.hash, text, played.replies, played.too_long)
        with self._lock:
            judged = self._memo.get(key)
        if judged is None:
            judged = self.task.judge(policy, self.task.case(text), played)
        with self._lock:
            self._memo[key] = judged
            self.asked += 1
            if not played.explored:
                tried = self.tried.setdefault(policy.hash, Tried(len(self.tried), policy, calls))
                tried.judged[text] = judged
                self._keep(played)
        if self._watch is not None:
            self._watch(self)
        return judged

    def _keep(self, played: Any) -> None:
        """Write down the answers that were not written yet; those that did not fit the model's context are none."""
        if self._replies is None or played.too_long:
            return
        fresh = {request_hash(asked): answer for asked, answer in zip(played.requests, played.answers, strict=True)}
        lines = [_line(hashed, answer) for hashed, answer in fresh.items() if hashed not in self._told]
        if lines:
            self._told.update(fresh)
            with self._replies.open("a", encoding="ascii") as file:
                file.write("".join(lines))

    def whole(self) -> list[Tried]:
        """Return the candidates that every dev case was tried with."""
        return [one for one in self.tried.values() if one.covers(self.dev)]

    def dev_figures(self, tried: Tried) -> dict[str, float]:
        """Return the pooled figures of a candidate over the dev cases."""
        return figures_of(self.task, [tried.judged[text].counts for text in self.dev])

    def write(self, path: Path, base: AnyPolicy, ids: Callable[[AnyPolicy], list[str]]) -> None:
        """Write one JSON line a candidate, in the order they came up.

        Args:
            path: The file; replaced.
            base: What the search began from.
            ids: Returns what a policy's examples are called.
        """
        lines = []
        for one in sorted(self.tried.values(), key=lambda tried: tried.number):
            done = one.covers(self.dev)
            figures = {name: value for name, value in self.dev_figures(one).items() if math.isfinite(value)} if done else {}
            lines.append(json.dumps({
                "number": one.number, "hash": one.policy.hash, "what": changed(base, one.policy), "system": one.policy.system,
                "examples": ids(one.policy), "dev": figures, "n": len(self.dev) if done else 0, "cases": len(one.judged),
                "objective": one.objective(self.dev) if done else None, "calls": one.calls,
            }))  # fmt: skip
        path.write_text("".join(line + "\n" for line in lines), encoding="ascii")


def _line(hashed: str, answer: Reply) -> str:
    told = {"request": hashed, "reply": answer.text, "finish_reason": answer.finish_reason}
    tokens = {name: getattr(answer, name, None) for name in ("input_tokens", "output_tokens")}
    return json.dumps({**told, **{name: value for name, value in tokens.items() if value is not None}}) + "\n"


def changed(base: AnyPolicy, policy: AnyPolicy) -> str:
    """Return what a candidate changes of its base, in words."""
    if policy.hash == base.hash:
        return "the base itself"
    told = []
    if policy.system != base.system:
        told.append("other instructions")
    if policy.examples != base.examples:
        told.append(f"{len(policy.examples)} {'example' if len(policy.examples) == 1 else 'examples'}")
    return " and ".join(told) or "other settings"


class Ticker:
    """Tells a person how a search goes, every so many seconds."""

    def __init__(self, tell: Callable[[str], None], state: Callable[[], str], every: float = 15.0) -> None:
        self._tell, self._state, self._every = tell, state, every
        self._last = time.monotonic()

    def __call__(self, _: Ledger) -> None:
        """Tell, if it is time."""
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            self._tell(self._state())
