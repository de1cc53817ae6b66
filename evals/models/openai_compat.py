"""One client for servers that speak OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp and most others, over aiohttp.

A call is one attempt. Trying again, and at what rate, is `evals.models.calling`'s; which parameter to do without, `fallbacks`'.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evals.errors import CallError, ModelError
from evals.models.base import Fingerprint, ModelReply, RefusedParameterError
from evals.models.bodies import Bodies
from evals.models.completion import error_inside, read_completion
from evals.models.endpoint import Endpoint
from evals.models.fallbacks import MAYBE_REFUSALS, REFUSALS, UNSUPPORTED, WRAPPER_KEY, Asked, Learned, Style, next_style
from evals.models.http_faults import ErrorBody, Peer, event_stream, fault, parse_error, parse_json, parse_retry_after, redirect
from evals.models.redaction import Secrets
from salience.protocols import Message

if TYPE_CHECKING:
    import aiohttp

_LARGEST_BODY = 16 << 20
_LARGEST_ERROR = 64 << 10
_CONNECT_SECONDS = 10


class OpenAICompatModel:
    """A model behind an OpenAI-compatible server.

    Args:
        name: The model's name as the user wrote it.
        model: The name that the server knows it by.
        endpoint: Where the server is.
        key: Sent as a bearer token where given. Kept out of every message, repr, reply and fingerprint.
        concurrency: The most calls in flight, from 1 up.
        timeout: Seconds for one attempt, from the first byte sent to the last one read.
        secrets: What else no message and no reply may show.
        openai: Whether this is OpenAI itself, which wants `max_completion_tokens` and an object at a schema's root.
        hint: What to do where no server answers, as a sentence.
    """

    def __init__(  # noqa: PLR0913 - all but three have defaults and are keywords
        self,
        name: str,
        model: str,
        endpoint: Endpoint,
        *,
        key: str | None = None,
        concurrency: int = 16,
        timeout: float = 120.0,
        secrets: Sequence[str] = (),
        openai: bool = False,
        hint: str = "Start the server, or check the address",
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._model, self._endpoint, self._key = model, endpoint, key
        self._timeout, self._hint = timeout, hint
        self._peer = Peer(endpoint.shown, Secrets([key, *secrets, *endpoint.secrets]))
        self._learned = Learned(Style("max_completion_tokens", "wrapped") if openai else Style())
        self._bodies = Bodies(model)
        self._session: aiohttp.ClientSession | None = None
        self._proxy: dict[str, Any] = {}
        self.fingerprint: Fingerprint = {
            "engine": "openai-compatible",
            "endpoint": endpoint.shown,
            "model": model,
            "schema_wrapper": WRAPPER_KEY if openai else "",
        }

    def __repr__(self) -> str:
        """Return name and address, no key."""
        return f"OpenAICompatModel({self.name!r}, {self._endpoint.shown!r})"

    async def prepare(self) -> None:
        """Look whether a server on this machine listens; a remote one shows at the first call.

        Raises:
            ModelError: Nothing listens at the address.
        """
        if not self._endpoint.is_loopback:
            return
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(self._endpoint.host, self._endpoint.port), 5)
        except (OSError, TimeoutError):
            raise ModelError(f"{self.name}: no server answers at {self._endpoint.shown}. {self._hint}") from None
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ModelReply:
        """Return the server's answer to one request; see `Model.chat`."""
        asked = Asked(messages, schema, max_tokens, temperature, seed)
        return await self._ask(asked, self._learned.style(asked))

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _ask(self, asked: Asked, style: Style, *, is_new: bool = False) -> ModelReply:
        """Send once in a style; what succeeds in a new one is remembered."""
        status, headers, data = await self._send(self._bodies.body(asked, style))
        if 300 <= status < 400:
            raise redirect(status, headers.get("Location"), self._peer)
        if status >= 400:
            raise self._failure(asked, style, status, headers, parse_error(data))
        if len(data) > _LARGEST_BODY:
            raise CallError("bad-reply", f"{self._peer.shown} sent more than {_LARGEST_BODY >> 20} MiB", status=status)
        entry = parse_json(data, self._peer)
        hidden = error_inside(entry)
        if hidden:
            raise self._failure(asked, style, hidden[0], headers, parse_error(json.dumps({"error": hidden[1]}).encode()))
        reply = read_completion(entry, self._peer, self._learned.fallbacks(asked, style))
        if is_new:
            self._learned.keep(asked, style)
        return reply

    def _failure(self, asked: Asked, style: Style, status: int, headers: Mapping[str, str], told: ErrorBody) -> CallError:
        asked_to_wait = parse_retry_after(headers.get("Retry-After"), datetime.datetime.now(datetime.UTC))
        error = fault(status, told, asked_to_wait, self._peer)
        if error.kind != "http" or not (status in REFUSALS or (status in MAYBE_REFUSALS and UNSUPPORTED.search(told.message))):
            return error
        said = re.sub(rf"(?<!\w){re.escape(self._model)}(?!\w)", "", told.message)  # a model may be called "seed-oss"
        other = next_style(asked, style, ErrorBody(said, told.code, told.param))
        return error if other is None else RefusedParameterError(error, partial(self._ask, asked, other, is_new=True))

    async def _send(self, data: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Send once; return status, headers and body, or raise what went wrong on the way."""
        import aiohttp

        where = self._peer.shown
        try:
            session = self._open_session()
            async with session.post(self._endpoint.url, data=data, allow_redirects=False, **self._proxy) as response:
                if response.content_type == "text/event-stream":
                    raise event_stream(self._peer)
                body = await _read(response, _LARGEST_BODY if response.status < 300 else _LARGEST_ERROR)
                return response.status, response.headers, self._peer.secrets.hide(body)
        except aiohttp.ConnectionTimeoutError:
            raise self._no_connection(f"it could not be reached within {_CONNECT_SECONDS} s") from None
        except TimeoutError:
            raise CallError("timeout", f"{where} did not answer within {self._timeout:g} s", retryable=True) from None
        except aiohttp.ClientPayloadError:
            raise CallError("bad-reply", f"{where} broke off in the middle of its answer", retryable=True) from None
        except aiohttp.ClientResponseError as error:
            told = self._peer.excerpt(" ".join(error.message.split()))
            raise CallError("bad-reply", f"{where} sent what is no valid HTTP: {told}", retryable=True) from None
        except aiohttp.ClientSSLError as error:
            raise self._no_connection(f"{error}. {_tls_hint(error)}", retryable=False) from None
        except aiohttp.ServerDisconnectedError:
            raise self._no_connection("it closed the connection without an answer") from None
        except (aiohttp.ClientError, OSError) as error:
            cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            raise self._no_connection(getattr(cause, "strerror", None) or str(cause) or type(cause).__name__) from None

    def _no_connection(self, reason: str, *, retryable: bool = True) -> CallError:
        told = self._peer.excerpt(f"no connection to {self._peer.shown}: {reason}", 600)
        return CallError("connection", f"{told}. {self._hint}", retryable=retryable)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            timeout = aiohttp.ClientTimeout(total=self._timeout, sock_connect=_CONNECT_SECONDS)
            self._proxy = self._endpoint.proxy()  # once, as it reads the whole environment
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self.concurrency),
                headers=headers,
                timeout=timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _tls_hint(error: Exception) -> str:
    """Return what to do about a failure of TLS, as half a sentence."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "Its certificate is not trusted here: name the authority's file in SSL_CERT_FILE"
    return "If the server speaks plain HTTP, write http:// instead of https://"


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return a body, or of a longer one a little more than `limit` bytes."""
    if response.content_length is not None and response.content_length <= limit and "Content-Encoding" not in response.headers:
        return await response.read()  # as long as it says: no more than this is taken from the connection
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > limit:
            break
    return b"".join(parts)
