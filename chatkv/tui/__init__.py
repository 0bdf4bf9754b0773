"""The terminal app: the only room that knows Textual. It draws, listens and keeps the state of the screen.

What is said, counted and stored is decided in the worker process, which it talks to through `chatkv.client`.
"""

from chatkv.tui.app import run_app

__all__ = ["run_app"]
