"""The real starter model for tests: fetched and converted once per machine, kept between runs."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import platformdirs

from chatkv.models import locate_model


@functools.cache
def starter_folder() -> Path:
    """Folder of the starter model, under `$CHATKV_TEST_CACHE` or else the user's cache."""
    root = os.environ.get("CHATKV_TEST_CACHE")
    cache = Path(root) if root else platformdirs.user_cache_path("chatkv-tests", appauthor=False)
    return locate_model("starter", cache / "models").path
