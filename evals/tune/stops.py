"""What ends a search. None of these is an `Exception`: DSPy scores those as 0 and goes on, as if a prompt were bad."""

from __future__ import annotations


class TuningStopped(BaseException):
    """A search that cannot go on, in one message; what was answered is kept, and the same command goes on from there.

    Attributes:
        exit_code: Of the command.
    """

    exit_code = 3


class BudgetSpent(TuningStopped):
    """A limit of calls, tokens or cost is reached."""


class Outage(TuningStopped):
    """A model cannot be asked: that says nothing about a prompt."""


class SearchBroken(TuningStopped):
    """Something of ours or of the optimiser failed in the middle of a candidate; the cause is chained."""

    exit_code = 2


class ParityBroken(TuningStopped):
    """What was sent is not what the prompt that would ship sends."""

    exit_code = 2
