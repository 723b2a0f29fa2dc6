"""`fanout parse`: what a text answer would call, as JSON, to show why a call was or was not understood."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from console_app.commands.standard_output import write_out
from console_app.config.files import disk
from console_app.domain import ConfigError, UsageError, safe_text
from console_app.textcalls import ReadingLevel, ToolSignature, report_line, report_text, signatures

_MOST_TOOLS = 100_000_000  # bytes of a file of tools
_LEVELS: dict[str, ReadingLevel] = {"auto": "marked", "native": "none", "text": "all", "xml": "all"}
"""The level at which each protocol reads an answer's text."""


def run_parse(arguments: Namespace) -> int:
    """One text from standard input to one JSON object; with `--jsonl`, a case a line to an answer a line. Read as
    `--protocol` would have it read."""
    if not arguments.jsonl and not arguments.tools:
        raise UsageError("parse needs the tools", "Write fanout parse --tools FILE < TEXT, or --jsonl.")
    tools = _tools(Path(arguments.tools)) if arguments.tools else []
    level = _LEVELS[arguments.protocol]
    with open(0, "rb", closefd=False) as standard_input:
        if not arguments.jsonl:
            _print(report_text(standard_input.read().decode("utf-8", "replace"), tools, arguments.chunk, level=level))
            return 0
        for line in standard_input:
            if line.strip():
                _print(report_line(line.decode("utf-8", "replace"), arguments.chunk, level))
    return 0


def _print(value: Any) -> None:
    write_out(safe_text.json_line(value) + "\n")


def _tools(path: Path) -> list[ToolSignature]:
    try:
        return signatures(json.loads(disk.read_text(path, most=_MOST_TOOLS, piped=True)))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}:{error.colno}: {error.msg.lower()}", "It has to be JSON.") from None
    except RecursionError:
        raise ConfigError(f"{path}: it nests too deeply", "Schemas of parameters have a few levels.") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
