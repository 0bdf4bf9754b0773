"""The main screen: transcript, composer, memory sidebar. Turns keys into wishes and updates into drawing."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer

from chatkv.tui.behind.desk import Desk
from chatkv.tui.inert import inert
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.messages import BranchWanted, GaugesChanged, MoreWanted, Updated
from chatkv.tui.prose.seeking import Seeker
from chatkv.tui.screens.chat_keys import CHAT_KEYS
from chatkv.tui.screens.commanding import Commanding
from chatkv.tui.screens.copying import Copying
from chatkv.tui.screens.drafting import Drafting
from chatkv.tui.screens.finding import Finding
from chatkv.tui.screens.fronts import ask_about, fail_front, show_models, show_summary, update_front
from chatkv.tui.screens.turn_actions import TurnActions
from chatkv.tui.screens.view_actions import ViewActions
from chatkv.tui.talk.exchange import (
    Choose,
    Clear,
    Found,
    Front,
    GiveBack,
    Labelled,
    Perform,
    Rebuild,
    Remark,
    Restore,
    Say,
    Show,
    Stream,
    Summed,
    Tokens,
)
from chatkv.tui.widgets.activity import Activity
from chatkv.tui.widgets.banner import Banner, lasting
from chatkv.tui.widgets.find_bar import FindBar, FindInput
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.memory.gauge_line import GaugeLine
from chatkv.tui.widgets.memory.sidebar import Sidebar
from chatkv.tui.widgets.narrow import NarrowCompositor
from chatkv.tui.widgets.talk.recollected import Recollected
from chatkv.tui.widgets.talk.transcript import Transcript
from chatkv.tui.widgets.writing.completions import Completions
from chatkv.tui.writing.slash import SlashCommand

_GAUGES_S = 0.25
"""Figures move at most four times a second; more is a blur, and drawing takes time from decoding."""


class ChatScreen(Drafting, Finding, Commanding, Copying, TurnActions, ViewActions):
    """Listens to its widgets and to what comes from behind the screen."""

    AUTO_FOCUS = "Composer"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 (an instance variable in Textual's types)
        (0, "-narrow"),
        (90, "-wide"),
        (170, "-broad"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (18, "-low"),
        (32, "-middling"),
        (40, "-tall"),
        (60, "-high"),
    ]

    BINDINGS: ClassVar[list[BindingType]] = CHAT_KEYS

    def __init__(self, desk: Desk, *, sidebar: bool) -> None:
        super().__init__(classes="" if sidebar else "-folded")
        self._compositor = NarrowCompositor()
        self._desk = desk
        self._transcript = Transcript()
        self._find_bar, self._seeker = FindBar(), Seeker()
        self._banner = Banner()
        self._activity = Activity()
        self._gauge_line = GaugeLine()
        self._found = Recollected(note=" · goes with your next message")
        self._found.id = "found"
        self._completions = Completions()
        self._composer = self._make_composer(self._completions)
        self._sidebar = Sidebar()
        self._gauges: Gauges | None = None
        self._keys_for: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """Transcript over composer, sidebar beside them, keys below."""
        with Horizontal(id="body"):
            with Vertical(id="talk"):
                yield self._transcript
                yield self._find_bar
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
                return  # one for each token, and no state changes with it
            case GiveBack() | Tokens() | Labelled() | Clear() | Restore():
                self._draft(message.update)
            case Perform(name, about):
                self._perform(name, about)
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
        self.find_again()
        self._mark_state()

    @on(GaugesChanged)
    def _on_gauges(self, message: GaugesChanged) -> None:
        if self._gauges is None:
            self.set_timer(_GAUGES_S, self._draw_gauges)
        self._gauges = message.gauges

    def _draw_gauges(self) -> None:
        gauges, self._gauges = self._gauges, None
        if gauges is None:
            return
        self._sidebar.show(gauges)
        self._activity.show(gauges)
        self._gauge_line.show_gauges(gauges)
        self.find_again()
        self._mark_state()

    def _to_front(self, name: Literal["help", "summary", "models"]) -> None:
        if name == "help":
            self.app.call_later(self.app.run_action, "help")
        elif name == "models":
            show_models(self.app, self._desk)
        else:
            show_summary(self.app, self._desk)

    def _say(self, text: str, level: Literal["info", "warning", "error"]) -> None:
        text = named(self, text)
        if level == "error":
            self._activity.fail(text)
            fail_front(self.app, text)
        if level != "info" or not self._sidebar.display:
            self.notify(inert(text), severity="information" if level == "info" else level, markup=False)

    # What comes from the widgets

    @on(MoreWanted)
    def _on_more(self, message: MoreWanted) -> None:
        self._transcript.load_more(self._desk.conversation.board.exchanges, older=message.older)

    @on(BranchWanted)
    def _on_branch(self, message: BranchWanted) -> None:
        self._desk.do(self._desk.conversation.switch(message.side, message.steps, message.key))

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
            case "stop" if isinstance(self.focused, FindInput):
                return False
            case "stop":
                waiting = bool(conversation.board.queue) or conversation.memory.compacting
                marked = conversation.branches.marked is not None
                return conversation.busy or waiting or marked or conversation.editing is not None
            case "extend":
                return conversation.can_extend
            case "regenerate" | "copy_answer" | "edit" | "mark_above" | "mark_below" | "fork" | "find":
                return bool(conversation.board.turns)
            case "recalled" | "copy_code":
                return self._turn_has(action)
            case "thoughts":
                return not parameters or self._turn_has(action)
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
            self._composer.end_edit()
            self._mark_state()
        elif self._would_leave:
            self._unmark()
        else:
            self._desk.do(conversation.stop())

    def action_new(self) -> None:
        """Start a new session."""
        self._desk.new()

    async def action_sessions(self) -> None:
        """List all sessions."""
        await self.run_action("app.sessions")

    def action_model(self) -> None:
        """Choose the model that answers from now on."""
        self._desk.models.ask()

    def action_try_again(self) -> None:
        """Start the model process again."""
        if not self._desk.try_again():
            self.notify("The model process is running.", timeout=2)

    def _mark_state(self) -> None:
        """Show edit mode, what lasts and, when other keys make sense than before, other keys."""
        conversation = self._desk.conversation
        editing = conversation.editing is not None
        if (mode := named(self, self._mode())) != (self._composer.border_title or ""):
            self._composer.border_title = mode
        self._composer.set_class(editing, "-editing")
        self._composer.set_class(bool(conversation.place.writer) or conversation.held.strange, "-reading")
        self._banner.show(lasting(self._desk.gauges, conversation.place, conversation.held))
        self._banner.chooses = conversation.held.strange
        self._leave_turns()
        self._transcript.show_marked(conversation.branches.marked)
        keys_for = (
            conversation.busy,
            conversation.can_extend,
            editing,
            bool(conversation.board.queue) or conversation.memory.compacting,
            bool(conversation.board.turns),
            conversation.branches.marked,
        )
        if keys_for != self._keys_for:
            self._keys_for = keys_for
            self.refresh_bindings()
