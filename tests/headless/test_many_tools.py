"""A server whose tools would take too much of each request: what the program says of it, and what it sends."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.each import each
from tests.headless.inside import Inside
from tests.headless.test_run import model
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import WireServer

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "many_server.py"
SAID = re.compile(r"(\d+) tools, ([\d,]+) tokens in each request instead of ([\d,]+)")


def connected(fanout: Inside, count: int, **more: str) -> None:
    servers = {"lab": {"command": sys.executable, "args": ["-S", str(SERVER), str(count)], **more}}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))


@pytest.mark.parametrize("api", APIS)
def test_verbose_says_what_the_search_saves(fanout: Inside, server: WireServer, api: Api) -> None:
    connected(fanout, 201)
    server.script(Answer(Text("Done.")))
    done = fanout.run("run", "-v", *model(server, api), "go")
    assert done.code == 0
    said = SAID.search(done.err)
    assert said is not None
    count, held, all_of_them = (int(number.replace(",", "")) for number in said.groups())
    assert (count, held < 1_100, all_of_them > 30_000) == (212, True, True)
    assert "lab_work_7" not in server.requests[0].raw.decode()


@pytest.mark.parametrize(("more", "listed"), [({}, False), ({"tools": "always"}, True), ({"tools": "search"}, False)])
def test_a_servers_switch_decides_for_it(
    fanout: Inside, server: WireServer, more: dict[str, str], listed: bool
) -> None:
    connected(fanout, 200, **more)
    server.script(Answer(Text("Done.")))
    assert fanout.run("run", *model(server), "go").code == 0
    names = [one["function"]["name"] for one in server.requests[0].body["tools"]]
    assert ("lab_work_7" in names) is listed


@each("api", APIS)
def test_a_found_tools_call_and_a_programs_have_the_real_name_in_exports_and_replay(fanout: Inside, api: Api) -> None:
    connected(fanout, 201)
    fanout.write("home/config.toml", 'programs = "auto"\n')
    code = "print(await lab_work_8(order='two'))"
    with WireServer() as server:
        server.script(
            Answer(Call("fanout_find_tools", json.dumps({"query": "number7 number8"}))),
            Answer(Call("lab_work_7", json.dumps({"order": "one"}))),
            Answer(Call("fanout_program", json.dumps({"code": code}))),
            Answer(Text("Done.")),
        )
        done = fanout.run("run", *model(server, api), "go")
    assert (done.code, done.out) == (0, "Done.\n")
    session = json.loads(fanout.run("sessions", "list", "--jsonl").out.splitlines()[0])["id"]
    told = [["export", session, "--format", kind] for kind in ("md", "html", "jsonl", "trace", "svg", "cast")]
    for words in [*told, ["show", session], ["show", session, "--replay", "--speed", "10000"]]:
        text = re.sub(r"<[^>]*>", "", fanout.run("sessions", *words).out)
        for name in ("work_7", "work_8"):
            assert name in text, (words, name)
