"""Where files live. `$CHATKV_HOME` puts everything under one folder; otherwise the system's own places."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, slots=True)
class Paths:
    """The four places chatkv touches. Nothing is created until something is written."""

    config_file: Path
    """The user's `config.toml`; need not exist."""
    database: Path
    """SQLite file with all conversations."""
    models: Path
    """Folder of models that chatkv fetched or converted itself."""
    log_file: Path
    """What the worker process wrote to stderr."""


def locate(home: str | None = None) -> Paths:
    """Paths under `home`, else under `$CHATKV_HOME`, else where this system keeps such files."""
    root = home or os.environ.get("CHATKV_HOME")
    if root:
        base = Path(os.path.expanduser(root)).absolute()
        return Paths(base / "config.toml", base / "chatkv.db", base / "models", base / "worker.log")
    dirs = platformdirs.PlatformDirs("chatkv", appauthor=False)
    return Paths(
        dirs.user_config_path / "config.toml",
        dirs.user_data_path / "chatkv.db",
        dirs.user_cache_path / "models",
        dirs.user_log_path / "worker.log",
    )


def private_folder(folder: Path) -> Path:
    """Make `folder` (mode 0700 where new) and return it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
