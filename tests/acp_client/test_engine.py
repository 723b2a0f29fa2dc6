"""A prompt to an agent that others wrote is shown with all it says and asks, and ends, whatever the agent does."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from console_app.acp_client import AcpModel, AgentProgram
from console_app.domain import FanoutError, Outcome, ToolResult, ToolSpec, errors
from console_app.domain import events as ev
from console_app.domain.ports import Permit
from console_app.domain.tools import ServerIdentity
from tests.patience import PATIENCE

KNOWN = ServerIdentity(digest="d", text="scripted")
SCRIPT = Path(__file__).with_name("scripted_agent.py")


class Host:
    """A host that keeps all it is asked for. `permit` answers its requests by the agent's own id of the call."""

    def __init__(self, permit: Callable[[str], bool | None] = lambda _: True, tools: Collection[str] = ()) -> None:
        self._tools = tools
        self.events: list[ev.Event] = []
        self.asked: list[tuple[ToolSpec, Mapping[str, Any], str]] = []
        self.made: list[tuple[str, Mapping[str, Any]]] = []
        self.changed = asyncio.Event()
        self._permit = permit
        self.there: dict[str, Mapping[str, Any]] = {}  # servers that are on

    def tell(self, event: ev.Event) -> None:
        self.events.append(event)
        self.changed.set()

    def new_call_id(self, given: str) -> str:
        return given

    async def permitted(self, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], why: str) -> Permit:
        self.asked.append((spec, arguments, why))
        self.changed.set()
        if (allowed := self._permit(call_id)) is None:
            await asyncio.Event().wait()
        return Permit(bool(allowed), arguments)

    def tools(self) -> Collection[str]:
        return self._tools

    def servers(self) -> Mapping[str, Mapping[str, Any]]:
        return self.there

    def kept(self, provider: str) -> Mapping[str, Any]:
        return {}

    def spent(self) -> str | None:
        return None

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        raise errors.ToolError(f"{tool} is not here")

    def progress(self, words: str) -> None:
        pass

    def of(self, *kinds: type[ev.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def ends(self) -> dict[str, str]:
        return {event.call_id: event.outcome.value for event in self.of(ev.CallFinished)}

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.of(ev.TextDelta))

    async def until(self, there: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (found := there()):
                self.changed.clear()
                await self.changed.wait()
        return found


class Asked:
    """An agent that is asked once, and ended."""

    def __init__(self, program: AgentProgram) -> None:
        self._model = AcpModel(program)

    async def run(self, host: Host) -> str:
        try:
            await self._model.converse("Do it.", "", host)
        finally:
            await self._model.close()
        return host.of(ev.MessageAdded)[-1].content


@pytest.fixture
def engines() -> Callable[..., Asked]:
    def engine(scenario: str, **more: Any) -> Asked:
        command = (sys.executable, "-S", str(SCRIPT), scenario)
        return Asked(AgentProgram("scripted", command, KNOWN, {"PATH": os.environ["PATH"]}, **more))

    return engine


async def test_it_says_what_it_says(engines: Callable[..., Asked]) -> None:
    host = Host()
    assert await engines("words").run(host) == "Hello there."
    assert host.text == "Hello there."
    assert "".join(event.text for event in host.of(ev.ReasoningDelta)) == "Hm."
    (usage,) = host.of(ev.UsageReported)
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (11, 7, None)


async def test_three_ask_at_once_and_each_is_answered_by_itself(engines: Callable[..., Asked]) -> None:
    host = Host(lambda call: call != "b")
    assert await engines("three").run(host) == "a=yes b=no c=yes"
    assert host.ends == {"a": "succeeded", "b": "denied", "c": "succeeded"}
    assert [arguments["command"] for _, arguments, _ in host.asked] == ["do a", "do b", "do c"]
    assert {spec.label for spec, _, _ in host.asked} == {"scripted.execute"}
    assert host.asked[0][2] == "scripted asks: Do a (Yes, once · Yes, for ever · Rather not)"
    pieces = [event for event in host.of(ev.CallOutput) if event.call_id == "a"]
    assert [(piece.text, piece.offset) for piece in pieces] == [("one\n", 0), ("two\n", 4)]
    assert [event.content for event in host.of(ev.CallFinished) if event.call_id == "c"] == ["one\ntwo\n"]


@pytest.mark.parametrize(("scenario", "call"), [("permission_first", "late"), ("only_an_id", "v")])
async def test_a_question_may_come_before_its_call_or_hold_only_its_id(
    engines: Callable[..., Asked], scenario: str, call: str
) -> None:
    host = Host()
    assert await engines(scenario).run(host) == "yes"
    assert host.ends == {call: "succeeded"}
    assert [event.call_id for event in host.of(ev.CallAnnounced)] == [call]


async def test_plan_diff_price_and_the_agents_own_names(engines: Callable[..., Asked]) -> None:
    host = Host()
    assert await engines("shapes").run(host) == "done"
    (todo,) = host.of(ev.TodoChanged)
    assert [(item.content, item.status.value) for item in todo.items] == [("First", "completed"), ("Then", "pending")]
    edit, read = host.of(ev.CallAnnounced)
    assert (edit.tool, read.tool) == ("Edit", "read")
    diff, plain = [event.content for event in host.of(ev.CallFinished)]
    assert diff == "--- a/w/a.py\n+++ b/w/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2"
    assert plain == "plain"
    assert host.of(ev.UsageReported)[0].cost == 0.25
    assert [event.arguments for event in host.of(ev.CallReady) if event.call_id == "d"][-1] == {"path": "a.py"}


async def test_ids_that_nobody_named_make_nothing(engines: Callable[..., Asked]) -> None:
    host = Host()
    assert await engines("lies").run(host) == "truth"
    assert [event.call_id for event in host.of(ev.CallAnnounced)] == ["a"]
    assert [(event.outcome.value, event.content) for event in host.of(ev.CallFinished)] == [("succeeded", "first")]
    assert host.text == "truth"


async def test_a_call_that_was_denied_and_made_is_told(engines: Callable[..., Asked]) -> None:
    host = Host(lambda _: False)
    await engines("denied_and_done").run(host)
    (notice,) = host.of(ev.Notice)
    assert "which was denied" in notice.text


async def test_a_call_that_never_ended_is_interrupted_with_the_answer(engines: Callable[..., Asked]) -> None:
    host = Host()
    assert await engines("open").run(host) == "never ended"
    assert host.ends == {"a": "interrupted"}


async def test_a_question_behind_the_end_gets_no_yes(engines: Callable[..., Asked]) -> None:
    host = Host()
    assert await engines("asks_later").run(host) == "done"
    assert host.asked == []
    assert [event.call_id for event in host.of(ev.CallAnnounced)] == ["a"]


async def test_nothing_is_chosen_that_was_not_offered(engines: Callable[..., Asked]) -> None:
    assert await engines("no_such_option").run(Host(lambda _: False)) == "cancelled"
    assert await engines("no_such_option").run(Host()) == "ever"


FAILING = {
    "dies": "scripted: it exited with code 3: out of cheese",
    "exits": "scripted: it exited with code 1: no such module",
    "flood": "scripted: it said more than 4,194,304 characters in one answer",
    "floods_calls": "scripted: it made more than 2,000 calls in one answer",
    "garbage": "scripted: it writes lines that are no messages of the Agent Client Protocol",
    "long_line": "scripted: it wrote a line of 33,",
    "empty": "scripted: it ended its turn without a word or a call",
    "refuses": "scripted: it refuses to go on",
    "version": "scripted: it speaks version 7 of the protocol, and Fanout version 1",
    "sign_in": "scripted: it wants you to sign in (Authentication required)",
    "sign_in_late": "scripted: it wants you to sign in (Authentication required)",
}


@pytest.mark.parametrize("scenario", FAILING)
async def test_what_ends_it_is_said_in_a_line(engines: Callable[..., Asked], scenario: str) -> None:
    host = Host()
    with pytest.raises(FanoutError) as failed:
        await engines(scenario).run(host)
    assert failed.value.detail.startswith(FAILING[scenario])
    assert "\n" not in failed.value.line
    announced = {event.call_id for event in host.of(ev.CallAnnounced)}
    assert set(host.ends) == announced
    if scenario in ("sign_in", "sign_in_late"):
        assert "login: Run scripted login" in failed.value.hint


@pytest.mark.parametrize(("scenario", "said"), [("stray", "still here"), ("stderr", "said"), ("tired", "so far")])
async def test_what_does_not_matter_ends_nothing(engines: Callable[..., Asked], scenario: str, said: str) -> None:
    assert await engines(scenario).run(Host()) == said


async def test_stopped_it_ends_with_all_that_it_started(engines: Callable[..., Asked]) -> None:
    host = Host()
    running = asyncio.create_task(engines("hangs").run(host))
    pids = [int(word) for word in (await host.until(lambda: host.text)).split()]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()
    assert host.ends == {"a": "cancelled"}
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}") and "Z" not in _state(pid)]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


async def test_stopped_while_it_asks_it_hears_no_yes(engines: Callable[..., Asked]) -> None:
    host = Host(lambda _: None)
    running = asyncio.create_task(engines("asks_and_hangs").run(host))
    await host.until(lambda: host.asked)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert host.ends == {"a": "cancelled"}


async def test_its_mode_and_model_are_set_or_said_to_be_none(engines: Callable[..., Asked]) -> None:
    assert await engines("words", mode="code", model="Small").run(Host()) == "Hello there."
    for more in ({"mode": "fly"}, {"model": "huge"}):
        with pytest.raises(FanoutError) as failed:
            await engines("words", **more).run(Host())
        assert "There are: " in failed.value.hint
        assert next(iter(more.values())) in failed.value.detail


async def test_it_gets_no_variable_that_was_not_given(engines: Callable[..., Asked]) -> None:
    names = json.loads(await engines("env").run(Host()))
    assert set(names) - {"PATH", "FANOUT_SERVER_OF", "LC_CTYPE"} == set()


async def test_a_program_that_is_not_there_is_said() -> None:
    engine = Asked(AgentProgram("gone", ("/no/such/program",), KNOWN))
    with pytest.raises(FanoutError, match="gone can't be started: /no/such/program: No such file or directory"):
        await engine.run(Host())


async def test_it_is_given_the_servers_that_its_setting_names_in_ways_that_it_has(
    engines: Callable[..., Asked],
) -> None:
    host = Host()
    host.there = {
        "tables": {"command": "tables", "args": ["-q"], "env": {"KEY": "k"}, "cwd": ""},
        "placed": {"command": "placed", "args": [], "env": {}, "cwd": "/srv"},
        "web": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"X-Of": "1"}},
        "old": {"type": "sse", "url": "http://127.0.0.1:1/sse", "headers": {}},
        "shell": {"command": "shell", "args": [], "env": {}, "cwd": ""},
        "other": {"command": "other", "args": [], "env": {}, "cwd": ""},
    }
    given = json.loads(await engines("given", servers=("[pstw]*", "old")).run(host))
    assert given == [
        {"name": "tables", "command": "tables", "args": ["-q"], "env": [{"name": "KEY", "value": "k"}]},
        {
            "name": "web",
            "type": "http",
            "url": "http://127.0.0.1:1/mcp",
            "headers": [{"name": "X-Of", "value": "1"}],
        },
    ]
    assert [notice.text for notice in host.of(ev.Notice)] == [
        "scripted is given tables, web, and calls them by itself, not under your rules",
        "scripted can't be given old, placed: it has no way to reach them",
    ]


async def test_without_the_setting_it_is_given_no_server(engines: Callable[..., Asked]) -> None:
    host = Host()
    host.there = {"tables": {"command": "tables", "args": [], "env": {}, "cwd": ""}}
    assert await engines("given").run(host) == "[]"
    assert not host.of(ev.Notice)


class Working(Host):
    """A host with tools: a command says that it ran, and no file can be written, nor one outside the folder read."""

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.made.append((tool, arguments))
        if tool == "shell.run":
            said = "hi there\n[exit 3 in 0.1 s; sandboxed]"
            return ToolResult(outcome=Outcome.SUCCEEDED, content=said, structured={"exit_code": 3})
        if tool == "files.read_file" and not arguments["path"].startswith("/"):
            return ToolResult(outcome=Outcome.SUCCEEDED, content="the whole")
        return ToolResult(outcome=Outcome.DENIED, content="not allowed")


async def test_files_and_terminals_that_it_asks_for_are_calls_of_our_tools(
    engines: Callable[..., Asked], tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("one\ntwo\nthree\n")
    host = Working()
    said = json.loads(await engines("served", folder=tmp_path).run(host))
    assert said == [{"exitCode": 3, "signal": None}, "hi there", True, {"content": "two\n"}, True]
    command = {"command": "export A=1\necho 'hi there'", "timeout": 3600}  # a variable without a name is none
    assert host.made == [
        ("shell.run", command),
        ("files.write_file", {"path": "note.txt", "content": "one\ntwo\nthree\n"}),
        ("files.read_file", {"path": "note.txt", "offset": 2}),
        ("files.read_file", {"path": "/etc/hostname"}),
    ]


class Obliging(Host):
    """A host whose commands never end and whose files can be written; it finds none to read."""

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.made.append((tool, arguments))
        if tool == "shell.run":
            await asyncio.Event().wait()
        if tool == "files.read_file":
            raise errors.ToolError("no file is there")
        return ToolResult(outcome=Outcome.SUCCEEDED, content="")


async def test_a_terminal_is_ended_a_file_is_written_and_what_is_not_there_is_refused(
    engines: Callable[..., Asked], tmp_path: Path
) -> None:
    host = Obliging()
    said = json.loads(await engines("served_and_killed", folder=tmp_path).run(host))
    assert said == [
        {"output": "", "truncated": False},
        {},
        {"exitCode": None, "signal": "SIGTERM"},
        {},
        "no file is there",
        "`path` has to be the path of a file",
        "there is no terminal terminal-9",
        "Fanout has no fs/list_files",
    ]
    assert host.made[:2] == [
        ("shell.run", {"command": "sleep 600", "timeout": 3600, "cwd": "/srv"}),
        ("files.write_file", {"path": "note.txt", "content": "one"}),
    ]
