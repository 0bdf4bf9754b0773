"""One model, one database, one open session: carries out protocol commands and emits protocol events.

The worker process, `chatkv ask` and the benches all stand on it. Knows nothing of pipes or screens.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable

from chatkv import models
from chatkv.config import Config, changed
from chatkv.engine.loader import LoadedModel, load_model
from chatkv.errors import ChatkvError, UsageError
from chatkv.paths import Paths
from chatkv.protocol import (
    Command,
    Compact,
    Compaction,
    Continue,
    Edit,
    Error,
    Event,
    Fork,
    Keep,
    Loading,
    New,
    Notice,
    Open,
    Pin,
    PrefixBreak,
    Ready,
    Recall,
    Regenerate,
    Send,
    Set,
    Stats,
    Summary,
    Unpin,
    type_name,
)
from chatkv.runtime import Runtime, build_runtime
from chatkv.session import Session
from chatkv.store import Store, this_process

_LIVE_SETTINGS = ("sampling.", "chat.thinking", "chat.system", "memory.")


class Host:
    """Owns store, model and session. `emit` receives every event, in order, on the calling thread."""

    def __init__(self, config: Config, paths: Paths, emit: Callable[[Event], None]) -> None:
        self.config = config
        self._paths = paths
        self._emit = emit
        self._owner = this_process()
        self.store = Store.open(config.database(paths))
        self._loaded: LoadedModel | None = None
        self._runtime: Runtime | None = None
        self._session: Session | None = None

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
            self._session = Session(self.runtime, self.store, system=self.config.chat.system)
        return self._session

    def handle(self, command: Command, cancelled: Callable[[], bool], received_at: float) -> None:
        """Carry out one command. Raises `ChatkvError`; the conversation stands and the next command works."""
        if self._session is not None:
            self._session.upkeep.interrupt()
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
        session = self.session
        events: Iterable[Event]
        match command:
            case Send(text=text, max_new_tokens=limit, overlong=overlong):
                text = session.head_of(text) if overlong == "head" else text
                events = session.send(text, cancelled, max_new_tokens=limit, received_at=received_at)
            case Regenerate(max_new_tokens=limit):
                events = session.regenerate(cancelled, max_new_tokens=limit, received_at=received_at)
            case Continue(max_new_tokens=limit):
                events = session.extend(cancelled, max_new_tokens=limit, received_at=received_at)
            case Edit(message_id=message_id, text=text):
                events = session.edit(
                    message_id, text, cancelled, max_new_tokens=None, received_at=received_at
                )
            case Fork(message_id=message_id):
                events = session.fork(message_id)
            case _:
                events = self._remember(session, command, cancelled)
        for event in events:
            self._emit(event)
            self._note(event)
        self._claim()

    def _remember(self, session: Session, command: Command, cancelled: Callable[[], bool]) -> Iterable[Event]:
        """The commands that concern memory."""
        match command:
            case Compact(instructions=instructions):
                return session.upkeep.compact(instructions, cancelled)
            case Summary(text=None, undo=False):
                return [session.memory.summarized()]
            case Summary(text=None):
                return session.memory.undo()
            case Summary(text=str(text)):
                return session.memory.rewrite(text)
            case Pin(turn=turn):
                return session.memory.pin(turn, pinned=True)
            case Unpin(turn=turn):
                return session.memory.pin(turn, pinned=False)
            case Recall(words=words):
                return [session.look_up(words)]
            case Keep(text=text, name=name):
                return session.keep(text, name)
            case _:
                raise UsageError(f"Cannot carry out {type(command).__name__} here.")

    @property
    def has_idle_work(self) -> bool:
        """Whether `idle_step` would do something."""
        return self._runtime is not None and self.session.upkeep.has_work

    def idle_step(self) -> None:
        """A moment of work that makes the next turn cheaper."""
        try:
            for event in self.session.upkeep.step():
                self._emit(event)
                self._note(event)
        except ChatkvError as error:
            self.session.upkeep.rest()
            self._emit(Notice(f"Idle work was given up: {error.message}", "warning"))

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

    def _new(self, system: str | None, *, carry: bool) -> None:
        chosen = self.config.chat.system if system is None else system
        origin = self._session
        if carry:
            if origin is None or origin.record is None:
                raise UsageError("There is no conversation whose summary could be carried over.")
            chosen = origin.carried(chosen)
        self._leave()
        carried_from = origin.record.id if carry and origin and origin.record else None
        self._session = Session(self.runtime, self.store, system=chosen, carried_from=carried_from)
        self._emit(self._session.opened())

    def _open(self, wanted: str) -> None:
        record = self.store.resolve(wanted)
        self._leave()
        self.store.claim(record.id, self._owner)
        n_partial = self.store.recover(record.id)
        self._session = Session(self.runtime, self.store, record=self.store.session(record.id))
        self._emit(self._session.opened())
        self._emit(self._session.context.marks())
        if n_partial:
            self._emit(
                Notice("The last answer was cut when its process ended. `continue` extends it.", "warning")
            )
        if record.model != self.runtime.engine.loaded.name:
            self._emit(
                Notice(
                    f"This session was held with {record.model}; {self.runtime.engine.loaded.name} goes on."
                )
            )

    def _claim(self) -> None:
        """A session that was just stored for the first time is ours to write."""
        record = self.session.record
        if record is not None:
            self.store.claim(record.id, self._owner)

    def _leave(self) -> None:
        if self._session is not None and self._session.record is not None:
            self.store.release(self._session.record.id, self._owner)
        self._session = None

    def _set(self, key: str, value: str | int | float | bool) -> None:
        self.config = changed(self.config, key, value)
        if not key.startswith(_LIVE_SETTINGS):
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
