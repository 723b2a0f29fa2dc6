"""`fanout schema`: the JSON schema of an output, or which outputs have one."""

from __future__ import annotations

import json
from argparse import Namespace

from console_app.command_line import json_outputs
from console_app.commands.standard_output import write_out
from console_app.domain import UsageError, safe_text


def run_schema(arguments: Namespace) -> int:
    """Print a schema; return the exit code. Raises UsageError for an unknown name."""
    write_out(_text(next(iter(arguments.words), ""), as_json=arguments.json))
    return 0


def _text(name: str, *, as_json: bool) -> str:
    if name:
        if name not in json_outputs.OUTPUTS:
            raise UsageError(f"no output is called {name!r}", f"There are: {', '.join(json_outputs.OUTPUTS)}.")
        return json.dumps(json_outputs.schema(name), indent=2) + "\n"
    entries = [
        json_outputs.SchemaEntry(name=key, version=one.version, printed_by=one.by)
        for key, one in json_outputs.OUTPUTS.items()
    ]
    if as_json:
        return safe_text.json_line(json_outputs.SchemasReport(schemas=tuple(entries)).model_dump()) + "\n"
    return "".join(f"{entry.name:<11} {entry.printed_by}\n" for entry in entries)
