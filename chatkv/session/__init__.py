"""One conversation: its branch, its turns, and what is done so that it goes on inside a fixed budget."""

from chatkv.session.commands import carry_out
from chatkv.session.session import Session

__all__ = ["Session", "carry_out"]
