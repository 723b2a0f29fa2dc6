"""The ports to the outside: a model's provider, a set of tools, a store for sessions."""

from __future__ import annotations

from asyncio import Future
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from operator import attrgetter
from typing import Any, Literal, Protocol, runtime_checkable

from console_app.domain.chunks import Chunk, UsageChunk
from console_app.domain.events import Event, Level, OutputStream
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.settings import Effort, ProgramOffer, Sampling, ToolChoice
from console_app.domain.tools import ToolResult, ToolSpec
from console_app.records import dataclass, field

ProtocolMode = Literal["auto", "native", "text", "xml"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model. `messages` are already valid for every wire format (engine.history)."""

    messages: tuple[UserMessage | AssistantMessage | ToolMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    deferred: frozenset[str] = frozenset()  # names of tools that the endpoint's own search may load
    programs: ProgramOffer = "off"  # whether programs that the endpoint runs call the servers' tools; only: else none
    late: frozenset[str] = frozenset()  # names of tools whose calls may be answered after their next request
    tool_choice: ToolChoice = "auto"
    parallel: bool = True  # False asks for one call an answer, where the API can
    sampling: Sampling = field(default_factory=Sampling)  # over what the provider was set to
    conversation: str = ""  # an id of it that stays the same, for caches; "" for a request of its own
    summed_up: tuple[UserMessage | AssistantMessage | ToolMessage, ...] = ()  # that a summary stands for: not sent
    called_before: frozenset[str] = frozenset()  # models that made calls of their own in it, undone or not; "": unnamed


@dataclass(frozen=True, slots=True)
class Licence:
    """The form in which a model is known to write calls as text; `source` tells how that is known, as the rest of a
    sentence."""

    form: str
    source: str


@dataclass(frozen=True, slots=True)
class Permit:
    """The answer to a request of an agent: with `arguments` these are to run in place of its own."""

    allowed: bool
    arguments: Mapping[str, Any]


class AgentHost(Protocol):
    """The host of an agent of others gives it what it may do while it answers a prompt."""

    def tell(self, event: Event) -> None:
        """Tell an event of the answer. A call that has no end when the answer ends is interrupted."""

    def new_call_id(self, given: str) -> str:
        """Return an id that no call of the session has: `given`, where it is new and of a size."""
        ...

    async def permitted(self, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], why: str) -> Permit:
        """Ask whether an announced call may run, by rule, mode or a row of the board; `why` is for where no rule
        says."""
        ...

    def tools(self) -> Collection[str]: ...

    def servers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return how the servers are reached that are on, by name (`ServerSwitch.entry`)."""
        ...

    def kept(self, provider: str) -> Mapping[str, Any]:
        """Return what the newest answer holds for the provider that gave it; {} where another gave it."""
        ...

    def spent(self) -> str | None:
        """Say which limit is used up, if one is."""
        ...

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool of ours (`server.tool`) as a call of the agent, under all rules. Raises ToolError."""
        ...

    def progress(self, words: str) -> None: ...


@dataclass(frozen=True, slots=True)
class AgentOffer:
    """Something that an agent lets its user choose: `choices` are its values, with their names."""

    id: str
    category: str  # mode, model, or what the agent calls it
    value: str
    choices: Mapping[str, str]
    own: bool = True  # an option of the agent, and not one of the two that the protocol names itself


class Converses(Protocol):
    """A provider that is an agent: a turn with it is its own work, told through the host."""

    async def converse(self, prompt: str, earlier: str, host: AgentHost) -> None:
        """Answer a prompt; `earlier` is what was said before. Raises FanoutError; cancelled, it stops at once."""

    @property
    def offers(self) -> Sequence[AgentOffer]: ...

    async def choose(self, name: str, wanted: str) -> AgentOffer: ...


@dataclass(frozen=True, slots=True)
class StandIn:
    """A model that answers in place of the one that was chosen: tokens that it takes (None: unknown), and the host that
    it is at ("": its vendor's own)."""

    window: int | None = None
    host: str = ""


class Provider:
    """A model behind an API. Errors leave it as ProviderError; a cut stream as AnswerInterrupted. What it doesn't say
    itself is as if nothing were known."""

    name: str
    model: str
    protocol: str  # how tools are offered: native, text, xml or offline; a fallback may change it
    endpoint: str = ""  # its identity (`domain.settings.identity`); "" where there is none
    has_protocols: bool = False  # whether `choose_protocol` does anything

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Send `request`; leaving the context closes the connection at once."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close connections. A closed provider is not used again."""

    def turn_began(self) -> None:
        """A turn began: what was given up for the one before may be tried again."""

    def effort_for(self, asked: Effort | None) -> str:
        """Return how much the model is asked to think; "" where nothing is said of it."""
        return ""

    @property
    def agent(self) -> Converses | None:
        """Return the agent of others that it is, None where it is a model."""
        return None

    @property
    def stand_in(self) -> StandIn | None:
        """Return the model that answers in place of the chosen one, None while that one does."""
        return None

    @property
    def no_pictures(self) -> str:
        """Return why the model is shown no pictures; "" where nothing is known against it."""
        return ""

    @property
    def searches_tools(self) -> bool:
        """Tell whether the endpoint searches among tools that are not loaded, until it refused that."""
        return False

    @property
    def runs_programs(self) -> bool:
        """Tell whether the endpoint runs programs that its model writes, until it refused that."""
        return False

    @property
    def dialect(self) -> str | None:
        """Return the dialect of text that tools are offered in, None while the API's own tools are used."""
        return None

    @property
    def licence(self) -> Licence | None:
        """Return the form that the model is known to write its calls in, None where no such thing is known."""
        return None

    def license(self, form: str) -> None:
        """A person said that the model writes its calls in `form`."""

    def choose_protocol(self, mode: ProtocolMode) -> None:
        """Use another protocol from the next request on; what was known of the model is forgotten."""

    def forget_refusals(self) -> None:
        """Send all that was refused again, until it is refused again."""

    async def shown_form(self) -> str | None:
        """Return the form of the calls in the template that the endpoint shows, None where it shows none."""


def protocol_label(provider: Provider) -> str:
    """Return the protocol of the model's tools, with their dialect as text and the form that the model writes."""
    label = provider.protocol if provider.dialect is None else f"{provider.protocol} {provider.dialect}"
    licence = provider.licence
    return label if licence is None or licence.form == provider.dialect else f"{label}, writes {licence.form}"


class Forwarding(Provider):
    """A provider that knows all that `inner` knows: a wrapper says only what it changes, and how it streams."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    @property
    def inner(self) -> Provider:
        return self._inner


for _known in {*Provider.__annotations__, *vars(Provider)} - {"agent"}:  # what streams for one is none
    if not _known.startswith("_"):
        setattr(Forwarding, _known, property(attrgetter(f"inner.{_known}")))


class CallReporter(Protocol):
    """The reports that a running call may make. All return at once and may be called from any task."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: Level, text: str, *, dropped: int = 0) -> None:
        """Tell a line of its log. `dropped` lines before it came too fast."""

    def output(self, stream: OutputStream, text: str, *, dropped: int = 0) -> None:
        """A piece of what the call writes, as it comes: told gathered. `dropped` bytes right before it are lost."""

    def held(self) -> AbstractContextManager[None]:
        """Open while a person is asked on the call's behalf: its deadline doesn't run. May be open several times."""
        ...

    def asked(self, what: str, *, sure: bool = True) -> None:
        """The call's server asks the user something: open until `answered` with the same words. Unless it is `sure` to
        be for this call, the call goes on."""

    def answered(self, what: str, how: str) -> None: ...

    def used(self, usage: UsageChunk) -> None:
        """Tokens that the call's server spent through the model (MCP sampling): they count with the session's."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call about to run: `arguments` is exactly what was approved."""

    call_id: str
    spec: ToolSpec
    arguments: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    taken_up: bool = False  # only the result is fetched of what an earlier program called: nothing is called anew


class ServerSwitch(Protocol):
    """The servers that are configured and switched off: a model may ask for one of them, and the user decides."""

    def off(self) -> Mapping[str, str]: ...

    def runs(self, name: str) -> str: ...

    def entry(self, name: str) -> Mapping[str, Any]:
        """Return how a server is reached: `command`, `args`, `env` and `cwd`, or `type`, `url` and `headers`."""
        ...

    async def switch_on(self, name: str) -> Sequence[ToolSpec]:
        """Switch one on, as the user would, and return its tools once it is up. Raises FanoutError."""
        ...

    def why_missing(self, tool: str) -> str:
        """Say why no tool of that wire name is offered, where that is known, else ""."""
        ...


@dataclass(frozen=True, slots=True)
class Happening:
    """An event that the user's programs may be asked about, under the name that others have for it. `names` mean a
    tool, `told` are the facts."""

    event: str
    names: tuple[str, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Heard:
    """The joint answer of these programs: the strictest permission with its reason, other arguments, words for the
    model, and lines for the user. `block` says why it must not go on."""

    permission: Literal["", "allow", "ask", "deny"] = ""
    reason: str = ""
    block: str = ""
    arguments: Mapping[str, Any] | None = None
    context: str = ""
    notices: tuple[str, ...] = ()


class Workplace(Protocol):
    """The folder that a conversation works in. None of its methods raises for what is wrong in the folder."""

    async def parts(self) -> Mapping[str, str]:
        """Return what the system prompt says of the place as it is now, by what it is; takes seconds at most."""
        ...

    def skills(self) -> Mapping[str, str]: ...

    async def skill(self, name: str, file: str) -> str: ...

    def asks(self, event: str, names: Sequence[str] = ()) -> bool: ...

    async def ask(self, happening: Happening) -> Heard: ...


class Toolset(Protocol):
    """Tools that can be called. Calls run concurrently; cancelling the awaiting task cancels the call at its server."""

    def tools(self) -> Sequence[ToolSpec]:
        """The tools that are on now, in a stable order, with unique wire names."""
        ...

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        """Run one call. A failure is a result (`failed`) or a ToolError; the engine sets deadlines."""
        ...


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The changes of an agent with a folder of its own: in words with the diff, and as a branch from `base` on."""

    words: str
    branch: str
    base: str


class ServersBeside(Protocol):
    """Servers that run for one agent, and whose tools nobody else has."""

    @property
    def toolset(self) -> Toolset: ...
    @property
    def servers(self) -> frozenset[str]: ...
    @property
    def problems(self) -> Sequence[str]: ...
    async def end(self) -> None: ...


class PlaceApart(Protocol):
    """A folder of an agent's own. The tools of `toolset` work there, in place of those of the same `servers`; changes
    come to be on `branch`."""

    @property
    def folder(self) -> str: ...
    @property
    def branch(self) -> str: ...
    @property
    def toolset(self) -> Toolset: ...
    @property
    def servers(self) -> frozenset[str]: ...
    @property
    def workplace(self) -> Workplace | None: ...

    async def close(self) -> HandedBack | None:
        """End what runs there; return what came of it, None where nothing was changed. Raises ToolError."""
        ...


OpenPlace = Callable[[str], Awaitable[PlaceApart]]  # by a name that no other agent has; raises ToolError


@runtime_checkable
class KeepsTasks(Protocol):
    def goes_on(self, invocation: Invocation) -> bool:
        """Tell whether a program that is gone made this very call, and its result can be fetched now."""
        ...


@dataclass(frozen=True, slots=True)
class ProgramToRun:
    """`functions` are the names it may call, with their parameters in order (`**`: and any other). Waiting, it is kept
    under `key` ("": not); one that `goes_on` begins from there."""

    code: str
    functions: Mapping[str, Sequence[str]]
    key: str = ""
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """The `number`-th call of a program, from 0, with its arguments as JSON. An `earlier` one was made, and maybe run,
    before the program was cut."""

    number: int
    name: str
    arguments: str
    earlier: bool


class ProgramRunner(Protocol):
    """Runs programs that a model writes, in Python without I/O."""

    async def run(
        self, program: ProgramToRun, call: Callable[[ProgramCall], Future[ToolResult]], reporter: CallReporter
    ) -> ToolResult:
        """Run one to its end; cancelled, it ends at once. `call` makes a call of it, or raises ToolError."""
        ...

    def is_paused(self, key: str) -> bool: ...

    def warm(self) -> None:
        """Be ready, as a program is being written."""

    async def rest(self) -> None:
        """Let the interpreter rest: no program comes for now."""


class SessionStore(Protocol):
    """Keeps the events of a session, in order, before they are shown."""

    async def append(self, events: Sequence[Event]) -> None:
        """Store events durably; shown-only ones are drafts, which go when the message they add up to is stored."""
