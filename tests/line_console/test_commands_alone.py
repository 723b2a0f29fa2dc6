"""Commands typed without what they need, or about one thing: said in words, and nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from console_app.config.custom_commands import find
from console_app.config.paths import Paths
from console_app.domain.ports.toolset import CallReporter, Invocation
from console_app.domain.tools import ToolSpec
from tests.line_console.test_typed_ahead import opened
from tests.tui.parts import Tools, WrittenModel, calls, echo, say


async def test_a_command_that_lacks_its_words_says_so_and_sends_nothing(tmp_path: Path) -> None:
    model = WrittenModel(say("Hello."))
    async with opened(tmp_path, model) as shown:
        shown.type("/steer")
        await shown.see("Error: there is nothing to say. Type it behind the name: /steer WORDS.")
        shown.type("/find")
        await shown.see("Error: there is nothing to look for. Type it behind the name: /find WORDS.")
        shown.type("/show")
        await shown.see("Error: a call is named by its number. /calls lists them.")
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
        await shown.see("every call runs. 1 call that waited runs now.")
        shown.type("/mode ask")
        await shown.see("Approvals: ask, what no rule allows asks.\n")


async def test_a_command_of_the_project_that_waits_for_trust_says_so(tmp_path: Path) -> None:
    file = tmp_path / ".fanout/commands/theirs.md"
    file.parent.mkdir(parents=True)
    file.write_text("Do as they say.")
    commands = partial(find, Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), tmp_path)
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
