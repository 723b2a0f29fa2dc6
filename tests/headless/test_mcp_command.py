"""`fanout mcp`: servers written to mcp.json and taken out, imported from other clients, signed in to, trusted."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.headless.inside import Inside
from tests.mcp_client.conftest import FIXTURES
from tests.mcp_client.oauth_site import Site, running_site
from tests.patience import PATIENCE

FILE = """\
{
  // mine
  "mcpServers": {
    "first": {"command": "one"}, // stays

    "second": {"url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}", "X-Own": "s3cret"}}
  },
  "other": [1,2]
}
"""


def test_a_server_is_added_and_everything_else_in_the_file_stays(fanout: Inside) -> None:
    path = fanout.write("home/mcp.json", FILE)
    done = fanout.run("mcp", "add", "time", "-e", "ZONE=UTC", "--", "uvx", "mcp-server-time", "--local-timezone", "UTC")
    assert (done.code, done.out) == (0, f"time: uvx mcp-server-time --local-timezone UTC, in {path}\n")
    text = path.read_text()
    assert '  // mine\n  "mcpServers": {\n    "first": {"command": "one"}, // stays\n\n' in text
    assert '"other": [1,2]' in text
    assert '"args": [\n        "mcp-server-time"' in text
    assert fanout.run("mcp", "remove", "time").code == 0
    assert json.loads(path.read_text().replace("// mine", "").replace("// stays", "")).keys() == {"mcpServers", "other"}


def test_a_first_server_of_ones_own_counts_in_place_of_a_bundled_one_of_its_name(fanout: Inside) -> None:
    assert fanout.run("mcp", "add", "web", "https://example.com/mcp", "-H", "Authorization: Bearer ${TOKEN}").code == 0
    servers = json.loads((fanout.home / "mcp.json").read_text())["mcpServers"]
    assert servers["web"] == {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    listed = fanout.run("mcp", "get", "web").out, fanout.run("mcp", "get", "calculator").out
    assert ["example.com" in one for one in listed] == [True, False]
    assert "console_app.servers.calculator" in listed[1]


def test_your_settings_name_a_file_beside_themselves_and_none_of_the_folder_you_are_in(fanout: Inside) -> None:
    fanout.write("home/config.toml", 'mcp_config = "more.json"\n')
    fanout.write("home/more.json", json.dumps({"mcpServers": {"mine": {"command": "x", "disabled": True}}}))
    fanout.write("more.json", json.dumps({"mcpServers": {"theirs": {"command": "x", "disabled": True}}}))
    listed = fanout.run("mcp", "list").out
    assert ("mine" in listed, "theirs" in listed) == (True, False)
    assert [fanout.run("mcp", "get", name).code for name in ("mine", "theirs")] == [0, 2]
    assert fanout.run("mcp", "add", "new", "--", "x").code == 0
    assert "new" in (fanout.home / "more.json").read_text()
    assert "new" not in (fanout.cwd / "more.json").read_text()


def test_a_server_can_be_given_as_json_and_named_another_file(fanout: Inside) -> None:
    done = fanout.run("mcp", "add", "a", '{"command": "x", "disabled": true}', "--mcp-config", "mine.json")
    assert done.code == 0
    servers = json.loads((fanout.cwd / "mine.json").read_text())["mcpServers"]
    assert servers == {"a": {"command": "x", "disabled": True}}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["add"], "needs a name and a server"),
        (["add", "x"], "needs a URL or a command"),
        (["add", "x", "{"], "JSON can't be read"),
        (["add", "x", "https://a/", "b"], "means nothing"),
        (["add", "x", "python 'no end"], "has a quote that is not closed"),
        (["add", "x", "python \\"], "ends in a backslash"),
        (["add", "x", ""], "names no program"),
        (["add", "x", "-e", "NOTHING", "--", "y"], "'NOTHING' is not --env NAME=VALUE"),
        (["add", "x", "--transport", "http", "--", "y"], "transport http needs a `url`"),
        (["get", "nobody"], "has no server nobody. See fanout mcp list."),
        (["remove", "nobody"], "has no server nobody"),
        (["auth"], "auth needs NAME"),
        (["import", "nowhere.json"], "neither a client with servers nor a file"),
    ],
)
def test_what_makes_no_sense_is_one_line(fanout: Inside, arguments: list[str], complaint: str) -> None:
    fanout.write("home/mcp.json", FILE)
    done = fanout.run("mcp", *arguments)
    assert done.code == 2
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert (fanout.home / "mcp.json").read_text() == FILE


def test_a_server_is_shown_as_it_is_written_without_its_secrets(fanout: Inside) -> None:
    path = fanout.write("home/mcp.json", FILE)
    done = fanout.run("mcp", "get", "second")
    first, _, rest = done.out.partition("\n")
    assert first == str(path)
    assert json.loads(rest) == {"url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}", "X-Own": "…"}}


@pytest.fixture
def other_home(fanout: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home where Cursor, VS Code and Codex are set up."""
    home = tmp_path / "elsewhere"
    apps = home / ("Library/Application Support" if sys.platform == "darwin" else ".config")
    for path, text in {
        home / ".cursor" / "mcp.json": '{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}',
        apps / "Code" / "User" / "mcp.json": '{"servers": {"git": {"type": "stdio", "command": "other"}, /* */ }}',
        home / ".codex" / "config.toml": '[mcp_servers.docs]\nurl = "https://example.com/mcp"\n',
        home / ".claude.json": '{"projects": {}}',
        home / ".gemini" / "settings.json": "{broken",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("HOME", str(home))
    return home


def test_other_clients_servers_are_shown_and_taken_over_only_when_told(fanout: Inside, other_home: Path) -> None:
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    shown = fanout.run("mcp", "import")
    assert shown.code == 0
    assert (
        f"cursor           {other_home}/.cursor/mcp.json\n    + git                  uvx mcp-server-git\n" in shown.out
    )
    assert "+ docs                 https://example.com/mcp" in shown.out
    assert "claude-code" not in shown.out
    assert "✗" in shown.out  # the broken one, with its place
    assert json.loads((fanout.home / "mcp.json").read_text()) == {"mcpServers": {}}

    assert fanout.run("mcp", "import", "cursor").out == "✓ git: uvx mcp-server-git\n"
    assert fanout.run("mcp", "import", "vscode").out == "○ git: there already, left as it is\n"
    assert fanout.run("mcp", "import", "codex", "docs").out == "✓ docs: https://example.com/mcp\n"
    servers = json.loads((fanout.home / "mcp.json").read_text())["mcpServers"]
    assert servers == {
        "git": {"command": "uvx", "args": ["mcp-server-git"]},
        "docs": {"url": "https://example.com/mcp"},
    }
    assert fanout.run("mcp", "import", "cursor", "nothing").code == 2


def test_a_projects_file_that_was_trusted_stays_so_when_it_is_edited_here(fanout: Inside) -> None:
    fanout.write("mcp.json", '{"mcpServers": {}}')
    assert fanout.run("mcp", "trust", "--yes").code == 0
    assert fanout.run("mcp", "add", "a", '{"command": "x", "disabled": true}').code == 0
    listed = fanout.run("mcp", "list")
    assert "○ a" in listed.out
    assert listed.err == ""


def test_changed_tools_are_shown_when_they_are_trusted(fanout: Inside) -> None:
    def write(text: str) -> None:
        args = ["-S", str(FIXTURES / "faulty_server.py"), "described"]
        server = {"command": sys.executable, "args": args, "env": {"DESCRIPTION": text}}
        fanout.write("home/mcp.json", json.dumps({"mcpServers": {"odd": server}}))

    write("Adds.")
    assert fanout.run("mcp", "trust", "odd").out == "odd: no tools had changed.\n"
    write("Adds.\nAnd \x1b[2Jmore.")
    called = fanout.run("run", "--approval-mode", "yolo", "hi")
    assert called.code == 0
    assert fanout.run("mcp", "trust", "odd").code == 2  # nobody can be asked
    done = fanout.run("mcp", "trust", "odd", "--yes")
    assert "odd.work has changed:" in done.out
    assert "+And" in done.out
    assert "\x1b" not in done.out
    assert "odd: 1 tool had changed." in done.out
    assert fanout.run("mcp", "trust", "odd").out == "odd: no tools had changed.\n"


@pytest.fixture
def site() -> Iterator[Site]:
    """The server behind OAuth, in a thread: the program under test has the main one."""
    ready, over, found = threading.Event(), threading.Event(), list[Site]()

    async def serve() -> None:
        async with running_site() as running:
            found.append(running)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(PATIENCE)
    yield found[0]
    over.set()
    thread.join()


def test_signing_in_and_out_on_the_command_line(
    fanout: Inside, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    program = "import sys, urllib.request as r; r.urlopen(sys.argv[1]).read()"
    browser.write_text(f"#!{sys.executable}\n{program}\n")
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"web": {"url": site.mcp}}}))
    before = fanout.run("mcp", "test", "web")
    assert before.code == 1
    assert "needs sign-in" in before.out + before.err
    done = fanout.run("mcp", "auth", "web")
    assert done.code == 0, done.err
    assert f"To sign in to web, open {site.url}/authorize?" in done.err
    assert "✓ web" in done.out
    assert fanout.run("mcp", "test", "web").code == 0
    assert fanout.run("mcp", "auth", "web", "--sign-out").code == 0
    assert fanout.run("mcp", "test", "web").code == 1


def test_what_a_server_offers_beside_tools_is_listed_as_it_is_typed(fanout: Inside) -> None:
    server = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "offering_server.py"
    fanout.home.mkdir(exist_ok=True)
    servers = {"my notes": {"command": sys.executable, "args": ["-S", str(server), "hostile"]}}
    (fanout.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    assert "7 tools · 5 prompts · 6 resources · stdio · protocol 2025-11-25" in fanout.run("mcp", "list").out
    listed = fanout.run("mcp", "test").out
    for what, about in (
        ("/my_notes:review language [style]", "Asks for a review"),
        ("@my_notes:note://1", "The first note · text/plain"),
        ("@my_notes:note://in/{language}/{+path}", "notes of a language"),
    ):
        assert re.search(rf"{re.escape(what)} +{re.escape(about)}", listed)
    assert "\x1b" not in listed


def test_every_file_whose_servers_are_listed_is_named(fanout: Inside) -> None:
    fanout.write("home/mcp.json", '{"mcpServers": {"mine": {"command": "no-such-program-anywhere"}}}')
    (heading,) = (line for line in fanout.run("mcp", "list").out.splitlines() if line.startswith("Servers of "))
    assert re.fullmatch(rf"Servers of {fanout.home}/mcp\.json and \S+/mcp\.json:", heading)
    assert heading.removeprefix("Servers of ")[:-1] in fanout.run("config", "validate").out


def test_a_list_that_a_server_never_gives_is_told_and_not_waited_for(fanout: Inside) -> None:
    deaf = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "asking_server.py"
    fanout.home.mkdir(exist_ok=True)
    more = {"env": {"DEAF": "resources/templates/list"}}
    servers = {"deaf": {"command": sys.executable, "args": ["-S", str(deaf)], **more}}
    (fanout.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    listed = fanout.run("mcp", "list").out
    assert "10 tools · 1 prompt · 4 resources" in listed
    words = "the resource templates are not here yet: no answer within 3 s → what is missing can't be named with @ or /"
    assert f"\n    ! {words}\n" in listed


def server(mode: str, **more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-S", str(FIXTURES / "faulty_server.py"), mode], **more}


def test_a_failed_server_is_a_failed_gate(fanout: Inside) -> None:
    servers = {"good": server("plain"), "bad": server("exits"), "off": server("exits", disabled=True)}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    assert fanout.run("mcp", "list").code == 0
    assert fanout.run("mcp", "list", "--check").code == 1
    assert fanout.run("mcp", "list", "--check", "--mcp", "good").code == 0
    assert fanout.run("mcp", "test", "good").code == 0
    assert fanout.run("mcp", "test", "bad").code == 1

    done = fanout.run("mcp", "list", "--check", "--json", "--junit", "report.xml")
    assert done.code == 1
    told = json.loads(done.out)
    assert (told["ok"], [(one["name"], one["ok"], one["state"]) for one in told["servers"][:3]]) == (
        False,
        [("good", True, "ready"), ("bad", False, "failed"), ("off", True, "disabled")],
    )
    assert "exited with code" in told["servers"][1]["problems"][0]
    assert "exited with code" in told["servers"][1]["reason"]
    assert [one["reason"] for one in (told["servers"][0], told["servers"][2])] == ["", "it is off"]
    suite = ElementTree.parse(fanout.cwd / "report.xml").getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "12",
        "failures": "1",
        "skipped": "8",
    }
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["bad"]


def test_a_server_for_other_groups_is_off_and_fails_only_where_it_is_named(fanout: Inside) -> None:
    servers = {"good": server("plain"), "staff": server("plain", groups=["staff"])}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    fanout.write("home/config.toml", 'groups = ["users"]')
    why = "it is for the groups staff, and yours (the setting `groups`): users"
    done = fanout.run("mcp", "list", "--check")
    assert (done.code, done.err) == (0, "")
    assert re.search(rf"○ staff +disabled +{re.escape(why)}\n", done.out)
    assert fanout.run("mcp", "test", "--junit", "report.xml").code == 0
    skipped = [one.get("message") for one in ElementTree.parse(fanout.cwd / "report.xml").getroot().iter("skipped")]
    assert skipped[0] == why

    done = fanout.run("mcp", "test", "staff")
    assert (done.code, done.err) == (1, f"Server staff failed: {why}\n")
    done = fanout.run("call", "staff.echo", "{}")
    assert done.code == 1
    assert why in done.out + done.err
    done = fanout.run("run", "hello", "-m", "offline/rehearsal")
    assert (done.code, "staff" in done.err) == (0, False)


def test_a_tool_that_can_not_be_offered_fails_the_test_of_its_server(fanout: Inside) -> None:
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"odd": server("bad-schema")}}))
    assert fanout.run("mcp", "list", "--check").code == 0
    done = fanout.run("mcp", "test", "odd", "--json")
    assert done.code == 1
    (told,) = json.loads(done.out)["servers"]
    assert told["refused"]
    assert told["problems"][0].startswith("tool ")
    assert re.search(r"^✗ odd +ready ", fanout.run("mcp", "test", "odd").out, re.MULTILINE)
    assert re.search(r"^✓ odd +ready ", fanout.run("mcp", "list").out, re.MULTILINE)


# What a server lists, the finding, what breaks, and whether the test of the server fails.
FINDINGS: list[tuple[dict[str, Any], str, str, bool]] = [
    ({"annotations": "kind"}, "tool work: its annotations ", "every call of it asks", False),
    ({"outputSchema": 7}, "tool work: its outputSchema is not an object", "not checked", False),
    ({"icons": 7}, "tool work: its icons is not", "it is shown without that", False),
    ({"execution": {"taskSupport": "maybe"}}, "tool work: its execution.taskSupport", "as a task", False),
    ({"description": ""}, "tool work: it has no description", "its name alone", False),
    ({"inputSchema": {"type": "array"}}, "tool work: its inputSchema", "no model is offered it", True),
    ({"name": 7}, "tool number 1: its name is not a text", "no model is offered it", True),
]


@pytest.mark.parametrize(("fields", "what", "breaks", "fails"), FINDINGS, ids=lambda one: str(one)[:30])
def test_every_finding_is_a_line_that_says_what_breaks(
    fanout: Inside, fields: dict[str, Any], what: str, breaks: str, fails: bool
) -> None:
    tool = {"name": "work", "description": "Works.", "inputSchema": {"type": "object"}, **fields}
    says = fanout.write("says.json", json.dumps({"tools/list": {"result": {"tools": [tool]}}}))
    config = {"command": sys.executable, "args": ["-S", str(FIXTURES / "said_server.py"), str(says)]}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"odd": config}}))
    done = fanout.run("mcp", "test", "odd")
    assert done.code == fails
    (line,) = [line for line in done.out.splitlines() if " → " in line]
    mark, found = line.strip().split(" ", 1)
    assert (mark, found.startswith(what), breaks in found.partition(" → ")[2]) == ("✗" if fails else "!", True, True)
    (told,) = json.loads(fanout.run("mcp", "test", "odd", "--json").out)["servers"]
    assert [f"{one['what']} → {one['breaks']}" for one in told["findings"]] == [found]


def test_a_server_that_is_down_says_what_breaks_and_a_long_introduction_what_is_not_read(fanout: Inside) -> None:
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "said", "version": "1"}}
    says = fanout.write("says.json", json.dumps({"initialize": {"result": {**info, "instructions": "x" * 4_100}}}))
    config = {"command": sys.executable, "args": ["-S", str(FIXTURES / "said_server.py"), str(says)]}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"long": config, "down": server("exits")}}))
    done = fanout.run("mcp", "test")
    assert "! its instructions have 4,100 characters → no model reads the last 100\n" in done.out
    assert re.search(r"✗ failed: .* → nothing of it is there\n", done.out)
    assert "→" not in fanout.run("mcp", "list").out


def test_a_report_that_can_not_be_written_is_one_line(fanout: Inside) -> None:
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    done = fanout.run("mcp", "test", "--junit", "nowhere/report.xml")
    assert done.code == 2
    assert "nowhere/report.xml can't be written" in done.err


def test_what_would_run_is_shown_before_it_is_trusted(fanout: Inside) -> None:
    servers = {
        "a": {"command": "npx", "args": ["-y", "two words"], "cwd": "sub", "env": {"API_TOKEN": "s3cret-value"}},
        "b": {"url": "https://example.com/mcp", "headers": {"X-Key": "s3cret-value"}, "disabled": True},
    }
    path = fanout.write("mcp.json", json.dumps({"mcpServers": servers}))
    asked = fanout.run("mcp", "trust")
    assert asked.code == 2
    assert "To say yes: fanout mcp trust --yes." in asked.err
    for text in ("npx -y 'two words'", "in           sub", "with         API_TOKEN", "b (off)", "headers      X-Key"):
        assert text in asked.out
    assert "s3cret" not in asked.out
    assert "not trusted" in fanout.run("mcp", "list").err
    assert fanout.run("mcp", "trust", "--yes").out.endswith(f"{path} is trusted as it is now: a, b.\n")
    assert fanout.run("mcp", "get", "a").code == 0


def test_the_columns_stay_straight_behind_long_names(fanout: Inside) -> None:
    long = "a-server-with-a-name-of-some-length"
    servers = {
        name: {"command": sys.executable, "args": [str(FIXTURES / f"{program}_server.py"), mode]}
        for name, program, mode in ((long, "offering", "normal"), ("b", "faulty", "bad-schema"))
    }
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    lines = fanout.run("mcp", "test").out.splitlines()
    assert len({line.index(" ready ") for line in lines if line[:2] in ("✓ ", "✗ ")}) == 1
    listed = [line[4:] for line in lines if line.startswith("    ") and " → " not in line]
    assert max(len(line.split("  ")[0]) for line in listed) > 32
    behind = {len(line) - len(line.split("  ", 1)[1].lstrip()) for line in listed if "  " in line}
    assert len(behind) == 1, "\n".join(lines)
    assert "b.good" in listed


def test_a_server_that_takes_the_name_of_another_says_so(fanout: Inside) -> None:
    done = fanout.run("mcp", "add", "files", "--", "uvx", "my-files")
    assert done.code == 0, done.err
    assert "It replaces the server that had this name: python -m console_app.servers.files" in done.out
    assert "It replaces" not in fanout.run("mcp", "add", "files", "--", "uvx", "my-files").out
    assert "It replaces" not in fanout.run("mcp", "add", "new", "--", "uvx", "new").out


def test_a_server_taken_over_leaves_a_bundled_one_of_its_name(fanout: Inside) -> None:
    theirs = fanout.write("theirs.json", '{"mcpServers": {"files": {"command": "x"}, "other": {"command": "y"}}}')
    done = fanout.run("mcp", "import", str(theirs))
    assert "files: there already, left as it is" in done.out
    assert "other: y" in done.out


def test_get_names_the_file_that_an_entry_stands_in(fanout: Inside) -> None:
    for name, server in (("home/mcp.json", "mine"), ("mcp.json", "theirs")):
        fanout.write(name, json.dumps({"mcpServers": {server: {"command": "true"}}}))
    assert fanout.run("mcp", "trust", "--yes").code == 0
    for server, path in (("mine", fanout.home / "mcp.json"), ("theirs", fanout.cwd / "mcp.json")):
        assert json.loads(fanout.run("mcp", "get", server, "--json").out)["file"] == str(path)
