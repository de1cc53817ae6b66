"""The notebooks run on recorded replies with no network, and what is committed of them is in order."""

import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NAMES = ("first_benchmark", "reading_calibration", "comparing_and_gating", "labelling_your_turns")
_LIMIT = 1_000_000  # bytes of a notebook with its outputs
_PATH = re.compile(r"/(?:root|home|work|tmp|Users|mnt|opt|private|var)/\w|\b[A-Z]:\\|\bfile://")
_HOST = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\blocalhost\b|https?://")
_KEY = re.compile(r"\b(?:sk|hf|ghp)[-_][A-Za-z0-9]{12}|Bearer ")
# Loaded by every Python that the notebook starts: what would leave the machine is noted and refused.
_NO_NETWORK = """\
import os
import socket

_connect = socket.socket.connect


def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        with open(os.environ["CALLS_OUT"], "a") as file:
            print(address, file=file)
        raise OSError("no network in this test")
    return _connect(self, address)


socket.socket.connect = socket.socket.connect_ex = connect
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the notebooks; the vectors that one of them computed are there for the next."""
    return shutil.copytree(FOLDER, tmp_path_factory.mktemp("copied") / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))


@pytest.fixture
def calls_out(isolated, tmp_path, monkeypatch):
    """Empty caches, a temporary folder of its own, and no way out; the file that lists what tried to go out."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text(_NO_NETWORK)
    calls = tmp_path / "calls.txt"
    for name, value in {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path / "hooks"), os.environ.get("PYTHONPATH")])),
        "CALLS_OUT": calls,
        "TMPDIR": tmp_path / "work",
        "MPLCONFIGDIR": isolated.parent / "matplotlib",
        "PIP_NO_INDEX": "1",
        "HF_HUB_OFFLINE": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    return calls


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code(book):
    return [cell for cell in book.cells if cell.cell_type == "code"]


def shown(book):
    """Every text that the cells put out."""
    for output in (output for cell in code(book) for output in cell.outputs):
        yield output.get("text", "")
        yield from (text for kind, text in output.get("data", {}).items() if kind.startswith("text/"))


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def keep_vectors(work, folder):
    """Give the next notebook the vectors that this one computed; its verdicts are its own."""
    for path in work.glob("*/.salience/vectors.sqlite"):
        (folder / "recorded" / ".salience").mkdir(exist_ok=True)
        shutil.copy(path, folder / "recorded" / ".salience")


def test_every_notebook_is_known():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.filterwarnings("default")  # of Jupyter's own event loop and sockets, which are not ours to mend
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_without_network_and_leaves_its_folder_alone(name, copied, calls_out, tmp_path):
    before = files(copied)
    book = nbformat.read(copied / f"{name}.ipynb", as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(copied)}}).execute()
    assert not [output for cell in code(book) for output in cell.outputs if output.output_type == "error"]
    told = "\n".join(shown(book))
    assert "Traceback" not in told
    assert "command not found" not in told
    assert not calls_out.exists(), calls_out.read_text()
    assert files(copied) == before
    keep_vectors(tmp_path / "work", copied)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_committed_was_run_from_top_to_bottom(name):
    cells = code(read(name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) / 2
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_committed_is_small_and_names_no_machine(name):
    path = FOLDER / f"{name}.ipynb"
    assert path.stat().st_size < _LIMIT
    told = "\n".join([*(cell.source for cell in read(name).cells), *shown(read(name))])
    for pattern in (_PATH, _KEY, _HOST):
        assert not pattern.search(told), pattern.search(told)
    assert os.uname().nodename not in told.split()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_cell_says_what_is_needed(name):
    first = read(name).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    for words in ("pip install 'salience-workbench[all]'", "make venv", "recorded replies", "live model", "one line"):
        assert words in first.source, words


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_is_followed_by_what_to_look_at(name):
    cells = read(name).cells
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if cell.cell_type == "code" and any("image/png" in output.get("data", {}) for output in cell.outputs):
            assert after is not None
            assert after.cell_type == "markdown"
            assert "Look" in after.source


def test_recordings_name_no_machine_and_no_key():
    recorded = [path for path in (FOLDER / "recorded").rglob("*") if path.is_file() and ".salience" not in path.parts]
    assert {path.name for path in recorded} >= {"manifest.json", "replies.jsonl"}
    for path in recorded:
        text = path.read_text(encoding="utf-8")
        for pattern in (_PATH, _KEY):
            assert not pattern.search(text), (path, pattern.search(text))
