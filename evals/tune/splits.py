"""The cases of a search: train to learn from and dev to choose on, without train cases that are near one of another split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals.data.dataset import Cases, Dataset
from evals.data.kinds import KINDS, RowKind
from evals.data.select import Selection, select
from evals.errors import DataError, WorkbenchError
from evals.matching.vectors import VectorStore
from evals.near import NEAR, nearest

_KIND: Mapping[str, RowKind] = {one.name.removesuffix(" case"): one for one in KINDS}
_PAIRS = 1000


@dataclass(frozen=True, slots=True)
class Splits:
    """What a search sees.

    Attributes:
        train: To learn from.
        dev: To choose on.
        near: Ids of train cases that were left out, each with the id of the case of another split that it is near.
        checked: Whether nearness could be looked at.
    """

    train: Cases
    dev: Cases
    near: tuple[tuple[str, str], ...]
    checked: bool

    def describe(self, dataset: Dataset) -> dict[str, Any]:
        """Return what an artefact says of the data."""
        return {
            "name": dataset.name, "version": dataset.version, "hash": dataset.hash,
            **{name: {"hash": part.hash, "cases": len(part), "conversations": len(set(part.conversations))}
               for name, part in (("train", self.train), ("dev", self.dev))},
            "near": [list(pair) for pair in self.near], "near_checked": self.checked,
        }  # fmt: skip


def split(
    task: str,
    dataset: Dataset,
    *,
    train: int | None,
    dev: int | None,
    languages: Sequence[str] = (),
    seed: int,
    store: VectorStore,
    tell: Callable[[str], None],
) -> Splits:
    """Return the cases of a search. Of test only the texts are read, to leave out what is near them.

    Args:
        task: "extraction" or "consolidation".
        dataset: All splits.
        train: At most so many train cases, drawn evenly over conversations; None takes all.
        dev: The same of dev.
        languages: Only cases of these languages; empty takes all.
        seed: Of the draws.
        store: Where vectors are kept.
        tell: Is told what a person should know.

    Raises:
        DataError: There are no train or no dev cases, or one conversation is in both.
    """
    parts = {name: dataset.of_split(name).cases for name in ("train", "dev") if name in dataset.cases.splits}
    for name in ("train", "dev"):
        if name not in parts:
            raise DataError(
                f"{dataset.name} has no {name} cases: a search learns on train and chooses on dev; salience data stats shows splits"
            )
    both = set(parts["train"].conversations) & set(parts["dev"].conversations)
    if both:
        raise DataError(f"the conversation {min(both)!r} is in train and in dev; a split is by conversation (salience data validate)")
    near, checked = _near(task, dataset.cases, store, tell)
    left = {first for first, _ in near}
    wanted = {name: _of_languages(cases, languages, name) for name, cases in parts.items()}
    places = [place for place, name in enumerate(wanted["train"].ids) if name not in left]
    chosen = select(wanted["train"].pick(places), Selection(limit=train, seed=seed))
    return Splits(chosen, select(wanted["dev"], Selection(limit=dev, seed=seed)), near, checked)


def _of_languages(cases: Cases, languages: Sequence[str], name: str) -> Cases:
    if not languages:
        return cases
    chosen = cases.pick(place for place, language in enumerate(cases.languages) if language in languages)
    if not len(chosen):
        raise DataError(f"no {name} case is in {', '.join(languages)}; there are: {', '.join(sorted(set(cases.languages)))}")
    return chosen


def _near(task: str, cases: Sequence[Any], store: VectorStore, tell: Callable[[str], None]) -> tuple[tuple[tuple[str, str], ...], bool]:
    splits = {case.id: case.split for case in cases}
    tell("looking for train cases that are near another split's; slow only the first time")
    try:
        pairs = nearest(cases, store, most=_PAIRS, kind=_KIND[task])
    except WorkbenchError as error:
        tell(f"near-duplicates between splits were not looked for: {error}")
        return (), False
    found = {}
    for pair in pairs:
        if pair.cosine >= NEAR:
            for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
                if splits[one] == "train":
                    found[one] = other
    return tuple(sorted(found.items())), True
