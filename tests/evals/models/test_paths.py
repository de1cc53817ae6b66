from pathlib import Path

import pytest

from evals.paths import cache_dir, state_dir


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"SALIENCE_CACHE": "/a/b", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/salience"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/salience"),
        ({"SALIENCE_CACHE": "", "HOME": "/h"}, "/h/.cache/salience"),
    ],
)
def test_cache_dir(environ: dict[str, str], expected: str) -> None:
    assert cache_dir(environ) == Path(expected)


def test_state_dir_is_of_the_current_folder() -> None:
    assert state_dir() == Path(".salience")
