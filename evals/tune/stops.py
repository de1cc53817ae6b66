"""What ends a tuning run before its end. Not errors of a prompt: an optimiser must never take one of these for a bad score.

`dspy.Evaluate` and every optimiser turn an `Exception` of a program into a score of 0 and carry on. So these derive from `BaseException`;
nothing but the command, which says what happened and exits, catches them.
"""

from __future__ import annotations


class TuningStopped(BaseException):
    """The run is over and incomplete; what was answered so far is in the reply cache, and the same command goes on from there.

    Attributes:
        exit_code: The command's, as of `evals.errors.WorkbenchError`.
    """

    exit_code = 3


class BudgetSpent(TuningStopped):
    """A limit of calls, tokens or money was reached; the message says which."""


class Outage(TuningStopped):
    """A model could not be asked, or failed in a way that says nothing of the prompt."""


class ParityBroken(TuningStopped):
    """Something was about to be asked or scored that the plain extractor would not ask: a mistake in the program, not of a model."""

    exit_code = 2
