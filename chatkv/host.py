"""One model, one database, one open session: carries out protocol commands and emits protocol events.

The worker process, `chatkv ask` and the benches all stand on it. Knows nothing of pipes or screens.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator, Iterable

from chatkv import models
from chatkv.config import LIVE_SETTINGS, Config, changed
from chatkv.engine.loader import LoadedModel, load_model
from chatkv.errors import ChatkvError, UsageError
from chatkv.paths import Paths
from chatkv.protocol import (
    Command,
    Compaction,
    Count,
    Counted,
    Draft,
    Error,
    Event,
    Loading,
    New,
    Notice,
    Open,
    PrefixBreak,
    Ready,
    Send,
    Set,
    Stats,
    type_name,
)
from chatkv.runtime import Runtime, build_runtime
from chatkv.session import Session, carry_out
from chatkv.session.custody import Custody
from chatkv.session.spare_time import SpareTime
from chatkv.store import SteadyStore, this_process


class Host:
    """Owns store, model and session. `emit` receives every event, in order, on the calling thread."""

    def __init__(self, config: Config, paths: Paths, emit: Callable[[Event], None]) -> None:
        self.config = config
        self._paths = paths
        self._emit = emit
        self.store = SteadyStore.open(config.database(paths), tell=lambda text: emit(Notice(text)))
        self.custody = Custody(self.store, this_process())
        self._loaded: LoadedModel | None = None
        self._runtime: Runtime | None = None
        self._session: Session | None = None
        self._spare_time = SpareTime(self.store)
        self._draft = ""
        self._is_busy = False

    def load(self) -> None:
        """Fetch and load the model, with progress. Raises `ModelError` or `ConfigError`."""

        def report(progress: models.Progress) -> None:
            self._emit(Loading(progress.stage, progress.done, progress.total, progress.unit))

        started = time.perf_counter()
        files = models.locate_model(
            self.config.model,
            self._paths.models,
            revision=self.config.load.revision,
            trust_remote_code=self.config.load.trust_remote_code,
            on_progress=report,
        )
        loaded = self._loaded = load_model(files, self.config.load, report)
        runtime = self._runtime = build_runtime(loaded, self.config)
        for text in (*loaded.notices, *runtime.chat.notices):
            self._emit(Notice(text))
        seconds = time.perf_counter() - started
        dtype = str(loaded.dtype).removeprefix("torch.")
        self._emit(
            Ready(
                loaded.name,
                loaded.device,
                dtype,
                loaded.context_tokens,
                loaded.bytes_per_token,
                round(seconds, 3),
            )
        )
        self._emit(runtime.kv_event())

    @property
    def runtime(self) -> Runtime:
        """The loaded model's runtime."""
        assert self._runtime is not None, "load() comes first"
        return self._runtime

    @property
    def session(self) -> Session:
        """The open session; a new one if none was opened."""
        if self._session is None:
            return self._begin(Session(self.runtime, self.store, system=self.config.chat.system))
        return self._session

    def handle(self, command: Command, cancelled: Callable[[], bool], received_at: float) -> None:
        """Carry out one command. Raises `ChatkvError`; the conversation stands and the next command works."""
        self._is_busy = True
        try:
            self._interrupt(command)
            self._handle(command, cancelled, received_at)
        finally:
            self._is_busy = False

    def attend(self, aside: Draft | Count) -> None:
        """Answer what does not wait in line, between two commands or in the middle of one. Interrupts nothing."""
        if isinstance(aside, Count):
            self._emit(Counted(aside.key, self.runtime.codec.count(aside.text)))
            return
        self._draft = aside.text
        self.session.drafting.write(aside.text)
        self._emit(self.session.drafting.drafted(busy=self._is_busy))

    def _interrupt(self, command: Command) -> None:
        """Idle work gives way. What was read of a draft stays if a message comes, which may be just that."""
        self._say_at_once(self._spare_time.interrupted())
        if isinstance(command, Send) and command.text == self._draft:
            self._draft = ""
        if self._session is not None:
            self._session.upkeep.interrupt()
            if not isinstance(command, Send | Stats):
                self._session.drafting.cut()

    def _handle(self, command: Command, cancelled: Callable[[], bool], received_at: float) -> None:
        self.mend()
        if self.custody.must_take_over(command, self._session_id):
            self._enter(str(self._session_id))
        match command:
            case Open(session=wanted):
                self._open(wanted)
            case New(system=system, carry=carry):
                self._new(system, carry=carry)
            case Set(key=key, value=value):
                self._set(key, value)
            case Stats():
                self._emit(self.runtime.kv_event())
            case _:
                self._converse(command, cancelled, received_at)

    def _converse(self, command: Command, cancelled: Callable[[], bool], received_at: float) -> None:
        events = carry_out(self.session, command, cancelled, received_at)
        try:
            for event in events:
                self._tell(event)
        finally:
            if isinstance(events, Generator):
                events.close()  # now, and not after the database was closed: a running answer is saved
        self._claim()
        self.mend()

    @property
    def has_idle_work(self) -> bool:
        """Whether `idle_step` would do something."""
        if self._runtime is None or self.custody.writer:
            return False
        return self._spare_time.has_work(self.session)

    def wakes_in_s(self) -> float | None:
        """Seconds until there is something to do although nothing is asked; None: there will not be."""
        return self._spare_time.wakes_in_s(self._session)

    def mend(self) -> None:
        """Say whether saving works; where it does not, try again if it is time. Between turns only."""
        moved = self.custody.come_back(self._session_id)
        for event in self.custody.news():
            self._emit(event)
        if moved:
            self.session.upkeep.interrupt()
            self._enter(moved)

    def idle_step(self) -> None:
        """A moment of work that makes the next turn, or the next search, cheaper."""
        try:
            for event in self._spare_time.step(self.session):
                self._tell(event)
        except ChatkvError as error:
            self.session.upkeep.rest()
            self._emit(Notice(f"Idle work was given up: {error.message}", "warning"))
            self._say_at_once(self._spare_time.interrupted())

    def _say_at_once(self, events: Iterable[Event]) -> None:
        for event in events:
            self._emit(event)

    def _tell(self, event: Event) -> None:
        self._emit(event)
        self._note(event)
        self.custody.note(event, self._session_id)
        for news in self.custody.news():
            self._emit(news)

    def _note(self, event: Event) -> None:
        """Keep in the store what a person may ask about later."""
        record = self.session.record
        noted = isinstance(event, PrefixBreak | Error) or (
            isinstance(event, Compaction) and event.stage in ("done", "given_up", "undone")
        )
        if noted and record is not None:
            self.store.add_event(record.id, type_name(type(event)), dataclasses.asdict(event))

    def close(self) -> None:
        """Let go of session and database."""
        self._leave()
        self.store.close()
        for event in self.custody.last_words():
            self._emit(event)

    def _new(self, system: str | None, *, carry: bool) -> None:
        chosen = self.config.chat.system if system is None else system
        origin = self._session
        if carry:
            if origin is None or origin.record is None:
                raise UsageError("There is no conversation whose summary could be carried over.")
            chosen = origin.carried(chosen)
        self._leave()
        carried_from = origin.record.id if carry and origin and origin.record else None
        session = self._begin(Session(self.runtime, self.store, system=chosen, carried_from=carried_from))
        self._emit(session.opened())

    def _open(self, wanted: str) -> None:
        record = self.store.resolve(wanted)
        self._leave()
        self._enter(record.id)

    def _enter(self, session_id: str) -> None:
        """Read a session from the store and go on with it, as its writer if no other process is."""
        self.custody.take(session_id)
        if self._session is not None:
            self._session.drafting.cut()
        self.runtime.engine.unpark(session_id)
        n_partial = 0 if self.custody.writer else self.store.recover(session_id)
        session = self._begin(Session(self.runtime, self.store, record=self.store.session(session_id)))
        self._emit(dataclasses.replace(session.opened(), writer=self.custody.writer))
        self._emit(session.context.marks())
        if n_partial:
            self._emit(
                Notice("The last answer was cut when its process ended. `continue` extends it.", "warning")
            )

    def _begin(self, session: Session) -> Session:
        """Go on with `session`; what is being written is its draft now."""
        self._session = session
        session.drafting.write(self._draft)
        return session

    @property
    def _session_id(self) -> str | None:
        """The open session's id; None before it is stored."""
        return self._session.record.id if self._session and self._session.record else None

    def _claim(self) -> None:
        """A session that was just stored for the first time is ours to write."""
        if self._session_id is not None and not self.custody.writer:
            self.custody.take(self._session_id)

    def _leave(self) -> None:
        """Let go of the session. Its KV goes to disk as far as it is not there, and stays warm while there is room."""
        if self._session is not None and self._session_id is not None:
            if not self.custody.writer:
                for event in self._session.upkeep.put_away():
                    self._tell(event)
            self.runtime.engine.park(self._session_id)
        self.custody.leave(self._session_id)
        self._session = None

    def _set(self, key: str, value: str | int | float | bool) -> None:
        self.config = changed(self.config, key, value)
        if not key.startswith(LIVE_SETTINGS):
            raise UsageError(
                f"`{key}` takes effect when the model is loaded.", f"Restart with --set {key}=…."
            )
        assert self._loaded is not None
        self._runtime = build_runtime(self._loaded, self.config, self._runtime)
        if self._session is not None:
            self._session.adopt(self._runtime)
        shown = dataclasses.asdict(self._runtime.sampling) if key.startswith("sampling.") else value
        self._emit(
            Notice(
                f"{key} = {value!r}"
                if not isinstance(shown, dict)
                else f"{key} = {value!r} (in force: {shown})"
            )
        )
        self._emit(self._runtime.kv_event())
