"""Every command of every face with words that it doesn't know: nothing breaks or changes, and where the table's own
entry does it, every face says what the plainest one says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from console_app.acp_agent.session import editor_ways
from console_app.console import Console, Services
from console_app.console.intents import INTENTS, Bound, Cannot, Commands, Slash
from console_app.domain import FanoutError
from console_app.page import LivePage
from tests.console.peers import Screen
from tests.examples import EXPLORING
from tests.line_console.test_typed_ahead import opened
from tests.tui.parts import Tools, WrittenModel, app, chat, echo, services, until

BAD = ("nonsense", "-1", "99999999999999999999999", "{", "\x1b[2J\u202e")
FREE = ("model", "steer", "quit", "editor")  # they take any words, or end the face, or leave it to another program
BROKEN = ("Unexpected", "unexpected", "made a mistake")

Try = Callable[[str, str], Awaitable[str]]
"""Does a command with the text behind its name, and returns all that the face says then."""


class Plain(Screen):
    """A face that has no way of its own: the table's entries and nothing else."""

    def __init__(self, made: Services) -> None:
        super().__init__()
        self.console = Console(made, self)
        self.console.readiness.waits_for_nothing()
        self.commands = Commands(self.console)
        self.commands.use({name: Cannot("none") for name, one in INTENTS.items() if one.does is None})

    def give_back(self, text: str) -> bool:
        return False

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        return None

    async def ask(self, title: str, hint: str = "") -> str | None:
        return None

    async def tried(self, name: str, rest: str) -> list[str]:
        self.toasts.clear()
        self.told.clear()
        try:
            if (work := self.commands.do(self.commands.own[name], rest)) is not None:
                await work()
        except FanoutError as error:
            raise AssertionError(f"/{name} {rest!r} is not told of: {error}") from error
        return [*self.toasts, *(text for _, text in self.told)]


def given(folder: Path) -> Services:
    return services(folder, WrittenModel(), Tools({("lab", "do"): echo}))


def state(made: Services) -> tuple[Any, ...]:
    engine = made.engine
    rules = [str(rule) for rule in engine.gate.rules]
    return engine.gate.mode, rules, engine.settings, made.models.name, engine.session_id, len(engine.transcript.turns)


def own(commands: Mapping[str, Bound]) -> list[str]:
    return [name for name in commands if name not in FREE]


def some(names: list[str]) -> Iterator[tuple[str, str]]:
    """Each with one of these words in its turn: where a screen is drawn for it, all of them take long."""
    yield from product(names, BAD) if EXPLORING else zip(names, cycle(BAD), strict=False)


async def tried(
    face: str, words: Iterable[tuple[str, str]], made: Services, attempt: Try, plain: Plain, ways: Mapping[str, Any]
) -> None:
    before, wrong = state(made), list[str]()
    for name, rest in words:
        shared = ways.get(name, Slash()) == Slash() and "CALL" not in INTENTS[name].argument
        said = await attempt(name, rest)
        if any(one in said for one in BROKEN):
            wrong.append(f"/{name} {rest!r} breaks: {said}")
        if shared and name in plain.commands.own:
            wrong += [
                f"/{name} {rest!r} lacks {one!r}: {said}" for one in await plain.tried(name, rest) if one not in said
            ]
        if state(made) != before:
            wrong.append(f"/{name} {rest!r} changed something: {said}")
            before = state(made)
    assert not wrong, f"on the {face}:\n" + "\n".join(wrong)


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncGenerator[Plain]:
    face = Plain(given(tmp_path))
    yield face
    await face.console.close()


async def test_without_a_face_every_bad_word_is_told_and_changes_nothing(plain: Plain) -> None:
    async def attempt(name: str, rest: str) -> str:
        said = await plain.tried(name, rest)
        assert said or not INTENTS[name].argument or INTENTS[name].argument.startswith("["), f"/{name} says nothing"
        return "\n".join(said)

    await tried("table", product(own(plain.commands.own), BAD), plain.console.services, attempt, plain, {})


async def test_in_lines(tmp_path: Path, plain: Plain) -> None:
    async with opened(tmp_path, WrittenModel()) as shown:
        face, marks = shown.face, iter(range(10_000))

        async def attempt(name: str, rest: str) -> str:
            before = len(shown.text)
            if (work := face.commands.do(face.commands.own[name], rest)) is not None:
                await answered(asyncio.ensure_future(work()))
            mark = f"mark {next(marks)} of the test"
            face.dialogue.say(mark)
            await shown.see(mark)
            return shown.text[before:]

        async def answered(task: asyncio.Future[Any]) -> None:
            """Leaves each question until the command is over."""
            while not task.done():
                asks = asyncio.ensure_future(face.dialogue.opened.wait())
                await asyncio.wait({task, asks}, return_when=asyncio.FIRST_COMPLETED)
                asks.cancel()
                face.dialogue.leave()
            task.result()

        await tried("lines", product(own(face.commands.own), BAD), face.console.services, attempt, plain, face.ways())


@asynccontextmanager
async def page_of(made: Services) -> AsyncGenerator[tuple[LivePage, Try]]:
    page, heard, news, marks = LivePage(lambda: made), list[str](), asyncio.Event(), iter(range(10_000))

    async def tell(message: Mapping[str, Any]) -> None:
        heard.extend([message["say"]] if "say" in message else [html for _, _, html, *_ in message.get("blocks", ())])
        news.set()

    async def attempt(name: str, rest: str) -> str:
        heard.clear()
        await page.act({"do": "send", "words": f"/{name} {rest}"})
        page.toast(mark := f"mark {next(marks)} of the test")
        while mark not in heard:
            news.clear()
            await news.wait()
        return "\n".join(heard)

    async with page.show_on(tell, {}):
        yield page, attempt
    await page.close()


async def test_on_the_page(tmp_path: Path, plain: Plain) -> None:
    made = given(tmp_path)
    async with page_of(made) as (page, attempt):
        names = [name for name in own(plain.commands.own) if page.ways.get(name, Slash()) == Slash()]
        await tried("page", some([one for one in names if INTENTS[one].argument]), made, attempt, plain, page.ways)


async def test_in_an_editor(tmp_path: Path, plain: Plain) -> None:
    face = Plain(given(tmp_path))
    face.commands.use(editor_ways())

    async def attempt(name: str, rest: str) -> str:
        return "\n".join(await face.tried(name, rest))

    await tried("editor", product(own(face.commands.own), BAD), face.console.services, attempt, plain, editor_ways())
    await face.console.close()


async def test_on_screen(tmp_path: Path, plain: Plain) -> None:
    async with app(tmp_path, WrittenModel(), Tools({("lab", "do"): echo})).run_test(notifications=True) as pilot:
        screen = chat(pilot.app)

        async def attempt(name: str, rest: str) -> str:
            pilot.app.clear_notifications()
            screen.commands.run(screen.own_commands.own[name], rest)
            await pilot.pause()
            said = "\n".join(one.message for one in pilot.app._notifications)  # pyright: ignore[reportPrivateUsage]
            while len(pilot.app.screen_stack) > 1:
                depth = len(pilot.app.screen_stack)
                await pilot.press("escape")
                await until(pilot, lambda depth=depth: len(pilot.app.screen_stack) < depth)
            return said

        await tried(
            "screen", some(own(screen.own_commands.own)), screen.services, attempt, plain, screen.own_commands.ways
        )
