"""The things that servers offer, as the main screen uses them: prompts as commands, resources to read and to watch.

The screens that show one of them are loaded when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from console_app.config.servers import Item
from console_app.console import Console, Services
from console_app.console.intents import Bound, intent_of
from console_app.console.servers import Offered
from console_app.domain import FanoutError, one_line
from console_app.mcp_client import Hub, PromptArgument, ResourceTemplate, ServerPrompt
from console_app.mcp_client.offering import typed_names
from console_app.tui.prompt.commands import CommandLine
from console_app.tui.prompt.server_completion import ServerCompletion
from console_app.tui.servers.workbench import Calls, Run, Workbench
from console_app.tui.ui import Ui


class ServerOffers:
    """The offers in one console. Without a hub, as in a replay, nothing is offered."""

    def __init__(
        self, hub: Hub | None, ui: Ui, commands: CommandLine, console: Console, send: Callable[[str], None]
    ) -> None:
        self._hub = hub
        self._ui = ui
        self._commands = commands
        self._send = send
        self.completions = ServerCompletion(hub).later if hub is not None else None
        self.watching = console.watching
        self.bench: Workbench | None = None  # once there is a conversation in which tools can run
        self.file = console.server_files  # says when mcp.json changes

    def open_bench(self, services: Services, calls: Calls, run: Run) -> None:
        if self._hub is not None and services.servers is not None:  # else, as in a replay, there is nothing to open
            self.bench = Workbench(services, self._hub, self._ui, services.servers.statuses, calls, run)

    def changed(self) -> None:
        """Offer a command for each prompt that is on, after a server came, went, or has another list."""
        if (hub := self._hub) is not None:
            prompts = hub.typed_prompts().items()
            self._commands.offer(
                [Bound(intent_of(typed, one), partial(self._run, typed, one)) for typed, one in prompts]
            )

    def mark(self, item: Item) -> str:
        server, kind, name = item
        return self.watching.mark(server, name) if kind == "resource" else ""

    async def use(self, item: Offered) -> bool:
        """Open a tool, a prompt or a resource; return whether something of it is on its way, or in the prompt, now."""
        if item.kind == "tool":
            return self.bench is not None and await self.bench.tool(item)
        if (hub := self._hub) is None:
            return False
        if item.kind == "prompt":
            from console_app.tui.servers.prompt_screen import PromptScreen

            if (found := hub.prompt(item.server, item.name)) is None:
                return False
            command = await self._ui.push(PromptScreen(hub, *found))
            if command is not None:
                self._ui.put(command)
            return command is not None
        template = hub.template(item.server, item.name)
        uri = item.name if template is None else await self._filled_in(hub, template)
        return uri is not None and await self.read(item.server, uri, item.about)

    async def read(self, server: str, uri: str, about: str = "") -> bool:
        """Show a resource; return whether it is named in the prompt now."""
        from console_app.tui.servers.resource_screen import ResourceScreen

        if (hub := self._hub) is None:
            return False
        picked = await self._ui.push(ResourceScreen(hub, self.watching, server, uri, about))
        if picked != "attach":
            return False
        before = self._ui.written
        gap = " " if before and not before[-1].isspace() else ""
        self._ui.put(f"{before}{gap}{hub.mention(server, uri)} ")
        return True

    def _run(self, typed: str, prompt: ServerPrompt, _console: Console, rest: str) -> None:
        """Send the prompt, or ask for what it needs and nobody typed. Nothing that was typed is lost."""
        try:
            values = prompt.arguments_of(rest)
        except FanoutError as error:
            self._ui.put(f"/{typed} {rest}")
            self._ui.toast(error.line)
            return
        if prompt.missing(values):
            self._ui.open(self._fill_in, typed, prompt, values)
        else:
            self._send(f"/{typed} {rest}".rstrip())

    async def _fill_in(self, typed: str, prompt: ServerPrompt, filled: dict[str, str]) -> None:
        from console_app.tui.asking.form_dialogs import ValuesForm

        assert self._hub is not None, "the prompt is its"
        propose = partial(self._hub.complete, prompt)
        values = await self._ui.push(ValuesForm(f"/{typed}", prompt.description, prompt.arguments, filled, propose))
        if values is None:
            self._ui.put(f"/{typed} {typed_names.written_arguments(filled)}".rstrip())
        else:
            self._send(f"/{typed} {typed_names.written_arguments(values)}".rstrip())

    async def _filled_in(self, hub: Hub, template: ResourceTemplate) -> str | None:
        """Return the URI of a template, from a form with its variables; None where there is none."""
        from console_app.tui.asking.form_dialogs import ValuesForm

        if not template.variables:
            self._ui.toast(f"{one_line(template.uri_template, 80)} can't be read as a template.")
            return None
        fields = [PromptArgument(name) for name in template.variables]
        about = template.description or template.name
        propose = partial(hub.complete, template)
        values = await self._ui.push(ValuesForm(template.uri_template, about, fields, {}, propose))
        if values is None:
            return None
        try:
            return template.expand(values)
        except FanoutError as error:
            self._ui.toast(error.line)
            return None
