"""What is in a dataset, in numbers. Values for a card or a terminal; no judgement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from evals.cases import SPLITS, Case
from evals.data.dataset import Dataset
from evals.report.safe import printable
from evals.rubric import Rubric
from evals.text import fold, word_ngrams

UNSPACED = ("zh", "ja", "th")
"""Languages whose words are not parted by spaces."""
OPENING, RUN = 3, 6
"""Words of an opening, and of a run (three times as many characters in text without spaces)."""
_SHOWN = 5


def describe(dataset: Dataset) -> dict[str, Any]:
    """Return counts of a dataset by split, language, tag, length, grade and label.

    Lengths are characters of `messages`, and words of those in languages that part words by spaces; salience is counted by the
    labelled value. `repeated` has the openings (first words of what the user says first) and the runs of words that several
    conversations share.
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
        "languages": sorted_counts(case.language for case in cases),
        "tags": {
            tag: {"cases": count, "conversations": len({case.conversation for case in cases if tag in case.tags})}
            for tag, count in sorted_counts(tag for case in cases for tag in case.tags).items()
        },
        "characters": _lengths(sum(len(message["content"]) for message in case.messages) for case in cases),
        "words": _lengths(
            sum(len(message["content"].split()) for message in case.messages) for case in cases if case.language not in UNSPACED
        ),
        "repeated": _repeated(cases),
        "memories": len(memories),
        "grades": dict(Counter(rubric.grade(memory) for memory in memories).most_common()),
        "salience": {f"{value:g}": count for value, count in sorted(Counter(memory.salience for memory in memories).items())},
        "kinds": sorted_counts(memory.kind for memory in memories),
        "observed": sorted_counts(memory.observed for memory in memories),
        "about": sorted_counts(memory.about for memory in memories),
        "speaker": sorted_counts(memory.speaker for memory in memories),
        "forbidden": sorted_counts(item.reason for case in cases for item in case.forbidden),
    }


def _part(cases: list[Case]) -> dict[str, int]:
    conversations = len({case.conversation for case in cases})
    return {"cases": len(cases), "conversations": conversations, "negatives": sum(case.negative for case in cases)}


def sorted_counts(values: Iterable[str]) -> dict[str, int]:
    """Return how often each value occurs, the most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _lengths(values: Iterable[int]) -> dict[str, int]:
    sizes = sorted(values) or [0]
    quarter = len(sizes) // 4
    return {"least": sizes[0], "lower quartile": sizes[quarter], "median": sizes[len(sizes) // 2],
            "upper quartile": sizes[-1 - quarter], "most": sizes[-1]}  # fmt: skip


def _repeated(cases: Iterable[Case]) -> dict[str, dict[str, int]]:
    """Openings and runs of words that more than one conversation has, with the number of these, the most frequent first."""
    openings: dict[str, set[str]] = defaultdict(set)
    runs: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        first = next((message["content"] for message in case.messages if message["role"] == "user"), "")
        openings[" ".join(fold(first).split()[:OPENING])].add(case.conversation)
        for message in case.messages:
            for run in word_ngrams(message["content"], RUN):
                runs[run].add(case.conversation)
    return {name: _sorted_counts_of(found) for name, found in (("openings", openings), ("runs", runs))}


def _sorted_counts_of(found: Mapping[str, set[str]]) -> dict[str, int]:
    shared = {text: len(conversations) for text, conversations in found.items() if len(conversations) > 1 and text}
    return dict(sorted(shared.items(), key=lambda item: (-item[1], item[0])))


def render(description: dict[str, Any]) -> str:
    """Return a description as text."""
    d = description
    lines = [f"{printable(d['name'])} {d['version']} ({d['hash']}): {d['cases']} cases in {d['conversations']} conversations, "
             f"{d['negatives']} negative, {d['with_assistant']} with an assistant"]  # fmt: skip
    for split, part in d["splits"].items():
        lines.append(f"  {split:6} {part['cases']:5} cases  {part['conversations']:4} conversations  {part['negatives']:4} negative")
    for title in ("languages", "characters", "words", "grades", "salience", "kinds", "observed", "about", "speaker", "forbidden"):
        lines.append(f"{title}: " + ", ".join(f"{printable(str(name))} {count}" for name, count in d[title].items()))
    for name, found in d["repeated"].items():
        shown = ", ".join(f"{printable(text)!r} {count}" for text, count in list(found.items())[:_SHOWN])
        lines.append(f"{name} that conversations share: {len(found)}" + (f" ({shown})" if shown else ""))
    lines.append(
        "tags (cases/conversations): " + ", ".join(f"{printable(tag)} {n['cases']}/{n['conversations']}" for tag, n in d["tags"].items())
    )
    return "\n".join(lines)
