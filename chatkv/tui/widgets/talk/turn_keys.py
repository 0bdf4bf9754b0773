"""The keys of a marked turn: what each does, in the words that help and footer show. All else that is typed there is
the composer's."""

from __future__ import annotations

from textual.binding import Binding, BindingType

MOST_CODE_KEYS = 9


def _key(key: str, name: str, action: str, label: str, meaning: str, *, show: bool = True) -> Binding:
    return Binding(key, f"screen.{action}", label, id=f"turn.{name}", show=show, tooltip=meaning)


def _code_key(number: int) -> Binding:
    meaning = "Copy the first, second … ninth piece of code of the turn"
    return _key(str(number), f"code_{number}", f"copy_code({number})", f"Code {number}", meaning, show=False)


TURN_KEYS: list[BindingType] = [
    _key("e", "edit", "edit", "Edit", "Edit the question and send it anew; what followed stays as a branch"),
    _key("r", "regenerate", "regenerate", "Again", "Answer the question again, beside the old answer"),
    _key("f", "fork", "fork", "Fork", "Go on from this turn; what followed it stays as a branch"),
    _key("p", "pin", "pin", "Pin", "Keep the turn word for word in the context, or no longer"),
    _key("g", "extend", "extend", "Continue", "Continue the last answer, if it was cut"),
    _key("y", "copy_answer", "copy_answer", "Copy", "Copy the answer as it was written"),
    _key("q", "copy_question", "copy_question", "Copy question", "Copy the question as it was written"),
    _key("c", "copy_code", "copy_code", "Copy code", "Copy a piece of code of the answer; again: the next"),
    *(_code_key(number) for number in range(1, MOST_CODE_KEYS + 1)),
    _key("t", "thoughts", "thoughts(True)", "Thoughts", "Unfold or fold what was thought before the answer"),
    _key("o", "recalled", "recalled", "Recalled", "Unfold or fold what was recalled for the question"),
    _key("up", "above", "mark_above", "Above", "Mark the turn above", show=False),
    _key("down", "below", "mark_below", "Below", "Mark the turn below; past the last one, none", show=False),
    _key("escape", "leave", "stop", "Back", "Back to the message; no turn is marked any more"),
]
