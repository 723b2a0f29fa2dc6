"""The settings a user can make: their names, types and defaults, as one strict model.

Plain pydantic: pydantic-settings would double the import time of a start (0.2 s) and can't say in which line of which
file a wrong key stands. Where values come from is `layers`' part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from console_app.config.endpoint import check_base_url, check_variable
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.endpoint import Api
from console_app.domain.rules import RuleText, parse_rule
from console_app.domain.sampling import Sampling

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
Protocol = Literal["auto", "native", "text", "xml"] | None
BuiltinTool = Literal["update_todo_list", "ask_followup_question", "enable_server", "finished"]


class ModelSettings(Sampling, frozen=True):
    """What can be said of one model, or of every model of a provider."""

    protocol: Protocol = Field(default=None, description="how the model is given tools; auto: as it turns out")
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


class Settings(Sampling, frozen=True):
    """Everything that config.toml, FANOUT_<SETTING> and the flags can say. Times are seconds, 0 is no limit."""

    model: str | None = Field(default=None, description="the model that answers, PROVIDER/MODEL")
    base_url: BaseUrl | None = Field(default=None, description="moves the chosen provider to this endpoint")
    fallback: ModelName | None = Field(default=None, description="of models that name none themselves")
    theme: str = Field(default="fanout-dark", description="the colours")
    protocol: Protocol = Field(
        default=None, description="how models are given tools; unset: what the model's own table says"
    )
    policy: CallPolicy | None = Field(
        default=None,
        description="how the calls of an answer run; unset: parallel, unless a protocol has a reason for another",
    )
    dispatch: Literal["eager", "batch"] = Field(
        default="eager", description="calls start as soon as they are complete, or when the answer has ended"
    )
    strategy: Literal["agentic", "act", "think-act", "react"] = Field(default="agentic", description="how a turn goes")
    builtin_tools: Annotated[tuple[BuiltinTool, ...], BeforeValidator(_split)] | None = Field(
        default=None,
        description="tools of Fanout's own, beside what the strategy needs and only where other tools are on; unset: "
        "the to-do list, asking for a server that is off, and in the console questions to you",
    )
    tool_choice: Literal["auto", "none", "required"] | None = Field(
        default=None,
        description="requests leave calling to the model, forbid it or demand it; unset: the strategy `act` demands it",
    )
    dedupe: bool = Field(
        default=True,
        description="a call that only reads is not run again with the same arguments while nothing changed",
    )
    finish_todos: bool = Field(default=False, description="open items of the to-do list keep a turn from completing")
    never_parallel: Names = Field(
        default=(), description="patterns of SERVER.TOOL that never run beside another call of the same tool"
    )
    limits: dict[str, Positive] = Field(
        default_factory=dict, description="calls at once, by server or pattern of SERVER.TOOL"
    )
    approval_mode: ApprovalMode = Field(default=ApprovalMode.ASK, description="what runs without asking")
    max_steps: Positive = Field(default=25, description="answers with calls in one turn")
    max_calls: Positive = Field(
        default=256, description="calls of one answer; the rest is not run, and each is told so"
    )
    max_parallel: Positive = Field(default=128, description="calls that run at once; the others wait")
    max_price: Limit = Field(default=None, description="US dollars of a turn: no request once they are spent")
    max_turn_tokens: Positive | None = Field(default=None, description="input and output of all requests of a turn")
    max_result_chars: Positive = Field(
        default=100_000, description="of a result, as the model reads it: its middle is left out, and that is said"
    )
    call_timeout: Limit = Field(default=300.0, description="seconds that a call may go without progress")
    timeout: Limit = Field(default=None, description="seconds that a whole turn may take")
    approval_timeout: Limit = Field(default=None, description="seconds after which a waiting call is denied")
    question_timeout: Limit = Field(default=None, description="seconds after which a server that asks gets no answer")
    system_prompt: str | None = Field(default=None, description="what the model is told before everything else")
    save_sessions: bool = Field(default=True, description="conversations are kept in the data folder")
    mcp_config: Path | None = Field(default=None, description="the file of servers, in place of the usual mcp.json")
    groups: Names | None = Field(
        default=None,
        description="groups that you are in: servers with `groups` in mcp.json are for their members; unset: all",
    )
    injected: dict[str, Any] = Field(
        default_factory=dict, description="values of `_atlas_user` and `_mcp_data`, for tools that name them"
    )
    keys: dict[str, Keys] = Field(default_factory=dict[str, Keys], description="keys of the console, by binding")
    providers: dict[Annotated[str, Field(pattern=_PROVIDER_NAME)], ProviderSettings] = Field(
        default_factory=dict[str, ProviderSettings], description="endpoints, and what is different for a built-in one"
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
