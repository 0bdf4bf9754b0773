"""The main screen: transcript, composer, memory sidebar. Turns keys into wishes and updates into drawing."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, TextArea

from chatkv.tui.desk import Desk
from chatkv.tui.exchange import (
    Choose,
    Found,
    Front,
    GiveBack,
    Rebuild,
    Remark,
    Say,
    Show,
    Stream,
    Summed,
)
from chatkv.tui.gauges import Gauges
from chatkv.tui.inert import inert
from chatkv.tui.messages import BranchWanted, GaugesChanged, MoreWanted, Submitted, Updated
from chatkv.tui.screens.chat_keys import CHAT_KEYS
from chatkv.tui.screens.fronts import ask_about, fail_front, show_models, show_summary, update_front
from chatkv.tui.screens.turn_actions import TurnActions
from chatkv.tui.slash import SlashCommand
from chatkv.tui.widgets.activity import Activity
from chatkv.tui.widgets.banner import Banner, lasting
from chatkv.tui.widgets.completions import Completions
from chatkv.tui.widgets.composer import Composer
from chatkv.tui.widgets.gauge_line import GaugeLine
from chatkv.tui.widgets.recollected import Recollected
from chatkv.tui.widgets.sidebar import Sidebar
from chatkv.tui.widgets.transcript import Transcript

_GAUGES_S = 0.25
"""Figures move at most four times a second; more is a blur, and drawing takes time from decoding."""


class ChatScreen(TurnActions):
    """Listens to its widgets and to what comes from behind the screen."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 (an instance variable in Textual's types)
        (0, "-narrow"),
        (90, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (18, "-low"),
        (32, "-middling"),
        (40, "-tall"),
    ]

    BINDINGS: ClassVar[list[BindingType]] = CHAT_KEYS

    def __init__(self, desk: Desk, *, sidebar: bool) -> None:
        super().__init__(classes="" if sidebar else "-folded")
        self._desk = desk
        self._transcript = Transcript()
        self._banner = Banner()
        self._activity = Activity()
        self._gauge_line = GaugeLine()
        self._found = Recollected(note=" · goes with your next message")
        self._found.id = "found"
        self._completions = Completions()
        self._composer = Composer()
        self._sidebar = Sidebar()
        self._gauges: Gauges | None = None
        self._keys_for: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """Transcript over composer, sidebar beside them, keys below."""
        with Horizontal(id="body"):
            with Vertical(id="talk"):
                yield self._transcript
                yield self._found
                yield self._banner
                yield self._activity
                yield self._completions
                yield self._composer
                yield self._gauge_line
            yield self._sidebar
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The composer is where keys go."""
        self._composer.focus()
        self.set_interval(_GAUGES_S, self._draw_gauges)

    # What comes from behind the screen

    @on(Updated)
    def _on_updated(self, message: Updated) -> None:
        conversation = self._desk.conversation
        match message.update:
            case Rebuild(at, stay):
                self._transcript.rebuild(conversation.board.exchanges, at=at, stay=stay)
            case Show(exchange):
                self._transcript.show(exchange, conversation.board.exchanges)
            case Remark():
                self._transcript.remark(conversation.board.exchanges)
            case Stream(key, text, thought):
                self._transcript.stream(key, text, thought)
            case GiveBack(text):
                self._composer.give_back(text)
            case Say(text, level):
                self._say(text, level)
            case Found(recollection):
                self._found.show(recollection)
            case Summed(summary):
                update_front(self.app, summary)
            case Front(name):
                self._to_front(name)
            case Choose() as choose:
                ask_about(self.app, choose, self._desk.settle)
        self._mark_state()

    @on(GaugesChanged)
    def _on_gauges(self, message: GaugesChanged) -> None:
        self._gauges = message.gauges

    def _draw_gauges(self) -> None:
        gauges, self._gauges = self._gauges, None
        if gauges is None:
            return
        self._sidebar.show(gauges)
        self._activity.show(gauges)
        self._gauge_line.show_gauges(gauges)
        self._mark_state()

    def _to_front(self, name: Literal["help", "summary", "models"]) -> None:
        if name == "help":
            self.app.call_later(self.app.run_action, "help")
        elif name == "models":
            show_models(self.app, self._desk)
        else:
            show_summary(self.app, self._desk)

    def _say(self, text: str, level: Literal["info", "warning", "error"]) -> None:
        self._sidebar.say(text)
        if level == "error":
            self._activity.fail(text)
            fail_front(self.app)
        if level != "info" or not self._sidebar.display:
            self.notify(inert(text), severity="information" if level == "info" else level, markup=False)

    # What comes from the widgets

    @on(Submitted)
    def _on_submitted(self, message: Submitted) -> None:
        self._activity.fail("")
        self._desk.enter(message.text)

    @on(MoreWanted)
    def _on_more(self, message: MoreWanted) -> None:
        self._transcript.load_more(self._desk.conversation.board.exchanges, older=message.older)

    @on(BranchWanted)
    def _on_branch(self, message: BranchWanted) -> None:
        self._desk.do(self._desk.conversation.switch(message.side, message.steps, message.key))

    @on(TextArea.Changed)
    def _on_typed(self) -> None:
        self._composer.count()
        editing = self._desk.conversation.editing is not None
        self._completions.show("" if editing else self._composer.text)

    def begin_command(self, command: SlashCommand) -> None:
        """Carry out a command of the palette; one that takes words is written into the composer."""
        if command.arguments:
            self._composer.put(f"/{command.name} ")
            self._composer.focus()
        else:
            self._desk.enter(f"/{command.name}")

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that mean something only now and then are free for others at other times."""
        conversation = self._desk.conversation
        match action:
            case "stop":
                waiting = bool(conversation.board.queue) or conversation.memory.compacting
                marked = conversation.branches.marked is not None
                return conversation.busy or waiting or marked or conversation.editing is not None
            case "extend":
                return conversation.can_extend
            case "regenerate" | "copy_answer" | "edit" | "mark_above" | "mark_below" | "fork":
                return bool(conversation.board.turns)
            case "wording_before" | "wording_after":
                return any(turn.asked for turn in conversation.board.turns)
            case "answer_before" | "answer_after":
                return any(turn.answered for turn in conversation.board.turns)
        return True

    def action_stop(self) -> None:
        """Leave edit mode, else unmark the turn, else stop the answer and take back what is queued."""
        conversation = self._desk.conversation
        if conversation.editing is not None:
            conversation.editing = None
            self._composer.put("")
            self._mark_state()
        elif conversation.branches.marked is not None and not conversation.busy:
            self._unmark()
        else:
            self._desk.do(self._desk.conversation.stop())

    def action_new(self) -> None:
        """Start a new session."""
        self._desk.new()

    async def action_sessions(self) -> None:
        """List all sessions."""
        await self.run_action("app.sessions")

    def action_model(self) -> None:
        """Choose the model that answers from now on."""
        self._desk.models.ask()

    def action_sidebar(self) -> None:
        """Show or hide the sidebar; in a small terminal, over the transcript."""
        shown = self._sidebar.display
        self.set_class(shown, "-folded")
        self.set_class(not shown, "-unfolded")

    def action_page_up(self) -> None:
        """Scroll the conversation a page up."""
        self._transcript.page(-1)

    def action_page_down(self) -> None:
        """Scroll the conversation a page down."""
        self._transcript.page(1)

    def action_top(self) -> None:
        """Go to the beginning."""
        self._transcript.to_top(self._desk.conversation.board.exchanges)

    def action_end(self) -> None:
        """Go to the end and follow it."""
        self._transcript.to_end(self._desk.conversation.board.exchanges)

    def action_try_again(self) -> None:
        """Start the model process again."""
        if not self._desk.try_again():
            self.notify("The model process is running.", timeout=2)

    def _mark_state(self) -> None:
        """Show edit mode, what lasts and, when other keys make sense than before, other keys."""
        conversation = self._desk.conversation
        editing = conversation.editing is not None
        self._composer.border_title = self._mode()
        self._composer.set_class(editing, "-editing")
        self._composer.set_class(bool(conversation.place.writer) or conversation.held.strange, "-reading")
        self._banner.show(lasting(self._desk.gauges, conversation.place, conversation.held))
        self._banner.chooses = conversation.held.strange
        self._transcript.show_marked(conversation.branches.marked)
        keys_for = (
            conversation.busy,
            conversation.can_extend,
            editing,
            bool(conversation.board.queue) or conversation.memory.compacting,
            bool(conversation.board.turns),
            conversation.branches.marked is not None,
        )
        if keys_for != self._keys_for:
            self._keys_for = keys_for
            self.refresh_bindings()
