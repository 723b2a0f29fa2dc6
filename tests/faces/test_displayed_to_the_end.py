"""Nothing is accepted before its end was displayed, whatever it is that waits for a yes and on whichever face."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acp import schema

from console_app.acp_agent.asking import EditorQuestions
from console_app.console.talk.question_queue import QuestionQueue
from console_app.domain.approvals import ApprovalMode
from console_app.domain.questions import Elicitation, HumanPort, SamplingMessage, SamplingRequest
from console_app.domain.settings import Sampling
from console_app.domain.tools import ServerIdentity, ToolSpec
from console_app.engine import ApprovalGate, Rule, RuleBindings, RuleKey
from console_app.tui.asking.arguments_editor import ArgumentsEditor
from tests.each import each
from tests.examples import EXPLORING
from tests.faces.faces import EditorFace, OneTool, answer
from tests.line_console.test_typed_ahead import opened as lines_opened
from tests.tui.parts import WrittenModel, app, chat, decide, pass_by, say, see, seen, until

END = "@THE-END@"
TEXTS = {
    "a long line": "ls " + "x" * 5000 + END,
    "many lines": "\n".join(f"line {n}" for n in range(60)) + f"\n{END}",
    "blank lines": "ls" + "\n" * 200 + END,
    "blanks": "ls" + " " * 3000 + END,
    "invisible": "ls" + "\u3164" * 3000 + END,
    "braille blanks": "ls" + "\u2800" * 3000 + END,
}
CALLS = ("arguments", "edit form", "server's command")
QUESTIONS = ("sampling", "elicitation", "proposed value", "URL page")
SIZES = [(80, 24), (120, 40)]
MOST_PRESSES = 4


def tool_and_gate(what: str, text: str) -> tuple[OneTool, ApprovalGate]:
    """Its server is another than the rule is for, where the question is about that."""
    other = what == "server's command"
    spec = ToolSpec(
        name="lab_run",
        server="lab",
        tool="run",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        identity=ServerIdentity(digest="new", text=f"{text} --more {'a' * 100}" if other else "/a/program"),
    )
    bound = {RuleKey("", "lab.*", "lab"): (ServerIdentity(digest="old", text="/old/program"),)}
    rules = [Rule("allow", "lab.*")] if other else []
    return OneTool(spec), ApprovalGate(ApprovalMode.ASK, rules, bindings=RuleBindings(bound))


def arguments_of(what: str, text: str) -> str:
    return json.dumps({"text": "short" if what == "server's command" else text})


async def asked(human: HumanPort, what: str, text: str) -> bool:
    """Tells whether what a server asks was accepted."""
    match what:
        case "sampling":
            request = SamplingRequest("lab", (SamplingMessage("user", text),), Sampling(max_tokens=100))
            return await human.allow_sampling(request)
        case "URL page":
            question = Elicitation("lab", text, mode="url", url="https://example.org/a")
        case "proposed value":
            field = {"type": "string", "default": text}
            question = Elicitation("lab", "Is it so?", schema={"type": "object", "properties": {"text": field}})
        case _:
            question = Elicitation("lab", text, schema={"type": "object", "properties": {}})
    return (await human.ask(question)).action == "accept"


def is_whole(text: str) -> bool:
    """Tells whether the end stands in what was printed, and nothing pushes it out of sight."""
    return END in text and re.search(r"\n{4}|[ \u2800]{80}|(?:<U\+3164>){80}", text) is None


@dataclass
class Watched:
    """A console on which something waits; `yes` are the keys that accept it, `accepted` whether they did."""

    pilot: Any
    yes: str
    accepted: Callable[[], bool]

    @property
    def shows_end(self) -> bool:
        return END in re.sub(r"[\s┃│↳▎▐▌█▁▔╭╮╯╰─━]", "", seen(self.pilot.app))


class Waiting:
    """A console on which one text after the other waits for a yes."""

    def __init__(self, folder: Path, what: str) -> None:
        self._what = what
        self._tool, gate = tool_and_gate(what, "")
        self._desk, self._model = QuestionQueue(None), WrittenModel()
        self.console = app(folder, self._model, self._tool, gate=gate, human=self._desk)  # type: ignore[arg-type]

    @asynccontextmanager
    async def on(self, pilot: Any, text: str) -> AsyncGenerator[Watched]:
        await until(pilot, lambda: chat(self.console).prompt.has_focus)
        async with (self._question if self._what in QUESTIONS else self._call)(pilot, text) as watched:
            yield watched

    @asynccontextmanager
    async def _question(self, pilot: Any, text: str) -> AsyncGenerator[Watched]:
        board = chat(self.console).boards.human
        question = asyncio.create_task(asked(self._desk, self._what, text))
        await until(pilot, lambda: board.is_asking, "a question")
        board.focus()
        await until(pilot, lambda: board.has_focus and board.is_ready)
        yield Watched(pilot, "y", lambda: question.done() and question.result())
        question.cancel()

    @asynccontextmanager
    async def _call(self, pilot: Any, text: str) -> AsyncGenerator[Watched]:
        tool, boards = self._tool, chat(self.console).boards
        tool.spec, before = tool_and_gate(self._what, text)[0].spec, len(tool.ran)
        self._model.answers = [answer(tool.spec, arguments_of(self._what, text)), say("Over.")]
        await pilot.press(*"go", "enter")
        await see(pilot, "1 needs you")
        await pilot.press("tab")
        await until(pilot, lambda: boards.approvals.has_focus)
        if self._what == "edit form":
            await decide(pilot, "e")
            await until(pilot, lambda: isinstance(self.console.screen, ArgumentsEditor))
            await see(pilot, "unchanged")
        yield Watched(pilot, "ctrl+s" if self._what == "edit form" else "y", lambda: len(tool.ran) > before)
        await until(pilot, lambda: not chat(self.console).console.conversation.busy)


@pytest.mark.parametrize("what", [*CALLS, *QUESTIONS])
async def test_on_screen_a_key_accepts_only_what_was_displayed_to_its_end(what: str, tmp_path: Path) -> None:
    """In `make test` with two of the texts: one that is read, and one that is mostly blank, at another size each."""
    waiting = Waiting(tmp_path, what)
    turn, (line, lines, *blank) = [*CALLS, *QUESTIONS].index(what), TEXTS
    texts = list(TEXTS) if EXPLORING else [(line, lines)[turn % 2], blank[turn % 4]][:: -1 if turn > 2 else 1]
    async with waiting.console.run_test(size=SIZES[0]) as pilot:
        for number, text in enumerate(texts):
            size = SIZES[number % 2]
            await pilot.resize_terminal(*size)
            async with waiting.on(pilot, TEXTS[text]) as watched:
                await is_accepted_at_its_end(watched, f"{text} at {size}")


async def is_accepted_at_its_end(watched: Watched, text: str) -> None:
    was_shown, presses = False, 0
    while not watched.accepted():
        await pass_by(watched.pilot)
        was_shown = was_shown or watched.shows_end
        if not was_shown:
            assert "below" in seen(watched.pilot.app), f"lines out of sight are counted: {text}"
        await watched.pilot.press(watched.yes)
        await pass_by(watched.pilot)
        presses += 1
        assert presses <= MOST_PRESSES, text
        assert was_shown or not watched.accepted(), text
    assert was_shown, text


@each("text", TEXTS)
@each("what", CALLS)
async def test_in_lines_a_call_is_accepted_when_all_of_it_was_printed(what: str, text: str, tmp_path: Path) -> None:
    tool, gate = tool_and_gate(what, TEXTS[text])
    model = WrittenModel(answer(tool.spec, arguments_of(what, TEXTS[text])), say("Over."))
    async with lines_opened(tmp_path, model, tool, gate=gate) as lines:  # type: ignore[arg-type]
        lines.type("go")
        await lines.see("before that it can be denied", or_else="/allow 1 decides.")
        if what == "edit form":
            lines.type("/edit 1")
            await lines.see("1 of 1: text")
            await lines.see("line 59" if text == "many lines" else END)
            lines.type("")
        else:
            lines.type("/approve 1")
            await lines.see("/allow 1 decides.")
            if not tool.ran and "is approved by you" not in lines.text and "before that" in lines.text:
                lines.type("/approve 1")
        await lines.see("is approved by you")
        assert is_whole(lines.text.split("is approved by you")[0])
        await lines.see("Turn 1")
    assert tool.ran == [json.loads(arguments_of(what, TEXTS[text]))]


@each("text", TEXTS)
@each("what", QUESTIONS)
async def test_in_lines_a_question_is_printed_whole_before_its_answer(what: str, text: str, tmp_path: Path) -> None:
    desk = QuestionQueue(None)
    async with lines_opened(tmp_path, WrittenModel(), human=desk) as lines:
        question = asyncio.create_task(asked(desk, what, TEXTS[text]))
        await lines.see("/answer answers it")
        lines.type("/answer")
        match what:
            case "sampling":
                await lines.see("Type a number")
                lines.type("1")
            case "URL page":
                await lines.see("Type yes or no")
                lines.type("yes")
            case "proposed value":
                await lines.see(END)
                lines.type("")
            case _:
                pass
        assert await question
        assert is_whole(lines.text)


@each("text", TEXTS)
@each("what", ["arguments", "server's command"])
async def test_an_editor_is_given_all_of_a_call(what: str, text: str, tmp_path: Path) -> None:
    tool, gate = tool_and_gate(what, TEXTS[text])
    editor = EditorFace(tmp_path, tool, answer(tool.spec, arguments_of(what, TEXTS[text])), gate)
    await editor.run("once")
    assert is_whole(editor.text)
    (call, _) = editor.asked[0]
    assert re.search(r"[ \u2800]{3}", call.title or "") is None


@each("text", TEXTS)
@each("what", ["sampling", "elicitation", "URL page"])
async def test_an_editor_is_given_all_of_a_question(what: str, text: str) -> None:
    said: list[str] = []

    class Editor:
        async def request_permission(self, _id: str, call: Any, _options: Any) -> schema.RequestPermissionResponse:
            said.extend(part.content.text for part in call.content)
            outcome = {"outcome": {"outcome": "selected", "optionId": "once"}}
            return schema.RequestPermissionResponse.model_validate(outcome)

        async def create_elicitation(self, message: str, _mode: Any) -> schema.AcceptElicitationResponse:
            said.append(message)
            return schema.AcceptElicitationResponse(action="accept", content={})

    editor: Any = Editor()
    questions = EditorQuestions(editor, "s", forms=True, pages=True, limit=None, note=said.append, tell=lambda _: None)
    assert await asked(questions, what, TEXTS[text])
    assert is_whole("\n".join(said))
