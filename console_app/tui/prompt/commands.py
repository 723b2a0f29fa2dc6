"""The slash commands of the screen by name: its own, those that people wrote, and those that servers offer now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from console_app.console import Console
from console_app.console.intents import Bound, Commands, parse
from console_app.mcp_client.offering import typed_names
from console_app.tui.prompt.completion import Completion, Token
from console_app.tui.ui import Ui
from console_app.tui.widgets.pick_list import SearchedList

MOST_MATCHES = 50  # of a list that scrolls


class CommandLine:
    """Knows the slash commands of one console by name, and runs those that are typed."""

    def __init__(self, console: Console, own: Commands, ui: Ui) -> None:
        self._own = own
        self._console = console
        self._ui = ui
        self._offered: dict[str, Bound] = {}

    def __iter__(self) -> Iterator[Bound]:
        return iter((*self.own, *self._offered.values()))

    @property
    def own(self) -> Sequence[Bound]:
        return self._own.listed

    def offer(self, commands: Iterable[Bound]) -> None:
        """Take the commands that servers offer, in place of those they offered before; their names hold a colon."""
        self._offered = {command.intent.name: command for command in commands}

    def read(self, text: str) -> tuple[str, str] | None:
        """Return (name, rest) of a prompt that is a command; None for one that only looks like it."""
        asked, hub = typed_names.command_of(text), self._console.services.hub
        is_prompt = asked is not None and hub is not None and asked[0].partition(":")[0] in hub.typed_servers()
        return asked if is_prompt else parse(text)

    def get(self, name: str) -> Bound | None:
        return self._own.get(name.lower()) or self._offered.get(name)

    def find(self, name: str) -> Bound | None:
        if (command := self.get(name)) is None:
            self._ui.toast(self._own.missing(name.lower(), self._offered))
        return command

    def run(self, command: Bound, rest: str = "") -> None:
        """Run a command with the text behind its name. One that may ask takes the place of another that asks."""
        if (work := self._own.do(command, rest)) is not None:
            (self._ui.open if command.intent.asks else self._ui.open_beside)(work)

    def completions(self, token: Token) -> Sequence[Completion]:
        if token.kind == "command":
            table = self._offered if ":" in token.query else {one.intent.name: one for one in self}
            found = SearchedList.best(token.query, table, MOST_MATCHES)
            return [Completion(f"/{name}", f"/{name} ", table[name].intent.about, runs=True) for name in found]
        command = self.get(token.command)
        if command is None:
            return ()
        names = SearchedList.best(token.query, command.choices(self._console), 12)
        return [Completion(name, name, runs=True) for name in names]
