"""The errors of the workbench: a user's mistake or a missing thing, said in one message without a traceback."""


class WorkbenchError(Exception):
    """Base class. The message says what was given, what is allowed and what to do next; `exit_code` is the command's."""

    exit_code = 2


class DataError(WorkbenchError):
    """A data file is not what it must be; the message names file, line and field."""


class ModelError(WorkbenchError):
    """A model cannot be had: unknown name, missing file, key, package or server."""


class RunError(WorkbenchError):
    """A run folder cannot be used."""


class IncompleteError(WorkbenchError):
    """A run ended with calls missing, or with too many errors."""

    exit_code = 3


class CallError(WorkbenchError):
    """One call to a model failed. It is recorded and counted, never scored as an empty answer.

    Attributes:
        kind: One word: "timeout", "connection", "http", "rate-limit", "auth", "too_long", "bad-reply", "engine".
        retryable: Whether the same call may succeed later.
        retry_after: Seconds that the server asked to wait, where it did.
        attempts: How often the call was sent before it was given up.
        status: The HTTP status that the server answered with, where it answered.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        attempts: int = 1,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts = attempts
        self.status = status


TOO_LONG_ADVICE = "; split long turns with a policy that has max_turn_chars (salience policy save POLICY --max-turn-chars N ...)"
"""The end of every message of the kind "too_long"."""
