"""The memory hosts load nothing before they are used, and the extractor never loads them."""

import subprocess
import sys

import pytest

import salience.memory


def loaded_by(code):
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_alone_loads_next_to_nothing():
    assert not loaded_by("import salience.memory") & {"sqlite3", "numpy", "json", "uuid", "salience.memory.sqlite"}


def test_the_extractor_never_loads_it():
    code = "from salience import *\nimport salience.extractor, salience.consolidation"
    assert not {name for name in loaded_by(code) if name.startswith(("salience.memory", "sqlite3"))}


def test_numpy_is_loaded_by_the_first_search_only():
    code = "from salience.memory import SqliteStore, Memory\nSqliteStore(':memory:').list('u')"
    assert "numpy" not in loaded_by(code)


def test_every_name_is_there():
    assert set(salience.memory.__all__) <= set(dir(salience.memory))
    assert callable(salience.memory.aenrich)
    assert callable(salience.memory.enrich)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = salience.memory.nothing
