"""Conversations out of the store into files and back, and in from other programs. Knows neither model nor screen."""

from chatkv.transfer.exporting import export_sessions
from chatkv.transfer.findings import Fault, Note
from chatkv.transfer.importing import Arrival, Plan, plan_import, write_plan
from chatkv.transfer.reading import FORMATS

__all__ = [
    "FORMATS",
    "Arrival",
    "Fault",
    "Note",
    "Plan",
    "export_sessions",
    "plan_import",
    "write_plan",
]
