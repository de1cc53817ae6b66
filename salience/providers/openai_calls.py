"""A call from its first attempt to its reply, as steps without input or output, and the two shells that take the steps: sync and async.

A call is a generator. It yields what to send or how long to wait, gets what came of it, and returns the reply or raises one clear error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from salience.errors import OptionError
from salience.providers.openai_errors import ProviderError, RequestError, ServerError, after_attempts
from salience.providers.openai_faults import Peer, judge
from salience.providers.openai_http import Exchange
from salience.providers.openai_outcomes import Answer, Failure, Send, Wait
from salience.providers.openai_replies import OpenAIReply, read_completion
from salience.providers.openai_requests import Asked, Learned, Style, changes, chat_body, next_style
from salience.providers.openai_secrets import Key, Secrets
from salience.providers.openai_settings import OPENAI_URL, Endpoint, Retry, check_seconds, find_key

_T = TypeVar("_T")
Steps = Generator[Send | Wait, Answer | Failure | None, _T]
_LOG = logging.getLogger("salience.providers.openai")
_WORKERS = 32


class Service:
    """An endpoint with its key: what both shells share.

    Args:
        key: The key as given.
        base_url: The base address, or None for OpenAI.
        timeout: Seconds for one attempt, from 0.001 up.
        retry: When a call is sent again.

    Raises:
        MissingKeyError: OpenAI is asked, and there is no key.
        OptionError: A value is of the wrong type or out of range.
    """

    def __init__(self, key: Key, base_url: str | None, timeout: float, retry: Retry | None) -> None:
        self.endpoint = Endpoint.parse(OPENAI_URL if base_url is None else base_url)
        self.timeout = check_seconds("timeout", timeout, least=0.001)
        if not isinstance(retry, Retry | None):
            raise OptionError(f"retry must be a salience.providers.openai.Retry or None, got {type(retry).__name__}")
        self.retry = retry or Retry()
        self._key = find_key(key, self.endpoint)
        self.secrets = Secrets(self._key, self.endpoint.secrets())
        self._pool: ThreadPoolExecutor | None = None

    def __repr__(self) -> str:
        """Return the address, no key."""
        endpoint = getattr(self, "endpoint", None)  # a traceback may show a service that was refused
        return f"Service({endpoint.shown!r})" if endpoint else "Service()"

    def peer(self, model: str) -> Peer:
        """Return who answers for a model, for messages."""
        return Peer(self.endpoint.shown, model, self.secrets)

    def run(self, steps: Steps[_T]) -> _T:
        """Take the steps of a call and return its result. It blocks."""
        outcome: Answer | Failure | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            if isinstance(step, Wait):
                time.sleep(step.seconds)
                outcome = None
            else:
                outcome = Exchange(step, self.endpoint, self._key, self.timeout).run()

    async def run_async(self, steps: Steps[_T]) -> _T:
        """Take the steps of a call without blocking the event loop: up to 32 calls at once, each in a thread; more wait their turn."""
        import asyncio

        outcome: Answer | Failure | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                outcome = None
                continue
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="salience-openai")
            exchange = Exchange(step, self.endpoint, self._key, self.timeout)
            try:
                outcome = await asyncio.get_running_loop().run_in_executor(self._pool, exchange.run)
            except asyncio.CancelledError:
                exchange.abort()
                raise

    def close(self) -> None:
        """Let the threads of `run_async` end. It may be called twice; a later call starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)


def usual_style(endpoint: Endpoint) -> Style:
    """Return how to ask a server of which nothing is known yet."""
    return Style("max_completion_tokens", "wrapped") if endpoint.is_openai else Style()


def deliver(send: Send, peer: Peer, retry: Retry) -> Steps[tuple[Any, int]]:
    """Send a request until it succeeds or is not to be sent again; return the parsed answer and the number of attempts.

    Raises:
        ProviderError: What the last attempt ended with.
    """
    attempt = 0
    while True:
        attempt += 1
        outcome = yield send
        assert outcome is not None  # noqa: S101 - the shells answer every Send
        error, entry = judge(outcome, peer)
        if error is None:
            return entry, attempt
        wait = retry.wait(error, attempt)
        if wait is None:
            raise after_attempts(error, attempt, retry.patience)
        yield Wait(wait)


def chat_steps(asked: Asked, learned: Learned, peer: Peer, retry: Retry, *, require_schema: bool) -> Steps[OpenAIReply]:
    """Ask for a chat completion; where the server refuses a parameter, ask in another way, and remember what it took.

    Args:
        asked: What to ask for.
        learned: What the server is known to take.
        peer: Who is asked.
        retry: When to send again.
        require_schema: Whether a schema that the server refuses in every form that it would enforce ends the call.

    Raises:
        ProviderError: The call failed. Where asking in other ways failed too, it is what the server refused first.
    """
    style, sent = learned.style(asked), 0
    refused: ProviderError | None = None
    while True:
        if require_schema and style.form in {"loose", "none"} and asked.schema is not None:
            raise refused or RequestError(f"{peer.shown} refuses this schema for {peer.model!r}, and require_schema is set")
        caught: ProviderError | None = None
        try:
            entry, attempts = yield from deliver(Send("/chat/completions", chat_body(peer.model, asked, style)), peer, retry)
            sent += attempts
        except (RequestError, ServerError) as error:
            caught = error
        if caught is None:
            break
        sent += caught.attempts
        refused = refused or caught
        other = next_style(peer.model, asked, style, caught)
        if other is None:
            refused.attempts = sent
            raise refused
        style = other
    reply = read_completion(entry, peer, sent, changes(asked, style))
    if refused is not None:
        learned.keep(asked, style)
        _LOG.warning("%s refuses a parameter for %r; it is asked without from now on: %s", peer.shown, peer.model, reply.fallbacks or style)
    return reply
