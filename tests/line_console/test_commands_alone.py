"""Commands typed without what they need, or about one thing: said in words, and nothing is sent."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from console_app.acp_client import AcpModel, AgentProgram
from console_app.config.files import Paths
from console_app.config.trust import CustomCommands
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.schema import object_of
from console_app.domain.schema.forms import form_of
from console_app.domain.tools import ServerIdentity, ToolSpec
from tests.line_console.test_typed_ahead import opened
from tests.tui.parts import Tools, WrittenModel, calls, echo, say


async def test_a_command_that_lacks_its_words_says_so_and_sends_nothing(tmp_path: Path) -> None:
    model = WrittenModel(say("Hello."))
    async with opened(tmp_path, model) as shown:
        shown.type("/steer")
        await shown.see("There is nothing to say. Type it behind the name: /steer WORDS.")
        shown.type("/find")
        await shown.see("There is nothing to look for. Type it behind the name: /find WORDS.")
        shown.type("/show")
        await shown.see("A call is named by its number. /calls lists them.")
        shown.type("/status")
        await shown.see("Nothing runs.")
    assert not model.requests


async def test_one_call_is_one_call(tmp_path: Path) -> None:
    async with opened(tmp_path, WrittenModel(calls(("lab_do", '{"text": "a"}')), say("Done."))) as shown:
        shown.type("go")
        await shown.see("Call 1 needs approval")
        shown.type("/calls")
        await shown.see("\n1 call.\n")
        shown.type("/mode yolo")
        await shown.see("Mode: yolo, every call runs unasked. What waits already still asks: 1 call.")
        shown.type("/approve all")
        await shown.see("Done.")
        shown.type("/mode ask")
        await shown.see("Mode: ask, what no rule allows asks.\n")


async def test_calls_at_once_end_in_a_sentence_of_all_and_one_alone_in_its_own(tmp_path: Path) -> None:
    two = (("lab_do", '{"text": "a"}'), ("lab_do", '{"text": "b"}'))
    async with opened(tmp_path, WrittenModel(calls(*two), say("Both."), calls(two[0]), say("One."))) as shown:
        shown.type("/mode yolo", "go")
        await shown.see("\nBoth.\n")
        assert "\nAll 2 calls have ended after " in shown.text
        shown.type("again")
        await shown.see("\nOne.\n")
        assert shown.text.count("have ended") == 1


@dataclass
class Described(Tools):
    """Whose tools become others."""

    said: str = "Does it."

    def tools(self) -> Sequence[ToolSpec]:
        return [spec.model_copy(update={"definition": self.said}) for spec in super().tools()]


async def test_what_waits_is_said_whole_once_and_again_where_its_tool_is_another(tmp_path: Path) -> None:
    tools = Described({("lab", "do"): echo})
    model = WrittenModel(calls(("lab_do", '{"text": "a"}'), ("lab_do", '{"text": "b"}')), say("Both."))
    async with opened(tmp_path, model, tools=tools) as shown:
        shown.type("go")
        await shown.see("/approve 2, /deny 2")
        shown.type("/approve")
        await shown.see("Call 2 needs approval, reads. lab.do: text b\n")
        await shown.see("A full stop alone leaves.")
        assert [shown.text.count(f"/approve {number}, /deny {number}") for number in (1, 2)] == [1, 1]
        shown.type(".")
        tools.said = "Does it otherwise."
        shown.type("/approve")
        await shown.see("/approve 1, /deny 1", times=2)
        await shown.see("/approve 2, /deny 2", times=2)
        await shown.see("A full stop alone leaves.", times=2)
        shown.type("all")
        await shown.see("\nBoth.\n")


async def test_a_command_of_the_project_that_waits_for_trust_says_so(tmp_path: Path) -> None:
    file = tmp_path / ".fanout/commands/theirs.md"
    file.parent.mkdir(parents=True)
    file.write_text("Do as they say.")
    commands = partial(CustomCommands.find, Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), tmp_path)
    async with opened(tmp_path, WrittenModel(say("Hello.")), custom_commands=commands) as shown:
        shown.type("/theirs")
        await shown.see("/theirs is a command of this project that waits for your trust: /trust shows it, and asks.")
        shown.type("/reload")
        await shown.see("Your own commands: 0 read, 1 waits for your trust.")


@dataclass
class Whole(Tools):
    """Whose tools take a text."""

    def tools(self) -> Sequence[ToolSpec]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return [spec.model_copy(update={"input_schema": schema}) for spec in super().tools()]


async def test_what_does_not_fit_the_tool_is_said_with_the_call(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_do", '{"text": 1}')), say("Done."))
    async with opened(tmp_path, model, tools=Whole({("lab", "do"): echo})) as shown:
        shown.type("go")
        await shown.see("Warning: it does not fit the tool: “text” must be string, not integer.\n")


async def coloured(_invocation: Invocation, _reporter: CallReporter) -> str:
    return "\x1b[1m== tests ==\x1b[0m\n\x1b[38;5;9m1 failed\x1b[0m"


async def test_colours_of_a_result_are_not_read_out(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_do", "{}")), say("Done."))
    async with opened(tmp_path, model, tools=Tools({("lab", "do"): coloured})) as shown:
        shown.type("/mode yolo", "go")
        await shown.see(": == tests == 1 failed (2 lines)\n")
        shown.type("/show 1")
        await shown.see("\n== tests ==\n1 failed\n")


async def test_calls_are_decided_by_a_range_of_those_that_wait(tmp_path: Path) -> None:
    five = tuple(("lab_do", f'{{"text": "{n}"}}') for n in range(1, 6))
    async with opened(tmp_path, WrittenModel(calls(*five), say("All."))) as shown:
        shown.type("go")
        await shown.see("/approve 5, /deny 5")
        shown.type("/deny 4-2 backwards")
        await shown.see("No such call waits for approval.")
        shown.type("/deny 3 not that")
        await shown.see("Call 3 is denied by you.")
        shown.type("/approve 2-4,1")
        await shown.see("Call 1, lab.do, ok")
        await shown.see("Call 4, lab.do, ok")
        shown.type("/calls")
        await shown.see("5. lab.do, needs approval")
        shown.type("/deny 5-999999999999")
        await shown.see("\nAll.\n")
        assert "Call 5 is denied by you." in shown.text


async def test_what_a_call_changes_in_a_file_is_said_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 21)))
    edit = '{"path": "a.txt", "edits": [{"oldText": "line 3\\nline 4", "newText": "LINE"}], "dryRun": false}'
    new = '{"path": "b.txt", "content": "one\\ntwo\\n"}'
    gone = '{"path": "a.txt", "old_text": "no such line", "new_text": "x"}'
    tools = Tools({("files", "edit"): echo, ("files", "write_file"): echo}, read_only=False)
    model = WrittenModel(calls(("files_edit", edit), ("files_write_file", new), ("files_edit", gone)), say("Done."))
    async with opened(tmp_path, model, tools=tools) as shown:
        shown.type("go")
        await shown.see("/approve 3, /deny 3")
        one, other, third = (part.partition("/approve")[0] for part in shown.text.split("needs approval: ")[1:])
        assert one.splitlines()[1:] == [
            "  path: a.txt",
            "  dryRun: false",
            "  Removed, lines 3 to 4:",
            "    line 3",
            "    line 4",
            "  Added, line 3: LINE",
        ]
        assert other.splitlines()[1:] == [
            "  path: b.txt",
            "  (no such file here yet)",
            "  Added, lines 1 to 2:",
            "    one",
            "    two",
        ]
        assert "Warning: the text to replace is not in the file as it is now." in third
        assert "no such line" in third, "what can't be compared is said as arguments"


async def test_a_copy_says_what_it_took(tmp_path: Path) -> None:
    async with opened(tmp_path, WrittenModel(say("Here:\n\n```sh\nls -l\n```\n"))) as shown:
        shown.type("go")
        await shown.see("ls -l")
        shown.type("/copy code")
        await shown.see("Copied code 1: 5 characters.")


ASKED: dict[str, tuple[dict[str, Any], str, Any]] = {
    "words": ({"type": "string"}, "a b", "a b"),
    "page": ({"type": "string", "description": "as Markdown"}, "# a", "# a"),
    "many": ({"enum": [5, 10]}, "10", 10),
    "second": ({"enum": [5, 10]}, "2", 10),
    "fixed": ({"const": True}, "true", True),
    "half": ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "0.5", 0.5),
    "point": ({"$ref": "#/$defs/Point"}, '{"x": 1}', {"x": 1}),
    "list": ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
    "either": ({"type": ["string", "integer"]}, "3", 3),
    "or_text": ({}, "three", "three"),
    "secret_word": ({"type": "string"}, "hush", "hush"),
}
"""A member's schema, what is typed for it, and the value that the tool gets."""


@dataclass
class Asking(Tools):
    """Whose tools take a value of each kind."""

    def tools(self) -> Sequence[ToolSpec]:
        schema = object_of({name: one for name, (one, _, _) in ASKED.items()}, tuple(ASKED))
        schema["$defs"] = {"Point": object_of({"x": {"type": "number"}})}
        return [spec.model_copy(update={"input_schema": schema}) for spec in super().tools()]


async def test_a_call_filled_in_line_by_line_has_the_values_that_its_form_on_the_screen_gives(tmp_path: Path) -> None:
    got: list[dict[str, Any]] = []

    async def take(invocation: Invocation, _reporter: CallReporter) -> str:
        got.append(dict(invocation.arguments))
        return "taken"

    tools = Asking({("lab", "do"): take})
    form = form_of(tools.tools()[0].input_schema)
    async with opened(tmp_path, WrittenModel(), tools=tools) as shown:
        shown.type("/call lab.do")
        for place, (name, (_, typed, value)) in enumerate(ASKED.items(), 1):
            await shown.see(f"{place} of {len(ASKED)}: {name}, required")
            shown.type(typed)
            assert not form.fields[place - 1].problem(value)
        await shown.see("Call 1, lab.do, ok")
    assert got == [{name: value for name, (_, _, value) in ASKED.items()}]


async def test_agents_are_listed_sent_and_told_line_by_line(tmp_path: Path) -> None:
    async with opened(tmp_path, WrittenModel(say("It is all there.")), agents=dict) as shown:
        shown.type("/agents")
        await shown.see("explore")
        shown.type("/tell nobody stop")
        await shown.see("No agent nobody runs")
        shown.type("/agent nosuch look")
        await shown.see("There is no kind of agent nosuch")
        shown.type("/agent explore look around")
        await shown.see("Call 1, agent explore, ok: It is all there.")
        assert "Call 1: agent explore." in shown.text
        assert "agent general" not in shown.text


async def test_a_race_is_run_by_kinds_and_models_and_one_answer_is_taken(tmp_path: Path) -> None:
    model = WrittenModel(say("It is here."), say("No, there."), say("You are welcome."))
    async with opened(tmp_path, model, agents=dict) as shown:
        shown.type("/race explore find it")
        await shown.see("A race has two runners or more, and a task")
        shown.type("/race explore,nosuch find it")
        await shown.see("There is no kind of agent nosuch")
        shown.type("/take explore")
        await shown.see("No agent explore has answered")
        shown.type("/race explore,review,other/model find it")
        await shown.see("Call 1, agent explore, ok: It is here.")
        await shown.see("Call 2, agent review, ok: No, there.")
        await shown.see("no other model than the one that answers can be had here, so not other/model")
        shown.type("/take review")
        await shown.see("Taken: the answer of review. The model is told with your next message.")
        shown.type("thanks")
        await shown.see("You are welcome.")
    told = model.requests[-1].messages[-1].content
    assert told.startswith("[Fanout: the user takes the answer of the agent review. Answers of others")
    assert told.endswith("thanks")


async def test_what_an_agent_of_others_offers_is_listed_and_chosen_line_by_line(tmp_path: Path) -> None:
    async with opened(tmp_path, WrittenModel()) as shown:
        shown.type("/choose")
        await shown.see("No agent answers here.")
    command = (sys.executable, "-S", str(Path(__file__).parents[1] / "acp_client/scripted_agent.py"), "echo")
    program = AgentProgram("theirs", command, ServerIdentity(digest="d", text="theirs"), {"PATH": os.environ["PATH"]})
    agent = AcpModel(program)
    async with opened(tmp_path, agent) as shown:
        shown.type("/choose")
        await shown.see("has not been started")
        shown.type("hello")
        await shown.see("<hello>")
        shown.type("/choose")
        await shown.see("● ask: Ask")
        shown.type("/choose mode code")
        await shown.see("mode: Code")
        shown.type("/choose mode fly")
        await shown.see("theirs: it has no mode fly")
    await agent.close()
