import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evals.errors import ModelError
from evals.models import Model, list_models, open_model
from evals.models.registry import ollama_url

KEY = "sk-canary-4711-secret"


@pytest.mark.parametrize(
    ("name", "base_url", "environ", "says"),
    [
        ("nonsense", None, {}, "unknown model 'nonsense'; allowed are: embedded/smollm2, gguf:FILE"),
        ("", None, {}, "unknown model"),
        ("anthropic/x", None, {}, "unknown model 'anthropic/x'.*--base-url"),
        ("embedded/other", None, {}, "no model 'embedded/other'"),
        ("baseline/other", "http://localhost/v1", {}, "no model 'baseline/other'"),
        ("openai/", None, {"OPENAI_API_KEY": KEY}, "lacks a name"),
        ("scripted/", None, {}, "no model 'scripted/'"),
        ("openai/gpt-5-nano", None, {}, "set the environment variable OPENAI_API_KEY"),
        ("openai/gpt-5-nano", None, {"OPENAI_API_KEY": "  "}, "set the environment variable OPENAI_API_KEY"),
        ("openai/x", "https://example.org/v1", {}, "OPENAI_API_KEY"),
        ("openai/x", None, {"OPENAI_API_KEY": KEY + "\nx"}, "the key in OPENAI_API_KEY holds"),
        ("openai/x", f"https://me:{KEY}@example.org/v1", {}, "user name or password"),
        ("openai/x", "ftp://example.org", {}, "must be like http"),
        ("openai/x", "http://localhost:99999/v1", {}, "cannot be read"),
        ("openai/x", "localhost:8000/v1", {}, "must be like http"),
        ("scripted/missing.jsonl", None, {}, "cannot read the script"),
        ("gguf:missing.gguf", None, {}, "cannot read the model file missing.gguf"),
        ("gguf:.", None, {}, "cannot read the model file"),
    ],
)
def test_what_cannot_be_had_says_what_to_do(name: str, base_url: str | None, environ: dict[str, str], says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        open_model(name, base_url=base_url, environ=environ)
    assert "canary" not in str(caught.value)


def test_jobs_must_be_positive() -> None:
    with pytest.raises(ModelError, match="jobs must be a whole number from 1 up, got 0"):
        open_model("baseline/silent", jobs=0, environ={})


@pytest.mark.parametrize(
    ("name", "base_url", "environ", "endpoint", "model"),
    [
        ("openai/gpt-5-nano", None, {"OPENAI_API_KEY": KEY}, "https://api.openai.com/v1", "gpt-5-nano"),
        ("openai/m", None, {"OPENAI_BASE_URL": "http://127.0.0.1:8/v1/"}, "http://127.0.0.1:8/v1", "m"),
        ("openai/m", "http://localhost:9/v1?token=abc", {"OPENAI_BASE_URL": "http://other/v1"}, "http://localhost:9/v1", "m"),
        ("Qwen/Qwen3-4B", "http://localhost:9/v1", {}, "http://localhost:9/v1", "Qwen/Qwen3-4B"),
        ("ollama/llama3.2:1b", None, {"OPENAI_API_KEY": KEY}, "http://localhost:11434/v1", "llama3.2:1b"),
        ("ollama/x", None, {"OLLAMA_HOST": "box:1"}, "http://box:1/v1", "x"),
        ("ollama/x", "http://box:2/v1", {"OLLAMA_HOST": "box:1"}, "http://box:2/v1", "x"),
    ],
)
def test_servers(name: str, base_url: str | None, environ: dict[str, str], endpoint: str, model: str) -> None:
    opened = open_model(name, base_url=base_url, environ=environ, jobs=7)
    assert isinstance(opened, Model)
    assert (opened.name, opened.concurrency) == (name, 7)
    assert (opened.fingerprint["endpoint"], opened.fingerprint["model"]) == (endpoint, model)
    assert opened.fingerprint["schema_wrapper"] == ("memories" if "api.openai.com" in endpoint else "")
    assert "canary" not in f"{opened!r} {opened} {opened.fingerprint}"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://localhost:11434/v1"),
        ("", "http://localhost:11434/v1"),
        ("0.0.0.0", "http://localhost:11434/v1"),
        (":5000", "http://localhost:5000/v1"),
        ("0.0.0.0:5000", "http://localhost:5000/v1"),
        ("box", "http://box:11434/v1"),
        ("box:80", "http://box:80/v1"),
        ("https://box.example/ollama/", "https://box.example/ollama/v1"),
        ("http://0.0.0.0:7", "http://localhost:7/v1"),
    ],
)
def test_ollama_url(host: str | None, url: str) -> None:
    assert ollama_url(host) == url


def test_gguf_must_begin_as_one(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"<html>")
    with pytest.raises(ModelError, match="not a GGUF model file: it begins with b'<htm'"):
        open_model(f"gguf:{path}", environ={})


def test_missing_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(ModelError, match="pip install"):
        open_model("embedded/smollm2", environ={})


def test_list(tmp_path: Path) -> None:
    rows = {row.name: row for row in list_models({"SALIENCE_CACHE": str(tmp_path), "OPENAI_API_KEY": KEY})}
    smollm2 = rows["embedded/smollm2"]
    assert (smollm2.state, smollm2.size, smollm2.licence) == ("not fetched", 98_362_432, "Apache-2.0")
    assert rows["openai/NAME"].state == "ready"
    assert "canary" not in str(rows)
    assert {
        "baseline/silent",
        "baseline/verbatim",
        "baseline/rules",
        "gguf:FILE",
        "ollama/NAME",
        "litellm/PROVIDER/NAME",
        "scripted/FILE",
    } < rows.keys()


def test_import_is_light() -> None:
    code = (
        "import sys, evals.models; print([m for m in ('aiohttp', 'xllamacpp', 'numpy', 'openai', 'litellm', 'httpx') if m in sys.modules])"
    )
    environ: dict[str, Any] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert result.stdout.strip() == "[]"
