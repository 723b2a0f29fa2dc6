"""What a batch would cost, before anything is asked: by the characters of its prompts and the tools that go along."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from console_app.config.models import ModelChoice
from console_app.domain.amounts import CHARACTERS_A_TOKEN, plural
from console_app.domain.batch import WorkItem
from console_app.domain.tools import ToolSpec

ANSWER = 500  # tokens that an answer is taken to have where no limit is set


@dataclass(slots=True)
class Estimate:
    """Of the items of one model: one request each, without the steps that calls add. `cost` None: price not known."""

    model: str
    items: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    @property
    def line(self) -> str:
        """In words."""
        price = "price not known" if self.cost is None else f"about ${self.cost:.4f}"
        sums = f"about {plural(self.input_tokens, 'token')} in, {self.output_tokens:,} out"
        return f"{self.model}: {plural(self.items, 'item')}, {sums}: {price}"


def estimate(
    items: Sequence[WorkItem], choice: Callable[[str], ModelChoice], system_prompt: str, tools: Sequence[ToolSpec]
) -> list[Estimate]:
    """One for each model. Loads the price table (0.3 s): for a thread."""
    from console_app.providers import cost

    offered = sum(len(one.description) + len(json.dumps(one.input_schema)) + len(one.name) for one in tools)
    found: dict[str, Estimate] = {}
    for item in items:
        chosen = choice(item.model)
        one = found.setdefault(chosen.name, Estimate(chosen.name))
        own = system_prompt if item.system is None else item.system
        schema = len(json.dumps(item.answer_schema)) if item.answer_schema else 0
        one.items += 1
        one.input_tokens += -(-(len(own) + len(item.prompt) + offered + schema) // CHARACTERS_A_TOKEN)
        one.output_tokens += min(chosen.settings.max_tokens or ANSWER, ANSWER)
    for item in {choice(item.model).name: choice(item.model) for item in items}.values():
        base_url = item.config.base_url if item.config is not None else None
        one = found[item.name]
        one.cost = cost(item.provider, item.model, one.input_tokens, one.output_tokens, base_url=base_url)
    return list(found.values())
