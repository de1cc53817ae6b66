"""One search: an optimiser over train and dev, every candidate noted, the best one on dev by the figure that the gate looks at.

It opens no test case and decides nothing about shipping. Whatever DSPy and optimisers print goes to a log file.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.metrics.measures import MEASURES
from evals.tune.canonical import check_canonical
from evals.tune.engine import Engine
from evals.tune.guards import MOST_CHARS, copied, prompt_text
from evals.tune.ledger import Ledger, Ticker, Tried
from evals.tune.optimizers import Optimizer, Search, Sizes, check_writer, evaluate
from evals.tune.splits import Splits
from evals.tune.stops import SearchBroken
from evals.tune.tasks import AnyPolicy, TuningTask

TIES: Mapping[str, str] = {"extraction": "specificity", "consolidation": "protected_touched"}
"""Task -> the figure that breaks ties between finalists, which are ranked by the task's headline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """What is searched, and how.

    Attributes:
        optimizer: Which.
        options: Its options, complete.
        base: Where it begins.
        seed: Of all that is drawn.
        threads: How many cases at once.
        most_chars: The longest prompt, examples included, that may be chosen.
    """

    optimizer: Optimizer
    options: Mapping[str, int | float]
    base: AnyPolicy
    seed: int = 0
    threads: int = 1
    most_chars: int = MOST_CHARS


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    Attributes:
        best: The best candidate on dev; the base itself where none is better.
        base: The base as a candidate.
        ledger: All that was tried.
        set_aside: Candidates that scored better than the best and may not be chosen, with the reason.
        written: How many answers a writer gave.
        accepted: How many candidates have instructions that are not the base's.
    """

    best: Tried
    base: Tried
    ledger: Ledger
    set_aside: tuple[tuple[Tried, str], ...] = ()
    written: int = 0
    accepted: int = 0

    @property
    def gained(self) -> bool:
        """Whether anything is better than the base."""
        return self.best is not self.base


@dataclass(slots=True)
class Searching:
    """A search that can be started.

    Args:
        task: What is tuned.
        splits: The cases.
        engine: Who answers.
        config: How.
        writer: DSPy's language model that proposes texts, or None.
        tell: Is told how it goes.
    """

    task: TuningTask
    splits: Splits
    engine: Engine
    config: SearchConfig
    writer: Any = None
    tell: Callable[[str], None] = field(default=lambda _: None)

    def sizes(self) -> Sizes:
        """Return how many cases there are to learn from, to show and to choose on."""
        return Sizes(len(self._asked(self.splits.train)), len(self._shown()), len(self.splits.dev))

    def run(self, log: Path, replies: Path | None = None) -> Found:
        """Search.

        Args:
            log: The file that takes what DSPy and the optimiser print.
            replies: A file that takes every answer, for `scripted/FILE`; replaced. None for none.

        Raises:
            TuningStopped: The search could not go on; nothing of it counts.
            WorkbenchError: The base would not be scored as it stands, or the optimiser and the writer do not go together.
        """
        import dspy

        from evals.tune.adapter import lm_of
        from evals.tune.modules import PolicyModule, examples_of
        from evals.tune.writers import answered

        config, task = self.config, self.task
        check_canonical(config.base.name, config.base.system)
        check_writer(config.optimizer, self.writer is not None)
        dev = [task.text(case) for case in self.splits.dev]
        if replies is not None:
            replies.write_text("", encoding="ascii")
        ledger = Ledger(task, dev, Ticker(self.tell, lambda: self._state(ledger)), replies)
        student = PolicyModule(task, config.base)
        search = Search(
            student=student, train=examples_of(task, self._asked(self.splits.train), config.base),
            shown=examples_of(task, self._shown(), config.base), dev=examples_of(task, list(self.splits.dev), config.base),
            score=self._metric(ledger, words=False), feedback=self._metric(ledger, words=True), writer=self.writer,
            task=lm_of(self.engine), threads=config.threads, seed=config.seed, options=config.options,
        )  # fmt: skip
        random.seed(config.seed)
        with _quiet(log), dspy.context(lm=search.task, max_errors=1, num_threads=config.threads):
            try:
                evaluate(search, student)
                program = config.optimizer.start(search)
                returned = program.policy()
                if returned.hash not in ledger.tried or not ledger.tried[returned.hash].covers(dev):
                    evaluate(search, program)
            except Exception as error:
                raise SearchBroken(
                    f"{config.optimizer.name} failed: {type(error).__name__}: {error}; its own words are in {log}"
                ) from error
        return self._found(ledger, answered(self.writer))

    def _asked(self, cases: Sequence[Any]) -> list[Any]:
        return [case for case in cases if self.task.asks(case)]

    def _shown(self) -> list[Any]:
        return [case for case in self._asked(self.splits.train) if self.task.gold(case, self.config.base) is not None]

    def _metric(self, ledger: Ledger, *, words: bool) -> Callable[..., Any]:
        """The objective as DSPy calls it; whatever fails in it ends the search instead of counting as 0."""
        import dspy

        kind, spent = self.task.kind, self.engine.spent

        def metric(gold: Any, found: Any, trace: Any = None, name: Any = None, name_trace: Any = None) -> Any:  # noqa: ARG001
            try:
                judged = ledger.judge(found.candidate, gold[kind], found.played, spent.calls)
            except Exception as error:
                raise SearchBroken(f"an answer could not be judged: {type(error).__name__}: {error}") from error
            if words:
                return dspy.Prediction(score=judged.score, feedback=judged.feedback)
            return judged.score if trace is None else judged.perfect

        return metric

    def _state(self, ledger: Ledger) -> str:
        spent, whole = self.engine.spent, ledger.whole()
        best = f"; best objective on dev {max(one.objective(ledger.dev) for one in whole):+.3f}" if whole else ""
        cost = "" if not spent.cost else f", ${spent.cost:.4f}"
        return (
            f"{len(ledger.tried)} candidates, {ledger.asked} answers judged, {spent.calls} calls, "
            f"{spent.input_tokens + spent.output_tokens} tokens{cost}{best}"
        )

    def _found(self, ledger: Ledger, written: int) -> Found:
        config = self.config
        base = ledger.tried[config.base.hash]
        accepted = len({one.policy.system for one in ledger.tried.values()} - {config.base.system})
        if config.optimizer.writer == "needed" and not accepted:
            raise SearchBroken(
                f"the writer brought nothing: {written} answers and no prompt out of them was tried, so this is no result about the base"
            )
        aside, best = [], base
        texts = ledger.dev
        sent = prompt_text(self.task, config.base)
        # of equals the hash decides: with many threads the order that they came up in is chance
        for one in sorted(ledger.whole(), key=lambda tried: (*rank(ledger, tried), tried.policy.hash), reverse=True):
            if rank(ledger, one)[0] <= rank(ledger, base)[0]:  # what ties breaks is which gain, not whether there is one: silence is none
                break
            prompt = prompt_text(self.task, one.policy)
            span = copied(prompt, sent, texts)
            if len(prompt) > config.most_chars:
                aside.append((one, f"its prompt has {len(prompt)} characters, more than {config.most_chars}"))
            elif span is not None:
                aside.append((one, f"it repeats a dev case: {span!r}"))
            else:
                best = one
                break
        return Found(best, base, ledger, tuple(aside), written, accepted)


def rank(ledger: Ledger, tried: Tried) -> tuple[float, float, float]:
    """Return what candidates are ordered by: the gate's figure on dev, then the figure beside it, then the objective."""
    measures, second = MEASURES[ledger.task.name], TIES[ledger.task.name]
    figures = ledger.dev_figures(tried)
    tie = _known(figures[second])
    return _known(figures[measures.headline]), -tie if second in measures.lower_is_better else tie, tried.objective(ledger.dev)


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Send what is printed and logged to a file; what `tell` writes must hold its own stream."""
    logger = logging.getLogger("dspy")
    level, propagate = logger.level, logger.propagate
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        handler = logging.StreamHandler(file)
        kept = list(logger.handlers)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO)
        try:
            with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
                yield
        finally:
            logger.handlers, logger.propagate = kept, propagate
            logger.setLevel(level)
