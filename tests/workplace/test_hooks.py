"""Programs that others wrote as hooks are asked around calls, and what they say counts as far as rules let it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from console_app.config.files import Paths
from console_app.domain import ApprovalMode, ConfigError
from console_app.domain import events as ev
from console_app.engine import ApprovalGate, Engine, Rule
from console_app.workplace import WorkingFolder
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, spec, tool_texts
from tests.engine.strict_history import check_turn
from tests.patience import PATIENCE, until_so
from tests.servers.stdio_client import StdioClient

Table = dict[str, list[dict[str, Any]]]


def says(**output: Any) -> str:
    return f"cat > /dev/null; echo {shlex.quote(json.dumps(output))}"


def decides(decision: str, reason: str = "", **more: Any) -> str:
    own = {"permissionDecision": decision, "permissionDecisionReason": reason, **more}
    return says(hookSpecificOutput={"hookEventName": "PreToolUse", **own})


def at(event: str, *commands: str, matcher: str = "", timeout: float = 30) -> Table:
    hooks = [{"type": "command", "command": command, "timeout": timeout} for command in commands]
    return {event: [{"matcher": matcher, "hooks": hooks}]}


def engine(
    folder: Path,
    hooks: Table,
    *answers: Any,
    mode: ApprovalMode = ApprovalMode.YOLO,
    rules: list[Rule] | None = None,
    tools: Tools | None = None,
    **more: Any,
) -> Engine:
    paths = Paths.find({"FANOUT_HOME": str(folder / "home")})
    place = WorkingFolder(paths, folder, os.environ, hooks)
    gate = ApprovalGate(mode, rules or [], **more)
    return engine_of(Model(*answers), tools, gate=gate, workplace=place)


async def test_a_hook_is_told_what_others_tell_it(tmp_path: Path) -> None:
    hooks = {
        **at("PreToolUse", "cat > before.json", matcher="mcp__demo__.*"),
        **at("PostToolUse", "cat > after.json", matcher="demo.do"),
    }
    made = engine(tmp_path, hooks, calls({"n": "a"}))
    events = await play(made)
    check_turn(made, events)
    before, after = (json.loads((tmp_path / name).read_text()) for name in ("before.json", "after.json"))
    assert before["hook_event_name"] == "PreToolUse"
    assert before["tool_name"] == "mcp__demo__do"
    assert before["tool_input"] == {"n": "a"}
    assert before["tool_use_id"] == only(events, ev.CallReady)[0].call_id
    assert (before["session_id"], before["cwd"], before["permission_mode"]) == ("s", str(tmp_path), "bypassPermissions")
    assert after["tool_response"] == {"content": "result of a", "is_error": False}


DENIALS = {
    "exit 2": "cat > /dev/null; echo 'not on a Friday' >&2; exit 2",
    "permissionDecision": decides("deny", "not on a Friday"),
    "decision": says(decision="block", reason="not on a Friday"),
    "beside one that allows": decides("deny", "not on a Friday"),
}


@each("how", DENIALS)
@each("mode", [ApprovalMode.YOLO, ApprovalMode.ASK, ApprovalMode.AUTO])
async def test_a_hook_denies_a_call_in_every_mode(tmp_path: Path, how: str, mode: ApprovalMode) -> None:
    commands = [DENIALS[how]] + ([decides("allow")] if "beside" in how else [])
    tools = Tools()
    made = engine(tmp_path, at("PreToolUse", *commands), calls({"n": "a"}), mode=mode, tools=tools)
    events = await play(made)
    check_turn(made, events)
    assert outcomes(made) == ["denied"]
    assert tool_texts(made) == ["This call was not run: a hook denied it: not on a Friday"]
    assert [one.by for one in only(events, ev.ApprovalResolved)] == [ev.DecidedBy.HOOK]
    assert not tools.ran


async def test_what_a_hook_changed_is_shown_runs_and_is_told(tmp_path: Path) -> None:
    tools = Tools()
    made = engine(
        tmp_path, at("PreToolUse", decides("ask", "look", updatedInput={"n": "b"})), calls({"n": "a"}), tools=tools
    )
    shown: list[Any] = []

    def react(turn: Any, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            shown.append((made.transcript.calls[event.call_id].arguments, event.why, event.always))
            turn.resolve(event.call_id, ev.Decision.ALLOW)

    events = await play(made, react=react)
    check_turn(made, events)
    assert shown == [({"n": "b"}, "a hook asks: look", True)]
    assert [one.arguments for one in tools.ran] == [{"n": "b"}]
    assert tool_texts(made)[0].startswith('A hook changed the arguments before this call ran. It ran with: {"n": "b"}')
    (call,) = made.transcript.calls.values()
    assert (call.hooked, call.repaired) == (True, ())


async def test_arguments_that_do_not_fit_deny_the_call(tmp_path: Path) -> None:
    tools = Tools([spec(input_schema={"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]})])
    hooks = at("PreToolUse", decides("allow", updatedInput={"n": 3}))
    made = engine(tmp_path, hooks, calls({"n": "a"}), tools=tools)
    await play(made)
    assert outcomes(made) == ["denied"]
    assert "they don't fit the tool" in tool_texts(made)[0]


ALLOWED = [
    (ApprovalMode.ASK, [], {}, "succeeded"),
    (ApprovalMode.ASK, [Rule("deny", "demo.*")], {}, "denied"),
    (ApprovalMode.ASK, [Rule("ask", "demo.*")], {}, "denied"),
    (ApprovalMode.ASK, [], {"require_approval": True}, "denied"),
    (ApprovalMode.PLAN, [], {"read_only": False}, "denied"),
    (ApprovalMode.YOLO, [Rule("deny", "demo.*")], {}, "denied"),
]


@each(("mode", "rules", "tool", "outcome"), ALLOWED)
async def test_a_hook_allows_only_what_the_mode_alone_asks_for(
    tmp_path: Path, mode: ApprovalMode, rules: list[Rule], tool: dict[str, Any], outcome: str
) -> None:
    tools = Tools([spec(**tool)])
    hooks = at("PreToolUse", decides("allow"))
    made = engine(tmp_path, hooks, calls({"n": "a"}), mode=mode, rules=rules, tools=tools, headless=True)
    await play(made)
    assert outcomes(made) == [outcome]


async def test_arguments_that_a_person_edited_are_asked_about_again(tmp_path: Path) -> None:
    command = "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0"
    tools = Tools()
    made = engine(tmp_path, at("PreToolUse", command), calls({"n": "a"}), mode=ApprovalMode.ASK, tools=tools)

    def react(turn: Any, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            turn.resolve(event.call_id, ev.Decision.ALLOW, arguments={"n": "secret"})

    await play(made, react=react)
    assert outcomes(made) == ["denied"]
    assert "no secrets" in tool_texts(made)[0]
    assert not tools.ran


async def test_words_of_hooks_reach_the_model(tmp_path: Path) -> None:
    own = {"hookEventName": "PostToolUse", "additionalContext": "the tests are red"}
    hooks = {
        **at("SessionStart", "echo from the start"),
        **at("UserPromptSubmit", says(hookSpecificOutput={"additionalContext": "it is late"})),
        **at("PostToolUse", says(hookSpecificOutput=own), "echo unformatted >&2; exit 2"),
    }
    made = engine(tmp_path, hooks, calls({"n": "a"}))
    events = await play(made)
    check_turn(made, events)
    told = "\n".join(str(message) for message in made.history)
    for words in ("a hook adds: from the start", "a hook adds: it is late"):
        assert words in told
    assert "[Fanout: a hook says: the tests are red]" in tool_texts(made)[0]
    assert "[Fanout: a hook objects: unformatted]" in tool_texts(made)[0]
    assert outcomes(made) == ["succeeded"]


async def test_a_prompt_that_is_blocked_never_reaches_the_model(tmp_path: Path) -> None:
    command = "grep -q password && { echo 'it holds a password' >&2; exit 2; }; exit 0"
    model = Model()
    place = WorkingFolder(
        Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), tmp_path, os.environ, at("UserPromptSubmit", command)
    )
    made = engine_of(model, workplace=place)
    for prompt in ("my password is x", "hello"):
        async with made.start(prompt) as turn:
            events = [event async for event in turn]
        if "password" in prompt:
            assert [(one.outcome, one.error) for one in only(events, ev.TurnFinished)] == [
                ("failed", "A hook blocked the prompt: it holds a password")
            ]
            assert not model.requests
    assert "password" not in str(model.requests)
    assert "hello" in str(model.requests)


async def test_a_hook_has_the_turn_go_on_but_not_for_ever(tmp_path: Path) -> None:
    model = Model()
    command = "cat >> stops; echo 'the tests are red' >&2; exit 2"
    place = WorkingFolder(
        Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), tmp_path, os.environ, at("Stop", command)
    )
    made = engine_of(model, workplace=place)
    events = await play(made)
    check_turn(made, events)
    assert 1 < len(model.requests) < 10
    assert "a hook has you go on: the tests are red" in str(model.requests[1].messages)
    stops = (tmp_path / "stops").read_text().split('"stop_hook_active": ')[1:]
    assert [one.split("}")[0].split(",")[0] for one in stops] == ["false"] + ["true"] * (len(stops) - 1)


FAULTS = {
    "exit 1": ("echo oops >&2; exit 1", "failed with exit code 1: oops", "succeeded"),
    "no program": ("/nowhere/at/all", "failed with exit code 127", "succeeded"),
    "no answer": ("sleep 1000", "gave no answer within 0.3 s", "denied"),
    "a flood": ("yes", "said more than", "denied"),
    "a flood of errors": ("yes >&2", "said more than", "denied"),
    "no JSON": ("echo '{not json'", "wrote JSON that can't be read", "denied"),
    "deep JSON": ('python3 -c \'print("{\\"a\\":" * 40000)\'', "", "denied"),
    "other JSON": (says(hookSpecificOutput=[1], decision={"a": 1}), "", "succeeded"),
    "bytes": ("printf '\\377\\376\\033[2J'", "", "succeeded"),
    "reads nothing": ("exit 0", "", "succeeded"),
}


@each("what", FAULTS)
async def test_a_faulty_hook_is_told_and_lets_nothing_through_by_silence(tmp_path: Path, what: str) -> None:
    command, notice, outcome = FAULTS[what]
    limit = 0.3 if what == "no answer" else 30
    made = engine(tmp_path, at("PreToolUse", command, timeout=limit), calls({"n": "a" * 200_000}), headless=True)
    events = await play(made)
    check_turn(made, events)
    assert outcomes(made) == [outcome]
    assert notice in " ".join(one.text for one in only(events, ev.Notice))


async def test_hooks_of_one_event_run_side_by_side_and_leave_nothing_behind(tmp_path: Path) -> None:
    all_there = "until ls a b c d e f g h >/dev/null 2>&1; do sleep 0.01; done"
    commands = [f"sleep 1000 & echo $! > {name}; {all_there}" for name in "abcdefgh"]
    made = engine(tmp_path, at("PreToolUse", *commands, timeout=PATIENCE), calls({"n": "a"}))
    await play(made)
    assert outcomes(made) == ["succeeded"]
    for name in "abcdefgh":
        await _ended(int((tmp_path / name).read_text()))


async def test_a_hook_ends_with_its_turn(tmp_path: Path) -> None:
    made = engine(tmp_path, at("PreToolUse", "echo $$ > pid; sleep 1000"), calls({"n": "a"}))
    async with made.start("go") as turn:
        await until_so(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()), "its pid")
        turn.cancel()
        async for _ in turn:
            pass
    await _ended(int((tmp_path / "pid").read_text()))


async def _ended(pid: int) -> None:
    await until_so(lambda: not _alive(pid), "its end")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


BROKEN: list[Any] = [
    {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]},
    {"PreToolUse": [{"hooks": [{"type": "command"}]}]},
    {"PreToolUse": [{"hooks": "x"}]},
    {"PreToolUse": ["x"]},
    {"PreToolUze": []},
    {"PreToolUse": [{"hooks": [{"command": "x", "timeout": -1}]}]},
    {"PreToolUse": [{"hooks": [{"command": "x", "timeout": True}]}]},
]


@each("table", BROKEN)
def test_a_table_of_yours_that_can_not_be_read_is_an_error(tmp_path: Path, table: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        WorkingFolder(Paths.find({"FANOUT_HOME": str(tmp_path)}), tmp_path, {}, table)
    assert "\n" not in raised.value.line


@each(
    ("tool", "given", "name", "told"),
    [
        ("run", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("read", {"path": "a.txt"}, "mcp__shell__read", {"path": "a.txt"}),
    ],
)
async def test_a_tool_that_others_have_goes_by_their_name(
    tmp_path: Path, tool: str, given: dict[str, str], name: str, told: dict[str, str]
) -> None:
    tools = Tools([spec(tool, "shell")])
    hooks = at("PreToolUse", "cat > told.json", matcher="Bash|mcp__shell__read")
    made = engine(tmp_path, hooks, calls(given, name=f"shell_{tool}"), tools=tools)
    await play(made)
    found = json.loads((tmp_path / "told.json").read_text())
    assert (found["tool_name"], found["tool_input"]) == (name, told)


THEIR_NAMES = {
    "shell": {"run": ["Bash"], "output": [], "stop": []},
    "files": {
        "read_file": ["Read"],
        "write_file": ["Write"],
        "edit_file": ["Edit"],
        "apply_patch": ["apply_patch", "Edit", "Write"],
        "search_files": ["Grep"],
        "list_directory": ["Glob"],
    },
    "web": {"fetch": ["WebFetch"]},
}


@each("server", THEIR_NAMES)
async def test_hooks_for_tools_of_others_concern_those_that_come_along(tmp_path: Path, server: str) -> None:
    with StdioClient(f"console_app.servers.{server}") as client:
        assert {tool["name"] for tool in client.request("tools/list")["tools"]} == THEIR_NAMES[server].keys()
    for tool, names in THEIR_NAMES[server].items():
        for name in names:
            made = engine(
                tmp_path,
                at("PreToolUse", "cat > told.json", matcher=name),
                calls({}, name=f"{server}_{tool}"),
                tools=Tools([spec(tool, server)]),
            )
            await play(made)
            assert json.loads((tmp_path / "told.json").read_text())["tool_name"] == names[0]
            (tmp_path / "told.json").unlink()


async def test_a_path_is_told_under_both_names_and_changed_under_either(tmp_path: Path) -> None:
    tools = Tools([spec("write_file", "files")])
    hooks = at("PreToolUse", "cat > told.json; " + decides("allow", updatedInput={"path": "a", "file_path": "/b"})[17:])
    made = engine(tmp_path, hooks, calls({"path": "a"}, name="files_write_file"), tools=tools)
    await play(made)
    told = json.loads((tmp_path / "told.json").read_text())
    assert (told["tool_name"], told["tool_input"]) == ("Write", {"path": "a", "file_path": str(tmp_path / "a")})
    assert [one.arguments for one in tools.ran] == [{"path": "/b"}]
