"""`fanout parse`: what a text answer would call, as JSON, to show why a call was or was not understood."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from console_app.commands.standard_output import write_out
from console_app.config.files import disk
from console_app.domain import ConfigError, UsageError, safe_text
from console_app.providers import checked_dialect, level_of, usual_dialect
from console_app.textcalls import ToolSignature, report

_MOST_TOOLS = 100_000_000  # bytes of a file of tools


def run_parse(arguments: Namespace) -> int:
    """Read one text from standard input to one JSON object, with `--jsonl` a case a line. It reads as a session with
    that protocol and dialect does."""
    checked_dialect(arguments.dialect)
    if not arguments.jsonl and not arguments.tools:
        raise UsageError("parse needs the tools", "Write fanout parse --tools FILE < TEXT, or --jsonl.")
    tools = _tools(Path(arguments.tools)) if arguments.tools else []
    protocol, dialect = arguments.protocol, arguments.dialect
    level = level_of(protocol, dialect)

    def form(tools: Sequence[ToolSignature]) -> str:
        """Return the form whose calls run by the usual rules; "" where it isn't known."""
        if dialect is not None or protocol == "auto":
            return dialect or ""
        return usual_dialect("", (tool.parameters for tool in tools), protocol)

    with open(0, "rb", closefd=False) as standard_input:
        if not arguments.jsonl:
            text = standard_input.read().decode("utf-8", "replace")
            _print(report.report_text(text, tools, arguments.chunk, None, level, form(tools)))
            return 0
        for line in standard_input:
            if line.strip():
                text = line.decode("utf-8", "replace")
                _print(report.report_line(text, arguments.chunk, level, form))
    return 0


def _print(value: Any) -> None:
    write_out(safe_text.json_line(value) + "\n")


def _tools(path: Path) -> list[ToolSignature]:
    try:
        return report.signatures(json.loads(disk.read_text(path, most=_MOST_TOOLS, piped=True)))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}:{error.colno}: {error.msg.lower()}", "It has to be JSON.") from None
    except RecursionError:
        raise ConfigError(f"{path}: it nests too deeply", "Schemas of parameters have a few levels.") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
