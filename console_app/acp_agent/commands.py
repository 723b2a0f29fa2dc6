"""The slash commands that an editor is offered: of Fanout those that work without its console, those that people wrote
and the prompts of servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from acp import schema

from console_app.console import Around, turn_of
from console_app.console.intents import INTENTS, Cannot, Commands, Ways, intent_of, parse
from console_app.domain import one_line

if TYPE_CHECKING:
    from console_app.console import Console
    from console_app.mcp_client import Hub

_ABOUT = 200
_TERMINAL, _EDITOR = Cannot("it is done in a terminal"), Cannot("the editor has it")
_PROTOCOL = Cannot("the protocol has it: the editor asks, and shows it in its own way")


def editor_ways() -> Ways:
    """Say how an editor has intents that are no command there by themselves: by the protocol, or not at all."""
    return {
        **{name: _TERMINAL for name, one in INTENTS.items() if one.run is None},
        **dict.fromkeys(
            ("policy", "protocol", "reload", "trust", "call", "rename", "fork", "rewind", "result"), _TERMINAL
        ),
        **dict.fromkeys(("undo", "export", "log", "doctor", "steer"), _TERMINAL),
        **dict.fromkeys(("model", "effort", "mode", "plan", "sessions", "resume", "new", "stop"), _PROTOCOL),
        **dict.fromkeys(("approve", "deny", "allow", "answer", "decline", "calls", "show", "inspect"), _PROTOCOL),
        **dict.fromkeys(("help", "keys", "copy", "find", "clear", "editor", "files", "quit", "theme"), _EDITOR),
    }


class EditorCommands:
    """Lists the slash commands of one conversation for its editor, and runs them. `tell` takes the update with the
    list."""

    def __init__(self, console: Console, hub: Hub, tell: Callable[[Any], None]) -> None:
        self._console = console
        self._hub = hub
        self._tell = tell
        self._commands = Commands(console)
        self._commands.use(editor_ways())
        self._read = False
        self._listed: list[tuple[str, str, str]] = []

    async def tell(self) -> None:
        """Reads those that people wrote, and lists them all."""
        await self._commands.read()
        self._read = True
        self.changed()

    def changed(self) -> None:
        """Servers may have other prompts now."""
        if not self._read or (now := [*self._all()]) == self._listed:
            return
        self._listed = now
        commands = [
            schema.AvailableCommand(name=name, description=one_line(about, _ABOUT) or name, input=_hint(hint))
            for name, about, hint in now
        ]
        self._tell(schema.AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=commands
        ))  # fmt: skip

    def _all(self) -> Iterator[tuple[str, str, str]]:
        own = (bound.intent for bound in self._commands.listed)
        for one in (*own, *(intent_of(name, prompt) for name, prompt in self._hub.typed_prompts().items())):
            yield one.name, one.about, one.argument

    def written(self, words: str) -> tuple[str, Around]:
        """The words that people wrote for the command that `words` are, and what its turn runs within; others as they
        are. A server's prompt is for the message to read."""
        name, rest = parse(words) or ("", "")
        if (written := self._commands.prompts.get(name)) is None:
            return words, nullcontext
        return written.prompt(rest), partial(turn_of, written, self._console.services.engine, self._console.models)

    async def run(self, words: str) -> bool:
        """Does what of Fanout `words` are the command for; False for others."""
        name, rest = parse(words) or ("", "")
        if (command := self._commands.own.get(name)) is None:
            return False
        if (work := self._commands.do(command, rest)) is not None:
            await work()
        return True


def _hint(words: str) -> schema.AvailableCommandInput | None:
    return schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=one_line(words, 60))) if words else None
