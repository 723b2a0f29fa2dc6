"""A server whose calls are counted in a file: `change` changes something, `look` only reads. A call whose name begins
with `wait` ends once the file's neighbour `go` is there. In the call named HARM_IN, or at its own end, the server does
HARM to the file RESULTS, as another program would."""

from __future__ import annotations

import os
from pathlib import Path

from console_app.servers.parts.server import Arguments, CallContext, StdioServer, Tool
from tests.batch.harms import HARMS
from tests.patience import until_so

_NAME = {"name": {"type": "string"}}


def _write(journal: Path, name: str) -> None:
    with journal.open("a") as file:
        file.write(f"{name}\n")


def _harm(moment: str) -> None:
    if moment == os.environ.get("HARM_IN"):
        HARMS[os.environ["HARM"]](Path(os.environ["RESULTS"]))


async def run(arguments: Arguments, context: CallContext) -> str:
    journal, name = Path(os.environ["JOURNAL"]), arguments["name"]
    _write(journal, name)
    _harm(name)
    if name.startswith("wait"):
        await until_so(journal.with_name("go").exists, "the file `go`")
    return f"done {name}"


if __name__ == "__main__":
    StdioServer(
        "changing",
        (
            Tool(run, "Changes something.", _NAME, {"readOnlyHint": False}, name="change"),
            Tool(run, "Reads something.", _NAME, {"readOnlyHint": True}, name="look"),
        ),
    ).run()
    _harm("end")
