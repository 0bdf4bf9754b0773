"""What holds for all tests."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Modules last as long as the run: no need to search them for garbage in every test."""
    gc.collect()
    gc.freeze()
