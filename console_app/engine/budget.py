"""What a turn has used of its limits of money and tokens: looked at before each request, never in the middle of one."""

from __future__ import annotations

from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings


class Budget:
    """The sums of one turn. `unpriced` says that a request came whose price nobody knows."""

    def __init__(self) -> None:
        self.cost = 0.0
        self.tokens = 0
        self.unpriced = False

    def add(self, usage: ev.UsageReported) -> None:
        """Counts a request."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.unpriced = self.unpriced or usage.cost is None
        self.cost += usage.cost or 0.0

    def spent(self, settings: EngineSettings) -> str | None:
        """Which limit is used up, in one sentence; None while there is something left."""
        if settings.max_price is not None and self.cost >= settings.max_price and self.cost > 0:
            return f"Price limit: this turn has cost ${self.cost:.4f} of ${settings.max_price:.4f} (max_price)."
        if settings.max_turn_tokens is not None and self.tokens >= settings.max_turn_tokens:
            return f"Token limit: this turn has used {self.tokens:,} of {settings.max_turn_tokens:,} tokens."
        return None
