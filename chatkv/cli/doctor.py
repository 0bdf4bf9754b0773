"""`chatkv doctor`: what this machine, this configuration and this database look like, and what is slow and why."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from chatkv.errors import ChatkvError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.protocol import Kv

_LIBRARIES = ("torch", "transformers", "textual", "sqlite-utils", "tiktoken", "bitsandbytes")


@click.command("doctor")
@click.option("--load", is_flag=True, help="Load the model, say hello to it, and account for every byte.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def command(settings: Settings, load: bool, as_json: bool) -> None:
    """Check device, versions, model, database and disk; exit with 1 if something is wrong."""
    sections = [_versions(), _machine(settings), _files(settings), *([_loaded(settings)] if load else [])]
    findings = {name: value for section in sections for name, value in section}
    problems = [name for name, value in findings.items() if value.startswith("! ")]
    if as_json:
        print(json.dumps({"findings": findings, "problems": problems}))
    else:
        for name, value in findings.items():
            print(f"{name:14} {value}")
    raise SystemExit(1 if problems else 0)


def _versions() -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    from chatkv import __version__

    yield (
        "chatkv",
        f"{__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}",
    )
    for name in _LIBRARIES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "! not installed: install chatkv again with pip"


def _machine(settings: Settings) -> Iterator[tuple[str, str]]:
    import psutil

    from chatkv.engine import device as devices

    try:
        config = settings.config()
        machine = devices.this_machine()
        device = devices.pick_device(config.load.device, machine)
    except ChatkvError as error:
        yield "config", f"! {error}"
        return
    dtype = str(devices.pick_dtype(config.load.dtype, device, machine)).removeprefix("torch.")
    yield "device", f"{device}, weights and KV in {dtype}"
    yield "memory", f"{devices.free_bytes(device) / 2**30:.1f} GiB free for the model and its KV"
    yield "threads", f"{config.load.threads or machine.physical_cores} of {psutil.cpu_count()} processors"
    if device == "cpu" and not machine.cpu_bf16:
        yield (
            "speed",
            "no bfloat16 arithmetic in this CPU: prompts are read in float32, answers written from bfloat16",
        )
    load = psutil.cpu_percent(interval=0.2)
    if load > 50:
        yield (
            "load",
            f"other programs keep the processors {load:.0f} % busy: decoding will be several times slower",
        )


def _files(settings: Settings) -> Iterator[tuple[str, str]]:
    from chatkv.config import config_file
    from chatkv.models import installed_models
    from chatkv.store import Store

    paths = settings.paths()
    file = config_file(paths)
    yield "config file", f"{file}{'' if file.exists() else ' (not there; defaults are in force)'}"
    try:
        config = settings.config()
        database = config.database(paths)
        if database.exists():
            with Store.open(database, read_only=True) as store:
                n_sessions = len(store.list_sessions(1_000_000))
            yield "database", f"{database}, {n_sessions} sessions, {database.stat().st_size / 1e6:.1f} MB"
        else:
            yield "database", f"{database} (made with the first message)"
        names = ", ".join(model.name for model in installed_models(paths.models)) or "none yet"
        yield "models", f"{names}; configured: {config.model}"
    except ChatkvError as error:
        yield "files", f"! {error}"
    folder = next(parent for parent in paths.models.parents if parent.exists())
    free = shutil.disk_usage(folder).free
    yield "disk", f"{'! only ' if free < 2 << 30 else ''}{free / 2**30:.1f} GiB free at {folder}"


def _loaded(settings: Settings) -> Iterator[tuple[str, str]]:
    """What the model and a short conversation take, as measured."""
    import tempfile
    import time
    from dataclasses import replace
    from pathlib import Path

    from chatkv.config import StoreConfig
    from chatkv.host import Host
    from chatkv.protocol import Error, Event, Kv, Send

    events: list[Event] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            config = replace(settings.config(), store=StoreConfig(str(Path(folder) / "doctor.db")))
            host = Host(config, settings.paths(), events.append)
            try:
                host.load()
                host.handle(Send("Hello!", 8), lambda: False, time.perf_counter())
            finally:
                host.close()
        except ChatkvError as error:
            yield "model", f"! {error}"
            return
    for failed in (event for event in events if isinstance(event, Error)):
        yield "turn", f"! {failed.message}"
    kv = [event for event in events if isinstance(event, Kv)][-1]
    yield from _account(kv)


def _account(kv: Kv) -> Iterator[tuple[str, str]]:
    from collections import Counter

    per_token = kv.used_bytes / max(1, kv.tokens)
    sizes: Counter[str] = Counter()
    for segment in kv.segments:
        sizes[segment.kind] += segment.tokens
    parts = ", ".join(f"{kind} {_size(n * per_token)}" for kind, n in sizes.items())
    yield "weights", _size(kv.weights_bytes)
    yield "kv used", f"{_size(kv.used_bytes)} in {kv.tokens} tokens ({parts})"
    yield "kv reserved", f"{_size(kv.reserved_bytes)}, second part {_size(kv.second_bytes)}"
    yield (
        "kv budget",
        f"{_size(kv.budget_bytes)} = {kv.limit_tokens:,} tokens of {kv.context_tokens:,} in the context",
    )
    yield (
        "kv marks",
        f"soft {kv.soft_tokens:,}, hard {kv.hard_tokens:,}, compacted down to {kv.target_tokens:,} tokens",
    )
    if kv.scratch_bytes or kv.slack_bytes:
        yield "allocator", f"scratch {_size(kv.scratch_bytes)}, slack {_size(kv.slack_bytes)}"
    yield "process", f"{_size(kv.rss_bytes)} resident, libraries included"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**20:.1f} MiB"
