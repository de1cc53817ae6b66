"""One client for servers that speak OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp and most others, over aiohttp.

It retries what may pass, a bounded number of times. It does not adapt its rate, count cost, or try again without a schema.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import random
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from evals.errors import CallError, ModelError
from evals.models.base import Fingerprint, ModelReply
from evals.models.http_faults import fault, hide_key, parse_json, parse_retry_after, read_completion, redact
from salience.protocols import Message

if TYPE_CHECKING:
    import aiohttp

WRAPPER_KEY = "memories"
"""OpenAI refuses an array at the root of a schema: the array goes into an object under this key, which the reading of replies unwraps."""
_LARGEST_BODY = 16 << 20
_LARGEST_ERROR = 64 << 10
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server is.

    Attributes:
        url: The whole address of the chat completions, with a query where the base address has one.
        shown: The base address without query, for messages and the fingerprint.
        host: The host's name.
        port: The port.
        is_loopback: Whether it is this machine.
    """

    url: str
    shown: str
    host: str
    port: int
    is_loopback: bool

    @classmethod
    def parse(cls, base_url: str) -> Endpoint:
        """Return the endpoint of a base address such as "http://localhost:8000/v1".

        Raises:
            ModelError: It is no http or https address, or holds a user name or password; the message shows neither.
        """
        try:
            parts: SplitResult = urlsplit(base_url.strip())
            port = parts.port
        except ValueError:
            raise ModelError("the base URL cannot be read; give one like http://localhost:8000/v1") from None
        if parts.username is not None or parts.password is not None:
            raise ModelError("the base URL holds a user name or password; leave them out and put the key into OPENAI_API_KEY")
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.fragment:
            raise ModelError(f"the base URL must be like http://localhost:8000/v1, got {base_url.partition('?')[0]!r}")
        base = parts._replace(path=parts.path.rstrip("/"), query="")
        url = base._replace(path=base.path + "/chat/completions", query=parts.query).geturl()
        number = port or (443 if parts.scheme == "https" else 80)
        return cls(url, base.geturl(), parts.hostname, number, parts.hostname in _LOOPBACK)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a failed call is sent again.

    Attributes:
        attempts: The most times that a call is sent, from 1 up.
        base: Seconds before the second attempt at the most; doubled for each further one.
        cap: The most seconds between two attempts without the server's word.
        asked_cap: The most seconds to wait where the server asks for a time.
    """

    attempts: int = 5
    base: float = 0.5
    cap: float = 30.0
    asked_cap: float = 60.0

    def wait(self, attempt: int, asked: float | None) -> float:
        """Return the seconds to wait after a failed attempt (1 is the first): what the server asked, else half to all of the back-off."""
        if asked is not None:
            return asked
        return random.uniform(0.5, 1.0) * min(self.cap, self.base * 2.0 ** (attempt - 1))


def check_key(key: str | None) -> str | None:
    """Return a key without white space around it, None for an empty one.

    Raises:
        ModelError: It holds what no HTTP header can; the message does not show it.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelError("the key in OPENAI_API_KEY holds spaces, line breaks or letters that no key has; set it again")
    return key or None


def is_strict(schema: Any) -> bool:
    """Return whether OpenAI takes a schema as strict: every object closed, and all its properties required."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(map(is_strict, schema.values()))


def _proxy(endpoint: Endpoint) -> dict[str, Any]:
    """Return aiohttp's proxy arguments from the environment. Its own reading would also send what `~/.netrc` holds."""
    import aiohttp

    address = urllib.request.getproxies().get(urlsplit(endpoint.url).scheme)
    if not address or endpoint.is_loopback or urllib.request.proxy_bypass(endpoint.host):
        return {}
    parts = urlsplit(address if "://" in address else f"http://{address}")
    auth = aiohttp.BasicAuth(unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return {"proxy": parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), "proxy_auth": auth}


class OpenAICompatModel:
    """A model behind an OpenAI-compatible server.

    Args:
        name: The model's name as the user wrote it.
        model: The name that the server knows it by.
        endpoint: Where the server is.
        key: Sent as a bearer token where given. Kept out of every message, repr, reply and fingerprint.
        concurrency: The most calls in flight, from 1 up.
        timeout: Seconds for one attempt, from the first byte sent to the last one read.
        retry: When to try again.
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
        retry: Retry | None = None,
        openai: bool = False,
        hint: str = "Start the server, or check the address",
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._model, self._endpoint, self._key = model, endpoint, key
        self._timeout, self._retry, self._openai, self._hint = timeout, retry or Retry(), openai, hint
        self._session: aiohttp.ClientSession | None = None
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
        """Return the server's answer; see `Model.chat`. Retryable faults are tried again as `Retry` says."""
        limit = "max_completion_tokens" if self._openai else "max_tokens"
        body: dict[str, Any] = {"model": self._model, "messages": [dict(message) for message in messages]}
        body |= {key: value for key, value in ((limit, max_tokens), ("temperature", temperature), ("seed", seed)) if value is not None}
        if schema is not None:
            body["response_format"] = self._response_format(dict(schema))
        data = json.dumps(body, ensure_ascii=False).encode()
        attempt = 1
        while True:
            try:
                return ModelReply(**await self._send(data), attempts=attempt)
            except CallError as error:
                if not error.retryable or attempt >= self._retry.attempts:
                    raise self._final(error, attempt) from None
                await asyncio.sleep(self._retry.wait(attempt, error.retry_after))
                attempt += 1

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _response_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        if self._openai and schema.get("type") != "object":
            schema = {"type": "object", "properties": {WRAPPER_KEY: schema}, "required": [WRAPPER_KEY], "additionalProperties": False}
        return {"type": "json_schema", "json_schema": {"name": WRAPPER_KEY, "strict": is_strict(schema), "schema": schema}}

    def _final(self, error: CallError, attempt: int) -> CallError:
        message = redact(str(error), self._key)[:600] + (f" (after {attempt} attempts)" if attempt > 1 else "")
        return CallError(error.kind, message, retryable=error.retryable, retry_after=error.retry_after, attempts=attempt)

    async def _send(self, data: bytes) -> dict[str, Any]:
        """Send once; return the parts of a reply, or raise what went wrong."""
        import aiohttp

        where = self._endpoint.shown
        try:
            async with self._open_session().post(
                self._endpoint.url, data=data, allow_redirects=False, **_proxy(self._endpoint)
            ) as response:
                status, headers = response.status, response.headers
                body = await _read(response, _LARGEST_BODY if status == 200 else _LARGEST_ERROR)
                body = hide_key(body, self._key)  # before anything is shortened, which could leave a part of it
        except TimeoutError:
            raise CallError("timeout", f"{where} did not answer within {self._timeout:g} s", retryable=True) from None
        except aiohttp.ClientPayloadError:
            raise CallError("bad-reply", f"{where} broke off in the middle of its answer", retryable=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise CallError(
                "connection", f"no connection to {where}: {error or type(error).__name__}. {self._hint}", retryable=True
            ) from None
        if status != 200:
            asked = parse_retry_after(headers.get("Retry-After"), datetime.datetime.now(datetime.UTC), self._retry.asked_cap)
            raise fault(status, body, asked, where)
        if len(body) > _LARGEST_BODY:
            raise CallError("bad-reply", f"{where} sent more than {_LARGEST_BODY >> 20} MiB")
        reply = dict(read_completion(parse_json(body), where))
        return reply | {"text": hide_key(reply["text"], self._key)}

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            timeout = aiohttp.ClientTimeout(total=self._timeout, sock_connect=10)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self.concurrency),
                headers=headers,
                timeout=timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return a body, or of a longer one a little more than `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > limit:
            break
    return b"".join(parts)
