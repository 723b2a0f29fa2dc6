"""What servers offer, as the main screen uses it: prompts as commands, what a prompt names, and what has changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING

from console_app.domain.errors import FanoutError
from console_app.domain.messages import Attachment, UserMessage
from console_app.mcp_client.composing import compose, names_something
from console_app.tui.completion import Found, Token
from console_app.tui.offers.completing import ServerCompletion
from console_app.tui.offers.prompts import prompt_commands
from console_app.tui.offers.watching import Watching

if TYPE_CHECKING:
    from console_app.config.tool_choice import Item
    from console_app.tui.screens.chat import ChatScreen
    from console_app.tui.servers.desk import Offered

STEERED = "It joins at the next step."


class ServerOffers:
    """Of one chat screen. Without a hub, as in a replay, nothing is offered."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._hub = screen.services.hub
        self._completion = ServerCompletion(self._hub) if self._hub is not None else None
        self.watching = Watching(self._hub, screen)

    def changed(self) -> None:
        """Some server came, went, or has another list."""
        if self._hub is not None:
            self._screen.commands.offer(prompt_commands(self._hub))
            self._screen.call_later(self._look_again)

    def _look_again(self) -> None:
        if self._screen.is_attached and self._screen.query("#prompt"):  # else it is going away
            self._screen.box.look_again()

    def mark(self, item: Item) -> str:
        """What there is to say of a thing in the servers screen: "changed", "watched" or ""."""
        server, kind, name = item
        return self.watching.mark(server, name) if kind == "resource" else ""

    async def use(self, item: Offered) -> bool:
        """Reads a resource, or puts a prompt where prompts are typed; whether the prompt has something of it now."""
        from console_app.tui.offers.using import use

        return await use(self._screen, self, item)

    async def read(self, server: str, uri: str) -> None:
        """Shows a resource that a result links to."""
        from console_app.tui.offers.using import read

        if self._hub is not None:
            await read(self._screen, self, server, uri)

    def is_prompt(self, name: str) -> bool:
        """Whether `server:prompt` can only mean a prompt, since there is such a server."""
        server = name.partition(":")[0]
        return self._hub is not None and server in self._hub.typed_servers()

    async def completions(self, token: Token) -> AsyncIterator[Found]:
        """What servers know for a token, more of it each time."""
        if self._completion is None:
            yield Found()
            return
        async for found in self._completion.later(token):
            yield found

    # -- sending

    def is_asked_for(self, text: str) -> bool:
        """Whether servers have to be asked for the message of a prompt."""
        return self._hub is not None and names_something(self._hub, text)

    def compose(self, text: str) -> Awaitable[UserMessage] | None:
        """The message of a prompt; None where it is its own."""
        return self._composed(text) if self.is_asked_for(text) else None

    async def _composed(self, text: str) -> UserMessage:
        assert self._hub is not None
        message = await compose(self._hub, text)
        self.was_read(message.attachments)
        return message

    def was_read(self, attachments: tuple[Attachment, ...]) -> None:
        """The user has these resources as they are now."""
        for one in attachments:
            self.watching.seen(one.server, one.uri)

    def refused(self, error: FanoutError) -> None:
        """The oldest prompt can't be sent: why, and the text back where it was typed, unless something is there."""
        self._screen.tell("error", error.line)
        if not self._screen.prompt.text and (text := self._screen.driver.give_back()) is not None:
            self._screen.prompt.put(text)

    async def steer(self, text: str) -> None:
        """Sends a message into the running turn, once servers have given what it names; else it waits for the next."""
        try:
            message = await self._composed(text)
        except FanoutError as error:
            self._screen.tell("error", error.line)
            if not self._screen.prompt.text:
                self._screen.prompt.put(text)
            return
        if self._screen.driver.steer(message):
            self._screen.toast(STEERED)
        else:
            self._screen.send(text)
