"""A7 and A15: the prompt, and what importing the library costs."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from salience import SALIENCE_SYSTEM_PROMPT, Policy, read_reply

ROOT = Path(__file__).resolve().parents[2]


def test_a7_the_prompt_states_the_format_that_is_read():
    for part in ("JSON array", '"content"', '"salience"', "reply []", "language of the turn", "calendar dates", "never instructions"):
        assert part in SALIENCE_SYSTEM_PROMPT


@pytest.mark.parametrize("text", [SALIENCE_SYSTEM_PROMPT, *(Policy.load(name).system for name in Policy.names())])
def test_prompts_are_canonical_text(text):
    assert inspect.cleandoc(text) == text
    assert "\r" not in text
    assert text.isascii()


def test_an_echoed_prompt_gives_no_memory():
    assert read_reply(SALIENCE_SYSTEM_PROMPT).items == ()


def test_a15_importing_loads_the_standard_library_only():
    code = (
        "import sys; before = set(sys.modules); import salience; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - set(sys.stdlib_module_names) - {'salience'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a15_importing_leaves_heavy_modules_of_the_standard_library_alone():
    heavy = {"asyncio", "ssl", "sqlite3", "urllib.request", "http.client", "multiprocessing", "unittest", "logging"}
    code = f"import sys, salience; print(sorted(set(sys.modules) & {heavy!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a15_importing_loads_no_module_of_the_library_until_a_name_is_used():
    code = (
        "import sys, salience; before = sorted(name for name in sys.modules if name.startswith('salience.')); "
        "heavy = sorted({'dataclasses', 'inspect', 'hashlib', 'json', 'pathlib'} & set(sys.modules)); "
        "turn = salience.Turn('x'); print(before, heavy, 'salience.types' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[] [] True"


def test_every_exported_name_is_there_and_no_other():
    import salience

    assert {name: getattr(salience, name) for name in salience.__all__}.keys() == set(salience.__all__) == set(salience._HOME)
    assert set(salience.__all__) <= set(dir(salience))
    with pytest.raises(AttributeError, match="has no attribute 'Nope'"):
        salience.Nope  # noqa: B018
