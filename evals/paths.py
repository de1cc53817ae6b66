"""Where the workbench keeps files: one cache folder a user, one state folder a project. Nothing is created here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what can be fetched or computed again (weights, replies, vectors).

    Args:
        environ: The environment. `SALIENCE_CACHE` wins, then `XDG_CACHE_HOME` where it is absolute, as its specification asks, then
            `~/.cache`.

    Returns:
        The folder; it may not exist yet.
    """
    own = environ.get("SALIENCE_CACHE")
    if own:
        return Path(own).expanduser()
    shared = environ.get("XDG_CACHE_HOME")
    if shared and os.path.isabs(shared):
        return Path(shared) / "salience"
    home = environ.get("HOME")
    return (Path(home) if home else Path.home()) / ".cache" / "salience"


def state_dir() -> Path:
    """Return `.salience` in the current folder: the runs of the project at hand."""
    return Path(".salience")
