"""`fanout schema`: the JSON schema of an output, or which outputs have one."""

from __future__ import annotations

import json
from argparse import Namespace

from console_app.command_line import json_outputs
from console_app.commands.standard_output import write_out
from console_app.domain import UsageError, safe_text


def run_schema(arguments: Namespace) -> int:
    """Print a schema; return the exit code. Raises UsageError for an unknown name."""
    outputs = json_outputs.OUTPUTS
    for name in arguments.words:
        if name not in outputs:
            raise UsageError(f"no output is called {name!r}", f"There are: {', '.join(outputs)}.")
        write_out(json.dumps(json_outputs.schema(name), indent=2) + "\n")
        return 0
    entries = [
        json_outputs.SchemaEntry(name=key, version=one.version, printed_by=one.by) for key, one in outputs.items()
    ]
    if arguments.json:
        write_out(safe_text.json_line(json_outputs.SchemasReport(schemas=tuple(entries)).model_dump()) + "\n")
    else:
        write_out("".join(f"{entry.name:<11} {entry.printed_by}\n" for entry in entries))
    return 0
