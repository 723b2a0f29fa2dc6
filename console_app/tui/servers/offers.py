"""The things that servers offer, as the main screen uses them: prompts as commands, resources to read and to watch.

The screens that show one of them are loaded when it is opened. Known completions are shown at once. Those that a
server has to be asked for come later, and whoever types on withdraws the question.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from console_app.config.servers import Item
from console_app.console import Console
from console_app.console.intents import Bound, intent_of
from console_app.console.servers import Offered, facts_of
from console_app.domain import FanoutError, one_line, plural
from console_app.mcp_client import Hub, PromptArgument, Resource, ResourceTemplate, ServerPrompt
from console_app.mcp_client.offering import typed_names
from console_app.tui.prompt.commands import CommandLine
from console_app.tui.prompt.completion import Completion, Completions, Token
from console_app.tui.servers.workbench import Workbench
from console_app.tui.ui import Ui
from console_app.tui.widgets.pick_list import SearchedList

PAUSE = 0.12  # seconds of no typing before a server is asked
MOST_BESIDE_FILES = 8
MOST_RESOURCES = 50
MOST_VALUES = 100
LONGEST_SEARCHED = 300  # characters of a URI that a search looks at

log = logging.getLogger(__name__)


class ServerCompletion:
    """The completions of one hub; every method may be cancelled at any point."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def later(self, token: Token) -> AsyncIterator[Completions]:
        """Yield what can stand in place of a `value` or `file` token, more of it each time."""
        if token.kind == "value":
            async for found in self._values(token):
                yield found
            return
        typed, colon, uri = token.query.partition(":")  # `server:uri`, as far as it is typed
        if not colon or (server := self._hub.typed_servers().get(typed)) is None:
            yield Completions(await asyncio.to_thread(self._any, token.query))
            return
        title = f"resources of {one_line(server, 40)}"
        known = await asyncio.to_thread(self._of_server, server, uri)
        yield Completions(known, title, more=True)
        proposed = await self._in_templates(server, uri)
        yield Completions([*proposed, *known][:MOST_VALUES], title)

    # -- resources

    def _any(self, query: str) -> list[Completion]:
        typed = {name: key for key, name in self._hub.typed_servers().items()}
        counts: dict[str, int] = {}
        for one in (*self._hub.resources(), *self._hub.templates()):
            counts[one.server] = counts.get(one.server, 0) + 1
        servers = {typed[name]: name for name in counts if name in typed}
        found = [
            Completion(f"{key}:", f"@{key}:", plural(counts[servers[key]], "resource"))
            for key in SearchedList.best(query, servers, MOST_BESIDE_FILES)
        ]
        if query:
            found += self._matching(query, self._hub.resources(), typed, MOST_BESIDE_FILES - len(found))
        return found

    def _of_server(self, server: str, uri: str) -> list[Completion]:
        typed = {name: key for key, name in self._hub.typed_servers().items()}
        resources = [one for one in self._hub.resources() if one.server == server]
        found = self._matching(uri, resources, typed, MOST_RESOURCES, whole=False)
        templates = [
            Completion(one.uri_template, f"@{typed[server]}:{start}", facts_of(one))
            for one in self._hub.templates()
            if one.server == server and (start := one.fixed_start).startswith(uri) and start != uri
        ]
        return [
            *(one for one in found if one.label.startswith(uri)),
            *templates,
            *(one for one in found if not one.label.startswith(uri)),
        ]

    def _matching(
        self, query: str, resources: Sequence[Resource], typed: dict[str, str], limit: int, *, whole: bool = True
    ) -> list[Completion]:
        """Return resources that fit; with `whole` the server's name is searched and shown too."""
        table: dict[str, Resource] = {}
        for one in resources:
            if one.server in typed:
                begin = f"{typed[one.server]}:" if whole else ""
                table[f"{begin}{one.uri[:LONGEST_SEARCHED]} {one.name[:60]} {one.title[:60]}"] = one
        return [
            Completion(
                f"{typed[table[key].server]}:{table[key].uri}" if whole else table[key].uri,
                f"{self._hub.mention(table[key].server, table[key].uri)} ",
                facts_of(table[key]),
            )
            for key in SearchedList.best(query, table, max(limit, 0))
        ]

    async def _in_templates(self, server: str, uri: str) -> list[Completion]:
        """Return what the server proposes for the part of a template that the end of `uri` is in."""
        for template in self._hub.templates():
            place = template.place_in(uri) if template.server == server else None
            if place is None or not place.variable:
                continue
            values = await self._asked(template, place.variable, place.value, dict(place.others))
            behind = "" if place.more else " "
            return [
                Completion(value, f"{self._hub.mention(server, place.with_value(value))}{behind}", place.variable)
                for value in values
            ]
        return []

    # -- values of prompts

    async def _values(self, token: Token) -> AsyncIterator[Completions]:
        prompt = self._hub.typed_prompts().get(token.command)
        if prompt is None or not prompt.arguments:
            return
        before, argument, typed, named = prompt.typing(token.words, token.query)
        title = f"{argument.name}{' · ' + argument.description if argument.description else ''}" if argument else ""
        needed = {True: "needed", False: ""}
        names = [
            Completion(
                f"{one.name}=", f"{one.name}=", " · ".join(filter(None, (one.description, needed[one.required])))
            )
            for one in prompt.arguments
            if one.name not in before and not named and one.name.startswith(token.query)
        ]
        yield Completions(names, title, more=argument is not None)
        if argument is None:
            return
        start = f"{argument.name}=" if named else ""
        values = await self._asked(prompt, argument.name, typed, before)
        proposed = [Completion(value, f"{start}{typed_names.written_value(value)} ") for value in values]
        yield Completions([*proposed, *names], title)

    async def _asked(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: dict[str, str]
    ) -> list[str]:
        await asyncio.sleep(PAUSE)
        return list(dict.fromkeys(await proposals(self._hub, ref, argument, value, others)))[:MOST_VALUES]


async def proposals(
    hub: Hub, ref: ServerPrompt | ResourceTemplate, name: str, typed: str, others: dict[str, str]
) -> Sequence[str]:
    """Return what a server proposes for an argument or a variable; nothing where it can't be asked."""
    try:
        return await hub.complete(ref, name, typed, others)
    except FanoutError as error:
        log.info("no completion: %s", error)
        return ()


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
            command = await self._ui.push(PromptScreen(hub, partial(proposals, hub, found[1]), *found))
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
        propose = partial(proposals, self._hub, prompt)
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
        propose = partial(proposals, hub, template)
        values = await self._ui.push(ValuesForm(template.uri_template, about, fields, {}, propose))
        if values is None:
            return None
        try:
            return template.expand(values)
        except FanoutError as error:
            self._ui.toast(error.line)
            return None
