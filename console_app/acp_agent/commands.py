"""The slash commands that an editor is offered: of Fanout those that work without its console, those that people wrote
and the prompts of servers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from acp import schema

from console_app.console.reports.context_report import context_report
from console_app.console.reports.cost_report import cost_report
from console_app.console.slash_commands import parse
from console_app.console.talk.command_turns import turn_of
from console_app.console.talk.queued import Around
from console_app.domain.safe_text import one_line

if TYPE_CHECKING:
    from console_app.acp_agent.parts import SessionParts
    from console_app.acp_agent.updates import Updates
    from console_app.config.custom_commands import CustomCommand
    from console_app.console.talk.conversation import Conversation

_OWN = {
    "compact": "Puts a summary in place of older messages",
    "context": "What the model reads, in tokens",
    "cost": "What this conversation took, in tokens and money",
}
_ABOUT = 200


class EditorCommands:
    """Of one conversation. `tell` takes the update that lists them."""

    def __init__(
        self, parts: SessionParts, conversation: Conversation, updates: Updates, tell: Callable[[Any], None]
    ) -> None:
        self._parts = parts
        self._conversation = conversation
        self._updates = updates
        self._tell = tell
        self._written: dict[str, CustomCommand] | None = None
        self._listed: list[tuple[str, str, str]] = []

    async def tell(self) -> None:
        """Reads those that people wrote, and lists them all."""
        found = await asyncio.to_thread(self._parts.custom_commands)
        self._written = {one.name: one for one in found.commands if one.name not in _OWN}
        self.changed()

    def changed(self) -> None:
        """Servers may have other prompts now."""
        if self._written is None or (now := [*self._all(self._written)]) == self._listed:
            return
        self._listed = now
        commands = [
            schema.AvailableCommand(name=name, description=one_line(about, _ABOUT) or name, input=_hint(hint))
            for name, about, hint in now
        ]
        self._tell(schema.AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=commands
        ))  # fmt: skip

    def _all(self, written: Mapping[str, CustomCommand]) -> Iterator[tuple[str, str, str]]:
        for name, about in _OWN.items():
            yield name, about, ""
        for name, one in written.items():
            yield name, one.description, one.argument_hint
        for name, prompt in self._parts.hub.typed_prompts().items():
            yield name, prompt.description or prompt.title, " ".join(one.name for one in prompt.arguments)

    def written(self, words: str) -> tuple[str, Around]:
        """The words that people wrote for the command that `words` are, and what its turn runs within; others as they
        are. A server's prompt is for the message to read."""
        name, rest = parse(words) or ("", "")
        if (written := (self._written or {}).get(name)) is None:
            return words, nullcontext
        return written.prompt(rest), partial(turn_of, written, self._parts.engine, self._parts.models)

    def run(self, words: str) -> bool:
        """Runs what of Fanout `words` are the command for, or begins to; False for others. Raises UsageError."""
        name, _ = parse(words) or ("", "")
        match name:
            case "compact":
                self._conversation.compact()
            case "context":
                report = context_report(self._parts.engine, self._updates.transcript, self._parts.models.window)
                self._updates.note(f"```\n{report}\n```", grave=True)
            case "cost":
                self._updates.note(f"```\n{cost_report(self._updates.transcript)}\n```", grave=True)
            case _:
                return False
        return True


def _hint(words: str) -> schema.AvailableCommandInput | None:
    return schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=one_line(words, 60))) if words else None
