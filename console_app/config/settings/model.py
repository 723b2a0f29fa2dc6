"""The settings a user can make: their names, types and defaults, as one strict model.

Plain pydantic: pydantic-settings would double the import time of a start (0.2 s) and can't say in which line of which
file a wrong key stands. Where values come from is `layers`' part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from console_app.config.models.endpoint import check_base_url, check_variable
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.rules import RuleText, parse_rule
from console_app.domain.settings import DEFAULTS, Api, Dispatch, Sampling, StrategyName, ToolChoice

_PROVIDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def _joined(value: Any) -> Any:
    """Several keys of a binding may be a list."""
    return ",".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value


def _split(value: Any) -> Any:
    """A list may be one text with commas, as a variable or a flag gives it."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _no_zero(value: float | None) -> float | None:
    """0 stands for no limit, since TOML has no null."""
    return value or None


Keys = Annotated[str, BeforeValidator(_joined)]
BaseUrl = Annotated[str, AfterValidator(check_base_url)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Limit = Annotated[Seconds | None, AfterValidator(_no_zero)]
Positive = Annotated[int, Field(ge=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
ModelName = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$")]  # PROVIDER/MODEL
BuiltinTool = Literal["update_todo_list", "ask_followup_question", "enable_server", "finished"]


class ModelSettings(Sampling, frozen=True):
    """What can be said of one model, or of every model of a provider."""

    protocol: Literal["auto", "native", "text", "xml"] | None = Field(
        default=None, description="how the model is given tools; auto: as it turns out"
    )
    dialect: str | None = Field(default=None, description="how calls are written where tools are given as text")
    context_window: Positive | None = Field(default=None, description="tokens that the model can read")
    fallback: ModelName | None = Field(
        default=None, description="answers in its place while it is overloaded or out of reach"
    )


class ProviderSettings(ModelSettings, frozen=True):
    """`[providers.NAME]`: an endpoint. A built-in provider's table changes only the keys that it names."""

    api: Api | None = Field(default=None, description="the wire format that the endpoint speaks")
    base_url: BaseUrl | None = Field(default=None, description="the endpoint: with /v1, Anthropic's without")
    api_key_env: Annotated[str, AfterValidator(check_variable)] | None = Field(
        default=None, description="the variable that holds its key"
    )
    headers: dict[str, str] = Field(default_factory=dict, description="sent with every request; may hold keys")
    model: str | None = Field(default=None, description="the model used when only the provider is named")
    models: dict[str, ModelSettings] = Field(
        default_factory=dict[str, ModelSettings], description="what is different for single models"
    )


class UiSettings(BaseModel, frozen=True, extra="forbid"):
    """`[ui]`: how the console shows itself."""

    motion: bool = Field(default=True, description="spinners turn and lists glide; elapsed times go on without")
    screen_reader: bool = Field(default=False, description="the console as lines, with nothing drawn")


class Settings(Sampling, frozen=True):
    """Everything that config.toml, FANOUT_<SETTING> and the flags can say. Times are seconds, 0 is no limit.

    A default out of `DEFAULTS` is the engine's, and explained there.
    """

    model: str | None = None  # PROVIDER/MODEL
    base_url: BaseUrl | None = None
    fallback: ModelName | None = None  # of models that name none themselves
    theme: str = "fanout-dark"
    # How the console tells that a call waits or a turn ended while its terminal has no focus.
    notifications: Annotated[tuple[Literal["bell", "osc9", "osc777"], ...], BeforeValidator(_split)] = ("bell", "osc9")
    window_title: bool = True  # the console names its window
    ui: UiSettings = Field(default=UiSettings(), description="how the console shows itself")
    protocol: Literal["auto", "native", "text", "xml"] | None = None  # None: what the model's own table says
    policy: CallPolicy | None = None  # None: parallel, until a protocol has a reason for another
    dispatch: Dispatch = DEFAULTS.dispatch
    strategy: StrategyName = DEFAULTS.strategy
    # Offered beside what the strategy needs, and only where other tools are on; None: the to-do list, asking for
    # a server that is off, and in the console questions to you.
    builtin_tools: Annotated[tuple[BuiltinTool, ...], BeforeValidator(_split)] | None = None
    tool_choice: ToolChoice | None = DEFAULTS.tool_choice
    dedupe: bool = DEFAULTS.dedupe
    finish_todos: bool = DEFAULTS.finish_todos
    never_parallel: Names = DEFAULTS.never_parallel
    limits: dict[str, Positive] = Field(default_factory=lambda: dict(DEFAULTS.limits))
    approval_mode: ApprovalMode = ApprovalMode.ASK
    max_steps: Positive = DEFAULTS.max_steps
    max_calls: Positive = DEFAULTS.max_calls
    max_parallel: Positive = DEFAULTS.max_parallel
    max_price: Limit = DEFAULTS.max_price
    max_turn_tokens: Positive | None = DEFAULTS.max_turn_tokens
    max_result_chars: Positive = DEFAULTS.max_result_chars
    call_timeout: Limit = DEFAULTS.call_timeout
    timeout: Limit = DEFAULTS.turn_timeout
    approval_timeout: Limit = DEFAULTS.approval_timeout
    question_timeout: Limit = None  # then a server that asks gets no answer
    system_prompt: str | None = None
    save_sessions: bool = True  # conversations are kept in the data folder
    mcp_config: Path | None = None
    groups: Names | None = None  # that you are in: servers with `groups` in mcp.json are for their members; None: all
    injected: dict[str, Any] = Field(default_factory=dict)  # `_atlas_user`, `_mcp_data`: for tools that name them
    keys: dict[str, Keys] = Field(default_factory=dict[str, Keys])  # binding id -> keys
    providers: dict[Annotated[str, Field(pattern=_PROVIDER_NAME)], ProviderSettings] = Field(
        default_factory=dict[str, ProviderSettings]
    )


def _rule(text: str) -> str:
    parse_rule(text)
    return text


RuleLine = Annotated[str, AfterValidator(_rule)]


class Rules(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """`[rules]`: rules as `domain.rules` reads them. Those of all files count together, deny over ask over allow."""

    allow: tuple[RuleLine, ...] = ()
    ask: tuple[RuleLine, ...] = ()
    deny: tuple[RuleLine, ...] = ()


class ToolRule(BaseModel, frozen=True):
    """One rule and where it was written."""

    action: Literal["allow", "ask", "deny"]
    pattern: str  # as it was written, arguments in brackets included
    source: str

    @property
    def parsed(self) -> RuleText:
        """The pattern in its parts."""
        return parse_rule(self.pattern)
