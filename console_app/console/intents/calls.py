"""Intents for one call, which the text behind the name stands for in the way of each face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_app.console.reports import call_text
from console_app.domain import UsageError, call_description, one_line

if TYPE_CHECKING:
    from console_app.console.console import Console


def run_shown(console: Console, rest: str) -> None:
    console.calls.run_shown(rest)


def retry(console: Console, rest: str) -> None:
    if rest:
        console.calls.run_again(console.ui.call(rest).id)
    else:
        console.calls.run_cut_off_again()


async def result(console: Console, rest: str) -> None:
    name, _, text = rest.partition(" ")
    call = console.ui.call(name)
    if why := call_description.refusal(call, call_description.Act.RESULT):
        raise UsageError(why)
    if content := text.strip() or await console.ui.ask(f"Result of {one_line(call.label, 60)}", "in place of its own"):
        await console.sessions.go_on_from(call.id, content)


def send_now(console: Console, _rest: str) -> None:
    console.calls.send_now()


async def inspect(console: Console, rest: str) -> None:
    call = console.ui.call(rest)
    exchange = console.services.exchange
    await console.ui.report(one_line(call.label, 60), lambda: call_text(call, exchange(call.id)), every=0.5)
