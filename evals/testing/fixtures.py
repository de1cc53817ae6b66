"""What the fixtures of the pytest plugin give, as types to annotate tests with. They are made in `evals.pytest_plugin`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evals.cases import Case
    from evals.results import CaseResult, CellResult
    from salience import Policy


class RunPolicy(Protocol):
    """What the fixture `salience_run` gives."""

    def __call__(
        self,
        policy: str | Path | Policy = "default",
        *,
        model: str | None = None,
        cases: Sequence[str | Case] | str | Path | None = None,
        data: str | Path = "extraction",
        split: str = "dev",
        matcher: str = "classifier",
        rubric: str | Path = "default",
        repeats: int = 1,
    ) -> CellResult:
        """Run a policy over cases and return the scored row; see `salience_run`."""
        ...


class ExtractCase(Protocol):
    """What the fixture `salience_extract` gives."""

    def __call__(
        self,
        policy: str | Path | Policy = "default",
        *,
        model: str | None = None,
        matcher: str = "classifier",
        rubric: str | Path = "default",
    ) -> CaseResult:
        """Run a policy over the test's case and return the scored case; see `salience_extract`."""
        ...
