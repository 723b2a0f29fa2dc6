"""The prompts of servers as slash commands: `/server:prompt`, its arguments as words, as `name=value` or in a form."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from console_app.console.console import Console
from console_app.console.intents.intent import Intent
from console_app.console.intents.table import Bound
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offering.offers import ResourceTemplate, ServerPrompt
from console_app.mcp_client.offering.typed_names import written_arguments
from console_app.tui.ui import Ui

LONGEST_ABOUT = 200  # characters of what a prompt says about itself

log = logging.getLogger(__name__)


def prompt_commands(hub: Hub, ui: Ui, send: Callable[[str], None]) -> list[Bound]:
    """A command for each prompt that is on now."""

    def run(typed: str, prompt: ServerPrompt, _console: Console, rest: str) -> None:
        """Sends the prompt, or asks for what it needs and nobody typed. Nothing that was typed is lost."""
        try:
            values = prompt.arguments_of(rest)
        except FanoutError as error:
            ui.put(f"/{typed} {rest}")
            ui.toast(error.line)
            return
        if prompt.missing(values):
            ui.open(fill_in, typed, prompt, values)
        else:
            send(f"/{typed} {rest}".rstrip())

    async def fill_in(typed: str, prompt: ServerPrompt, filled: dict[str, str]) -> None:
        from console_app.tui.forms.values_form import ValuesForm

        values = await ui.push(
            ValuesForm(f"/{typed}", prompt.description, prompt.arguments, filled, partial(proposals, hub, prompt))
        )
        if values is None:
            ui.put(f"/{typed} {written_arguments(filled)}".rstrip())
        else:
            send(f"/{typed} {written_arguments(values)}".rstrip())

    return [
        Bound(Intent(typed, _about(prompt), argument=_arguments(prompt)), partial(run, typed, prompt))
        for typed, prompt in hub.typed_prompts().items()
    ]


def _about(prompt: ServerPrompt) -> str:
    parts = dict.fromkeys(part for part in (prompt.title, prompt.description) if part)
    return one_line(": ".join(parts), LONGEST_ABOUT) or "a prompt of the server"


def _arguments(prompt: ServerPrompt) -> str:
    words = (one_line(one.name, 30) for one in prompt.arguments)
    return " ".join(word if one.required else f"[{word}]" for one, word in zip(prompt.arguments, words, strict=True))


async def proposals(
    hub: Hub, ref: ServerPrompt | ResourceTemplate, name: str, typed: str, others: dict[str, str]
) -> Sequence[str]:
    """What a server proposes for a field; nothing where it can't be asked."""
    try:
        return await hub.complete(ref, name, typed, others)
    except FanoutError as error:
        log.info("no completion: %s", error)
        return ()
