"""The words of a summary: asked of a model, checked, and filled up with what the user said. Text only."""

from chatkv.memory.summary.writing import ASKED, SAID, Exchange, Written, request, written

__all__ = ["ASKED", "SAID", "Exchange", "Written", "request", "written"]
