"""Complete with what servers know of: their resources behind `@`, and the values of a prompt's arguments.

Known values are shown at once. Those that a server has to be asked for come later, and whoever types on withdraws the
question.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from console_app.console.servers import facts_of
from console_app.domain import FanoutError, one_line, plural
from console_app.mcp_client import Hub, PromptArgument, Resource, ResourceTemplate, ServerPrompt
from console_app.mcp_client.offering import typed_names
from console_app.tui.prompt.completion import Completion, Completions, Token

PAUSE = 0.12  # seconds of no typing before a server is asked
MOST_BESIDE_FILES = 8
MOST_RESOURCES = 50
MOST_VALUES = 100
LONGEST_SEARCHED = 300  # characters of a URI that a search looks at

log = logging.getLogger(__name__)
Best = Callable[[str, Iterable[str], int], list[str]]
"""Returns the names that fit a query, at most so many of them, the best first."""


class ServerCompletion:
    """The completions of one hub; every method may be cancelled at any point."""

    def __init__(self, hub: Hub, best: Best) -> None:
        self._hub = hub
        self._best = best

    async def later(self, token: Token) -> AsyncIterator[Completions]:
        """Yield what can stand in place of a `value` or `file` token, more of it each time."""
        if token.kind == "value":
            async for found in self._values(token):
                yield found
            return
        server, uri = self._server_in(token.query)
        if server is None:
            yield Completions(await asyncio.to_thread(self._any, token.query))
            return
        known = await asyncio.to_thread(self._of_server, server, uri)
        yield Completions(known, _title_of(server), more=True)
        proposed = await self._in_templates(server, uri)
        yield Completions([*proposed, *known][:MOST_VALUES], _title_of(server))

    # -- resources

    def _server_in(self, query: str) -> tuple[str | None, str]:
        """Read `server:uri` as (server, the URI as far as it is typed)."""
        typed, colon, uri = query.partition(":")
        server = self._hub.typed_servers().get(typed) if colon else None
        return server, uri

    def _any(self, query: str) -> list[Completion]:
        """Return servers that have resources, and resources of all servers that fit."""
        typed = {name: key for key, name in self._hub.typed_servers().items()}
        counts: dict[str, int] = {}
        for one in (*self._hub.resources(), *self._hub.templates()):
            counts[one.server] = counts.get(one.server, 0) + 1
        servers = {typed[name]: name for name in counts if name in typed}
        found = [
            Completion(f"{key}:", f"@{key}:", plural(counts[servers[key]], "resource"))
            for key in self._best(query, servers, MOST_BESIDE_FILES)
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
            for key in self._best(query, table, max(limit, 0))
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
        names = [
            Completion(f"{one.name}=", f"{one.name}=", _about_argument(one))
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


def _title_of(server: str) -> str:
    return f"resources of {one_line(server, 40)}"


def _about_argument(one: PromptArgument) -> str:
    needed = "needed" if one.required else ""
    return " · ".join(part for part in (one.description, needed) if part)
