"""The page of the bundled servers names each with all its tools, those that change something behind the dot."""

from __future__ import annotations

import json
import re

from tests.docs.markdown import ROOT
from tests.each import each
from tests.servers.stdio_client import StdioClient

SERVERS = list(json.loads((ROOT / "mcp.json").read_text(encoding="utf-8"))["mcpServers"])
PAGE = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z_]+)` \| ([`·].*?) \|", PAGE, re.MULTILINE))


def test_the_table_has_every_server() -> None:
    assert list(ROWS) == SERVERS


@each("name", SERVERS)
def test_the_table_names_the_tools_of_each(name: str) -> None:
    with StdioClient(f"console_app.servers.{name}") as client:
        tools = client.request("tools/list")["tools"]
    reading = {tool["name"] for tool in tools if tool.get("annotations", {}).get("readOnlyHint")}
    told = [set(re.findall(r"`(\w+)`", part)) for part in ROWS[name].partition("·")[::2]]
    assert told == [reading, {tool["name"] for tool in tools} - reading]
