"""What every test gets: a home, a cache and a working folder of its own, and no key from the outside."""

import os
from pathlib import Path

import pytest

_KEYS = ("_API_KEY", "_BASE_URL", "OLLAMA_HOST", "_TOKEN", "SALIENCE_CACHE")


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Isolate home, cache, working folder and environment; the working folder is returned."""
    root = tmp_path_factory.mktemp("isolated")
    for name in ("home", "cache", "work"):
        (root / name).mkdir()
    for name in list(os.environ):
        if name.endswith(_KEYS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    monkeypatch.chdir(root / "work")
    return root / "work"
