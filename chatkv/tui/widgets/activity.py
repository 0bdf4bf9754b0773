"""The line between transcript and composer: what goes on right now, and how far it is."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.widget import Widget

from chatkv.protocol import Compaction, Loading
from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.talk import telling
from chatkv.tui.talk.telling import restored
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.memory import bar

_BAR_CELLS = 24
_STOP = "⟨chat.stop⟩ stops"


class Activity(Widget):
    """Draws the phase of the gauges, and an error until the next message is sent."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "activity--done",
        "activity--rest",
        "activity--hint",
        "activity--error",
    }

    def __init__(self) -> None:
        super().__init__()
        self._gauges = Gauges()
        self._error = ""

    def show(self, gauges: Gauges) -> None:
        """Draw this phase."""
        if spoken(gauges) != spoken(self._gauges):
            self.refresh()
        self._gauges = gauges

    def fail(self, error: str) -> None:
        """Keep this error in sight; an empty one takes it away."""
        self._error = named(self, one_line(error))
        self.refresh()

    def render(self) -> Text:
        """The line at the present width."""
        if self._error and self._gauges.phase != "gone":
            return Text(f"✗ {self._error}", self._style("error"), overflow="ellipsis", no_wrap=True)
        words, done, total, hint = spoken(self._gauges)
        hint = named(self, hint)
        line = Text(words, overflow="ellipsis", no_wrap=True)
        room = self.size.width - len(words) - len(hint) - 4
        if total and room > 4:
            drawn, rest = bar.progress(done, total, min(_BAR_CELLS, room))
            line = Text.assemble((f"{drawn}", self._style("done")), (rest, self._style("rest")), "  ", line)
        if hint and self.size.width > line.cell_len + len(hint) + 1:
            line.append(" " * (self.size.width - line.cell_len - len(hint)))
            line.append(hint, self._style("hint"))
        line.no_wrap, line.overflow = True, "ellipsis"
        return line

    def _style(self, name: str) -> str:
        return str(self.get_component_rich_style(f"activity--{name}", partial=True))


def spoken(gauges: Gauges) -> tuple[str, float, float, str]:
    """Words, progress (done, total; total 0 = none) and a hint for the phase of the gauges."""
    stop = _STOP
    current = gauges.current
    coming = gauges.restored
    if coming is not None and coming.stage == "reading":
        return one_line(restored(coming)), coming.tokens, coming.total, ""
    if gauges.compaction is not None:
        return _compacting(gauges.compaction)
    match gauges.phase:
        case "starting":
            return "starting the model process", 0, 0, ""
        case "loading" if gauges.loading:
            return _loading(gauges.loading)
        case "down":
            return "restarting the model process", 0, 0, ""
        case "gone":
            return "the model process is gone", 0, 0, "⟨chat.try_again⟩ tries again"
        case "prefill" if gauges.prefill:
            done, total = gauges.prefill.done, gauges.prefill.total
            return f"reading the prompt · {done:,} of {total:,} tokens", done, total, stop
        case "prefill":
            return "reading the prompt", 0, 0, stop
        case "decode" if current:
            rate = units.rate(current.tpot_s)
            return f"answering · {current.decoded:,} tokens · {rate} tok/s", 0, 0, stop
        case "idle" if coming:
            return one_line(restored(coming)), 0, 0, ""
    return "", 0, 0, ""


def _loading(loading: Loading) -> tuple[str, float, float, str]:
    if not loading.total:
        return one_line(loading.stage), 0, 0, ""
    if loading.unit == "B":
        amount = f"{units.size(loading.done)} of {units.size(loading.total)}"
    else:
        amount = f"{loading.done:,} of {loading.total:,} {loading.unit}".rstrip()
    return f"{one_line(loading.stage)} · {amount}", loading.done, loading.total, ""


def _compacting(event: Compaction) -> tuple[str, float, float, str]:
    act = (
        f"summarizing {telling.named(event.turns)}" if event.stage == "summarizing" else "reading the summary"
    )
    amount = f" · {event.done:,}/{event.total:,} tokens" if event.total else ""
    return f"{act}{amount}", event.done, event.total, "" if event.reason == "idle" else _STOP
