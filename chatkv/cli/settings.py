"""What every command gets: the settings typed before its name, over those of file and environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatkv.config import Config
    from chatkv.paths import Paths


@dataclass(frozen=True, slots=True)
class Settings:
    """What was typed before the command's name; `config()` reads all layers."""

    overrides: dict[str, Any]

    def config(self) -> Config:
        """Defaults < file < environment < what was typed."""
        from chatkv.config import load_config

        return load_config(self.overrides)

    def paths(self) -> Paths:
        """Where this run's files live."""
        from chatkv.paths import locate

        return locate()
