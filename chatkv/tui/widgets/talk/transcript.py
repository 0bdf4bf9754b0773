"""The conversation, newest turn at the bottom. Only a stretch of turns is mounted; the others come on demand."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.timer import Timer
from textual.widgets import Static

from chatkv.tui.messages import MoreWanted
from chatkv.tui.talk.exchange import Exchange
from chatkv.tui.widgets.pace import Pace
from chatkv.tui.widgets.talk.more import More
from chatkv.tui.widgets.talk.mounted import MountedTurns
from chatkv.tui.widgets.talk.turn import TurnView

_FIRST_TURNS = 8
_MORE_TURNS = 8
_MOST_TURNS = 48
_EMPTY = "What is on your mind?"


class Transcript(MountedTurns, can_focus=False):
    """Draws turns, follows the end until the person scrolls up, and asks for more turns at both ends."""

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
    """Growing is no reason for a second layout: the first one has put everything into its place."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[int, TurnView] = {}
        self._exchanges: Sequence[Exchange] = ()
        self._first = 0
        """Index of the first turn that is mounted."""
        self._streaming: TurnView | None = None
        self._frame: Timer | None = None
        """When it rings, the text that came is drawn."""
        self._pace = Pace()
        self._marked: int | None = None
        self._loading = False
        self._empty = Static(Content(_EMPTY), classes="empty")
        self._earlier, self._later = More(older=True), More(older=False)

    def on_mount(self) -> None:
        """Follow the end."""
        self.anchor()
        self.mount(self._empty, self._earlier, self._later)

    @property
    def page_lines(self) -> int:
        """How far a page key scrolls: two lines stay in sight."""
        return max(1, self.size.height - 2)

    @property
    def at_end(self) -> bool:
        """Whether the newest turn is mounted."""
        return self._first + len(self._views) >= len(self._exchanges)

    @property
    def is_scrolled_up(self) -> bool:
        """Whether the person has scrolled up, or later turns are not mounted: the end is not followed."""
        return not self.is_anchored or self._anchor_released

    def rebuild(self, exchanges: Sequence[Exchange], *, at: int | None = None, stay: bool = False) -> None:
        """Show these turns, keeping the views of those that stay. `at`: key of the turn to bring into sight, None = the
        end; `stay`: not if the person has scrolled up."""
        same = bool({exchange.key for exchange in exchanges} & self._views.keys())
        held = same and stay and self.is_scrolled_up
        keys = [exchange.key for exchange in exchanges]
        if at in keys:
            # Room above and below it, and every view that is there already where the turn is among them.
            index = keys.index(at)
            near = at in self._views or keys[max(0, index - 1)] in self._views
            first = self._first if near and same else max(0, index - _FIRST_TURNS // 2)
            n_turns = max(_FIRST_TURNS, len(self._views) if near and same else 0, index + 2 - first)
        elif held:
            first, n_turns = self._first, max(_FIRST_TURNS, len(self._views))
        else:
            n_turns = max(_FIRST_TURNS, len(self._views)) if same and self.at_end else _FIRST_TURNS
            first = len(exchanges) - n_turns
        self._fill(exchanges, max(0, first), n_turns)
        self._streaming = None
        newest_followed = keys[-1:] == [at] and not self.is_scrolled_up
        if at in self._views and not newest_followed:
            self._show_turn(self._views[at])
        elif not held:
            self.anchor()

    def show(self, exchange: Exchange, exchanges: Sequence[Exchange]) -> None:
        """Add or redraw one turn of `exchanges`."""
        was_at_end, self._exchanges = self.at_end, exchanges
        self._empty.display = False
        view = self._views.get(exchange.key)
        if view is not None:
            view.show(exchange)
        elif not was_at_end:
            self.to_end(exchanges)
        elif exchange.key == exchanges[-1].key:
            self.mount(self._view(exchange), before=self._later)
            if len(self._views) > _MOST_TURNS:
                self._fill(exchanges, len(exchanges) - _FIRST_TURNS, _FIRST_TURNS)
            self.anchor()
        self._count()
        self._mark_last()
        if self._streaming is view:
            self._streaming = None

    def remark(self, exchanges: Sequence[Exchange]) -> None:
        """Redraw the marks of the turns in sight; nothing moves."""
        self._exchanges = exchanges
        for exchange in exchanges[self._first : self._first + len(self._views)]:
            if view := self._views.get(exchange.key):
                view.remark(exchange)

    def mark(self, key: int | None, exchanges: Sequence[Exchange]) -> None:
        """Keys about one turn are about turn `key`; it comes into sight."""
        self.show_marked(key)
        if key is None:
            self.to_end(exchanges)
            return
        if key not in self._views:
            self.rebuild(exchanges, at=key)
            self.call_after_refresh(self._show_whole, key)
        else:
            self._show_whole(key)

    def _show_whole(self, key: int) -> None:
        """As much of the marked turn in sight as there is room for."""
        view = self._views.get(key)
        if key == self._marked and view is not None and view.virtual_region.height:
            self.scroll_to_widget(view, animate=False, top=view.size.height >= self.size.height)

    def stream(self, key: int, text: str, thought: bool) -> None:
        """More text of turn `key`; drawn with the next frame."""
        if view := self._views.get(key):
            view.stream(text, thought)
            self._streaming = view
            if self._frame is None:
                self._frame = self.set_timer(self._pace.wait_s(), self._flush)

    def to_top(self, exchanges: Sequence[Exchange]) -> None:
        """Go to the beginning."""
        if self._first:
            self._fill(exchanges, 0, _FIRST_TURNS)
        self.scroll_home(animate=False)

    def to_end(self, exchanges: Sequence[Exchange]) -> None:
        """Go to the end and follow it."""
        if not self.at_end:
            self._fill(exchanges, max(0, len(exchanges) - _FIRST_TURNS), _FIRST_TURNS)
        self.anchor()

    def on_resize(self) -> None:
        """A taller screen may hold more than is mounted."""
        self.call_after_refresh(self._fill_screen)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for more turns a page before an end of the mounted ones comes into sight."""
        super().watch_scroll_y(old_value, new_value)
        if self._loading:
            return
        if new_value > old_value:
            self._follow_again()
        page = self.size.height
        if new_value < page and old_value > new_value and self._first:
            self._want(older=True)
        elif new_value > max(old_value, self.max_scroll_y - page) and not self.at_end:
            self._want(older=False)

    def load_more(self, exchanges: Sequence[Exchange], *, older: bool, laid_out: bool = False) -> None:
        """Mount more turns at one end, and fewer at the other, so that what is in sight stays where it is.

        What was just mounted has no place yet: that is waited for once, unless it is `laid_out`.
        """
        self._loading = True
        edge = next(iter(self._views.values() if older else reversed(self._views.values())), None)
        if edge is not None and not edge.virtual_region.height and not laid_out:
            self.call_after_refresh(self.load_more, exchanges, older=older, laid_out=True)
            return
        end = self._first + len(self._views)
        offset = edge.virtual_region.y - self.scroll_y if edge else 0
        if older:
            first = max(0, self._first - _MORE_TURNS)
            n_turns = min(end - first, _MOST_TURNS)
        else:
            end = min(len(exchanges), end + _MORE_TURNS)
            n_turns = min(end - self._first, _MOST_TURNS)
            first = end - n_turns
        self._fill(exchanges, first, n_turns)
        self.call_after_refresh(self._keep_in_sight, edge, offset)

    def page(self, pages: int) -> None:
        """Scroll so many pages down, or up if negative."""
        self.scroll_relative(y=pages * self.page_lines, animate=False, immediate=True)
        if pages > 0:
            self._follow_again()

    def _follow_again(self) -> None:
        """Who is back at the end follows it."""
        if self.at_end and self.is_scrolled_up and self.scroll_y >= self.max_scroll_y:
            self.anchor()

    def _want(self, *, older: bool) -> None:
        self._loading = True
        self.post_message(MoreWanted(older=older))

    def _keep_in_sight(self, view: TurnView | None, offset: float) -> None:
        if view is not None and view.is_attached:
            self.scroll_to(y=view.virtual_region.y - offset, animate=False, immediate=True)
        self._loading = False

    def _show_turn(self, view: TurnView) -> None:
        """Its question in sight, unless it is already."""
        self.release_anchor()

        def scroll() -> None:
            if self.max_scroll_y < 1 and self.at_end:
                self.anchor()
            elif view.is_attached and not self._in_sight(view):
                self.scroll_to(y=view.virtual_region.y - 1, animate=False, immediate=True)

        self.call_after_refresh(scroll)

    def _in_sight(self, view: TurnView) -> bool:
        top = view.virtual_region.y - self.scroll_y
        return self.scroll_y >= 0 and 0 <= top < self.size.height - 2

    def _fill(self, exchanges: Sequence[Exchange], first: int, n_turns: int) -> None:
        """Mount exactly the `n_turns` turns from `first` on."""
        shown = exchanges[first : first + n_turns]
        keep = {exchange.key for exchange in shown}
        for key in [key for key in self._views if key not in keep]:
            self._views.pop(key).remove()
        self._exchanges, self._first = exchanges, first
        if n_turns >= _FIRST_TURNS <= len(exchanges):
            # Else all would be drawn twice: first without its column, then with it.
            self.show_vertical_scrollbar = True
        self._empty.display = not exchanges
        old, self._views = self._views, {}
        fresh: list[TurnView] = []
        for exchange in shown:
            view = old.get(exchange.key)
            if view is None:
                fresh.append(self._view(exchange))
                continue
            self._views[exchange.key] = view
            if view.exchange != exchange:
                view.show(exchange)
            self.mount_all(fresh, before=view)
            fresh = []
        self.mount_all(fresh, before=self._later)
        # An end that is followed would run on and on while later turns are mounted below it.
        if not self.at_end and self.is_anchored:
            self.anchor(False)
        self._count()
        self._mark_last()
        self.show_marked(self._marked)
        self.call_after_refresh(self._fill_screen)

    def _fill_screen(self) -> None:
        """Where the mounted turns leave the screen half empty, nothing can be scrolled: ask for more."""
        if self.size.height and self.max_scroll_y < 1 and not self._loading and self._views:
            if self._first:
                self._want(older=True)
            elif not self.at_end:
                self._want(older=False)

    def _count(self) -> None:
        before, behind = self._exchanges[: self._first], self._exchanges[self._first + len(self._views) :]
        self._earlier.show_count(sum(1 + (turn.answer_id is not None) for turn in before))
        self._later.show_count(sum(1 + (turn.answer_id is not None) for turn in behind))

    def show_marked(self, key: int | None) -> None:
        """Keys about one turn are about turn `key`."""
        if self._marked != key and (was := self._views.get(self._marked or 0)):
            was.set_marked(False)
        self._marked = key
        if now := self._views.get(key or 0):
            now.set_marked(True)

    def _mark_last(self) -> None:
        asked = [exchange.key for exchange in self._exchanges if exchange.state != "queued"][-2:]
        for key in asked:
            if view := self._views.get(key):
                view.set_last(key == asked[-1])

    def _view(self, exchange: Exchange) -> TurnView:
        view = self._views[exchange.key] = TurnView(exchange, unfolded=self.unfolded)
        view.seek(self.needle)
        return view

    def _flush(self) -> None:
        """Draw what came."""
        self._frame = None
        if self._streaming is not None:
            self._pace.draw()
            self._streaming.flush()
