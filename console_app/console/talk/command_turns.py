"""What a custom command sets for its turn alone: the model that answers, and tools that run without asking.

Both hold from the moment its turn begins, however long it was queued, and end with it. Plan mode, rules that deny or
ask and `require_approval` stand above what a command allows, as above any rule.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from console_app.domain import FanoutError, UsageError
from console_app.domain.rules import parse_rule
from console_app.engine import Rule

if TYPE_CHECKING:
    from console_app.config.trust import CustomCommand
    from console_app.console.models import Models
    from console_app.engine import Engine

log = logging.getLogger(__name__)


@asynccontextmanager
async def turn_of(command: CustomCommand, engine: Engine, models: Models) -> AsyncGenerator[None]:
    """Around the turn of a command. Raises UsageError where its model can't answer."""
    before = models.name
    if command.model and command.model != before:
        try:
            await models.switch(command.model)
        except FanoutError as error:
            raise UsageError(f"/{command.name}: {error.detail}", error.hint) from None
    rules = [_rule(command, text) for text in command.allowed_tools]
    gate = engine.gate
    gate.rules.extend(rules)
    for spec in engine.toolset.tools():
        for rule in rules:
            if rule.speaks_of(spec):
                gate.bind(rule, spec)
    try:
        yield
    finally:
        gate.rules[:] = [rule for rule in gate.rules if all(rule is not one for one in rules)]
        if command.model and before and models.name == command.model != before:
            try:
                await models.switch(before)
            except FanoutError as error:  # the bar shows which one answers
                log.warning("the model before /%s can't answer any more: %s", command.name, error.line)


def _rule(command: CustomCommand, text: str) -> Rule:
    read = parse_rule(text)
    return Rule("allow", read.pattern, f"/{command.name}", read.arguments)
