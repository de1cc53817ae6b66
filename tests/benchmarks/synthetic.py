"""Many cases and replies for benchmarks, made from the bundled train and dev cases: no two copies share a statement.

What is measured on them is time and memory; their labels mean nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evals.cases import Case
from evals.data.dataset import Dataset
from evals.data.files import load_dataset
from evals.matching.classifier import ClassifierMatcher
from evals.matching.vectors import Vector, VectorStore
from evals.plan import RunConfig, make_plan, manifest_of
from evals.requests import RequestHasher
from evals.runlog import MANIFEST, Record, RunLog, write_json
from salience import build_request

_HEADS = ("Bar", "Cal", "Dor", "Fen", "Gal", "Hol", "Jar", "Kel", "Lom", "Mar", "Nor", "Pel", "Quin", "Ras", "Sol", "Tor", "Ul", "Ves")
_TAILS = ("aby", "dane", "eck", "field", "gate", "holm", "ick", "ley", "mouth", "ness", "ow", "port", "rith", "stow", "ton", "um", "wick")
_ENDS = ("", " Lower", " Upper", " Old", " New", " East", " West")


def _places() -> Iterator[str]:
    return (head + tail + end for head, tail, end in product(_HEADS, _TAILS, _ENDS))


def copies(count: int) -> Iterator[Case]:
    """Yield so many cases; each copy of a bundled case speaks of another place."""
    originals = [case for case in load_dataset().cases if case.split != "test"]
    made = 0
    for number, place in enumerate(_places()):
        for case in originals:
            if made == count:
                return
            made += 1
            yield _copy(case, number, place)


def _copy(case: Case, number: int, place: str) -> Case:
    def told(text: str) -> str:
        return f"{text} ({place})"

    memories = tuple(
        msgspec.structs.replace(one, content=told(one.content), paraphrases=tuple(map(told, one.paraphrases))) for one in case.memories
    )
    forbidden = tuple(
        msgspec.structs.replace(one, content=told(one.content), paraphrases=tuple(map(told, one.paraphrases))) for one in case.forbidden
    )
    first, *rest = case.messages
    messages = ({**first, "content": f"{first['content']} ({place})"}, *rest)
    return msgspec.structs.replace(
        case, id=f"{case.id}-{number}", conversation=f"{case.conversation}-{number}", split="dev", messages=messages, memories=memories,
        forbidden=forbidden,
    )  # fmt: skip


def reply_to(case: Case, draw: random.Random) -> str:
    """Return a reply as a fair model may give it: most memories in other words, one invention, now and then what is forbidden."""
    items: list[dict[str, Any]] = []
    for memory in case.memories:
        if draw.random() < 0.7:
            said = draw.choice(memory.phrases)
            items.append({"content": f"{said}, as was said", "salience": draw.choice((0.5, 0.7, 0.9))})
    items.append({"content": f"Once there was talk of {case.messages[0]['content'][:60]!r}", "salience": 0.6})
    if case.forbidden and draw.random() < 0.2:
        items.append({"content": f"{case.forbidden[0].content}, perhaps", "salience": 0.7})
    return json.dumps(items, ensure_ascii=False)


def write_cases(path: Path, count: int) -> None:
    """Write a file of so many cases."""
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        for case in copies(count):
            file.write(encode(case) + b"\n")


def write_run(folder: Path, data: Path) -> Dataset:
    """Write a finished run of one model over the cases of a file, and return the dataset."""
    config = RunConfig(data=str(data), models=("synthetic",), policies=("default",))
    plan = make_plan(config)
    policy = plan.cells[0].policy
    assert policy is not None
    draw, hasher = random.Random(5), RequestHasher()
    with RunLog(folder) as log:
        write_json(folder / MANIFEST, manifest_of(plan, {"synthetic": {"engine": "synthetic"}}, {}))
        for case in plan.cases:
            hashed = hasher.hash(build_request(policy, case.turn()))
            log.append(
                Record(
                    model="synthetic",
                    policy=policy.hash,
                    case=case.id,
                    reply=reply_to(case, draw),
                    request_hash=hashed,
                    input_tokens=500,
                    output_tokens=100,
                    seconds=0.5,
                )
            )
    return plan.dataset


class Trigrams:
    """A stand-in for a sentence encoder: alike spelling gives alike vectors, at a thousandth of the cost. For timing only."""

    def __init__(self, name: str) -> None:
        self.id, self.hash = name, hashlib.sha256(name.encode()).hexdigest()

    def missing(self) -> str | None:
        """Return None: nothing is needed."""
        return None

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return a unit vector of 384 numbers for each text."""
        found = []
        for text in texts:
            codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
            grams = (codes[:-2] * 1_000_003 + codes[1:-1] * 10_007 + codes[2:]) % 384 if len(codes) > 2 else codes % 384
            counts = np.bincount(grams.astype(np.int64), minlength=384).astype(np.float32)
            found.append(counts / max(float(np.linalg.norm(counts)), 1e-6))
        return found


def matcher(folder: Path) -> ClassifierMatcher:
    """Return the default matcher with stand-in encoders; vectors are kept in the folder."""
    return ClassifierMatcher(store=VectorStore(folder / "vectors.sqlite"), english=Trigrams("minilm"), multilingual=Trigrams("e5"))
