"""Intents for one call, which the text behind the name stands for in the way of each face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_app.console.reports import call_text
from console_app.domain import UsageError, call_description, one_line

if TYPE_CHECKING:
    from console_app.console.console import Console


def run_shown(console: Console, rest: str) -> None:
    """Runs the newest call that an answer showed and did not make, or one that is typed; it asks first."""
    console.calls.run_shown(rest)


def retry(console: Console, rest: str) -> None:
    """Runs a call again; with none named, sends a message that had no answer, or runs what was cut off."""
    if rest:
        console.calls.run_again(console.ui.call(rest).id)
    else:
        console.calls.run_cut_off_again()


async def result(console: Console, rest: str) -> None:
    """Goes on with another result of a call, in a copy; asks for the result where none is typed."""
    name, _, text = rest.partition(" ")
    call = console.ui.call(name)
    if why := call_description.refusal(call, call_description.Act.RESULT):
        raise UsageError(why)
    if content := text.strip() or await console.ui.ask(f"Result of {one_line(call.label, 60)}", "in place of its own"):
        await console.sessions.go_on_from(call.id, content)


def send_now(console: Console, _rest: str) -> None:
    """Sends the model the results that are there."""
    console.calls.send_now()


async def inspect(console: Console, rest: str) -> None:
    """Tells what a call sent and got, whole."""
    call = console.ui.call(rest)
    exchange = console.services.exchange
    await console.ui.report(one_line(call.label, 60), lambda: call_text(call, exchange(call.id)), every=0.5)
