"""What a built wheel holds, and that it works in a bare environment."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the tracked tree, without a network."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("salience", "evals", "datasets"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(out)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=True)
    return next(out.glob("*.whl"))


def test_the_wheel_holds_packages_and_data_and_nothing_at_the_top(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"salience", "evals"}
    for needed in (
        "salience/py.typed", "salience/prompts/default.json", "salience/prompts/plain.json", "salience/prompts/embedded-default.json",
        "evals/py.typed", "evals/matching/thresholds.json", "evals/matching/cues.toml", "evals/_data/extraction/train.jsonl",
        "evals/_data/extraction/dev.jsonl", "evals/_data/extraction/test.jsonl", "evals/_data/extraction/dataset.json",
        "evals/_data/extraction/schema.json", "evals/_data/extraction/README.md", "evals/_data/matching/pairs.jsonl",
        "evals/_data/matching/README.md", "evals/_data/GUIDELINES.md", "evals/_data/matching/hard.jsonl",
        "evals/_data/consolidation/test.jsonl", "evals/_data/consolidation/README.md", "evals/_data/scenarios/test.jsonl",
        "evals/_data/scenarios/dataset.json", "evals/_data/support/support.jsonl", "evals/report/page/page.html",
        "evals/report/page/page.css", "evals/report/page/page.js", "evals/_data/replies/replies.jsonl", "evals/_data/replies/README.md",
    ):  # fmt: skip
        assert needed in names
    assert not [name for name in names if "/passes" in name]


def test_every_module_is_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in ("salience", "evals"):
        for path in (ROOT / package).rglob("*.py"):
            assert path.relative_to(ROOT).as_posix() in names


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """A virtual environment that holds nothing but the wheel."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, capture_output=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    ).stdout.strip()
    zipfile.ZipFile(wheel).extractall(site)
    return python


def run(python, *words, cwd):
    return subprocess.run([python, *words], capture_output=True, text=True, check=False, cwd=cwd)


def test_the_library_works_with_nothing_else_installed(bare, tmp_path):
    code = (
        "import json, salience\n"
        "class Client:\n"
        "    def complete(self, *, system, prompt):\n"
        '        return \'[{"content": "The user keeps bees", "salience": 0.7}]\'\n'
        "found = salience.create_salience_extractor(Client()).extract_salient(salience.Turn('I keep bees'))\n"
        "print(json.dumps([candidate.to_dict() for candidate in found]), salience.Policy.names())\n"
    )
    done = run(bare, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    items, names = done.stdout.split(" [", 1)[0], done.stdout
    assert json.loads(items) == [{"content": "The user keeps bees", "salience": 0.7}]
    assert "embedded-default" in names


def test_the_command_without_its_extras_says_what_to_install(bare, tmp_path):
    assert run(bare, "-m", "evals.cli.main", "--help", cwd=tmp_path).returncode == 0
    done = run(bare, "-m", "evals.cli.main", "data", "stats", cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'salience-workbench[evals]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_data_inside_the_wheel_is_found(wheel, tmp_path):
    """The wheel alone on the path, beside the packages of this environment and outside the checkout."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import evals.data.files as files, evals.matching.pairs as pairs\n"
        "assert files.__file__.startswith(sys.path[0]), files.__file__\n"
        "print(files.data_folder(), len(files.load_dataset().cases), len(pairs.read_pairs(pairs.bundled_pairs())))\n"
        "import datasets; print(datasets.__file__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.split()[0] == str(tmp_path / "site" / "evals" / "_data")
    assert first.split()[1:] == ["498", "962"]
    assert str(tmp_path) not in second
