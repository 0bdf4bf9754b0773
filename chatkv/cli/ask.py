"""`chatkv ask`: one turn in this process. The answer goes to stdout as it comes, everything else to stderr."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from chatkv.errors import ContextFullError, UsageError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.config import Config
    from chatkv.paths import Paths
    from chatkv.protocol import Event
    from chatkv.protocol.commands import Overlong

_FINISH_CODES = {"error": 5, "cancelled": 130}


@click.command("ask")
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option(
    "-s", "--session", metavar="ID", help='Continue this session ("last": the newest); default: a new one.'
)
@click.option("--system", help="System prompt of a new session.")
@click.option("-n", "--max-tokens", type=click.IntRange(min=1), help="Longest answer, in tokens.")
@click.option(
    "--long",
    "overlong",
    type=click.Choice(["refuse", "head", "document"]),
    default="refuse",
    show_default=True,
    help="A text that cannot fit: refuse it, send its beginning, or keep what stdin gives to recall from.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object with the answer and what the turn cost."
)
@click.pass_obj
def command(
    settings: Settings,
    words: tuple[str, ...],
    session: str | None,
    system: str | None,
    max_tokens: int | None,
    overlong: str,
    as_json: bool,
) -> None:
    """Ask once and print the answer. Text on stdin joins the prompt."""
    ask_once(
        settings.config(),
        settings.paths(),
        words,
        session=session,
        own_model="model" not in settings.overrides,
        system=system,
        max_tokens=max_tokens,
        overlong=overlong,
        as_json=as_json,
    )


def ask_once(
    config: Config,
    paths: Paths,
    words: Sequence[str],
    *,
    session: str | None,
    as_json: bool,
    system: str | None = None,
    max_tokens: int | None = None,
    overlong: str = "refuse",
    own_model: bool = False,
) -> None:
    """Run one turn and exit with its code. Raises `UsageError` where there is nothing to ask.

    `own_model`: a `session` goes on with the model that it was held with, where that is known and on this machine.
    """
    asked, piped = _texts(words)
    document = piped if overlong == "document" and asked and piped else ""
    text = asked if document else "\n\n".join(part for part in (asked, piped) if part)
    from chatkv.host import Host
    from chatkv.protocol import Keep, New, Open, Send

    if session is not None and own_model:
        config = _with_own_model(config, paths, session)
    printer = _Printer(as_json)
    received_at = time.perf_counter()
    host = Host(config, paths, printer.take)
    stop = _StopOnInterrupt()
    try:
        host.load()
        opening = Open(session) if session is not None else New(system)
        host.handle(opening, stop.is_set, received_at)
        if document:
            host.handle(Keep(document), stop.is_set, time.perf_counter())
        way: Overlong = "head" if overlong == "head" else "refuse"
        host.handle(Send(text, max_tokens, way), stop.is_set, time.perf_counter())
    except ContextFullError as error:
        hint = "`--long head` sends its beginning, `--long document` keeps what stdin gives to recall from."
        raise ContextFullError(error.message, hint) from error
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    finally:
        host.close()
    printer.finish()
    sys.exit(_FINISH_CODES.get(printer.finished, 0))


def _with_own_model(config: Config, paths: Paths, session: str) -> Config:
    """`config` with the model that the session was held with, if it is known and on this machine."""
    from dataclasses import replace

    from chatkv.models.installed import find_model, lasting
    from chatkv.store import Store

    with Store.open(config.database(paths)) as store:
        spec = store.resolve(session).spec
    if spec in ("", lasting(config.model)) or find_model(spec, paths.models) is None:
        return config
    # A revision was meant for the model that it stood beside.
    return replace(config, model=spec, load=replace(config.load, revision=""))


def _texts(words: Sequence[str]) -> tuple[str, str]:
    """What the command line says, and what stdin says."""
    asked, piped = " ".join(words), ""
    if not sys.stdin.isatty():
        try:
            piped = sys.stdin.read()
        except UnicodeDecodeError as error:
            raise UsageError("What came on stdin is not UTF-8 text.", "Convert it first.") from error
    if not (asked + piped).strip():
        raise UsageError("There is nothing to ask.", 'Give a prompt: `chatkv ask "…"`, or pipe text in.')
    return asked if asked.strip() else "", piped if piped.strip() else ""


class _StopOnInterrupt:
    """Ctrl-C, a closed terminal or a polite kill ends the answer, which is kept; a second one ends the process."""

    def __init__(self) -> None:
        self._count = 0
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name):  # there is no SIGHUP on Windows
                signal.signal(getattr(signal, name), self._hit)

    def is_set(self) -> bool:
        return self._count > 0

    def _hit(self, *_: object) -> None:
        self._count += 1
        if self._count > 1:
            signal.default_int_handler(signal.SIGINT, None)


class _Printer:
    """Events to the two streams: answer text to stdout, narration to stderr."""

    def __init__(self, as_json: bool) -> None:
        self.finished = ""
        self._as_json = as_json
        self._model = ""
        self._result: dict[str, object] = {"session": "", "text": "", "thought": ""}
        self._chatty = sys.stderr.isatty()

    def take(self, event: Event) -> None:
        from dataclasses import asdict

        from chatkv import protocol as p

        match event:
            case p.Loading():
                self._narrate(f"\r\x1b[K{progress_line(event)}", progress=True)
            case p.Ready(model=model):
                self._model = model
                self._narrate("\r\x1b[K", progress=True)
            case p.Opened(session=session, model=model) if session:
                self._result["session"] = session
                if model != self._model:
                    self._narrate(f"chatkv: this session was held with {model}; {self._model} goes on\n")
            case p.Delta(text=text):
                self._result["text"] = str(self._result["text"]) + text
                if not self._as_json:
                    sys.stdout.write(_for(sys.stdout.isatty(), text))
                    sys.stdout.flush()
            case p.Thought(text=text):
                self._result["thought"] = str(self._result["thought"]) + text
            case p.Turn():
                self.finished = event.finish
                self._result |= asdict(event)
            case p.Saving(ok=False, reason=reason):
                self._narrate(f"chatkv: not saved for now: {reason}\n")
            case p.Notice(text=text):
                self._narrate(f"chatkv: {text}\n")
            case p.PrefixBreak(position=position, tokens=tokens, reason=reason):
                self._narrate(f"chatkv: {tokens} tokens read again from position {position}: {reason}\n")
            case p.Compaction(stage="done", turns=turns, tokens_before=before, tokens_after=after):
                self._narrate(
                    f"chatkv: {len(turns)} old turns were summarized: {before} tokens became {after}\n"
                )
            case p.Kept(tokens=tokens, passages=passages):
                self._narrate(f"chatkv: kept {tokens} tokens as a document, in {passages} passages\n")
            case p.Recalled(tokens=tokens, rounds=rounds):
                places = "1 place" if len(rounds) == 1 else f"{len(rounds)} places"
                self._narrate(f"chatkv: recalled {tokens} tokens from {places}\n")
            case p.Error(message=message, hint=hint):
                self._narrate(f"chatkv: {message} {hint}\n")
                self._result["error"] = message

    def finish(self) -> None:
        """The last newline, or the JSON object."""
        print(json.dumps(self._result, ensure_ascii=True) if self._as_json else "")
        if self.finished in ("length", "context"):
            self._narrate(f"chatkv: the answer was cut ({self.finished}).\n")

    def _narrate(self, text: str, *, progress: bool = False) -> None:
        if self._chatty or not progress:
            sys.stderr.write(text)
            sys.stderr.flush()


def progress_line(event: object) -> str:
    """One line for a `loading` event or a model's `Progress`: the stage, a share, an amount."""
    stage, done, total, unit = (getattr(event, name) for name in ("stage", "done", "total", "unit"))
    if not total:
        return f"{stage} …"
    amount = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if unit == "B" else f"{done} of {total} {unit}"
    return f"{stage} {done / total:4.0%}  {amount}"


def _for(terminal: bool, text: str) -> str:
    """Control characters of the model's text are shown, not obeyed, on a terminal; data stays data in a pipe."""
    if not terminal:
        return text.encode("utf-8", "replace").decode()
    return "".join(c if c in "\n\t" or (c.isprintable() and ord(c) >= 32) or c == " " else "�" for c in text)
