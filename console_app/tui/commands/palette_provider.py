"""The slash commands in the command palette (Ctrl+P)."""

from __future__ import annotations

from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from console_app.tui.commands.registry import Command, CommandRegistry


class HasCommands(Protocol):
    """A screen with commands."""

    commands: CommandRegistry


class SlashCommands(Provider):
    """Every command of the screen's registry."""

    @property
    def _commands(self) -> CommandRegistry:
        return cast("HasCommands", self.screen).commands

    async def discover(self) -> Hits:
        """All of them, while nothing is typed."""
        for command in self._commands.match(""):
            yield DiscoveryHit(_title(command), partial(self._run, command), help=command.about)

    async def search(self, query: str) -> Hits:
        """Those whose name or description fits."""
        matcher = self.matcher(query)
        commands = self._commands
        # Of a thousand prompts only the nearest are scored and listed: each is a widget, and keys must pass.
        for command in dict.fromkeys((*commands.own, *commands.match(query))):
            score = max(matcher.match(_title(command)), 0.8 * matcher.match(command.about))
            if score > 0:
                shown = matcher.highlight(_title(command))
                yield Hit(score, shown, partial(self._run, command), text=command.name, help=command.about)

    def _run(self, command: Command) -> None:
        command.run("")


def _title(command: Command) -> str:
    return f"/{command.name}"
