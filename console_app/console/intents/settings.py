"""Intents that choose how the model answers and how its calls run. Each holds from the next answer or request on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from console_app.console.permissions import Permissions
from console_app.domain import ApprovalMode, CallPolicy, UsageError, one_line, plural, ports
from console_app.domain.settings import EFFORTS

if TYPE_CHECKING:
    from console_app.console.console import Console

DEFAULT_EFFORT = "default"
PROTOCOLS = get_args(ports.ProtocolMode)
POLICIES = {
    CallPolicy.PARALLEL.value: "all calls of an answer at once",
    CallPolicy.SEQUENTIAL.value: "one after the other, in order",
    CallPolicy.SINGLE.value: "the first runs, the rest are put off",
}
EFFORT_WORDS = {
    DEFAULT_EFFORT: "as configured, or as the endpoint has it",
    "none": "answer at once",
    "minimal": "very little",
    "low": "a little",
    "medium": "some",
    "high": "much",
    "xhigh": "more than high, where supported",
    "max": "as much as possible",
}


async def _picked(console: Console, what: str, options: Mapping[str, str], typed: str, current: str = "") -> str | None:
    """Return one of `options`, typed or picked by the user. Raises UsageError for any other."""
    if typed and typed not in options:
        raise UsageError(f"there is no {what} {one_line(typed, 40)}", f"There are: {', '.join(options)}.")
    return typed or await console.ui.choose(what.capitalize(), options, current=current)


async def model(console: Console, rest: str) -> None:
    options = {} if rest else dict.fromkeys(await console.models.known(), "")
    await console.use_model(rest or await console.ui.choose("Model", options, current=console.models.name))


async def mode(console: Console, rest: str) -> None:
    modes = {one.value: about for one, about in Permissions.MODES.items()}
    if picked := await _picked(console, "mode", modes, rest, console.permissions.mode.value):
        _use_mode(console, ApprovalMode(picked))


def plan(console: Console, _rest: str) -> None:
    _use_mode(console, console.permissions.plan_or_back)


def _use_mode(console: Console, mode: ApprovalMode) -> None:
    console.permissions.use_mode(mode)
    console.ui.changed()
    many = len(console.pending.all())
    waits = f" What waits already still asks: {plural(many, 'call')}." if many else ""
    console.ui.toast(f"Mode: {mode.value}, {Permissions.MODES[mode]}.{waits}")


async def policy(console: Console, rest: str) -> None:
    engine = console.services.engine
    now = engine.settings.policy_for(engine.provider.protocol).value
    if picked := await _picked(console, "policy", POLICIES, rest, now):
        engine.settings = engine.settings.with_policy(CallPolicy(picked))
        console.ui.changed()
        console.ui.toast(f"Policy: {picked}, from the next answer on.")


async def effort(console: Console, rest: str) -> None:
    models, engine = console.models, console.services.engine
    refused = f"not taken by {one_line(engine.provider.model, 30)}"
    options = {**EFFORT_WORDS, **{one: refused for one in EFFORTS if not models.takes(one)}}
    if picked := await _picked(console, "effort", options, rest, engine.settings.effort or DEFAULT_EFFORT):
        said = models.use_effort(next((one for one in EFFORTS if one == picked), None))
        console.ui.changed()
        console.ui.toast(said)


async def protocol(console: Console, rest: str) -> None:
    provider = console.services.engine.provider
    if not provider.has_protocols:
        console.ui.toast(f"{provider.name} has tools of its own: there is nothing to choose.")
        return
    if not rest:
        console.ui.toast(f"Tools are offered by protocol {ports.protocol_label(provider)}.")
    picked = await _picked(
        console, "protocol", dict.fromkeys(PROTOCOLS, ""), rest.lower(), ports.protocol_label(provider)
    )
    if (mode := next((one for one in PROTOCOLS if one == picked), None)) is not None:
        provider.choose_protocol(mode)
        console.ui.toast(f"Protocol {mode}, from the next request on.")
        console.ui.changed()
