"""Completions that servers know of: their resources behind `@`, and the values of a prompt's arguments.

What is known is shown at once; what a server has to be asked for comes later, and whoever types on withdraws it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from console_app.console.completion import Completion, Completions, Token
from console_app.console.servers.wording import facts_of
from console_app.domain.amounts import plural
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offering.offers import PromptArgument, Resource, ResourceTemplate, ServerPrompt
from console_app.mcp_client.offering.typed_names import words_of, written_uri, written_value
from console_app.tui.widgets.fuzzy import best

PAUSE = 0.12  # seconds of no typing before a server is asked
MOST_BESIDE_FILES = 8
MOST_RESOURCES = 50
MOST_VALUES = 100
LONGEST_SEARCHED = 300  # characters of a URI that a search looks at

log = logging.getLogger(__name__)


class ServerCompletion:
    """Of one hub; every method may be cancelled at any point."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def later(self, token: Token) -> AsyncIterator[Completions]:
        """What can stand in place of a `value` or `file` token, more of it each time."""
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
        """(server, what is typed of a URI) of `server:uri`."""
        typed, colon, uri = query.partition(":")
        server = self._hub.typed_servers().get(typed) if colon else None
        return server, uri

    def _any(self, query: str) -> list[Completion]:
        """Servers that have resources, and resources that fit, of all servers."""
        typed = {name: key for key, name in self._hub.typed_servers().items()}
        counts: dict[str, int] = {}
        for one in (*self._hub.resources(), *self._hub.templates()):
            counts[one.server] = counts.get(one.server, 0) + 1
        servers = {typed[name]: name for name in counts if name in typed}
        found = [
            Completion(f"{key}:", f"@{key}:", plural(counts[servers[key]], "resource"))
            for key in best(query, servers, MOST_BESIDE_FILES)
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
        """Resources that fit; with `whole` the server's name is searched and shown too."""
        table: dict[str, Resource] = {}
        for one in resources:
            if one.server in typed:
                begin = f"{typed[one.server]}:" if whole else ""
                table[f"{begin}{one.uri[:LONGEST_SEARCHED]} {one.name[:60]} {one.title[:60]}"] = one
        return [
            Completion(
                f"{typed[table[key].server]}:{table[key].uri}" if whole else table[key].uri,
                f"@{typed[table[key].server]}:{written_uri(table[key].uri)} ",
                facts_of(table[key]),
            )
            for key in best(query, table, max(limit, 0))
        ]

    async def _in_templates(self, server: str, uri: str) -> list[Completion]:
        """What the server proposes for the part of a template that the end of `uri` is in."""
        typed = next(key for key, name in self._hub.typed_servers().items() if name == server)
        for template in self._hub.templates():
            place = template.place_in(uri) if template.server == server else None
            if place is None or not place.variable:
                continue
            values = await self._asked(template, place.variable, place.value, dict(place.others))
            behind = "" if place.more else " "
            return [
                Completion(value, f"@{typed}:{written_uri(place.with_value(value))}{behind}", place.variable)
                for value in values
            ]
        return []

    # -- values of prompts

    async def _values(self, token: Token) -> AsyncIterator[Completions]:
        prompt = self._hub.typed_prompts().get(token.command)
        if prompt is None or not prompt.arguments:
            return
        before, argument, typed, named = _typing(prompt, token)
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
        proposed = [Completion(value, f"{start}{written_value(value)} ") for value in values]
        yield Completions([*proposed, *names], title)

    async def _asked(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: dict[str, str]
    ) -> list[str]:
        await asyncio.sleep(PAUSE)
        try:
            return list(dict.fromkeys(await self._hub.complete(ref, argument, value, others)))[:MOST_VALUES]
        except FanoutError as error:
            log.info("no completion: %s", error)
            return []


def _typing(prompt: ServerPrompt, token: Token) -> tuple[dict[str, str], PromptArgument | None, str, bool]:
    """(values before the token, the argument that is being typed, what is typed of it, whether by its name)."""
    table = {argument.name: argument for argument in prompt.arguments}
    before: dict[str, str] = {}
    loose: list[str] = []
    for name, value in words_of(token.words):
        if name in table:
            before[name] = value
        else:
            loose.append(value)
    name, equals, value = token.query.partition("=")
    if equals and name in table:
        return before, table[name], value.strip('"'), True
    free = [one for one in table if one not in before]
    for one, word in zip(free, loose, strict=False):
        before[one] = word
    left = [one for one in free if one not in before]
    return before, table[left[0]] if left else None, token.query.strip('"'), False


def _title_of(server: str) -> str:
    return f"resources of {one_line(server, 40)}"


def _about_argument(one: PromptArgument) -> str:
    needed = "needed" if one.required else ""
    return " · ".join(part for part in (one.description, needed) if part)
