"""`fanout doctor`: says what is right, what is wrong and what to do, and never what a key is."""

from __future__ import annotations

import json
import re

from console_app.commands.diagnosis import Finding, lines
from tests.headless.inside import Inside
from tests.program.process import Done
from tests.wire_server import Reply, WireServer


def findings(done: Done) -> dict[str, tuple[str, str, str]]:
    """Return state, message and advice of each finding, by area and name."""
    found = json.loads(done.out)["findings"]
    return {f"{one['area']}.{one['name']}": (one["state"], one["says"], one["do"]) for one in found}


def test_where_nothing_is_wrong(fanout: Inside) -> None:
    done = fanout.run("doctor", env={"TERM": "xterm-256color", "LANG": "C.UTF-8"})
    assert done.code == 0
    assert "✓ calculator: 1 tool over stdio" in done.out
    assert "model: offline/rehearsal (" in done.out
    assert done.out.endswith("Nothing is wrong.\n")


def test_an_endpoint_is_asked_and_its_key_is_not_shown(fanout: Inside) -> None:
    models = Reply.json({"object": "list", "data": [{"id": "small", "object": "model"}]})
    with WireServer() as server:
        server.script(models, models)  # openai, and openai-responses at the same address
        env = {"OPENAI_API_KEY": "sk-canary-doctor-000", "OPENAI_BASE_URL": server.base_url("openai-chat")}
        done = fanout.run("doctor", "--json", "--no-mcp", env=env)
        assert findings(done)["Keys.OPENAI_API_KEY"][:2] == ("fine", "set")
        assert findings(done)["Endpoints.openai"][1].startswith("answers, ")
        assert "canary" not in done.out + done.err


def test_what_is_wrong_says_what_to_do_and_ends_with_1(fanout: Inside) -> None:
    fanout.write("home/mcp.json", '{"mcpServers": {"gone": {"command": "no-such-program"}}}')
    fanout.write("home/data/sessions.db", "this is no database, though it is long enough to look at" * 20)
    fanout.write("home/state/crash-20200101-000000-1.txt", "x")
    env = {
        "OPENAI_API_KEY": "sk-canary-doctor-000",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "ANTHROPIC_API_KEY": "“quoted”",
        "FANOUT_THEMES": "x",
        "LANG": "en_US.ISO-8859-1",
        "LC_ALL": "",
        "LC_CTYPE": "",
    }
    done = fanout.run("doctor", "--json", env=env)
    found = findings(done)
    assert done.code == 1
    assert found["Servers.gone"][0] == "wrong"
    assert "fanout mcp test gone" in found["Servers.gone"][2]
    assert found["Storage.sessions"][0] == "wrong"
    assert found["Storage.crash reports"][0] == "note"
    assert found["Endpoints.openai"][0] == "wrong"
    assert found["Keys.ANTHROPIC_API_KEY"][0] == "wrong"
    assert found["Configuration.FANOUT_THEMES"][0] == "note"
    assert found["Terminal.text"][0] == "note"
    assert not json.loads(done.out)["ok"]


def test_a_server_for_other_groups_is_a_note(fanout: Inside) -> None:
    fanout.write("home/mcp.json", '{"mcpServers": {"staff": {"command": "x", "groups": ["staff"]}}}')
    fanout.write("home/config.toml", 'groups = ["users"]')
    state, says, _ = findings(fanout.run("doctor", "--json"))["Servers.staff"]
    assert (state, says.startswith("switched off: it is for the groups staff,")) == ("note", True)


def test_what_others_could_read_is_said_once(fanout: Inside) -> None:
    fanout.write("home/data/keys.json", "{}")
    (fanout.home / "data" / "keys.json").chmod(0o644)
    state, says, do = findings(fanout.run("doctor", "--json", "--no-mcp"))["Storage.keys.json"]
    assert (state, "could be read by others (0644)" in says) == ("note", True)
    assert "make a new one" in do
    assert "Storage.keys.json" not in findings(fanout.run("doctor", "--json", "--no-mcp"))


def test_a_broken_configuration_is_a_finding_and_the_rest_is_looked_at(fanout: Inside) -> None:
    fanout.write("home/config.toml", "theem = 1")
    done = fanout.run("doctor")
    assert done.code == 1
    assert re.search(r"✗ settings: .*config\.toml:1:1: unknown key .theem.\n +Did you mean .theme.\?", done.out)
    assert "✓ python" in done.out
    assert done.err == ""


def test_a_folder_that_can_not_be_written_or_that_others_can_read(fanout: Inside) -> None:
    fanout.home.mkdir()
    fanout.home.chmod(0o755)
    fanout.write("home/data", "a file where a folder should be")
    found = findings(fanout.run("doctor", "--json", "--no-mcp"))
    assert found["Storage.configuration"][0] == "note"
    assert found["Storage.data"][0] == "wrong"


def test_from_the_top_it_says_first_how_much_is_wrong_and_where() -> None:
    found = [Finding("Versions", "fanout", "fine", "1"), Finding("Servers", "lab", "wrong", "gone", "Start it.")]
    shown = list(lines(found, from_the_top=True))
    assert shown[:3] == ["1 thing is wrong.", "Servers", "  ✗ lab: gone"]
    assert list(lines(found))[-1] == "1 thing is wrong."
    assert sorted(shown) == sorted(lines(found))


def test_a_folder_that_calls_itself_like_fanout_is_not_run(fanout: Inside) -> None:
    fanout.write("work/console_app/__init__.py", "open('ran', 'w')")
    fanout.write("work/subprocess.py", "open('ran', 'w')")
    assert "sandboxed" in findings(fanout.run("doctor", "--json", "--no-mcp"))["Servers.commands"][1]
    assert not (fanout.cwd / "ran").exists()
