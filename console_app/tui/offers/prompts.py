"""The prompts of servers as slash commands: `/server:prompt`, its arguments as words, as `name=value` or in a form."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offers import Prompt, ResourceTemplate
from console_app.mcp_client.typed_names import arguments_of, missing, written_arguments
from console_app.tui.commands.registry import Command

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen

LONGEST_ABOUT = 200  # characters of what a prompt says about itself

log = logging.getLogger(__name__)


def prompt_commands(hub: Hub) -> list[Command]:
    """A command for each prompt that is on now."""
    return [
        Command(typed, _about(prompt), partial(_run, typed, prompt), _arguments(prompt))
        for typed, prompt in hub.typed_prompts().items()
    ]


def _about(prompt: Prompt) -> str:
    parts = dict.fromkeys(part for part in (prompt.title, prompt.description) if part)
    return one_line(": ".join(parts), LONGEST_ABOUT) or "a prompt of the server"


def _arguments(prompt: Prompt) -> str:
    words = (one_line(one.name, 30) for one in prompt.arguments)
    return " ".join(word if one.required else f"[{word}]" for one, word in zip(prompt.arguments, words, strict=True))


def _run(typed: str, prompt: Prompt, screen: ChatScreen, rest: str) -> None:
    """Sends the prompt, or asks for what it needs and nobody typed. Nothing that was typed is lost."""
    try:
        values = arguments_of(prompt, rest)
    except FanoutError as error:
        screen.prompt.put(f"/{typed} {rest}")
        screen.toast(error.line)
        return
    if missing(prompt, values):
        screen.open_dialog(_fill_in, screen, typed, prompt, values)
    else:
        screen.send(f"/{typed} {rest}".rstrip())


async def _fill_in(screen: ChatScreen, typed: str, prompt: Prompt, given: dict[str, str]) -> None:
    from console_app.tui.screens.values_form import ValuesForm

    hub = screen.services.hub
    assert hub is not None
    values = await screen.app.push_screen_wait(
        ValuesForm(f"/{typed}", prompt.description, prompt.arguments, given, partial(proposals, hub, prompt))
    )
    if values is None:
        screen.prompt.put(f"/{typed} {written_arguments(given)}".rstrip())
    else:
        screen.send(f"/{typed} {written_arguments(values)}".rstrip())


async def proposals(
    hub: Hub, ref: Prompt | ResourceTemplate, name: str, typed: str, others: dict[str, str]
) -> Sequence[str]:
    """What a server proposes for a field; nothing where it can't be asked."""
    try:
        return await hub.complete(ref, name, typed, others)
    except FanoutError as error:
        log.info("no completion: %s", error)
        return ()
