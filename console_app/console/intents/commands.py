"""The slash commands of one face: its own, which are the table's intents, and those that people wrote."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from difflib import get_close_matches
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING

from console_app.config.trust import CustomCommand
from console_app.console.console import Console
from console_app.console.intents.table import (
    LONGEST_ABOUT,
    Bound,
    Cannot,
    Intent,
    Key,
    Moment,
    Ways,
    parse,
    slash_commands,
)
from console_app.console.talk.sessions import READ_ONLY
from console_app.domain import FanoutError, UsageError, one_line
from console_app.domain import rules as written
from console_app.engine import Rule

if TYPE_CHECKING:
    from console_app.console.models import Models
    from console_app.console.talk.conversation import Around
    from console_app.engine import Engine

log = logging.getLogger(__name__)


@asynccontextmanager
async def turn_of(command: CustomCommand, engine: Engine, models: Models) -> AsyncGenerator[None]:
    """Give a command's turn its model and tools, and take both back. Raises UsageError where its model can't answer."""
    before = models.name
    if command.model and command.model != before:
        try:
            await models.switch(command.model)
        except FanoutError as error:
            raise UsageError(f"/{command.name}: {error.detail}", error.hint) from None
    rules = [_rule(command, text) for text in command.allowed_tools]
    gate = engine.gate
    gate.rules.extend(rules)
    for spec in engine.toolset.tools():
        for rule in rules:
            if rule.speaks_of(spec):
                gate.bind(rule, spec)
    try:
        yield
    finally:
        gate.rules[:] = [rule for rule in gate.rules if all(rule is not one for one in rules)]
        if command.model and before and models.name == command.model != before:
            try:
                await models.switch(before)
            except FanoutError as error:  # the bar shows which one answers
                log.warning("the model before /%s can't answer any more: %s", command.name, error.line)


def _rule(command: CustomCommand, text: str) -> Rule:
    read = written.parse_rule(text)
    return Rule("allow", read.pattern, f"/{command.name}", read.arguments)


RUNNING = "A turn is running. Esc stops it"


class Commands:
    """The slash commands of one console. Those that people wrote are there once `read` has run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.ways: Ways = {}
        self.own: Mapping[str, Bound] = {}
        self.written: Mapping[str, Bound] = {}
        self._prompts: Mapping[str, CustomCommand] = {}
        self.untrusted: frozenset[str] = frozenset()  # names of a project's commands that wait for trust
        console.read_commands = self.read

    def use(self, ways: Ways) -> None:
        """Take the face's way of each intent."""
        self.ways, self.own = ways, slash_commands(ways)

    @property
    def listed(self) -> Sequence[Bound]:
        return [*self.own.values(), *self.written.values()]

    def get(self, name: str) -> Bound | None:
        return self.own.get(name) or self.written.get(name)

    def missing(self, name: str, more: Iterable[str] = ()) -> str:
        """Say in a line that no command has this name, and which of these and `more` is nearest."""
        if name in self.untrusted:
            return f"/{name} is a command of this project that waits for your trust: /trust shows it, and asks."
        if isinstance(way := self.ways.get(name), Cannot):
            return f"/{name} is no command here: {way.why}."
        if isinstance(way, Key):
            return f"/{name} is no command here but a key, which /help shows."
        names = [*(one.intent.name for one in self.listed), *more]
        begun = [one for one in names if one.startswith(name)]
        near = (begun or get_close_matches(name, names, 1, 0.6))[:1]
        meant = f"Did you mean /{near[0]}? " if near else ""
        return f"There is no command /{one_line(name, 40)}. {meant}/help lists them."

    # -- doing one

    def do(self, bound: Bound, rest: str = "") -> Callable[[], Coroutine[object, object, None]] | None:
        """Do an intent once its moment has come; what can't be done is told. One that takes time is given back, for a
        task of the face."""
        console, always = self._console, bound.intent.moment is Moment.ALWAYS
        if iscoroutinefunction(bound.run) or (not always and console.conversation.ending):
            return partial(self._do, bound, rest)
        try:
            if self._may(bound, rest) and (left := bound.run(console, rest)) is not None:
                return partial(self._finish, left)
        except FanoutError as error:
            console.fails(error)
        return None

    async def _do(self, bound: Bound, rest: str) -> None:
        console = self._console
        try:
            if bound.intent.moment is not Moment.ALWAYS:
                await console.conversation.settled()
            if self._may(bound, rest) and (left := bound.run(console, rest)) is not None:
                await left
        except FanoutError as error:
            console.fails(error)

    async def _finish(self, left: Awaitable[None]) -> None:
        try:
            await left
        except FanoutError as error:
            self._console.fails(error)

    def _may(self, bound: Bound, rest: str) -> bool:
        intent, console, why = bound.intent, self._console, ""
        if rest and not intent.argument and intent.name in self.own:  # what people wrote takes any words
            why = f"/{intent.name} takes nothing behind its name; not {one_line(rest, 40)}."
        elif intent.moment is Moment.IDLE and console.sessions.read_only:
            why = READ_ONLY
        elif intent.moment is Moment.IDLE and console.conversation.busy:
            why = f"{RUNNING}; then /{intent.name}."
        if why:
            console.ui.toast(why)
        return not why

    # -- those that people wrote

    def message_of(self, words: str) -> tuple[str, Around]:
        """Return the text of a command that people wrote, and what its turn runs within; other words as they are."""
        name, rest = parse(words) or ("", "")
        if (custom := self._prompts.get(name)) is None:
            return words, nullcontext
        return custom.prompt(rest), _around(custom, self._console)

    async def read(self) -> str:
        console = self._console
        found = await asyncio.to_thread(console.services.custom_commands)
        self.untrusted = found.untrusted
        taken = [one for one in found.commands if one.name in self.own]
        for one in taken:
            path = one_line(str(one.path), 200)
            console.ui.tell("warning", f"{path}: /{one.name} is a command of Fanout. Rename the file.")
        for problem in found.problems:
            console.ui.tell("warning", problem)
        self._prompts = {one.name: one for one in found.commands if one not in taken}
        self.written = {name: _bound(one) for name, one in self._prompts.items()}
        return found.summary([one.name for one in taken])


def _around(custom: CustomCommand, console: Console) -> Around:
    return partial(turn_of, custom, console.services.engine, console.models)


def _bound(custom: CustomCommand) -> Bound:
    hint = one_line(custom.argument_hint, 60)
    intent = Intent(custom.name, one_line(custom.description, LONGEST_ABOUT), argument=hint)

    def run(console: Console, rest: str) -> None:
        console.send(custom.prompt(rest), around=_around(custom, console))

    return Bound(intent, run)
