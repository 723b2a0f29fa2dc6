"""Composes the message that is sent from a prompt as it was typed: `/server:prompt` is filled in by its server, and the
resources that `@server:uri` names are read and attached.

Nothing is sent half: what can't be read, or is too large, is an error, and the text stays with whoever typed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from console_app.domain import Attachment, FanoutError, UsageError, UserMessage, errors
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offering.offers import ResourceContent, ServerPrompt
from console_app.mcp_client.offering.typed_names import Mention, command_of, mentions
from console_app.records import dataclass

MOST_RESOURCES = 20  # of a message


@dataclass(frozen=True, slots=True)
class Composer:
    """Puts together what is sent, with what the servers of one hub have of it."""

    _hub: Hub
    MOST_TEXT: ClassVar = 400_000  # characters of what is attached to a message: about 100,000 tokens

    async def compose(self, text: str) -> UserMessage:
        """Return the message that `text` means, itself where it names nothing. Raises ServerError and UsageError."""
        servers = self._hub.typed_servers()
        command = command_of(text)
        if command is not None and (server := servers.get(command[0].partition(":")[0])) is not None:
            await self._hub.connection(server).listed()
            prompt = self._hub.typed_prompts().get(command[0])
            if prompt is None:
                raise errors.ServerError(
                    f"{server} has no prompt {command[0].partition(':')[2]} now", "Ctrl+L shows the servers."
                )
            return await self._filled_in(prompt, command[1], text.strip())
        if "@" not in text:
            return UserMessage(content=text)
        named = mentions(text, servers, {(one.server, one.uri) for one in self._hub.resources()})
        return UserMessage(content=text, attachments=await self._read_all(named) if named else ())

    def names_something(self, text: str) -> bool:
        """Return whether `compose` would ask a server."""
        servers = self._hub.typed_servers()
        command = command_of(text)
        if command is not None and command[0].partition(":")[0] in servers:
            return True
        return "@" in text and bool(mentions(text, servers, ()))

    async def _filled_in(self, prompt: ServerPrompt, rest: str, source: str) -> UserMessage:
        values = prompt.arguments_of(rest)
        if needed := prompt.missing(values):
            raise UsageError(f"the prompt {prompt.name} needs {', '.join(needed)}", f"Write {needed[0]}=VALUE.")
        messages = await self._hub.get_prompt(prompt, values)
        attachments = tuple(_attachment(prompt.server, content) for message in messages for content in message.contents)
        texts = [message for message in messages if message.text.strip()]
        alone = all(message.role == "user" for message in texts)  # else each voice has its name
        content = "\n\n".join(one.text if alone else f"{one.role.capitalize()}: {one.text}" for one in texts)
        if not content.strip() and not attachments:
            raise errors.ServerError(f"{prompt.server}: the prompt {prompt.name} came back empty")
        _check_size(attachments, len(content))
        return UserMessage(content=content, attachments=attachments, source=source)

    async def _read_all(self, named: Sequence[Mention]) -> tuple[Attachment, ...]:
        if len(named) > MOST_RESOURCES:
            raise UsageError(f"a message can carry {MOST_RESOURCES} resources, and this names {len(named)}")
        try:
            async with asyncio.TaskGroup() as group:
                reading = [group.create_task(self.attachments(one.server, one.uri)) for one in named]
        except* FanoutError as errors:
            raise _first(errors) from None
        attachments = tuple(one for task in reading for one in task.result())
        _check_size(attachments)
        return attachments

    async def attachments(self, server: str, uri: str) -> list[Attachment]:
        """Return a resource as it can be attached, a part each. Raises ServerError."""
        if not self._hub.is_on(server, "resource", uri):
            raise errors.ServerError(f"{server}: {uri} is switched off", "Ctrl+L switches it on.")
        contents = await self._hub.read_resource(server, uri)
        return [_attachment(server, content) for content in contents] or [Attachment(server=server, uri=uri)]


def _attachment(server: str, content: ResourceContent) -> Attachment:
    file = content.artifact
    return Attachment(
        server=server,
        uri=content.uri,
        name=file.name if file is not None else "",
        mime=content.mime or (file.mime if file is not None else ""),
        size=file.size if file is not None else len(content.text.encode("utf-8", "replace")),
        text=content.text,
        path=file.path if file is not None else "",
    )


def _check_size(attachments: Sequence[Attachment], more: int = 0) -> None:
    total = sum(len(one.text) for one in attachments) + more
    if total > Composer.MOST_TEXT:
        largest = max(attachments, key=lambda one: len(one.text), default=None)
        what = f"{largest.server}: {largest.uri or 'a part of the prompt'}" if largest is not None else "the prompt"
        raise errors.ServerError(
            f"{what} is too large to send: {total:,} characters, and a message carries {Composer.MOST_TEXT:,}",
            "Ask for a part of it, or for a tool that reads it.",
        )


def _first(errors: BaseExceptionGroup[FanoutError]) -> FanoutError:
    for error in errors.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    raise AssertionError("an empty group")
