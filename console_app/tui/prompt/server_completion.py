"""Completes what servers offer: resources behind `@`, and values of their prompts.

Known completions are shown at once. Those that a server has to be asked for come later, and whoever types on withdraws
the question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from console_app.console.servers import facts_of
from console_app.domain import one_line, plural
from console_app.mcp_client import Hub, Resource, ResourceTemplate, ServerPrompt
from console_app.mcp_client.offering import typed_names
from console_app.tui.prompt.completion import Completion, Completions, Token
from console_app.tui.widgets.pick_list import SearchedList

PAUSE = 0.12  # seconds of no typing before a server is asked
MOST_BESIDE_FILES = 8
MOST_RESOURCES = 50
MOST_VALUES = 100
LONGEST_SEARCHED = 300  # characters of a URI that a search looks at


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
        return list(dict.fromkeys(await self._hub.complete(ref, argument, value, others)))[:MOST_VALUES]
