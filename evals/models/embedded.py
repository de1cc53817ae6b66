"""A GGUF model inside this process: a pool of one-slot, one-thread llama.cpp servers behind one small adapter over `xllamacpp`.

With one slot, one thread and flash attention off, a reply is the same in every run, in every order and with any number of servers on one
machine. Other processors or versions may answer differently: the fingerprint tells them apart. Nothing here decides what is sent.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import os
import platform
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from evals.errors import TOO_LONG_ADVICE, CallError, ModelError
from evals.models.base import Fingerprint, ModelReply
from salience.protocols import Message

_T = TypeVar("_T")

ENGINE = "xllamacpp"
_SETTINGS: Mapping[str, int | bool] = {"n_ctx": 4096, "n_parallel": 1, "n_threads": 1, "flash_attention": False}
"""4,096 tokens cost 50 MB a server more than 2,048 and hold a long exchange with eight examples; 8,192 would cost 105 MB more."""
_DEFAULTS: Mapping[str, int] = {"default_max_tokens": 512, "default_temperature": 0, "default_seed": 1}
_MAGIC = b"GGUF"
_MOST_SERVERS = 8
_SERVER_BYTES = 300_000_000
_CACHED_MIB = 256
"""Of memory for prefixes beside the last one, so that prompts that take turns (finding facts, deciding on them) are each worked out once. A
reply is the same as with the prefix still in place."""

_engine_process: int | None = None
"""The process in which the engine was first started: it does not survive a fork."""


def engine_version() -> str:
    """Return the engine's version without loading it.

    Raises:
        ModelError: It is not installed.
    """
    try:
        return importlib.metadata.version(ENGINE)
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(f"embedded models need the package {ENGINE}; install it with: pip install 'salience-workbench[local]'") from None


def _engine() -> Any:
    try:
        return importlib.import_module(ENGINE)
    except ImportError as error:
        raise ModelError(f"the package {ENGINE} cannot be loaded: {error}. Install it again for this Python and processor") from None


def check_gguf(path: Path) -> None:
    """Check that a path holds something that looks like a GGUF file; the engine's own complaint would say nothing.

    Raises:
        ModelError: It is missing, a folder, unreadable, or begins otherwise.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelError(f"cannot read the model file {path}: {error.strerror or error}. Give the path of a .gguf file") from None
    if head != _MAGIC:
        raise ModelError(f"{path} is not a GGUF model file: it begins with {head!r}, not {_MAGIC!r}")


def default_servers(jobs: int | None, file_bytes: int) -> int:
    """Return how many servers are worth having: one a core, at most `jobs` (8 where not given), in at most half of the memory.

    Args:
        jobs: The most that the user wants, from 1 up, or None.
        file_bytes: Size of the weights, which each server holds in its own layout.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    servers = min(cores, _MOST_SERVERS if jobs is None else jobs)
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        servers = min(servers, memory // 2 // (file_bytes + _SERVER_BYTES))
    return max(1, servers)


class _Server:
    """One engine server. Used by one thread at a time, never by the main thread, where a call could not be interrupted."""

    def __init__(self, path: Path) -> None:
        global _engine_process  # noqa: PLW0603 - the engine is one a process, whoever uses it
        if _engine_process is None:
            _engine_process = os.getpid()
        engine = _engine()
        params = engine.CommonParams()
        params.model.path = str(path)
        params.n_ctx = _SETTINGS["n_ctx"]
        params.n_parallel = _SETTINGS["n_parallel"]
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _SETTINGS["n_threads"]
        params.flash_attn_type = engine.llama_flash_attn_type(0)  # off: faster, and replies do not depend on threads or cache
        params.warmup = False
        params.verbosity = -1
        params.ui = False
        params.endpoint_slots = False
        params.api_keys = [secrets.token_hex(16)]  # an HTTP listener on loopback always runs: lock it
        params.cache_ram_mib = _CACHED_MIB
        try:
            self._server = engine.Server(params)
        except RuntimeError as error:
            raise ModelError(f"the engine cannot load {path}: {error} The file may be damaged or cut off, or need a newer engine") from None
        self._last_messages: list[Message] | None = None

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the engine's answer to a request.

        A prompt that is cached but for its last token goes through another kernel than a longer rest does, and may get another reply. So
        a request with the messages of the last one is worked out from its first token, and so is one that turns out to be such a case.
        """
        cached = request["messages"] != self._last_messages
        self._last_messages = request["messages"]
        answer = self._send(request, cached)
        if cached and answer.get("timings", {}).get("prompt_n") == 1:
            answer = self._send(request, False)
        return answer

    def _send(self, request: dict[str, Any], cached: bool) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._server.handle_chat_completions(request | {"cache_prompt": cached})
        except (RuntimeError, ValueError, TypeError) as error:
            raise CallError("engine", f"the engine refused the request: {error}") from None
        return answer


def _read_answer(answer: Mapping[str, Any]) -> ModelReply:
    """Return an engine's answer as a reply; an error comes as a mapping too."""
    if "error" in answer:
        error = answer["error"] if isinstance(answer["error"], dict) else {}
        message = str(error.get("message", answer["error"]))
        if error.get("type") == "exceed_context_size_error":
            raise CallError("too_long", f"the engine answered: {message}{TOO_LONG_ADVICE}")
        raise CallError("engine", f"the engine answered: {message}")
    try:
        choice, usage = answer["choices"][0], answer.get("usage", {})
        text = choice["message"].get("content") or ""
        return ModelReply(text, choice.get("finish_reason"), usage.get("prompt_tokens"), usage.get("completion_tokens"))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise CallError("engine", f"the engine's answer lacks {error}: {str(answer)[:200]}") from None


class EmbeddedModel:
    """A GGUF file answered by a pool of servers in this process.

    A server starts when a call finds no idle one, up to `servers`; `prepare` starts the first. A running call cannot be interrupted: after
    Ctrl-C the process ends when the calls in flight have, each bounded by its `max_tokens`.

    Args:
        name: The model's name as the user wrote it.
        path: The GGUF file, or a function that fetches it and returns its path; called in a worker thread at first need.
        sha256: Hash of the file, for the fingerprint.
        servers: The most servers, from 1 up; each takes the size of the file and about 150 MB.

    Raises:
        ModelError: The engine is not installed.
    """

    def __init__(self, name: str, path: Path | Callable[[], Path], *, sha256: str, servers: int) -> None:
        self.name = name
        self.concurrency = servers
        self._path = path
        self._sha256 = sha256
        self._version = engine_version()
        self._fingerprint: Fingerprint | None = None
        self._lock = threading.Lock()
        self._idle: list[_Server] = []
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @property
    def fingerprint(self) -> Fingerprint:
        """Weights, engine, settings and processor. The first use loads the engine, as it alone knows which processor features it uses."""
        if self._fingerprint is None:
            features = " ".join(re.findall(r"(\w+) = 1\b", str(_engine().get_system_info())))
            machine = {"cpu": f"{platform.machine()} {features}", "engine": f"{ENGINE} {self._version}"}
            self._fingerprint = {"weights_sha256": self._sha256, **machine, **_SETTINGS, **_DEFAULTS}
        return self._fingerprint

    async def prepare(self) -> None:
        """Fetch the weights where they are missing, and start the first server.

        Raises:
            ModelError: The weights or the engine cannot be had.
        """
        await self._in_worker(self._warm)

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ModelReply:
        """Return the model's answer through its own chat template. Defaults: 512 tokens, temperature 0, seed 1; see `Model.chat`."""
        request: dict[str, Any] = {
            "messages": [dict(message) for message in messages],
            "max_tokens": _DEFAULTS["default_max_tokens"] if max_tokens is None else max_tokens,
            "temperature": _DEFAULTS["default_temperature"] if temperature is None else temperature,
            "seed": _DEFAULTS["default_seed"] if seed is None else seed,
        }
        if schema is not None:
            request["response_format"] = {"type": "json_schema", "json_schema": {"name": "memories", "schema": dict(schema)}}
        return _read_answer(await self._in_worker(lambda: self._call(request)))

    async def close(self) -> None:
        """End the calls that wait, let those in flight finish, and free the servers."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        self._idle.clear()

    async def _in_worker(self, work: Callable[[], _T]) -> _T:
        if os.getpid() != self._process or _engine_process not in {None, os.getpid()}:
            raise ModelError(f"{self.name}: the engine does not work in a forked process; start processes with the method 'spawn'")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.concurrency, thread_name_prefix="embedded-model")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _warm(self) -> None:
        self._give_back(self._take())

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        server = self._take()
        try:
            return server.chat(request)
        finally:
            self._give_back(server)

    def _take(self) -> _Server:
        """Return an idle server, the last used first as its cache is warmest, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if callable(self._path):
                self._path = self._path()
            path = self._path
        check_gguf(path)
        return _Server(path)

    def _give_back(self, server: _Server) -> None:
        with self._lock:
            self._idle.append(server)
