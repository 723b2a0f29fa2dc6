"""Tool calls that models write as text: one streaming scanner over a table of dialects."""

from console_app.textcalls.model import (
    CallArgumentsDelta,
    CallNamed,
    CallRetracted,
    ParsedCall,
    ReadingLevel,
    Rewritten,
    ScanEvent,
    ScanProblem,
    ScanResult,
    ToolSignature,
    VisibleText,
)
from console_app.textcalls.prompting import render_calls
from console_app.textcalls.scanner import Scanner, parse
from console_app.textcalls.table import DIALECTS

__all__ = [
    "DIALECTS",
    "CallArgumentsDelta",
    "CallNamed",
    "CallRetracted",
    "ParsedCall",
    "ReadingLevel",
    "Rewritten",
    "ScanEvent",
    "ScanProblem",
    "ScanResult",
    "Scanner",
    "ToolSignature",
    "VisibleText",
    "parse",
    "render_calls",
]
