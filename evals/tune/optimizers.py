"""The optimisers: what each changes, needs and costs, and how it is started. What is scored, and what becomes of it, is not known here."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals.errors import WorkbenchError


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What an optimiser works with.

    Attributes:
        student: The program that it begins from.
        train: Examples to learn from.
        shown: Those of them that may be shown as examples, with their right replies.
        dev: Examples to choose on.
        score: The objective of an example and a prediction; with a trace, whether the reply may be an example.
        feedback: The objective with feedback in words.
        writer: DSPy's language model that proposes texts, or None.
        task: DSPy's language model that is tuned for.
        threads: How many cases at once.
        seed: Of all that is drawn.
        options: The optimiser's options, complete.
    """

    student: Any
    train: Sequence[Any]
    shown: Sequence[Any]
    dev: Sequence[Any]
    score: Callable[..., Any]
    feedback: Callable[..., Any]
    writer: Any
    task: Any
    threads: int
    seed: int
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many cases there are to learn from, to show, and to choose on."""

    train: int
    shown: int
    dev: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """One way to search.

    Attributes:
        name: As on the command line.
        changes: "examples", "instructions" or both.
        writer: "needed", "optional" or "none".
        options: Every option with its default.
        most_calls: The most calls of the tuned model, from the numbers of cases and the options.
        most_written: The most calls of the writer, from the options.
        note: What to know.
        start: Runs it and returns the program that it found best.
    """

    name: str
    changes: str
    writer: str
    options: Mapping[str, int | float]
    most_calls: Callable[[Sizes, Mapping[str, Any]], int]
    most_written: Callable[[Mapping[str, Any]], int]
    note: str
    start: Callable[[Search], Any]


def _labeled(search: Search) -> Any:
    """Each draw of labelled examples is a candidate; DSPy's own `LabeledFewShot` draws one, and always the same."""
    import dspy

    best, best_score = None, float("-inf")
    for draw in range(int(search.options["candidates"])):
        order = list(search.shown)
        random.Random(f"{search.seed} {draw}").shuffle(order)
        program = dspy.LabeledFewShot(k=int(search.options["examples"])).compile(search.student, trainset=order, sample=False)
        score = evaluate(search, program)
        if score > best_score:
            best, best_score = program, score
    return best


def evaluate(search: Search, program: Any) -> float:
    """Return the mean objective of a program over the dev examples, in percent."""
    import dspy

    found = dspy.Evaluate(devset=list(search.dev), metric=search.score, num_threads=search.threads, display_progress=False)(program)
    return float(found.score)


def _bootstrap_rs(search: Search) -> Any:
    import dspy

    options = search.options
    order = list(search.shown)
    random.Random(search.seed).shuffle(order)
    return dspy.BootstrapFewShotWithRandomSearch(
        metric=search.score, max_bootstrapped_demos=options["bootstrapped"], max_labeled_demos=options["examples"],
        num_candidate_programs=options["candidates"], num_threads=search.threads, max_errors=1,
    ).compile(search.student, trainset=order, valset=list(search.dev))  # fmt: skip


def _mipro(search: Search) -> Any:
    import dspy

    options = search.options
    return dspy.MIPROv2(
        metric=search.score, prompt_model=search.writer, task_model=search.task, auto=None, num_candidates=options["candidates"],
        max_bootstrapped_demos=options["bootstrapped"], max_labeled_demos=options["examples"], num_threads=search.threads,
        seed=search.seed, max_errors=1,
    ).compile(
        search.student, trainset=list(search.shown), valset=list(search.dev), num_trials=options["trials"], minibatch=False,
        view_data_batch_size=5, program_aware_proposer=False,
    )  # fmt: skip


def _copro(search: Search) -> Any:
    import dspy

    return dspy.COPRO(
        prompt_model=search.writer, metric=search.score, breadth=search.options["breadth"], depth=search.options["depth"],
        init_temperature=search.options["temperature"],
    ).compile(
        search.student, trainset=[*search.train, *search.dev],
        eval_kwargs={"num_threads": search.threads, "display_progress": False},
    )  # fmt: skip


def _gepa(search: Search) -> Any:
    import dspy

    return dspy.GEPA(
        metric=search.feedback, max_metric_calls=search.options["metric_calls"], reflection_lm=search.writer,
        reflection_minibatch_size=search.options["minibatch"], num_threads=search.threads, track_stats=True, seed=search.seed,
        use_merge=False, warn_on_score_mismatch=False, failure_score=-1.0,
    ).compile(search.student, trainset=list(search.train), valset=list(search.dev))  # fmt: skip


def _simba(search: Search) -> Any:
    """Cases become examples and are shown to the writer, so it learns from train alone, and dev chooses among its best programs."""
    import dspy

    options, cases = search.options, list(search.shown)
    simba = dspy.SIMBA(
        metric=search.score, bsize=min(int(options["batch"]), len(cases)), num_candidates=options["candidates"],
        max_steps=options["steps"], max_demos=options["examples"], prompt_model=search.writer or search.task, num_threads=search.threads,
    )  # fmt: skip
    append = simba.strategies[0]

    def append_a_demo_(bucket: Any, system: Any, **rest: Any) -> Any:  # DSPy's own takes any reply that scores better than most
        best = bucket[0]
        return search.score(best["example"], best["prediction"], best["trace"]) and append(bucket, system, **rest)

    simba.strategies[0] = append_a_demo_
    programs = [one["program"] for one in simba.compile(search.student, trainset=cases, seed=search.seed).candidate_programs]
    return max(programs, key=lambda program: evaluate(search, program))


def _infer_rules(search: Search) -> Any:
    """Rules are induced by the writer, and all else is asked of the tuned model; each candidate has a signature of its own.

    DSPy writes into the signature that all its copies share, and so returns the last text with the best one's score.
    """
    import dspy

    options, writer = search.options, search.writer or search.task
    rules = dspy.InferRules(
        metric=search.score, num_candidates=options["candidates"], num_rules=options["rules"], num_threads=search.threads,
        max_bootstrapped_demos=options["bootstrapped"], max_labeled_demos=options["examples"], max_errors=1,
        teacher_settings={"lm": writer},  # of the program that induces
    )  # fmt: skip
    rules.teacher_settings = {"lm": search.task}  # of what bootstraps examples

    def with_rules(predictor: Any, induced: str) -> None:
        predictor.signature = predictor.signature.with_instructions(f"{predictor.signature.instructions}\n\nRules:\n{induced}")

    rules.update_program_instructions = with_rules
    return rules.compile(search.student, trainset=list(search.shown), valset=list(search.dev))


def _few_shot(shown: int, options: Mapping[str, Any]) -> int:
    return (int(options["candidates"]) + 1) * shown


OPTIMIZERS: Mapping[str, Optimizer] = {
    one.name: one
    for one in (
        Optimizer(
            name="labeled", changes="examples", writer="none", options={"candidates": 8, "examples": 8}, start=_labeled,
            most_calls=lambda s, o: o["candidates"] * s.dev, most_written=lambda _: 0,
            note="draws of labelled train cases; the cheapest, and works with the weakest model",
        ),
        Optimizer(
            name="bootstrap-rs", changes="examples", writer="none", options={"candidates": 6, "examples": 8, "bootstrapped": 4},
            start=_bootstrap_rs, most_calls=lambda s, o: (o["candidates"] + 3) * s.dev + _few_shot(s.shown, o),
            most_written=lambda _: 0, note="replies of the model itself that were right, filled up with labelled ones",
        ),
        Optimizer(
            name="mipro", changes="instructions and examples", writer="needed",
            options={"candidates": 5, "trials": 10, "examples": 4, "bootstrapped": 3}, start=_mipro,
            most_calls=lambda s, o: (o["trials"] + 2) * s.dev + _few_shot(s.shown, o),
            most_written=lambda o: 3 * o["candidates"] + 25, note="a Bayesian search over proposed texts and sets of examples",
        ),
        Optimizer(
            name="copro", changes="instructions", writer="needed", options={"breadth": 4, "depth": 2, "temperature": 1.0}, start=_copro,
            most_calls=lambda s, o: o["breadth"] * o["depth"] * (s.train + s.dev),
            most_written=lambda o: o["breadth"] * o["depth"], note="texts after texts, each round told what the last ones scored",
        ),
        Optimizer(
            name="gepa", changes="instructions", writer="needed", options={"metric_calls": 600, "minibatch": 4}, start=_gepa,
            most_calls=lambda s, o: o["metric_calls"] + s.dev + 2 * o["minibatch"],
            most_written=lambda o: 4 * o["metric_calls"] // o["minibatch"],  # where no answer can be read, each round asks so often
            note="the writer is told which memories were missed, merged, false or forbidden, and why",
        ),
        Optimizer(
            name="simba", changes="examples and rules", writer="optional",
            options={"batch": 16, "candidates": 3, "steps": 4, "examples": 4}, start=_simba,
            most_calls=lambda s, o: o["steps"] * o["batch"] * (2 * o["candidates"] + 1) + (o["steps"] + 1) * (s.shown + s.dev),
            most_written=lambda o: o["steps"] * (o["candidates"] + 1),
            note="learns where answers to one case vary most; without a writer the model writes",
        ),
        Optimizer(
            name="infer-rules", changes="examples and rules", writer="optional",
            options={"candidates": 4, "rules": 8, "examples": 6, "bootstrapped": 3}, start=_infer_rules,
            most_calls=lambda s, o: o["candidates"] * s.dev + s.shown,
            most_written=lambda o: 4 * o["candidates"], note="rules read off labelled cases, put under the prompt",
        ),
    )
}  # fmt: skip


_WITH_THE_BASE = {"copro": ("breadth",), "mipro": ("candidates",)}
"""Options that count the base among the texts that are tried."""


def options_for(optimizer: Optimizer, given: Sequence[str]) -> dict[str, int | float]:
    """Return an optimiser's options, the defaults overlaid by `NAME=VALUE`.

    Raises:
        WorkbenchError: An option is not one of the optimiser's, or no number from 1 up (a temperature: from 0), or leaves nothing to try.
    """
    options = dict(optimizer.options)
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or name not in options:
            raise WorkbenchError(
                f"--option {text!r} is none of {optimizer.name}; write NAME=VALUE with one of "
                + ", ".join(f"{key}={default:g}" for key, default in optimizer.options.items())
            )
        options[name] = _number(name, value, options[name])
    if options.get("bootstrapped", 0) > options.get("examples", float("inf")):
        raise WorkbenchError(f"bootstrapped={options['bootstrapped']} must be at most examples={options['examples']}, which it is part of")
    for name in _WITH_THE_BASE.get(optimizer.name, ()):
        if options[name] < 2:
            raise WorkbenchError(f"{name}={options[name]} must be 2 or more: one of them is the prompt as it is")
    return options


def _number(name: str, text: str, default: float) -> int | float:
    try:
        value = int(text) if isinstance(default, int) else float(text)
    except ValueError:
        value = -1
    least = 1 if isinstance(default, int) else 0
    if not least <= value < 1_000_000:
        raise WorkbenchError(f"--option {name} must be a {'whole number' if least else 'number'} from {least} up, got {text!r}")
    return value


def optimizer_named(name: str) -> Optimizer:
    """Return an optimiser.

    Raises:
        WorkbenchError: There is none of that name.
    """
    if name not in OPTIMIZERS:
        raise WorkbenchError(f"there is no optimiser {name!r}; there are: {', '.join(OPTIMIZERS)} (salience tune --list)")
    return OPTIMIZERS[name]


def check_writer(optimizer: Optimizer, given: bool) -> None:
    """Check that there is a writer where one is needed, and none where nothing is written.

    Raises:
        WorkbenchError: It is otherwise.
    """
    if optimizer.writer == "needed" and not given:
        raise WorkbenchError(f"{optimizer.name} needs a writer: --writer MODEL, or --variants FILE with prompts of your own")
    if optimizer.writer == "none" and given:
        raise WorkbenchError(f"{optimizer.name} changes examples only and takes no writer")
