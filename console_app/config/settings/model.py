"""The settings a user can make: their names, types and defaults, as one strict model.

Plain pydantic: pydantic-settings would double the import time of a start (0.2 s) and can't say in which line of which
file a wrong key stands. Where values come from is the part of `layers`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from console_app.config.secrets import secret_sources
from console_app.domain import ApprovalMode, CallPolicy, ConfigError
from console_app.domain import rules as written
from console_app.domain import settings as engine
from console_app.domain.settings import Api, Sampling, ToolChoice
from console_app.domain.tools import OWN_SERVER

OFFLINE = "offline"
OFFLINE_MODEL = "rehearsal"
SCRIPTED = "scripted"
ACP = "acp"  # an agent of others answers
_VENDORS = {"gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic"}
_AGENT_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_PROVIDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDPOINTS = ("/chat/completions", "/responses", "/messages", "/models")


def _check_variable(name: str) -> str:
    if _VARIABLE.fullmatch(name) is None:
        raise ValueError("has to be the name of an environment variable, not the key itself")
    return name


def check_base_url(url: str) -> str:
    """Return `url` without a trailing slash; ValueError says what is wrong with it."""
    if any(ord(character) <= 0x20 or ord(character) >= 0x7F for character in url):
        raise ValueError("has a space or another character that no URL has")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is no URL: write it as http://HOST:PORT, with a number as the port") from None
    no_port = port == 0 or parts.netloc.endswith(":")
    if parts.scheme not in ("http", "https") or not parts.hostname or no_port:
        raise ValueError("is no URL: write it as http://HOST or https://HOST, with the path that the endpoint has")
    if parts.query or parts.fragment:
        raise ValueError("may not have a query or a fragment")
    trimmed = url.rstrip("/")
    for ending in _ENDPOINTS:
        if trimmed.endswith(ending):
            rest = trimmed.removesuffix("/v1/messages").removesuffix(ending).rstrip("/")
            raise ValueError(f"is one endpoint of the API, not its base: write {rest}")
    return trimmed


# Short, since it is sent with each request.
_SYSTEM_PROMPT = """\
You are the assistant of Fanout, a terminal console that runs tool calls in parallel.

Use the tools when they help; prefer them to working things out from memory. Calls of one answer run at the same time, \
so ask for all calls that don't depend on each other in one answer, and only those that need an earlier result in a \
later one. Read each result before you go on; one that failed says why: mend the call, take another way, or say what \
could not be done.

Answer in Markdown that reads well in a terminal. Be brief and exact; don't repeat tool results at length, the user \
sees them.
"""


def _joined(value: Any) -> Any:
    return ",".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value


def _split(value: Any) -> Any:
    # A list may be one text with commas, as a variable or a flag gives it.
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _words(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value  # one line, as a shell takes it


Keys = Annotated[str, BeforeValidator(_joined)]  # several keys of a binding may be a list
BaseUrl = Annotated[str, AfterValidator(check_base_url)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Limit = Annotated[Seconds | None, AfterValidator(lambda value: value or None)]  # 0: none, since TOML has no null
Positive = Annotated[int, Field(ge=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
ModelName = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$")]  # PROVIDER/MODEL
BuiltinTool = Literal["update_todo_list", "ask_followup_question", "enable_server", "skill", "finished"]


def vendor_of(model: str) -> str | None:
    """Return the provider whose models are called so, None for an unknown name."""
    return next((vendor for start, vendor in _VENDORS.items() if model.lower().startswith(start)), None)


_OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io"


def _registry(value: str) -> str:
    if value in ("", "off"):
        return ""
    return check_base_url(_OFFICIAL_REGISTRY if value == "official" else value)


def _about(description: str) -> Any:
    return Field(default=None, description=description)


class ModelSettings(Sampling, frozen=True):
    """The settings of one model, or of every model of a provider."""

    protocol: Literal["auto", "native", "text", "xml"] | None = _about(
        "how the model is given tools; auto: as it turns out"
    )
    dialect: str | None = _about("the form in which the model writes calls as text")
    context_window: Positive | None = _about("tokens that the model can read")
    tool_search: bool | None = _about("whether the endpoint itself searches among tools that are too many")
    runs_programs: bool | None = _about(
        "whether the endpoint itself runs programs that the model writes, with your tools"
    )
    late_outputs: bool | None = _about("whether the endpoint takes the output of a call after later requests")
    fallback: ModelName | None = _about("answers in its place while it is overloaded or out of reach")


class ProviderSettings(ModelSettings, frozen=True):
    """`[providers.NAME]`: an endpoint. A built-in provider's table changes only the keys that it names."""

    api: Api | None = _about("the wire format that the endpoint speaks")
    base_url: BaseUrl | None = _about("the endpoint: with /v1, Anthropic's without")
    api_key_env: Annotated[str, AfterValidator(_check_variable)] | None = _about("the variable that holds its key")
    headers: dict[str, str] = Field(default_factory=dict, description="sent with every request; may hold keys")
    model: str | None = _about("the model used when only the provider is named")
    models: dict[str, ModelSettings] = Field(
        default_factory=dict[str, ModelSettings], description="what is different for single models"
    )


BUILT_IN: Mapping[str, ProviderSettings] = {
    "openai": ProviderSettings(api="openai-chat", api_key_env="OPENAI_API_KEY", model="gpt-6.1-sol"),
    "anthropic": ProviderSettings(api="anthropic", api_key_env="ANTHROPIC_API_KEY", model="claude-sonnet-5-5"),
    "openai-responses": ProviderSettings(api="openai-responses", api_key_env="OPENAI_API_KEY", model="gpt-6.1-sol"),
    "ollama": ProviderSettings(api="openai-chat"),
}


def _no_own_name(name: str) -> str:
    if name == OWN_SERVER:
        raise ValueError("is the name of Fanout's own tools: give the agent another")
    return name


AgentName = Annotated[str, Field(pattern=_AGENT_NAME), AfterValidator(_no_own_name)]


class AgentSettings(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """`[agents.NAME]`: an agent of others, a program that speaks the Agent Client Protocol."""

    command: Annotated[tuple[str, ...], BeforeValidator(_words), Field(min_length=1)] = Field(
        description="the program with its arguments, as a list or as one line"
    )
    env: dict[str, str] = Field(
        default_factory=dict, repr=False, description="what it finds in its environment, with ${VAR} filled in"
    )
    cwd: str | None = _about("the folder it works in, from the working folder on")
    description: str = Field(default="", description="when a model should send it")
    mode: str | None = _about("a mode of the agent that it begins in")
    model: str | None = _about("a model of the agent that it begins with")
    sign_in: str | None = _about("the id of the agent's way to sign in")
    servers: tuple[str, ...] = Field(
        default=(),
        description="names or patterns of MCP servers that it is given, of those that are on; it calls them by itself",
    )


class UiSettings(BaseModel, frozen=True, extra="forbid"):
    """`[ui]`: the ways in which the console shows itself."""

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
    dialect: str | None = None  # the same
    policy: CallPolicy | None = None  # None: parallel, until a protocol has a reason for another
    dispatch: engine.Dispatch = engine.DEFAULTS.dispatch
    strategy: engine.StrategyName = engine.DEFAULTS.strategy
    # Offered beside what the strategy needs, and only where other tools are on; None: the to-do list, asking for
    # a server that is off, and in the console questions to you.
    builtin_tools: Annotated[tuple[BuiltinTool, ...], BeforeValidator(_split)] | None = None
    tool_choice: ToolChoice | None = engine.DEFAULTS.tool_choice
    dedupe: bool = engine.DEFAULTS.dedupe
    finish_todos: bool = engine.DEFAULTS.finish_todos
    never_parallel: Names = engine.DEFAULTS.never_parallel
    limits: dict[str, Positive] = Field(default_factory=lambda: dict(engine.DEFAULTS.limits))
    approval_mode: ApprovalMode = ApprovalMode.AUTO
    max_steps: Positive = engine.DEFAULTS.max_steps
    max_calls: Positive = engine.DEFAULTS.max_calls
    max_parallel: Positive = engine.DEFAULTS.max_parallel
    max_price: Limit = engine.DEFAULTS.max_price
    max_turn_tokens: Positive | None = engine.DEFAULTS.max_turn_tokens
    programs: Literal["auto", "off", "only"] = engine.DEFAULTS.programs
    send_agents: Literal["on", "off"] = engine.DEFAULTS.send_agents
    max_agents: Positive = engine.DEFAULTS.max_agents
    agent_steps: Positive = engine.DEFAULTS.agent_steps
    ask_agents: Positive = engine.DEFAULTS.ask_agents
    ask_agent_cost: Limit = engine.DEFAULTS.ask_agent_cost
    tools: Literal["auto", "all", "search"] = engine.DEFAULTS.tools
    max_result_chars: Positive = engine.DEFAULTS.max_result_chars
    call_timeout: Limit = engine.DEFAULTS.call_timeout
    timeout: Limit = engine.DEFAULTS.turn_timeout
    background_after: Limit = engine.DEFAULTS.background_after
    approval_timeout: Limit = engine.DEFAULTS.approval_timeout
    question_timeout: Limit = None  # then a server that asks gets no answer
    system_prompt: str | None = None
    hooks: dict[str, Any] = Field(default_factory=dict)  # programs that are asked around calls, as others write them
    trace: str | None = None  # a file, or the URL of a collector, that gets conversations as OpenTelemetry spans
    trace_contents: bool = False  # what was said is in them
    save_sessions: bool = True  # conversations are kept in the data folder
    mcp_config: Path | None = None
    mcp_registry: Annotated[str, AfterValidator(_registry)] = ""  # "": none is asked; "official", or an address
    groups: Names | None = None  # that you are in: servers with `groups` in mcp.json are for their members; None: all
    injected: dict[str, Any] = Field(default_factory=dict)  # `_atlas_user`, `_mcp_data`: for tools that name them
    keys: dict[str, Keys] = Field(default_factory=dict[str, Keys])  # binding id -> keys
    providers: dict[Annotated[str, Field(pattern=_PROVIDER_NAME)], ProviderSettings] = Field(
        default_factory=dict[str, ProviderSettings]
    )
    agent_registry: str = ""  # a file, or an address; "": those that are known here
    agents: dict[AgentName, AgentSettings] = Field(default_factory=dict[str, AgentSettings])

    @property
    def prompt(self) -> str:
        """The system prompt that models are sent: one of Fanout's own, unless `system_prompt` says otherwise."""
        return _SYSTEM_PROMPT if self.system_prompt is None else self.system_prompt

    @property
    def agent_models(self) -> list[str]:
        return [f"{ACP}/{name}" for name in self.agents]

    def known_providers(self) -> dict[str, ProviderSettings]:
        """Return built-in providers with what the configuration changes in them, then the configuration's own.

        Raises ConfigError for one whose name is taken, or that lacks `api`.
        """
        providers = dict(BUILT_IN)
        for name, own in self.providers.items():
            if name in (OFFLINE, SCRIPTED, ACP):
                raise ConfigError(f"the provider name {name} is taken", f"Rename [providers.{name}].")
            below = providers.get(name)
            if below is None and own.api is None:
                hint = 'Add api = "openai-chat", "openai-responses" or "anthropic".'
                raise ConfigError(f"[providers.{name}] lacks api", hint)
            changes = {key: getattr(own, key) for key in own.model_fields_set}
            providers[name] = below.model_copy(update=changes) if below else own
        return providers

    def chosen_provider(self, among: Iterable[str]) -> str:
        """Return the provider of the model that is set; "openai" where none is."""
        name = self.model or ""
        found = name.partition("/")[0]
        return found if found in (*among, OFFLINE, SCRIPTED, ACP) else vendor_of(name) or "openai"

    def fallback_of(self, provider: str, model: str) -> str:
        """Return PROVIDER/MODEL that stands in for `model` of `provider`, "" for none.

        What the model's own table says counts, then what its provider's says, then the setting for all models, which
        ends a chain.
        """
        table = self.providers.get(provider)
        own = (table.models.get(model, ModelSettings()).fallback or table.fallback) if table else None
        name = own or self.fallback or ""
        return "" if name == f"{provider}/{model}" and own is None else name

    def check_fallbacks(self) -> None:
        """Raise ConfigError for a chain of fallbacks that comes back to a model of it."""
        starts = [
            f"{name}/{model}"
            for name, table in self.providers.items()
            for model in (*table.models, table.model)
            if model
        ]
        if self.model and "/" in self.model:
            starts.append(self.model)
        for start in starts:
            chain = [start]
            while following := self.fallback_of(*chain[-1].split("/", 1)):
                chain.append(following)
                if following in chain[:-1]:
                    raise ConfigError(
                        f"the fallbacks go round in a circle: {' -> '.join(chain)}",
                        "Take `fallback` out of one of them in config.toml.",
                    )

    def secrets(self, environ: Mapping[str, str]) -> Iterator[str]:
        """Yield the headers of providers, what their URLs hold, and the keys in the variables that they name."""
        yield from secret_sources.secrets_of_url(self.base_url or "")
        for provider in self.providers.values():
            yield from secret_sources.secrets_of_headers(provider.headers)
            yield from secret_sources.secrets_of_url(provider.base_url or "")
            yield environ.get(provider.api_key_env or "", "")
        yield from secret_sources.secrets_of_url(self.trace or "")
        for agent in self.agents.values():
            yield from secret_sources.secrets_of_environment(agent.env)
            yield from secret_sources.secrets_of_arguments(agent.command)


def _rule(text: str) -> str:
    written.parse_rule(text)
    return text


RuleLine = Annotated[str, AfterValidator(_rule)]


class Rules(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """`[rules]`: rules as `domain.rules` reads them. Those of all files count together, deny over ask over allow."""

    allow: tuple[RuleLine, ...] = ()
    ask: tuple[RuleLine, ...] = ()
    deny: tuple[RuleLine, ...] = ()


class ToolRule(BaseModel, frozen=True):
    """A rule and where it was written."""

    action: Literal["allow", "ask", "deny"]
    pattern: str  # as it was written, arguments in brackets included
    source: str

    @property
    def parsed(self) -> written.RuleText:
        return written.parse_rule(self.pattern)
