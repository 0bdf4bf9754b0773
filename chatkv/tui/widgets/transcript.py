"""The conversation, newest turn at the bottom. Only the last turns are mounted; older ones come on demand."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from chatkv.tui.exchange import Exchange
from chatkv.tui.messages import OlderWanted
from chatkv.tui.widgets.turn import TurnView

_FIRST_TURNS = 40
_MORE_TURNS = 20
_FRAME_S = 1 / 15
_EMPTY = "What is on your mind?"


class Transcript(VerticalScroll, can_focus=False):
    """Draws turns, follows the end until the person scrolls up, and asks for older turns at the top."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[int, TurnView] = {}
        self._exchanges: Sequence[Exchange] = ()
        self._streaming: TurnView | None = None
        self._loading_older = False
        self._empty = Static(Content(_EMPTY), classes="empty")

    def on_mount(self) -> None:
        """Follow the end; draw text at most 15 times a second."""
        self.anchor()
        self.set_interval(_FRAME_S, self._flush)
        self.mount(self._empty)

    @property
    def n_hidden(self) -> int:
        """Older turns that are not mounted."""
        return len(self._exchanges) - len(self._views)

    @property
    def page_lines(self) -> int:
        """How far a page key scrolls: two lines stay in sight."""
        return max(1, self.size.height - 2)

    def rebuild(self, exchanges: Sequence[Exchange]) -> None:
        """Show these turns, keeping the views of those that stay."""
        shown = exchanges[-max(_FIRST_TURNS, len(self._views)) :]
        keep = {exchange.key for exchange in shown}
        if not keep & self._views.keys():
            shown = exchanges[-_FIRST_TURNS:]
        for key in [key for key in self._views if key not in keep]:
            self._views.pop(key).remove()
        self._streaming = None
        self._exchanges = exchanges
        self._empty.display = not exchanges
        fresh = []
        for exchange in shown:
            if view := self._views.get(exchange.key):
                view.show(exchange)
            else:
                fresh.append(self._view(exchange))
        self._views = {exchange.key: self._views[exchange.key] for exchange in shown}
        self.mount_all(fresh)
        self._mark_last()
        self.anchor()

    def show(self, exchange: Exchange, exchanges: Sequence[Exchange]) -> None:
        """Add or redraw one turn of `exchanges`."""
        self._exchanges = exchanges
        self._empty.display = False
        view = self._views.get(exchange.key)
        if view is None:
            self.mount(self._view(exchange))
            self.anchor()
        else:
            view.show(exchange)
        self._mark_last()
        if self._streaming is view:
            self._streaming = None

    def remark(self, exchanges: Sequence[Exchange]) -> None:
        """Redraw the marks of the turns in sight; nothing moves."""
        self._exchanges = exchanges
        for exchange in exchanges:
            if view := self._views.get(exchange.key):
                view.remark(exchange)

    def stream(self, key: int, text: str, thought: bool) -> None:
        """More text of turn `key`; drawn with the next frame."""
        if view := self._views.get(key):
            view.stream(text, thought)
            self._streaming = view

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for older turns when the top comes into sight."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < 1 and old_value > new_value and self.n_hidden and not self._loading_older:
            self._loading_older = True
            self.post_message(OlderWanted())

    async def load_older(self) -> None:
        """Mount more of the older turns, so that what is in sight stays where it is."""
        first = len(self._exchanges) - len(self._views)
        older = self._exchanges[max(0, first - _MORE_TURNS) : first]
        top = next(iter(self._views.values()), None)
        views = {exchange.key: TurnView(exchange) for exchange in older}
        self._views = {**views, **self._views}
        await self.mount_all(views.values(), before=top)
        self.call_after_refresh(self._keep_in_sight, top)

    def _keep_in_sight(self, view: TurnView | None) -> None:
        if view is not None:
            self.scroll_to(y=view.virtual_region.y, animate=False)
        self._loading_older = False

    def _mark_last(self) -> None:
        asked = [view for view in self._views.values() if view.exchange.state != "queued"]
        for view in asked[-2:]:
            view.set_last(view is asked[-1])

    def _view(self, exchange: Exchange) -> TurnView:
        view = self._views[exchange.key] = TurnView(exchange)
        return view

    def _flush(self) -> None:
        if self._streaming is not None:
            self._streaming.flush()
