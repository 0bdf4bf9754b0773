"""The fake worker as a program: how it loads its model, or does not."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from chatkv.protocol import Close, Closed, Command, Error, Loading, Ready, Stats
from tui.fake_lines import BYTES_PER_TOKEN, MODEL, hear, say
from tui.fake_worker import FakeWorker


def main() -> None:
    """`--db FILE`; `--model NAME`: any is loaded but `org/broken`, and `org/doomed` dies; `--hold` stays in loading
    until a `stats` command, `--doomed` dies at once. While there is a file `NAME.hold` beside the database, it waits.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--hold", action="store_true")
    parser.add_argument("--doomed", action="store_true")
    options = parser.parse_args()
    say(Loading("loading weights", 96, 272, "tensors"))
    worker = FakeWorker(options.db, options.model)
    while options.db.with_suffix(".hold").exists():
        time.sleep(0.01)
    if options.doomed or options.model == "org/doomed":
        worker.die()
    if options.model == "org/broken":
        say(Error("`org/broken` has no weights.", "Fetch the model again.", "load"))
        say(Closed())
        sys.exit(3)
    early: list[Command] = []
    while options.hold and (command := hear()) is not None and not isinstance(command, Stats):
        if isinstance(command, Close):
            return
        early.append(command)
    say(Ready(options.model, "cpu", "bfloat16", 8192, BYTES_PER_TOKEN, 0.9))
    for command in early:
        worker.obey(command)
    worker.run()


if __name__ == "__main__":
    main()
