"""What can be set of the engine. Frozen, so that an answer sees one state of it; a new object holds from the next.

The defaults stand here alone: the settings of config.toml take them from `DEFAULTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from console_app.domain.approvals import CallPolicy
from console_app.domain.sampling import Effort

Dispatch = Literal["eager", "batch"]
ToolChoice = Literal["auto", "none", "required"]
StrategyName = Literal["agentic", "act", "think-act", "react"]
_ONE_A_MESSAGE = frozenset({"roo_xml"})  # dialects whose models were told to write one tool a message, then wait


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How answers are asked for and their calls run. Times are seconds; None means without limit."""

    policy: CallPolicy = CallPolicy.PARALLEL
    text_single: bool = True  # protocol `xml`, and its dialect, keep one tool a message until a policy was chosen
    dispatch: Dispatch = "eager"  # of native calls; calls read from text always wait for the end of the answer
    max_steps: int = 25
    max_calls: int = 256  # of one answer; each of the rest gets a result that says so
    max_parallel: int = 128  # calls of the whole app at once
    call_timeout: float | None = 300.0  # without news of a running call; ToolSpec.timeout wins
    turn_timeout: float | None = None
    approval_timeout: float | None = None  # then a waiting call is denied, visibly
    strategy: StrategyName = "agentic"
    builtin_tools: frozenset[str] = frozenset()  # offered beside those that the strategy needs
    # Whether requests leave calling to the model, forbid it or demand it; None: `act` demands it, the others leave it.
    tool_choice: ToolChoice | None = None
    # Of tools that say they only read: the same call twice in an answer runs once, and the same call again in a turn is
    # skipped with a note, unless it is asked for once more or something ran that may have changed the answer.
    dedupe: bool = True
    finish_todos: bool = False  # an open item of the to-do list keeps a turn from completing
    never_parallel: tuple[str, ...] = ()  # patterns of server.tool
    limits: Mapping[str, int] = field(default_factory=dict[str, int])  # server, or pattern of server.tool -> at once
    max_result_chars: int = 100_000  # of a result, as the model reads it; what is cut says so
    max_price: float | None = None  # US dollars that a turn may cost
    max_turn_tokens: int | None = None  # input and output of all its requests
    effort: Effort | None = None  # how much the model thinks first; None: as it is configured
    system_prompt: str = ""

    def with_policy(self, policy: CallPolicy) -> EngineSettings:
        """These settings with a policy that somebody chose: it holds for every protocol."""
        return replace(self, policy=policy, text_single=False)

    def policy_for(self, protocol: str) -> CallPolicy:
        """The policy that holds for a provider's `protocol`."""
        return CallPolicy.SINGLE if protocol == "xml" and self.text_single else self.policy

    @property
    def single_dialects(self) -> frozenset[str]:
        """The dialects of which one call an answer runs, whatever the protocol."""
        return _ONE_A_MESSAGE if self.text_single else frozenset()


DEFAULTS = EngineSettings()
