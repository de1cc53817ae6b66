"""Any provider that LiteLLM knows, for those that `openai_compat` cannot speak to. It is slow to load and loads at the first call only.

LiteLLM prints advice, reports to others, fetches prices and tries again by itself: all of that is off. Keys it reads from the environment.
"""

from __future__ import annotations

import asyncio
import datetime
import importlib
import importlib.metadata
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from evals.errors import TOO_LONG_ADVICE, CallError, ModelError
from evals.models.base import Fingerprint, ModelReply, RefusedParameterError
from evals.models.completion import read_completion
from evals.models.endpoint import Endpoint
from evals.models.fallbacks import REFUSALS, WRAPPER_KEY, Asked, Learned, Style, next_style, sent_parameters
from evals.models.http_faults import ErrorBody, Peer, fault, is_too_long, parse_error, parse_retry_after
from evals.models.redaction import Secrets, secret_values
from salience.protocols import Message

PACKAGE = "litellm"
_PREFIX = re.compile(r"^(?:\s*(?:litellm\.)?\w*(?:Error|Exception|Timeout)\s*[-:]\s*)+")
_NO_ANSWER = re.compile(r"connection error|server disconnected|cannot connect|connect call failed|name or service not known", re.IGNORECASE)
_NO_COMPLETION = re.compile(
    r"empty or invalid response|unable to get json|invalid response object|json_?decode|expecting value: line", re.IGNORECASE
)
_CHATTER = re.compile(r"\s*Handle with `litellm\.\w+`\.|\s*Traceback \(most recent call last\).*", re.DOTALL)
_users = 0
"""How many models use LiteLLM's clients, which it keeps for all of them."""


def litellm_version() -> str:
    """Return LiteLLM's version without loading it.

    Raises:
        ModelError: It is not installed.
    """
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(
            f"models named litellm/... need the package {PACKAGE}; get it with: pip install 'salience-workbench[litellm]'"
        ) from None


def _load() -> Any:
    """Return LiteLLM, silent and without any network traffic of its own. Takes seconds the first time."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads whatever .env file lies about
    try:
        litellm: Any = importlib.import_module(PACKAGE)
    except ImportError as error:
        raise ModelError(f"the package {PACKAGE} cannot be loaded: {error}. Install it again for this Python") from None
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "litellm"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


class LiteLLMModel:
    """A model behind LiteLLM.

    Args:
        name: The model's name as the user wrote it: `litellm/PROVIDER/NAME`.
        base_url: The provider's address, where it is not its usual one.
        concurrency: The most calls in flight, from 1 up.
        timeout: Seconds for one attempt.
        environ: Where addresses and keys are, to show the ones and hide the others. LiteLLM itself reads the process's environment.

    Raises:
        ModelError: LiteLLM is not installed, or the address is none.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        concurrency: int = 16,
        timeout: float = 120.0,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._model = name.removeprefix("litellm/")
        self._provider = self._model.partition("/")[0]
        self._base_url, self._timeout = base_url, timeout
        shown = Endpoint.parse(base_url).shown if base_url else _base_of(self._provider, environ)
        self.fingerprint: Fingerprint = {
            "engine": f"litellm {litellm_version()}",
            "model": self._model,
            "api_base": shown,
            "schema_wrapper": WRAPPER_KEY,
        }
        advice = f"Check the key of {self._provider} in the environment and what it may use"
        self._peer = Peer(f"{self._model} (litellm)", Secrets(secret_values(environ)), advice)
        self._learned = Learned(Style(form="wrapped"))
        self._litellm: Any = None
        self._loading = asyncio.Lock()

    def __repr__(self) -> str:
        """Return the name, no key."""
        return f"LiteLLMModel({self.name!r})"

    async def prepare(self) -> None:
        """Load LiteLLM, and look whether it knows the provider and finds a key.

        Raises:
            ModelError: LiteLLM cannot be loaded, does not know the provider, or misses a key.
        """
        litellm = await self._loaded()
        try:
            litellm.get_llm_provider(self._model, api_base=self._base_url)
        except Exception as error:  # of LiteLLM's own kinds
            told = self._peer.excerpt(_PREFIX.sub("", str(error)).partition("\n")[0], 300)
            raise ModelError(f"{self.name}: litellm does not know this model: {told}. Write it as litellm/PROVIDER/NAME") from None
        missing = [] if self._base_url else litellm.validate_environment(self._model).get("missing_keys") or []
        has_token = f"{self._provider.upper()}_AUTH_TOKEN" in os.environ
        if missing and not has_token and all(str(name).endswith("_API_KEY") for name in missing):  # clouds have other ways to log in
            raise ModelError(f"{self.name} needs the environment variable {' and '.join(map(str, missing))}")

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ModelReply:
        """Return the provider's answer to one request; see `Model.chat`."""
        asked = Asked(messages, schema, max_tokens, temperature, seed)
        return await self._ask(asked, self._learned.style(asked))

    async def close(self) -> None:
        """Close LiteLLM's connections with the last model that uses them."""
        global _users  # noqa: PLW0603 - the clients are one a process
        litellm, self._litellm = self._litellm, None
        if litellm is not None:
            _users -= 1
            if not _users:
                await litellm.close_litellm_async_clients()
                litellm.in_memory_llm_clients_cache.flush_cache()  # else it would hand out the closed ones again

    async def _loaded(self) -> Any:
        global _users  # noqa: PLW0603 - the clients are one a process
        async with self._loading:
            if self._litellm is None:
                self._litellm = await asyncio.to_thread(_load)
                _users += 1
                self._peer = replace(self._peer, secrets=self._peer.secrets.and_also(secret_values(os.environ)))
        return self._litellm

    async def _ask(self, asked: Asked, style: Style, *, is_new: bool = False) -> ModelReply:
        """Send once in a style; what succeeds in a new one is remembered."""
        litellm = self._litellm or await self._loaded()
        options = sent_parameters(asked, style) | {"timeout": self._timeout, "num_retries": 0, "max_retries": 0, "drop_params": False}
        if self._base_url:
            options["api_base"] = self._base_url
        messages = [dict(message) for message in asked.messages]
        try:
            async with asyncio.timeout(self._timeout):
                answer = await litellm.acompletion(model=self._model, messages=messages, **options)
            entry = answer.model_dump(warnings=False)
        except TimeoutError:
            raise self._timed_out() from None
        except Exception as error:  # providers' own kinds come through too
            failure = self._failure(asked, style, litellm, error)
            if isinstance(failure, RefusedParameterError) and isinstance(error, litellm.UnsupportedParamsError):
                return await failure.again()  # LiteLLM itself refused: nothing was sent yet
            raise failure from None
        reply = read_completion(entry, self._peer, self._learned.fallbacks(asked, style))
        if is_new:
            self._learned.keep(asked, style)
        return reply

    def _timed_out(self) -> CallError:
        return CallError("timeout", f"{self._peer.shown} did not answer within {self._timeout:g} s", retryable=True)

    def _failure(self, asked: Asked, style: Style, litellm: Any, error: Exception) -> CallError:
        """Return what an exception of LiteLLM's means."""
        if isinstance(error, litellm.Timeout):
            return self._timed_out()
        raised: Any = error
        told = read_error(self._peer.secrets.redact(str(getattr(raised, "message", "") or raised)))
        status = raised.status_code if isinstance(getattr(raised, "status_code", None), int) else 0
        headers = getattr(raised, "litellm_response_headers", None)
        if isinstance(error, litellm.ContextWindowExceededError) and not is_too_long(400, told):
            return CallError("too_long", f"{self._peer.shown}: {told.message[:600]}{TOO_LONG_ADVICE}", status=400)
        if status < 400 or (status >= 500 and headers is None) or _NO_COMPLETION.search(told.message):
            return self._no_answer(error, told.message[:300], status)
        wait = parse_retry_after((headers or {}).get("retry-after"), datetime.datetime.now(datetime.UTC))
        failure = fault(status, told, wait, self._peer)
        if failure.kind != "http" or status not in REFUSALS:
            return failure
        other = next_style(asked, style, ErrorBody(told.message.replace(self._model, ""), told.code, told.param))
        return failure if other is None else RefusedParameterError(failure, partial(self._ask, asked, other, is_new=True))

    def _no_answer(self, error: Exception, told: str, status: int) -> CallError:
        """Return what a failure means for which LiteLLM made up the status, as no proper answer came."""
        shown = self._peer.shown
        if _NO_COMPLETION.search(told):
            return CallError("bad-reply", f"{shown} sent no chat completion: {told}", retryable=True)
        if _NO_ANSWER.search(told):
            return CallError("connection", f"no connection to {shown}: {told}", retryable=True)
        return CallError("engine", f"{shown}: litellm failed with {type(error).__name__}: {told}", retryable=status >= 500)


def read_error(message: str) -> ErrorBody:
    """Return what a message of LiteLLM's says: its class names, advice and traceback go, and a provider's body in it is read."""
    text = _CHATTER.sub("", _PREFIX.sub("", message))
    start = text.find("{")
    if start >= 0:
        try:
            entry, _ = json.JSONDecoder().raw_decode(text[start:])
        except (ValueError, RecursionError):
            return ErrorBody(" ".join(text.split()))
        return parse_error(json.dumps(entry).encode())
    return ErrorBody(" ".join(text.split()))


def _base_of(provider: str, environ: Mapping[str, str]) -> str:
    """Return the address that the environment gives for a provider, without user name, password and query; "" for none."""
    for owner in (provider, provider.partition("_")[0]):
        for end in ("API_BASE", "BASE_URL"):
            address = environ.get(f"{owner}_{end}".upper())
            if address:
                parts = urlsplit(address)
                return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return ""
