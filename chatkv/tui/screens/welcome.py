"""What stands where a conversation will be: at the very first start what happens now, later a word and a tip; and what
stays of one that was held below the prompt.

Words only; whoever shows them knows when. Never in the way of typing, and gone with the first message.
"""

from __future__ import annotations

from textual.content import Content

from chatkv.models.known import KnownModel, suggested
from chatkv.tui import units
from chatkv.tui.behind.room import Room
from chatkv.tui.inert import inert
from chatkv.tui.settings.keymap import Keymap
from chatkv.tui.talk.exchange import Exchange

QUESTION = "What is on your mind?"
_TALL = 22
"""Lines of a terminal that has room for suggestions."""
_LOW = 16
"""Fewer lines have room for a sentence."""
_WIDE = 96
"""Cells of a transcript that has room for what they are good at."""
_NAME_CELLS = 34

_TIPS = (
    (
        "{chat.mark_above} marks a turn; {chat.fork} goes on from there, and what followed it stays as a branch."
    ),
    "/keep path keeps a long text as a document: never read whole, recalled in passages.",
    "/pin keeps a turn word for word, whatever is summarized.",
    "{chat.regenerate} answers again; the first answer stays beside the second.",
    "/recall words looks up what has left the context.",
    "{app.palette} searches all commands; {app.settings} lists every setting.",
    "{chat.sidebar} shows what each turn cost: reused, prefilled, decoded.",
)


def greeting(keymap: Keymap, n: int | None) -> Content:
    """For a new session; `n` counts on through the tips, None = no tip."""
    if n is None:
        return Content(QUESTION)
    return Content.assemble(QUESTION, "\n\n", (f"Tip: {_with_keys(_TIPS[n % len(_TIPS)], keymap)}", "dim"))


def welcome(keymap: Keymap, room: Room, *, fetched: bool, width: int, height: int) -> Content:
    """For the very first start. `fetched`: the starter model is here already; `width` of the transcript and `height` of
    the terminal in cells."""
    if height < _LOW:
        state = "answers" if fetched else "is being fetched (93 MB)"
        model, keys = keymap.spoken("chat.model"), keymap.spoken("app.help")
        return Content(f"A small starter model {state}; better ones: {model}. All keys: {keys}.")
    act = (
        "answers" if fetched else "is being fetched (93 MB) and prepared, this once; you can write meanwhile"
    )
    parts: list[str | tuple[str, str]] = [
        ("Welcome to chatkv.", "bold"),
        " Write below; {composer.submit} sends.\n\n",
    ]
    parts.append(f"A small starter model, SmolLM2-135M-Instruct, {act}. ")
    parts.append(
        "It runs anywhere and shows how all works. It speaks English only, knows little and errs often.\n"
    )
    models = suggested(room.nbytes, slow=room.slow) if room.known and height >= _TALL else []
    parts += _listed(models, room, wide=width >= _WIDE) if models else []
    example = models[-1].spec if models else "org/name"
    parts.append("\nA better model: {chat.model}, or start with ")
    parts += [(f"chatkv -m {example}", "bold"), "\n"]
    parts.append("{app.help} all keys · {app.palette} all commands · {app.quit} quit")
    shown = [_with_keys(part, keymap) if isinstance(part, str) else part for part in parts]
    return Content.assemble(*shown)


def _listed(models: list[KnownModel], room: Room, *, wide: bool) -> list[str | tuple[str, str]]:
    parts: list[str | tuple[str, str]] = [
        f"\n{units.size(room.nbytes)} of {room.where} is enough, for example, for\n"
    ]
    for model in models:
        about = f"  {model.about}" if wide else ""
        size = units.size(model.shape.weights_nbytes)
        parts += [f"  {model.spec:<{_NAME_CELLS}}", (f"{size:>8}{about}", "dim"), "\n"]
    return [*parts, ("On a processor, the larger the slower.\n", "dim")] if room.slow else parts


def farewell(last: Exchange) -> str:
    """The last question and answer, as they stay in the terminal when the app that ran below the prompt is gone."""
    question = "\n".join(f"> {line}" for line in inert(last.prompt).split("\n"))
    return f"{question}\n\n{inert(last.answer)}\n" if last.answer else question


def _with_keys(text: str, keymap: Keymap) -> str:
    """`{chat.stop}` → the key that is in force."""
    pieces = text.split("{")
    for at, piece in enumerate(pieces[1:], 1):
        name, _, rest = piece.partition("}")
        pieces[at] = keymap.spoken(name) + rest
    return "".join(pieces)
