"""Settings as frozen values: of requests (`Sampling`), of an endpoint (`ProviderConfig`) and of the engine, whose
defaults stand here alone: config.toml takes them from `DEFAULTS`."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, Field

from console_app.domain import web_address
from console_app.domain.approvals import CallPolicy
from console_app.records import dataclass, field, replace

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class Sampling(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """None leaves it to the endpoint. Settings inherit it: they are frozen too, and an unknown key is an error."""

    max_tokens: Annotated[int, Field(ge=1)] | None = None  # of an answer
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    stop: Texts | None = None  # texts that end an answer
    effort: Effort | None = None  # how much the model thinks first; which of them there are, its endpoint knows
    # Whether several calls an answer are asked for or refused by name; some endpoints take neither.
    parallel_tool_calls: Literal["send", "refuse", "omit"] | None = None
    # Marks and keys for the provider's prompt cache: where they are known to be taken, wherever there is one, never.
    cache: Literal["auto", "on", "off"] | None = None
    extra_body: dict[str, Any] | None = None  # goes into the request as it is, over all else

    @classmethod
    def merged(cls, *layers: Sampling) -> Self:
        values_by_name: dict[str, Any] = {}
        for name in cls.model_fields:
            if values := [value for layer in layers if (value := getattr(layer, name, None)) is not None]:
                values_by_name[name] = _together(values)
        return cls.model_construct(**values_by_name)


def _together(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return dict(ChainMap(*values))
    return tuple(dict.fromkeys(chain.from_iterable(values))) if isinstance(values[0], tuple) else values[0]


Api = Literal["openai-chat", "openai-responses", "anthropic"]
VENDOR_URLS: dict[Api, str] = {
    "openai-chat": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
_VENDOR_HOSTS = frozenset(urlsplit(url).hostname or "" for url in VENDOR_URLS.values())


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """A model behind one endpoint. `base_url` is as the format's SDK has it (`/v1` for OpenAI, without for Anthropic;
    None: the vendor's). `api_key` None sends none. Times are seconds."""

    name: str
    api: Api
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_hint: str = ""  # what to do when the endpoint wants a key, or another one
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    tool_search: bool | None = None  # whether the endpoint searches among tools; None: where it is the vendor's own
    runs_programs: bool | None = None  # whether it runs what its model writes; None: the vendor's own, for some models
    late_outputs: bool | None = None  # whether it takes outputs after the next request; None: as above
    max_tries: int = 5
    connect_timeout: float = 15.0
    read_timeout: float = 600.0  # longest silence between two pieces of an answer

    @property
    def url(self) -> str:
        return self.base_url or VENDOR_URLS[self.api]

    @property
    def official(self) -> bool:
        """Tell whether it is at a vendor, or one of its regions: tools work there."""
        host = urlsplit(self.url).hostname or ""
        return any(host == vendor or host.endswith(f".{vendor}") for vendor in _VENDOR_HOSTS)

    @property
    def identity(self) -> str:
        """`API HOST` with what comes before `/v1`: what one endpoint of a gateway gave goes back to that one alone."""
        path = urlsplit(self.url).path.rstrip("/").removesuffix("/v1")
        return f"{self.api} {web_address.host(self.url).lower()}{path}"

    @property
    def model_identity(self) -> str:
        return f"{self.identity} {self.model}"


Dispatch = Literal["eager", "batch"]
ToolChoice = Literal["auto", "none", "required"]
ToolOffer = Literal["auto", "all", "search"]
ProgramOffer = Literal["auto", "off", "only"]
StrategyName = Literal["agentic", "act", "think-act", "react"]
_ONE_A_MESSAGE = frozenset({"roo_xml"})  # dialects whose models were told to write one tool a message, then wait


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of answers and calls. An answer sees one state; a new object holds from the next. Times are seconds;
    None means without limit."""

    policy: CallPolicy = CallPolicy.PARALLEL
    text_single: bool = True  # protocol `xml`, and its dialect, keep one tool a message until a policy was chosen
    dispatch: Dispatch = "eager"  # of native calls; calls read from text always wait for the end of the answer
    max_steps: int = 25
    max_calls: int = 256  # of one answer; each of the rest gets a result that says so
    max_parallel: int = 128  # calls of the whole app at once
    send_agents: Literal["on", "off"] = "on"  # whether the model may send agents
    max_agents: int = 8  # that run at once
    agent_steps: int = 200  # answers that all agents of a turn may give together
    ask_agents: int = 4  # that one answer may send without asking you
    ask_agent_cost: float | None = None  # US dollars, about, that they may cost without asking you
    call_timeout: float | None = 300.0  # without news of a running call; ToolSpec.timeout wins
    turn_timeout: float | None = None
    background_after: float | None = None  # seconds that an answer waits for a call before it goes to the background
    approval_timeout: float | None = None  # then a waiting call is denied, visibly
    strategy: StrategyName = "agentic"
    builtin_tools: frozenset[str] = frozenset()  # offered beside those that the strategy needs
    # Whether requests leave calling to the model, forbid it or demand it; None: `act` demands it, the others leave it.
    tool_choice: ToolChoice | None = None
    # Run equal calls of a tool that says it only reads once in an answer. One that comes again in the turn is skipped
    # with a note, unless it is asked for once more or something ran that may have changed its result.
    dedupe: bool = True
    finish_todos: bool = False  # an open item of the to-do list keeps a turn from completing
    never_parallel: tuple[str, ...] = ()  # patterns of server.tool
    limits: Mapping[str, int] = field(default_factory=dict[str, int])  # server, or pattern of server.tool -> at once
    # Whether requests define all tools that are on; auto: while they take a tenth of the window at most.
    tools: ToolOffer = "auto"
    programs: ProgramOffer = "off"  # whether the model may write programs that call tools; only: it calls none else
    read_by_model: bool = True  # whether a model reads what comes of the calls
    max_result_chars: int = 100_000  # of a result, as the model reads it; what is cut says so
    max_price: float | None = None  # US dollars that a turn may cost
    max_turn_tokens: int | None = None  # input and output of all its requests
    effort: Effort | None = None  # how much the model thinks first; None: as it is configured
    system_prompt: str = ""
    parts: Mapping[str, str] = field(default_factory=dict[str, str])  # what else goes with it, by what it is

    @property
    def whole_prompt(self) -> str:
        return "\n\n".join(part for part in (self.system_prompt, *self.parts.values()) if part)

    def with_policy(self, policy: CallPolicy) -> EngineSettings:
        """Return settings with a chosen policy: it holds for every protocol."""
        return replace(self, policy=policy, text_single=False)

    def policy_for(self, protocol: str) -> CallPolicy:
        return CallPolicy.SINGLE if protocol == "xml" and self.text_single else self.policy

    @property
    def single_dialects(self) -> frozenset[str]:
        return _ONE_A_MESSAGE if self.text_single else frozenset()


DEFAULTS = EngineSettings()
