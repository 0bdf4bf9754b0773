"""The command line: reads arguments, calls one room, prints. Heavy imports happen only inside commands.

Exit codes: 0 done, 1 failure, 2 wrong usage or configuration, 3 model, 4 database, 5 engine, 6 context full,
7 worker, 130 stopped by the user.
"""

from chatkv.cli.main import main

__all__ = ["main"]
