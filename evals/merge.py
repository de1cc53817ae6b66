"""The shares of a run (`--shard k/n`) -> the run that they make together. No model is called, and the shares stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from evals.errors import RunError
from evals.runlog import MANIFEST, RunLog, read_manifest, read_records, write_json

_MUST_AGREE = ("selection", "repeats", "seed", "cells", "policies", "prices")
_MACHINE = "cpu"


def merge_runs(parts: Sequence[Path], output: Path) -> dict[str, Any]:
    """Write the run that all shares make together, as one invocation would have.

    Args:
        parts: The folders of the shares, in any order; each share once.
        output: A new folder.

    Returns:
        The manifest of the whole.

    Raises:
        RunError: A folder is no share, shares of different runs are given, one is missing or comes twice, or the output exists.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise RunError(f"{output} exists already; choose a new folder with -o")
    found = [(folder, read_manifest(folder)) for folder in parts]
    shares = _in_order(found)
    for folder, manifest in shares[1:]:
        _check_same(shares[0][0], shares[0][1], folder, manifest)
    whole = _whole([manifest for _, manifest in shares])
    with RunLog(output) as log:
        for folder, _ in shares:
            for record in read_records(folder):
                log.append(record)
        write_json(output / MANIFEST, whole)
    return whole


def _in_order(found: Sequence[tuple[Path, dict[str, Any]]]) -> list[tuple[Path, dict[str, Any]]]:
    """The shares by number, all of them and each once."""
    by_number: dict[int, tuple[Path, dict[str, Any]]] = {}
    for folder, manifest in found:
        shard = manifest["shard"]
        if shard is None:
            raise RunError(f"{folder} is a whole run and no share; shares are made with --shard k/n")
        if shard["number"] in by_number:
            raise RunError(
                f"{folder} and {by_number[shard['number']][0]} are both share {shard['number']}/{shard['count']}; give each once"
            )
        by_number[shard["number"]] = (folder, manifest)
    count = found[0][1]["shard"]["count"] if found else 0
    lacking = [number for number in range(1, count + 1) if number not in by_number]
    if lacking or not found:
        raise RunError(f"share {'/'.join(map(str, (lacking[0], count)))} is missing" if lacking else "no share is given")
    return [by_number[number] for number in sorted(by_number)]


def _check_same(first: Path, one: dict[str, Any], folder: Path, other: dict[str, Any]) -> None:
    if (one["shard"]["whole"], one["shard"]["count"]) != (other["shard"]["whole"], other["shard"]["count"]):
        raise RunError(
            f"{folder} is a share of another run than {first}: data, models, policies, selection, seed or number of shares differ"
        )
    for field in _MUST_AGREE:
        if one[field] != other[field]:
            raise RunError(f"{folder} and {first} differ in {field}; run all shares with the same options")
    for name, fingerprint in one["models"].items():
        changed = [key for key, value in fingerprint.items() if key != _MACHINE and other["models"][name].get(key) != value]
        if changed:
            raise RunError(f"{folder} and {first} were run with a different {changed[0]} of {name}; run all shares with the same one")


def _whole(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of the whole: the cases dealt out to the shares are gathered in their old order."""
    first = manifests[0]
    rounds = zip_longest(*(manifest["data"]["cases"] for manifest in manifests))
    cases = [case for one in rounds for case in one if case is not None]
    models = {name: dict(fingerprint) for name, fingerprint in first["models"].items()}
    for name, fingerprint in models.items():
        machines = sorted({str(manifest["models"][name].get(_MACHINE)) for manifest in manifests} - {"None"})
        if machines:
            fingerprint[_MACHINE] = " | ".join(machines)
    return {
        **first, "plan": first["shard"]["whole"], "shard": None, "models": models, "data": {**first["data"], "cases": cases},
        "created": min(manifest["created"] for manifest in manifests),
    }  # fmt: skip
