"""A server whose calls are counted in a file: `change` changes something, `look` only reads. A call whose name begins
with `wait` ends once the file's neighbour `go` is there."""

from __future__ import annotations

import os
from pathlib import Path

from console_app.servers.stdio_server import StdioServer
from console_app.servers.tool import Arguments, CallContext, Tool
from tests.patience import until_so

_NAME = {"name": {"type": "string"}}


def _write(journal: Path, name: str) -> None:
    with journal.open("a") as file:
        file.write(f"{name}\n")


async def run(arguments: Arguments, context: CallContext) -> str:
    journal, name = Path(os.environ["JOURNAL"]), arguments["name"]
    _write(journal, name)
    if name.startswith("wait"):
        await until_so(journal.with_name("go").exists, "the file `go`")
    return f"done {name}"


if __name__ == "__main__":
    StdioServer(
        "changing",
        (
            Tool("change", "Changes something.", run, _NAME, ("name",), {"readOnlyHint": False}),
            Tool("look", "Reads something.", run, _NAME, ("name",), {"readOnlyHint": True}),
        ),
    ).run()
