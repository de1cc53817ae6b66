"""Which method of a model client is used for a policy, and whether what it answered is what it must answer."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from salience.errors import OptionError, SeamError
from salience.policy import Policy
from salience.types import Reply

if TYPE_CHECKING:
    from salience.requests import Request  # a cycle otherwise

Seam = Literal["chat", "complete"]


def seam_of(client: object, policy: Policy) -> Seam:
    """Return which method of a client to use: `chat` where it has one, else `complete`.

    Raises:
        OptionError: `policy` is no Policy.
        SeamError: The client has neither, or the policy needs `chat` and the client lacks it.
    """
    given = type(client).__name__
    if not isinstance(policy, Policy):
        raise OptionError(f"policy must be a salience.Policy, got {policy!r}; Policy.load(...) loads one by name or file")
    if callable(getattr(client, "chat", None)):
        return "chat"
    if not callable(getattr(client, "complete", None)):
        raise SeamError(f"{given} is no model client: it has neither chat(messages, ...) nor complete(system=..., prompt=...)")
    if policy.needs_chat:
        raise SeamError(
            f"the policy {policy.name!r} has a reply schema, decoding parameters or examples sent as turns, which needs a client with "
            f"chat(messages, *, schema, max_tokens, temperature); {given} has only complete(). Give it a chat method (see "
            f"salience.ChatClient), or use a policy without them, such as 'plain'"
        )
    return "complete"


def call(client: Any, seam: Seam, request: Request) -> object:
    """Return what a client's method returns for a request; an awaitable if the client is asynchronous."""
    if seam == "chat":
        decoding = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        return client.chat(request.messages, schema=request.schema, **decoding)
    system, user = request.messages  # without examples sent as turns there are exactly two
    return client.complete(system=system["content"], prompt=user["content"])


def _wrong_answer(client: object, method: str, answer: object) -> NoReturn:
    if inspect.iscoroutine(answer):
        answer.close()
        raise SeamError(f"{type(client).__name__}.{method} is asynchronous: use AsyncModelSalienceExtractor")
    wanted = "a salience.Reply" if method == "chat" else "a str"
    raise SeamError(f"{type(client).__name__}.{method} must return {wanted}, got {type(answer).__name__}")


def as_reply(client: object, seam: Seam, answer: object) -> Reply:
    """Return a client's answer as a Reply.

    Raises:
        SeamError: The method is asynchronous, or returned something of another type.
    """
    if seam == "chat" and isinstance(answer, Reply):
        if not isinstance(answer.text, str):
            raise SeamError(f'{type(client).__name__}.chat returned a Reply whose text is {answer.text!r}; it must be a str, "" for none')
        return answer
    if seam == "complete" and isinstance(answer, str):
        return Reply(answer)
    _wrong_answer(client, seam, answer)
