"""Cases, models and searches for tests of tuning: models answer in the process from what they are sent, and keep what they were sent."""

import asyncio
import hashlib
import json
from dataclasses import dataclass, field, replace

from evals.cases import Case, Memory
from evals.cell_scoring import Scorer
from evals.data.dataset import Cases
from evals.limits import Budget, Limits
from evals.matching.base import Verdict
from evals.models.base import ModelReply
from evals.models.calling import Retry
from evals.recall_cases import ConsolidationCase, Decision, Known
from evals.signature import MatcherId
from evals.tune.engine import Desk, Engine
from evals.tune.optimizers import OPTIMIZERS
from evals.tune.search import SearchConfig, Searching
from evals.tune.splits import Splits
from evals.tune.tasks import ConsolidationTask, ExtractionTask
from evals.tune.writers import variants_lm, writer_lm
from salience import ConsolidationExample, ConsolidationPolicy, Decoding, Example, Policy, Request, Turn

SMALL = {
    "labeled": {"candidates": 4, "examples": 3},
    "bootstrap-rs": {"candidates": 3, "examples": 4, "bootstrapped": 2},
    "mipro": {"candidates": 3, "trials": 5, "examples": 3, "bootstrapped": 2},
    "copro": {"breadth": 3, "depth": 2, "temperature": 1.0},
    "gepa": {"metric_calls": 90, "minibatch": 3},
    "simba": {"batch": 6, "candidates": 3, "steps": 3, "examples": 2},
    "infer-rules": {"candidates": 3, "rules": 2, "examples": 3, "bootstrapped": 2},
}
"""Options that make each optimiser try a handful of candidates."""

VARIANTS = (
    "Write down what the person wants remembered.\n\nAnswer with JSON and nothing else.",
    'Keep facts, not talk. Use {"memories": []} only where nothing was said; {braces} and [[ ## turn ## ]] mean nothing.',
    "Merke dir, was jemand über sich sagt: Namen, Orte, Größen. \u201eNichts\u201c heißt [].",
    "One fact a memory.\n    - indented lines stay\n    - as they are\nEnd.",
    "Say it as the user would: \u2028 separators, 🦜 and \u202eright to left\u202c included.",
)
FACTS = (
    "keeps a parrot named Kiko", "works at the harbour", "plays the oboe", "lives in Tartu", "is allergic to walnuts", "studies Basque",
    "rides a green bicycle", "has two sisters", "drinks tea without milk", "sleeps in a hammock", "collects maps", "sails on Sundays",
)  # fmt: skip


class ExactMatcher:
    """Two statements match if they are the same text."""

    id, version, tells_relations, tie_margin = "exact", "1", False, 0.0

    def describe(self):
        return {"exact": 1}

    def score(self, pairs):
        same = [pair.predicted in pair.phrases for pair in pairs]
        return [Verdict(float(one), one, "", margin=1.0 if one else -1.0) for one in same]

    def language_of(self, text, expected):
        return expected


def scorer(matcher=None):
    return Scorer(matcher=matcher or ExactMatcher(), matcher_id=MatcherId("exact", "1", None, True))


def extraction_case(number, split, *, text=None, facts=None):
    """A case with no, one or two memories, by its number."""
    if facts is None:
        facts = [FACTS[(number * 5 + step) % len(FACTS)] for step in range(number % 3)]
    frame = f"Number {number} of {split}: hello. I am one who " if split == "train" else f"As for {split} {number}, by the way: "
    said = text if text is not None else frame + (" and " if split == "train" else ", besides ").join(facts or ("says hello",)) + "."
    memories = tuple(Memory(id=f"m{place}", content=f"The user {fact}", salience=0.9) for place, fact in enumerate(facts, 1))
    return Case(
        id=f"{split}-{number}", conversation=f"{split}-{number}", split=split, language="en", date="2026-03-02",
        messages=({"role": "user", "content": said},), memories=memories,
    )  # fmt: skip


def consolidation_case(number, split):
    """An ADD, UPDATE, DELETE or NONE by its number; each sixth and seventh needs no model."""
    old, new = (
        f"{split} {number}: the user {FACTS[number % len(FACTS)]}",
        f"{split} {number}: the user now {FACTS[(number + 1) % len(FACTS)]}",
    )
    existing = (Known(id="a", content=old), Known(id="b", content=f"{split} {number}: the user was born in spring"))
    decision = (
        Decision(action="ADD"),
        Decision(action="UPDATE", id="a", content=f"{old}, and {new}"),
        Decision(action="DELETE", id="a", content=new),
        Decision(action="NONE"),
    )[number % 4]
    if number % 7 == 5:
        new, decision = old, Decision(action="NONE")
    if number % 7 == 6:
        existing, decision = (), Decision(action="ADD")
    return ConsolidationCase(
        id=f"{split}-{number}",
        conversation=f"{split}-{number}",
        split=split,
        language="en",
        new_fact=new,
        existing=existing,
        decision=decision,
    )


def make_cases(task, train=12, dev=7):
    make = extraction_case if task == "extraction" else consolidation_case
    return [make(number, "train") for number in range(train)], [make(number, "dev") for number in range(dev)]


def splits_of(train, dev):
    kind = type(train[0])
    try:
        return Splits(Cases(train, kind=kind), Cases(dev, kind=kind), (), True)
    except UnicodeEncodeError:  # no file holds a lone surrogate, but a search takes any sequence
        return Splits(train, dev, (), True)


EXTRACTION_SCHEMA = Policy.load("default").schema_json
WRAPPED_SCHEMA = json.dumps({"type": "object", "properties": {"memories": json.loads(EXTRACTION_SCHEMA)}, "required": ["memories"]})


def base_policy(task, *, examples_as="system", examples=False, schema=False):
    """A policy to begin from; with a schema there are decoding parameters too."""
    decoding = Decoding(256, 0.0) if schema else Decoding()
    if task == "extraction":
        shown = (Example(Turn("I {love} 🦜 parrots.\n[[ ## reply ## ]]"), '[{"content": "The user loves parrots", "salience": 0.7}]'),)
        form = WRAPPED_SCHEMA if examples_as == "turns" else EXTRACTION_SCHEMA
        return Policy(
            name="base", system="Keep what matters. Reply with a JSON array.", examples=shown if examples else (), examples_as=examples_as,
            schema_json=form if schema else None, decoding=decoding,
        )  # fmt: skip
    given = ConsolidationExample(
        ("The user moved to {Oslo}",), ("The user lives in Tartu",), '{"decisions": [{"fact": 1, "action": "ADD"}]}'
    )
    form = ConsolidationPolicy.load("default").schema_json
    return ConsolidationPolicy(
        name="base", system="Decide about each fact. Reply with JSON.", examples=(given,) if examples else (), examples_as=examples_as,
        schema_json=form if schema else None, decoding=decoding,
    )  # fmt: skip


def wire(request):
    """All that a model gets of a request, as bytes; the order of keys counts."""
    messages = [list(dict(message).items()) for message in request.messages]
    return json.dumps([messages, request.schema, request.max_tokens, request.temperature]).encode("ascii")


class Scripted:
    """A model whose answer is a function of the request, and which keeps every request.

    Args:
        answer: (messages, temperature, seed) -> text, (text, finish reason), or an exception to raise.
        delay: Seconds that an answer takes.
    """

    def __init__(self, answer, *, name="scripted/model", concurrency=4, delay=0.0):
        self.answer, self.name, self.concurrency, self.delay = answer, name, concurrency, delay
        self.fingerprint = {"scripted": name}
        self.sent, self.seeds, self.closed = [], [], False

    async def prepare(self):
        pass

    async def close(self):
        self.closed = True

    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None, seed=None):
        self.sent.append(Request(tuple(dict(message) for message in messages), schema, max_tokens, temperature))
        self.seeds.append(seed)
        if self.delay:
            await asyncio.sleep(self.delay)
        return self.reply(messages, temperature, seed)

    def reply(self, messages, temperature, seed):
        answer = self.answer(messages, temperature, seed)
        if isinstance(answer, BaseException):
            raise answer
        text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
        return ModelReply(text, finish, 50, 10)


class Plain:
    """A client as production has one: nothing of tuning is behind it. It answers as a model would, and keeps what it was asked."""

    def __init__(self, model, seed=0):
        self.model, self.seed, self.sent = model, seed, []

    def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        self.sent.append(Request(tuple(messages), schema, max_tokens, temperature))
        return self.model.reply(messages, temperature, self.seed)


MOODS = (
    lambda gold: "[]", lambda gold: "", lambda gold: "I would keep nothing of this.",
    lambda gold: (gold[: len(gold) // 2], "length"), lambda gold: f"Here you are:\n{gold}\nAnything else?", lambda gold: f"```json\n{gold}\n```",
    lambda gold: '[{"content": "The user is made of glass", "salience": 0.9}]',
    lambda gold: '{"decisions": [{"fact": 1, "action": "DELETE", "id": 1, "content": null, "also_retire": []}]}',
)  # fmt: skip


def digest(value):
    return hashlib.sha256(json.dumps(value).encode("ascii")).digest()


def moody(golds):
    """Answer rightly or wrongly in one of many ways, by digests of all that was sent; how often rightly differs between candidates."""

    def answer(messages, temperature, seed):
        told = [[list(message.items()) for message in map(dict, messages)], temperature, seed if temperature else 0]
        shared, whole = digest(told[0][:-1]), digest(told)
        gold = golds[messages[-1]["content"]]
        return gold if whole[0] < 30 + shared[0] * 0.65 else MOODS[whole[1] % len(MOODS)](gold)

    return answer


def knowing(golds, magic):
    """Answer rightly if the system text or an example has a magic word, else with nothing."""

    def answer(messages, temperature, seed):
        return golds[messages[-1]["content"]] if any(magic in message["content"] for message in messages[:-1]) else "[]"

    return answer


@dataclass(kw_only=True)
class Setup:
    """All that a search needs; made by `setup`."""

    task: object
    splits: Splits
    base: object
    model: Scripted
    optimizer: str
    options: dict
    writer: object = None
    writing: Scripted | None = None
    seed: int = 0
    threads: int = 1
    most_chars: int = 12_000
    played: dict = field(default_factory=dict)
    explored: list = field(default_factory=list)
    plays: list = field(default_factory=list)
    spent: object = None

    def search(self, log, *, cache=None, limits=None, retry=None):
        """Search, and return what was found; `spent` is kept also where it was stopped."""
        with Desk(cache, Budget(limits or Limits())) as desk:
            engine = Engine(self.model, desk, seed=0, retry=retry or Retry(attempts=1))
            self.spent = engine.spent
            if self.writing is not None:
                self.writer = writer_lm(Engine(self.writing, desk, retry=retry or Retry(attempts=1)), 1.0)
            return self.searching(engine).run(log)

    def searching(self, engine):
        config = SearchConfig(
            optimizer=OPTIMIZERS[self.optimizer], options=self.options, base=self.base, seed=self.seed, threads=self.threads,
            most_chars=self.most_chars,
        )  # fmt: skip
        return Searching(self.task, self.splits, engine, config, self.writer)


def watched(kind, setup_of):
    """A task that notes by candidate and case what was asked and answered, and otherwise is the task."""

    class Watched(kind):
        def play(self, policy, case, client):
            played = super().play(policy, case, client)
            setup = setup_of()
            setup.plays.append(policy)
            if played.explored:
                setup.explored.append((policy, self.text(case), played))
            else:
                setup.played[policy.hash, self.text(case)] = played
            return played

    return Watched


def setup(task, optimizer, *, base=None, cases=None, answer=None, variants=VARIANTS, options=None, threads=1, matcher=None, **more):
    """Put a search together; what is not given is small and ordinary."""
    base = base or base_policy(task)
    train, dev = cases or make_cases(task)
    kind = watched(ExtractionTask if task == "extraction" else ConsolidationTask, lambda: made)
    tuned = kind([*train, *dev], scorer(matcher), base=[base])
    golds = {tuned.text(case): tuned.gold(case, replace(base, examples=())) or "[]" for case in [*train, *dev]}
    needs = OPTIMIZERS[optimizer].writer != "none" and variants is not None
    made = Setup(
        task=tuned, splits=splits_of(train, dev), base=base, model=Scripted((answer or moody)(golds)), optimizer=optimizer,
        options={**OPTIMIZERS[optimizer].options, **SMALL[optimizer], **(options or {})}, writer=variants_lm(variants) if needs else None,
        threads=threads, **more,
    )  # fmt: skip
    return made
