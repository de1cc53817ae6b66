"""From a name such as "openai/gpt-5-nano" to a model or baseline. Opening costs no call and no fetch."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evals.errors import ModelError
from evals.models.base import Baseline, Model, Progress, no_progress
from evals.models.baselines import SilentBaseline, VerbatimBaseline
from evals.models.embedded import ENGINE, EmbeddedModel, check_gguf, default_servers
from evals.models.endpoint import Endpoint, check_key
from evals.models.litellm_model import PACKAGE as LITELLM
from evals.models.litellm_model import LiteLLMModel
from evals.models.openai_compat import OpenAICompatModel
from evals.models.redaction import secret_values
from evals.models.scripted import ScriptedFile
from evals.models.weights import WEIGHTS, file_sha256, pull, weights_path
from evals.paths import cache_dir

_OPENAI_URL = "https://api.openai.com/v1"
_OLLAMA_PORT = 11434
_REMOTE_CALLS, _LOCAL_CALLS = 16, 4


def _rules() -> Baseline:
    from evals.models.rules import RulesBaseline  # compiles a few hundred patterns

    return RulesBaseline()


_BASELINES: Mapping[str, Callable[[], Baseline]] = {
    "baseline/silent": SilentBaseline,
    "baseline/verbatim": VerbatimBaseline,
    "baseline/rules": _rules,
}
_ALLOWED = (
    f"{', '.join(WEIGHTS)}, gguf:FILE, openai/NAME, ollama/NAME, litellm/PROVIDER/NAME, scripted/FILE, {', '.join(_BASELINES)}, "
    "or any NAME with --base-url URL of an OpenAI-compatible server"
)


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One line of `salience models list`.

    Attributes:
        name: What to give to `--model`; capitals stand for what the user fills in.
        kind: "embedded", "server", "script" or "baseline".
        state: "ready", or what is missing.
        size: Bytes on disk, where it is known.
        licence: SPDX identifier of the weights, where it is known.
        how: How to get it.
    """

    name: str
    kind: str
    state: str
    size: int | None
    licence: str | None
    how: str


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    jobs: int | None = None,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = no_progress,
    timeout: float = 120.0,
) -> Model | Baseline:
    """Return the model or baseline of a name.

    Args:
        name: `embedded/smollm2`, `gguf:FILE`, `openai/NAME`, `ollama/NAME`, `litellm/PROVIDER/NAME`, `scripted/FILE`, `baseline/silent`,
            `baseline/verbatim`, `baseline/rules`; with `base_url` any other name too, which the server then gets as it is.
        base_url: Address of an OpenAI-compatible server, such as "http://localhost:8000/v1". It holds for every name that is answered by
            a server; embedded and scripted models and baselines need none and ignore it.
        jobs: The most calls in flight, and of an embedded model the most servers, from 1 up; None chooses.
        environ: Where keys (`OPENAI_API_KEY`), addresses (`OPENAI_BASE_URL`, `OLLAMA_HOST`) and the cache folder are looked up.
        progress: Gets news where weights must be fetched, at the first use.
        timeout: Seconds for one attempt of a call to a server.

    Returns:
        A `Model`, or a `Baseline`, which `isinstance` tells apart.

    Raises:
        ModelError: The name is unknown, or a file, package or key is missing; the message says what to do.
    """
    if jobs is not None and jobs < 1:
        raise ModelError(f"jobs must be a whole number from 1 up, got {jobs}")
    provider, _, rest = name.partition("/")
    if name.startswith("gguf:") or provider in {"embedded", "baseline", "scripted"}:
        return _open_local(name, jobs, environ, progress)
    if provider == "litellm":
        return _open_litellm(name, base_url, jobs, environ, timeout)
    if provider not in {"openai", "ollama"} and not (base_url and name.strip()):
        raise ModelError(f"unknown model {name!r}; allowed are: {_ALLOWED}")
    if provider in {"openai", "ollama"} and not rest.strip():
        raise ModelError(f"{name!r} lacks a name after the slash; allowed are: {_ALLOWED}")
    if importlib.util.find_spec("aiohttp") is None:
        raise ModelError(f"{name} needs the package aiohttp; install it with: pip install 'salience-workbench[evals]'")
    if provider == "ollama" and not base_url:
        return _open_ollama(name, rest, jobs, environ, timeout)
    return _open_server(name, base_url, jobs, environ, timeout)


def _open_local(name: str, jobs: int | None, environ: Mapping[str, str], progress: Progress) -> Model | Baseline:
    """Return what needs no server."""
    if name in _BASELINES:
        return _BASELINES[name]()
    if name in WEIGHTS:
        weights = WEIGHTS[name]
        servers = default_servers(jobs, weights.size)
        return EmbeddedModel(name, partial(pull, name, progress, environ), sha256=weights.sha256, servers=servers)
    if name.startswith("gguf:"):
        return _open_gguf(name, jobs, environ)
    script = name.removeprefix("scripted/")
    if script and script != name:
        return ScriptedFile(name, Path(script).expanduser())
    raise ModelError(f"there is no model {name!r}; allowed are: {_ALLOWED}")


def _open_gguf(name: str, jobs: int | None, environ: Mapping[str, str]) -> EmbeddedModel:
    path = Path(name.removeprefix("gguf:")).expanduser()
    check_gguf(path)
    path = path.resolve()
    stamp = cache_dir(environ) / "stamps" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
    try:
        digest, size = file_sha256(path, stamp), path.stat().st_size
    except OSError as error:
        raise ModelError(f"cannot read the model file {path}: {error.strerror or error}") from None
    return EmbeddedModel(name, path, sha256=digest, servers=default_servers(jobs, size))


def _open_server(name: str, base_url: str | None, jobs: int | None, environ: Mapping[str, str], timeout: float) -> OpenAICompatModel:
    """Return a model on OpenAI, at OPENAI_BASE_URL or at a base address; the providers' own prefixes are not part of a model's name."""
    provider, _, rest = name.partition("/")
    model = rest if provider in {"openai", "ollama"} else name
    endpoint = Endpoint.parse(base_url or environ.get("OPENAI_BASE_URL") or _OPENAI_URL)
    key = None if provider == "ollama" else check_key(environ.get("OPENAI_API_KEY"))
    if provider == "openai" and key is None and not endpoint.is_loopback:
        raise ModelError(
            f"{name} needs a key for {endpoint.shown}: set the environment variable OPENAI_API_KEY, or give --base-url of a server on "
            "this machine, or use embedded/smollm2, which needs no key"
        )
    calls = jobs or (_LOCAL_CALLS if endpoint.is_loopback else _REMOTE_CALLS)
    own = endpoint.host == "api.openai.com"
    return OpenAICompatModel(name, model, endpoint, key=key, concurrency=calls, timeout=timeout, secrets=secret_values(environ), openai=own)


def _open_ollama(name: str, model: str, jobs: int | None, environ: Mapping[str, str], timeout: float) -> OpenAICompatModel:
    endpoint = Endpoint.parse(ollama_url(environ.get("OLLAMA_HOST")))
    hint = f"Install Ollama from https://ollama.com, start it with `ollama serve`, and fetch the model with `ollama pull {model}`"
    calls = jobs or _LOCAL_CALLS
    return OpenAICompatModel(name, model, endpoint, concurrency=calls, timeout=timeout, secrets=secret_values(environ), hint=hint)


def _open_litellm(name: str, base_url: str | None, jobs: int | None, environ: Mapping[str, str], timeout: float) -> LiteLLMModel:
    _, provider, model = (*name.split("/", 2), "", "")[:3]
    if not (provider.strip() and model.strip()):
        raise ModelError(f"{name!r} must be litellm/PROVIDER/NAME, such as litellm/anthropic/claude-sonnet-4-5")
    return LiteLLMModel(name, base_url=base_url, concurrency=jobs or _REMOTE_CALLS, timeout=timeout, environ=environ)


def ollama_url(host: str | None) -> str:
    """Return the base address for a value of `OLLAMA_HOST`, read as Ollama's own client reads it.

    Args:
        host: "host", "host:port", ":port" or a whole address; None or "" for this machine. The port is 11434 where only a host is
            given, and an address that servers listen on ("0.0.0.0") means this machine.

    Returns:
        An address that ends in "/v1".
    """
    text = (host or "").strip().strip("\"'").rstrip("/")
    scheme, separator, rest = text.rpartition("://")
    place, slash, path = rest.partition("/")
    bare = not re.search(r":\d+$", place)
    place = re.sub(r"^(?:0\.0\.0\.0|\[::\])?(?=:|$)", "localhost", place)
    if bare and not separator:
        place += f":{_OLLAMA_PORT}"
    return f"{scheme or 'http'}://{place}{slash}{path}/v1"


def list_models(environ: Mapping[str, str] = os.environ) -> list[ModelRow]:
    """Return what can be given to `--model`, with what is missing here. Nothing is fetched, called or started."""
    engine = importlib.util.find_spec(ENGINE) is not None
    absent = f"needs the package {ENGINE}"
    rows = []
    for name, weights in WEIGHTS.items():
        path = weights_path(name, environ)
        there = path.is_file() and path.stat().st_size == weights.size
        state = absent if not engine else "ready" if there else "not fetched"
        how = f"salience models pull {name} (the first use does it too)"
        rows.append(ModelRow(name, "embedded", state, weights.size, weights.licence, how))
    rows.append(ModelRow("gguf:FILE", "embedded", "ready" if engine else absent, None, None, "any GGUF file with a chat template"))
    key = "ready" if environ.get("OPENAI_API_KEY") else "needs OPENAI_API_KEY"
    rows.append(ModelRow("openai/NAME", "server", key, None, None, "set OPENAI_API_KEY; OPENAI_BASE_URL or --base-url for another server"))
    rows.append(
        ModelRow("ollama/NAME", "server", "not checked", None, None, "ollama serve, ollama pull NAME; OLLAMA_HOST for another host")
    )
    rows.append(ModelRow("NAME --base-url URL", "server", "not checked", None, None, "any OpenAI-compatible server"))
    state = "ready" if importlib.util.find_spec(LITELLM) else f"needs the package {LITELLM}"
    how = "each provider's own key in the environment; pip install 'salience-workbench[litellm]'"
    rows.append(ModelRow("litellm/PROVIDER/NAME", "server", state, None, None, how))
    rows.append(ModelRow("scripted/FILE", "script", "ready", None, None, "JSON Lines of replies, for tests and replay"))
    rows += [ModelRow(name, "baseline", "ready", None, None, "built in") for name in _BASELINES]
    rows.append(ModelRow("baseline/RULE", "baseline", "ready", None, None, "--task consolidation: always-add, nearest-update and others"))
    rows.append(ModelRow("baseline/EXTRACTOR+RULE", "baseline", "ready", None, None, "--task scenario, such as baseline/rules+distance"))
    return rows
