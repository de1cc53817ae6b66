"""What can go wrong with an OpenAI-compatible service, one class for each thing a caller may want to do about it. No text here holds a key.

None of these hides a lost call: a client raises one of them, or returns what the model answered.
"""

from __future__ import annotations

from typing import TypeVar

from salience.errors import SalienceError

_Error = TypeVar("_Error", bound="ProviderError")


class ProviderError(SalienceError):
    """A call to a model service failed. The message says what happened and what to do next.

    Args:
        message: The whole text; keys are out of it already.
        status: The HTTP status, where there was an answer.
        retryable: Whether the same call may succeed later.
        retry_after: Seconds that the server asked to wait, where it did.
        said: What the server said, redacted; "" for nothing.
        param: The parameter of the request that the server blames; "" where it names none.
        attempts: How often the call was sent before it was given up.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        said: str = "",
        param: str = "",
        attempts: int = 0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.said = said
        self.param = param
        self.attempts = attempts


class MissingKeyError(ProviderError):
    """No key was given, and the service takes none without."""


class KeyRefusedError(ProviderError):
    """The service does not accept the key, or the key may not use what was asked for (401, 403)."""


class QuotaError(ProviderError):
    """The account has no quota or credit left. Waiting does not help, so it is never tried again."""


class RateLimitError(ProviderError):
    """There were too many calls in a short time (429), still after waiting."""


class RequestError(ProviderError):
    """The service refuses the request as it is: an unknown model or address, a parameter, a prompt that is too long, a redirect."""


class ServerError(ProviderError):
    """The service failed (5xx), still after trying again."""


class NoConnectionError(ProviderError):
    """No connection could be made, or it broke, still after trying again."""


class DeadlineError(ProviderError):
    """The whole answer did not come within the time for one attempt. Not tried again, as the service may have done the work."""


class BadReplyError(ProviderError):
    """The answer is none of the kind that was asked for: no JSON, no choices, no vectors, or too long."""


class RefusalError(ProviderError):
    """The model or the service's content filter declined to answer."""


def after_attempts(error: _Error, attempts: int, patience: float) -> _Error:
    """Return an error that says how often the call was sent, and whether the server asked for a longer wait than there is patience for.

    Args:
        error: The last attempt's error.
        attempts: How often the call was sent, from 1 up.
        patience: The longest wait that is accepted, in seconds.
    """
    message = str(error)
    if error.retryable and (error.retry_after or 0) > patience:
        message += f" (it asks to wait {error.retry_after:.0f} s, which is longer than {patience:g} s)"
    if attempts > 1:
        message += f" (after {attempts} attempts)"
    error.args = (message,)
    error.attempts = attempts
    return error
