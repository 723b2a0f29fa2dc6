"""Sessions on the command line: kept by runs and gone on with, listed, read, moved and locked."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from console_app.command_line import parse_arguments
from console_app.commands import open_services
from console_app.sessions import SessionLock
from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Text
from tests.wire_server import WireServer


def kept(fanout: Inside, *words: str) -> list[dict[str, Any]]:
    """Return the sessions that `sessions list --json` prints."""
    return [json.loads(line) for line in fanout.run("sessions", "list", "--jsonl", *words).out.splitlines()]


def say(fanout: Inside, prompt: str, *flags: str) -> str:
    """A run without servers; gives the id of the newest session after it."""
    done = fanout.run("run", "--no-mcp", *flags, prompt)
    assert done.code == 0, done.err
    return next(iter(kept(fanout)), {}).get("id", "")


def test_a_run_is_kept_gone_on_with_and_read(fanout: Inside) -> None:
    with WireServer() as server:
        server.script(Answer(Text("It is \x1b[31mblue\u202e.")), Answer(Text("Still blue.")))
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        first = say(fanout, "which colour?", *model)
        assert say(fanout, "and now?", "-c", *model) == first
        said = [message["content"] for message in server.requests[1].body["messages"] if message["role"] != "system"]
    assert said == ["which colour?", "It is \x1b[31mblue\u202e.", "and now?"]
    [session] = kept(fanout)
    assert (session["title"], session["turns"], session["model"]) == ("which colour?", 2, "test-model")
    shown = fanout.run("sessions", "show", first[:6])
    assert "> which colour?" in shown.out
    assert "It is ␛[31mblue<U+202E>." in shown.out
    events = fanout.run("sessions", "show", first[:6], "--jsonl").events
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    found = fanout.run("sessions", "search", "BLU")
    assert "[blue]" in found.out or "blue" in found.out
    assert fanout.run("sessions", "show", first, "--replay", "--speed", "10000").events == events


def test_a_session_goes_on_under_another_model(fanout: Inside) -> None:
    first = say(fanout, "hello")
    with WireServer() as server:
        server.script(Answer(Text("From elsewhere.")))
        say(fanout, "go on", "-r", first[:8], "-m", "anthropic/other", "--base-url", server.base_url("anthropic"))
        assert [message["role"] for message in server.requests[0].body["messages"]] == ["user", "assistant", "user"]
    assert kept(fanout)[0]["model"] == "other"


def test_a_session_goes_on_with_its_own_model_where_none_is_named(fanout: Inside) -> None:
    with WireServer() as server:
        url = server.base_url("openai-chat")
        table = f'[providers.lab]\napi = "openai-chat"\nbase_url = "{url}"\nmodel = "usual"\n'
        fanout.write("home/config.toml", f'model = "lab/usual"\n{table}')
        server.script(*[Answer(Text("Said."))] * 4)
        say(fanout, "hello", "-m", "lab/special")
        for flags in (("-c",), ("-c", "-m", "lab/named")):
            say(fanout, "go on", *flags)
        assert [request.body["model"] for request in server.requests] == ["special", "special", "named"]
        fanout.write("home/config.toml", f'model = "other/usual"\n{table.replace("lab", "other")}')
        done = fanout.run("run", "--no-mcp", "-c", "and now?")
        assert done.code == 0
        assert "The session was with lab/named; other/usual answers now" in done.err
        assert server.requests[-1].body["model"] == "usual"


def test_a_run_that_goes_on_with_a_full_session_makes_room_first_and_says_so(fanout: Inside) -> None:
    fanout.write("home/config.toml", "[providers.openai]\ncontext_window = 1000\n")
    with WireServer() as server:
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        full = (900, 50, 0)
        server.script(*(Answer(Text(text), usage=full) for text in ("One.", "Two.", "The summary.", "Three.")))
        for prompt, going_on in (("first", ()), ("second", ("-c",))):
            say(fanout, prompt, *going_on, *model)
        done = fanout.run("run", "--no-mcp", "-c", *model, "third")
        assert done.out == "Three.\n"
        assert "Compacted: the model reads a summary in place of the oldest 2 messages." in done.err
        asked = [[message["content"] for message in r.body["messages"][-3:]] for r in server.requests]
        assert "first" in asked[2][-1]
        assert "The summary." in asked[3][0]
        assert asked[3][1:] == ["Two.", "third"]
        server.script(*(Answer(Text(text), usage=full) for text in ("A second one.", "Four.", "Third.", "Five.")))
        events = fanout.run("run", "--no-mcp", "-c", *model, "--output-format", "stream-json", "fourth").events
        [compacted] = [event for event in events if event["type"] == "history.compacted"]
        assert (compacted["summary"], compacted["covers"], compacted["automatic"]) == ("A second one.", 4, True)
        told = json.loads(fanout.run("run", "--no-mcp", "-c", *model, "--output-format", "json", "fifth").out)
        assert told["compaction"] == {"summary": "Third.", "covers": 6}
        assert [message["content"] for message in told["messages"]][::2] == [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
        ]
    shown = fanout.run("sessions", "show", kept(fanout)[0]["id"])
    assert "[Compacted: the model reads a summary in place of the oldest 2 messages.]" in shown.out


def test_sessions_are_renamed_forked_moved_and_deleted(fanout: Inside) -> None:
    first = say(fanout, "hello")
    say(fanout, "again", "-r", first)
    assert fanout.run("sessions", "rename", first[:8], "A", "better", "name").code == 0
    copy = fanout.run("sessions", "fork", first, "--turn", "1").out.strip()
    named = {session["id"]: session for session in kept(fanout)}
    assert (named[first]["title"], named[first]["turns"]) == ("A better name", 2)
    assert (named[copy]["parent"], named[copy]["turns"]) == (first, 1)
    assert fanout.run("sessions", "export", first, "-o", "out.jsonl").code == 0
    again = fanout.run("sessions", "import", "out.jsonl").out.strip()
    assert fanout.run("sessions", "show", again).out == fanout.run("sessions", "show", first).out
    assert "# A better name" in fanout.run("sessions", "export", first).out
    assert fanout.run("sessions", "export", first, "-o", "calls.trace.json").code == 0
    assert "traceEvents" in json.loads((fanout.cwd / "calls.trace.json").read_text())
    assert "<!doctype html>" in fanout.run("sessions", "export", first, "--format", "html").out
    asked = fanout.run("sessions", "delete", copy)
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert fanout.run("sessions", "delete", copy, again, "--yes").code == 0
    assert [session["id"] for session in kept(fanout)] == [first]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "-c", "hi"], "no session of"),
        (["run", "-r", "nope", "hi"], "begins with 'nope'"),
        (["run", "--no-save", "-c", "hi"], "--no-save"),
        (["sessions", "show"], "show needs ID"),
        (["sessions", "show", "nope"], "begins with 'nope'"),
        (["sessions", "import", "nope"], "can't read nope"),
        (["sessions", "dance"], "sessions has no action 'dance'"),
    ],
)
def test_what_can_not_be_done_is_one_line(fanout: Inside, arguments: list[str], says: str) -> None:
    done = fanout.run(*arguments)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1


def test_no_save_keeps_nothing(fanout: Inside) -> None:
    say(fanout, "hello", "--no-save")
    assert kept(fanout) == []
    assert not (fanout.home / "data" / "sessions.db").exists()


def test_a_session_that_is_open_elsewhere_is_not_written_to(fanout: Inside) -> None:
    first = say(fanout, "hello")
    lock = SessionLock(fanout.home / "data" / "locks", first)
    assert lock.take()
    done = fanout.run("run", "--no-mcp", "-c", "go on")
    assert done.code == 2
    assert "open in another console" in done.err
    assert f"fanout sessions fork {first}" in done.err
    lock.let_go()
    assert fanout.run("run", "--no-mcp", "-c", "go on").code == 0
    assert list((fanout.home / "data" / "locks").iterdir()) == []


def test_a_disk_that_can_not_be_written_is_told_and_the_answer_comes(fanout: Inside) -> None:
    fanout.write("home/data", "a file where a folder is wanted")
    done = fanout.run("run", "--no-mcp", "-m", "offline/rehearsal", "hello")
    assert done.code == 0
    assert done.out
    assert done.err.startswith("Sessions: ")
    assert "FANOUT_HOME" in done.err


def test_a_damaged_session_file_is_said_where_sessions_are_listed(fanout: Inside) -> None:
    fanout.write("home/data/sessions.db", "what is no database\n" * 50)
    done = fanout.run("sessions", "list")
    [aside] = (fanout.home / "data").glob("sessions.damaged-*.db")
    assert f"The session file was damaged. It was kept as {aside}." in done.err
    assert aside.read_text().startswith("what is no database")
    assert fanout.run("sessions", "list").err == "No saved sessions yet.\n"


def test_the_console_goes_on_with_the_sessions_own_model(fanout: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*flags: str) -> tuple[str, list[str]]:
        async def services() -> tuple[str, list[str]]:
            made = await asyncio.to_thread(open_services, parse_arguments(["--no-mcp", "-r", first, *flags]))
            await made.close()
            return made.models.name, [line.partition(":")[0] for line in made.problems]

        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith(("FANOUT_", "OPENAI_"))]:
                patch.delenv(name)
            patch.setenv("FANOUT_HOME", str(fanout.home))
            return asyncio.run(services())

    table = '[providers.lab]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "usual"\n'
    fanout.write("home/config.toml", f'model = "lab/usual"\n{table}')
    with WireServer() as server:
        server.script(Answer(Text("Said.")))
        first = say(fanout, "hello", "-m", "lab/special", "--base-url", server.base_url("openai-chat"))
    assert opened() == ("lab/special", [])
    assert opened("-m", "lab/named") == ("lab/named", [])
    fanout.write("home/config.toml", f'model = "other/usual"\n{table.replace("lab", "other")}')
    assert opened() == ("other/usual", ["The session was with lab/special; other/usual answers now"])
