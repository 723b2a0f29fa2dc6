"""`fanout schema`: the JSON schema of an output, or which outputs have one."""

from __future__ import annotations

import json
from argparse import Namespace

from console_app.commands.standard_output import write_out
from console_app.domain import UsageError, safe_text
from console_app.headless.json_outputs import OUTPUTS, SchemaEntry, SchemasReport, schema


def run_schema(arguments: Namespace) -> int:
    """Prints; the exit code. Raises UsageError for a name that none has."""
    write_out(_text(next(iter(arguments.words), ""), as_json=arguments.json))
    return 0


def _text(name: str, *, as_json: bool) -> str:
    if name:
        if name not in OUTPUTS:
            raise UsageError(f"no output is called {name!r}", f"There are: {', '.join(OUTPUTS)}.")
        return json.dumps(schema(name), indent=2) + "\n"
    entries = [SchemaEntry(name=key, version=one.version, printed_by=one.by) for key, one in OUTPUTS.items()]
    if as_json:
        return safe_text.json_line(SchemasReport(schemas=tuple(entries)).model_dump()) + "\n"
    return "".join(f"{entry.name:<11} {entry.printed_by}\n" for entry in entries)
