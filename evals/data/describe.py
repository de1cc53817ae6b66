"""What is in a dataset, in numbers. Values for a card or a terminal; no judgement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from evals.cases import SPLITS, Case
from evals.data.dataset import Dataset
from evals.report.safe import printable
from evals.rubric import Rubric


def describe(dataset: Dataset) -> dict[str, Any]:
    """Return counts of a dataset by split, language, tag, length, grade and label.

    Lengths are characters of `messages`; salience is counted by the labelled value.
    """
    cases = dataset.cases
    rubric = Rubric()
    memories = [memory for case in cases for memory in case.memories]
    return {
        "name": dataset.name,
        "version": dataset.version,
        "hash": dataset.hash,
        "cases": len(cases),
        "conversations": len({case.conversation for case in cases}),
        "negatives": sum(case.negative for case in cases),
        "with_assistant": sum(any(message["role"] == "assistant" for message in case.messages) for case in cases),
        "splits": {split: _part([case for case in cases if case.split == split]) for split in SPLITS},
        "languages": _sorted_counts(case.language for case in cases),
        "tags": {
            tag: {"cases": count, "conversations": len({case.conversation for case in cases if tag in case.tags})}
            for tag, count in _sorted_counts(tag for case in cases for tag in case.tags).items()
        },
        "characters": _lengths(cases),
        "memories": len(memories),
        "grades": dict(Counter(rubric.grade(memory) for memory in memories).most_common()),
        "salience": {f"{value:g}": count for value, count in sorted(Counter(memory.salience for memory in memories).items())},
        "kinds": _sorted_counts(memory.kind for memory in memories),
        "observed": _sorted_counts(memory.observed for memory in memories),
        "about": _sorted_counts(memory.about for memory in memories),
        "speaker": _sorted_counts(memory.speaker for memory in memories),
        "forbidden": _sorted_counts(item.reason for case in cases for item in case.forbidden),
    }


def _part(cases: list[Case]) -> dict[str, int]:
    conversations = len({case.conversation for case in cases})
    return {"cases": len(cases), "conversations": conversations, "negatives": sum(case.negative for case in cases)}


def _sorted_counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _lengths(cases: Iterable[Case]) -> dict[str, int]:
    sizes = sorted(sum(len(message["content"]) for message in case.messages) for case in cases)
    quarter = len(sizes) // 4
    return {"least": sizes[0], "lower quartile": sizes[quarter], "median": sizes[len(sizes) // 2],
            "upper quartile": sizes[-1 - quarter], "most": sizes[-1]}  # fmt: skip


def render(description: dict[str, Any]) -> str:
    """Return a description as text."""
    d = description
    lines = [f"{printable(d['name'])} {d['version']} ({d['hash']}): {d['cases']} cases in {d['conversations']} conversations, "
             f"{d['negatives']} negative, {d['with_assistant']} with an assistant"]  # fmt: skip
    for split, part in d["splits"].items():
        lines.append(f"  {split:6} {part['cases']:5} cases  {part['conversations']:4} conversations  {part['negatives']:4} negative")
    for title in ("languages", "characters", "grades", "salience", "kinds", "observed", "about", "speaker", "forbidden"):
        lines.append(f"{title}: " + ", ".join(f"{printable(str(name))} {count}" for name, count in d[title].items()))
    lines.append(
        "tags (cases/conversations): " + ", ".join(f"{printable(tag)} {n['cases']}/{n['conversations']}" for tag, n in d["tags"].items())
    )
    return "\n".join(lines)
