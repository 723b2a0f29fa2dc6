"""The ports to the outside: a model's provider, a set of tools, a store for sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from console_app.domain.chunks import Chunk, UsageChunk
from console_app.domain.events import Event, Level, OutputStream
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.settings import Effort, ProgramOffer, Sampling, ToolChoice
from console_app.domain.tools import ToolResult, ToolSpec

if TYPE_CHECKING:
    from typing_extensions import TypeIs

ProtocolMode = Literal["auto", "native", "text", "xml"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. `messages` are already valid for every wire format (engine.history)."""

    messages: tuple[UserMessage | AssistantMessage | ToolMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    deferred: frozenset[str] = frozenset()  # names of tools that the endpoint's own search may load
    programs: ProgramOffer = "off"  # whether programs that the endpoint runs call the servers' tools; only: else none
    tool_choice: ToolChoice = "auto"
    parallel: bool = True  # False asks for one call an answer, where the API can
    sampling: Sampling = field(default_factory=Sampling)  # over what the provider was set to
    conversation: str = ""  # an id of it that stays the same, for caches; "" for a request of its own
    summed_up: tuple[UserMessage | AssistantMessage | ToolMessage, ...] = ()  # that a summary stands for: not sent
    called_before: frozenset[str] = frozenset()  # models that made calls of their own in it, undone or not; "": unnamed


class Provider(Protocol):
    """A model behind an API. Errors leave it as ProviderError; a cut stream as AnswerInterrupted."""

    @property
    def name(self) -> str:
        """The provider's name in the configuration, as `openai`."""
        ...

    @property
    def model(self) -> str:
        """The model's name, as the endpoint knows it."""
        ...

    @property
    def protocol(self) -> str:
        """The way in which tools are offered: native, text, xml or offline. It may change after a fallback."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Sends `request`; leaving the context closes the connection at once."""
        ...

    async def close(self) -> None:
        """Closes connections. A closed provider is not used again."""
        ...


PortT = TypeVar("PortT")


def speaks(provider: object, port: type[PortT]) -> TypeIs[PortT]:
    """Tell whether `provider` has all that one of the ports below asks for. Asked of a class once: `isinstance` would
    look up every name each time, a tenth of a turn."""
    return _speaks(type(provider), port)


@cache
def _speaks(kind: type, port: type) -> bool:
    return all(hasattr(kind, name) for name in vars(port) if not name.startswith("_"))


class HasEndpoint(Protocol):
    """A provider that reaches a model over HTTP, and can name its endpoint."""

    @property
    def endpoint(self) -> str:
        """The endpoint's identity (`domain.settings.identity`)."""
        ...


def endpoint_of(provider: Provider) -> str:
    """Return the endpoint whose answers come from `provider`; "" where it has none."""
    return provider.endpoint if speaks(provider, HasEndpoint) else ""


class KnowsTurns(Protocol):
    """A provider that wants to be told of new turns."""

    def turn_began(self) -> None:
        """A new turn begins: what was done for the last one alone is over."""
        ...


class KnowsEffort(Protocol):
    """A provider that knows how much its model is asked to think."""

    def effort_for(self, asked: Effort | None) -> str:
        """Return how much the model thinks where a request asks for `asked`; "" where nothing is said of it."""
        ...


def effort_for(provider: Provider, asked: Effort | None) -> str:
    """Return how much the model of `provider` is asked to think; "" where nothing is said of it."""
    return provider.effort_for(asked) if speaks(provider, KnowsEffort) else ""


class KnowsPictures(Protocol):
    """A provider that knows whether its model sees pictures."""

    @property
    def no_pictures(self) -> str:
        """The reason why its model is shown no pictures, as far as that is known; "" where it may see."""
        ...


class SearchesTools(Protocol):
    """A provider whose endpoint can search among tools that are not loaded."""

    @property
    def searches_tools(self) -> bool:
        """Tell whether it does, until it refused that."""
        ...


class RunsPrograms(Protocol):
    """A provider whose endpoint can run programs that its model writes, which call the tools."""

    @property
    def runs_programs(self) -> bool:
        """Tell whether it does, until it refused that."""
        ...


class ShowsForm(Protocol):
    """A provider whose endpoint may show how its model writes calls as text."""

    async def shown_form(self) -> str | None:
        """Asks the endpoint, which takes seconds at most; None where it doesn't show that."""
        ...


@dataclass(frozen=True, slots=True)
class Licence:
    """The form in which a model is known to write calls as text; `source` tells how that is known, as the rest of a
    sentence."""

    form: str
    source: str


class ReadsText(Protocol):
    """A provider that may read calls from text."""

    @property
    def dialect(self) -> str | None:
        """The dialect that tools are offered in, None while the API's own are used."""
        ...

    @property
    def licence(self) -> Licence | None:
        """The form that the model is known to write its calls in, None where no such thing is known."""
        ...

    def choose(self, mode: ProtocolMode) -> None:
        """Another protocol from the next request on; what was known of the model is forgotten."""
        ...

    def license(self, form: str) -> None:
        """A person said that the model writes its calls in `form`."""
        ...


@dataclass(frozen=True, slots=True)
class StandIn:
    """A model that answers in place of the one that was chosen: tokens that it takes (None: unknown), and the host that
    it is at ("": its vendor's own)."""

    window: int | None = None
    host: str = ""


class HasStandIn(Protocol):
    """A provider with another in reserve."""

    @property
    def stand_in(self) -> StandIn | None:
        """The model that answers in place of the chosen one, None while that one does."""
        ...


def stand_in(provider: Provider) -> StandIn | None:
    """Return what answers in place of the model that was chosen for `provider`, None while that one does."""
    return provider.stand_in if speaks(provider, HasStandIn) else None


class LearnsRefusals(Protocol):
    """A provider that stops sending what its endpoint refused."""

    def forget_refusals(self) -> None:
        """Send all that was refused again, until it is refused again."""
        ...


def protocol_label(provider: Provider) -> str:
    """Return the protocol of the model's tools, with the dialect that they are offered in as text, and the form that
    the model is known to write."""
    if not speaks(provider, ReadsText):
        return provider.protocol
    label = provider.protocol if provider.dialect is None else f"{provider.protocol} {provider.dialect}"
    licence = provider.licence
    return label if licence is None or licence.form == provider.dialect else f"{label}, writes {licence.form}"


def licence_of(provider: Provider) -> Licence | None:
    """Return the form that the model of `provider` is known to write calls in, None where no such thing is known."""
    return provider.licence if speaks(provider, ReadsText) else None


def no_pictures(provider: Provider) -> str:
    """Return why the model of `provider` is shown no pictures; "" where nothing is known against it."""
    return provider.no_pictures if speaks(provider, KnowsPictures) else ""


def searches_tools(provider: Provider) -> bool:
    """Tell whether the endpoint of `provider` searches among tools itself."""
    return speaks(provider, SearchesTools) and provider.searches_tools


def runs_programs(provider: Provider) -> bool:
    """Tell whether the endpoint of `provider` runs programs that its model writes."""
    return speaks(provider, RunsPrograms) and provider.runs_programs


class Forwarding:
    """A provider around another one, `inner`, that knows all that this one knows: what wraps a provider says only what
    it changes, and how it streams."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    @property
    def inner(self) -> Provider:
        return self._inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def protocol(self) -> str:
        return self.inner.protocol

    @property
    def endpoint(self) -> str:
        return endpoint_of(self.inner)

    @property
    def stand_in(self) -> StandIn | None:
        return stand_in(self.inner)

    @property
    def searches_tools(self) -> bool:
        return searches_tools(self.inner)

    @property
    def runs_programs(self) -> bool:
        return runs_programs(self.inner)

    @property
    def no_pictures(self) -> str:
        return no_pictures(self.inner)

    @property
    def dialect(self) -> str | None:
        return self.inner.dialect if speaks(self.inner, ReadsText) else None

    @property
    def licence(self) -> Licence | None:
        return licence_of(self.inner)

    def effort_for(self, asked: Effort | None) -> str:
        return effort_for(self.inner, asked)

    def choose(self, mode: ProtocolMode) -> None:
        if speaks(self.inner, ReadsText):
            self.inner.choose(mode)

    def license(self, form: str) -> None:
        if speaks(self.inner, ReadsText):
            self.inner.license(form)

    def turn_began(self) -> None:
        if speaks(self.inner, KnowsTurns):
            self.inner.turn_began()

    async def close(self) -> None:
        await self.inner.close()


class CallReporter(Protocol):
    """The reports that a running call may make. All return at once and may be called from any task."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """`progress` of `total` (None: unknown), with what is being done."""
        ...

    def log(self, level: Level, text: str, *, sure: bool = True, dropped: int = 0) -> None:
        """One line of the tool's or server's log. `sure` is False where it may be another call's: shown, but no news
        that puts off the deadline. `dropped` lines came right before it, too fast to be told one by one."""
        ...

    def output(self, stream: OutputStream, text: str, *, dropped: int = 0) -> None:
        """A piece of what the call writes, as it comes: told gathered. `dropped` bytes right before it are lost."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Open while a person is asked on the call's behalf: its deadline doesn't run. May be open several times."""
        ...

    def asked(self, what: str) -> None:
        """The call's server asks the user something: open until `answered` with the same words."""
        ...

    def answered(self, what: str, how: str) -> None:
        """Tell the answer to a question, in a word or a few."""
        ...

    def used(self, usage: UsageChunk) -> None:
        """Tokens that the call's server spent through the model (MCP sampling): they count with the session's."""
        ...


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

    def off(self) -> Mapping[str, str]:
        """Return the purpose of each server, by name: the words of mcp.json, maybe none."""
        ...

    def runs(self, name: str) -> str:
        """The program or address of one of them, for whoever is asked whether to switch it on; "" of none of them."""
        ...

    async def switch_on(self, name: str) -> Sequence[ToolSpec]:
        """Switches one on, as the user would; its tools, once it is up. Raises FanoutError when it can't be."""
        ...

    def why_missing(self, tool: str) -> str:
        """Say why no tool of that wire name is offered, where that is known: its server is down or off, or left the
        tool out; else ""."""
        ...


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that programs of the user may be asked about: its `event` by the name that others have for it, `names`
    by which a tool is meant, and what they are told of it."""

    event: str
    names: tuple[str, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Heard:
    """All that these programs said together: the strictest permission with its reason, arguments to run in place of the
    call's, words for the model, and lines for the user. `block` says why it must not go on."""

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

    def skills(self) -> Mapping[str, str]:
        """Return the purpose of each skill, by name, as of the last look."""
        ...

    async def skill(self, name: str, file: str) -> str:
        """Return the text of a skill, or of a file that it brings. Raises ToolError where there is none."""
        ...

    def asks(self, event: str, names: Sequence[str] = ()) -> bool:
        """Tell whether any program is to be asked about an event, of a tool with these names."""
        ...

    async def ask(self, happening: Happening) -> Heard:
        """Ask the programs, all at once and each for a limited time."""
        ...


class Toolset(Protocol):
    """Tools that can be called. Calls run concurrently; cancelling the awaiting task cancels the call at its server."""

    def tools(self) -> Sequence[ToolSpec]:
        """The tools that are on now, in a stable order, with unique wire names."""
        ...

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        """Runs one call. A failure is a result (`failed`) or a ToolError; the engine sets deadlines."""
        ...


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The changes of an agent with a folder of its own: in words with the diff, and as a branch from `base` on."""

    words: str
    branch: str
    base: str


class PlaceApart(Protocol):
    """A folder of an agent's own. `toolset` has the tools that work there, in place of those of the same `servers`, and
    what is changed there comes to be on `branch`."""

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


class KeepsTasks(Protocol):
    """Tools whose calls may go on at their server when the program that made them is gone."""

    def goes_on(self, invocation: Invocation) -> bool:
        """Tell whether a program that is gone made this very call, and its result can be fetched now."""
        ...


@dataclass(frozen=True, slots=True)
class ProgramToRun:
    """A program to run. `functions` are the names that it may call, with their parameters in order. While it waits it
    is kept under its `key`, "" for one that isn't; one that `goes_on` begins from where it was kept."""

    code: str
    functions: Mapping[str, Sequence[str]]
    key: str = ""
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """The call of a program that is the `number`-th, from 0. An `earlier` one was made, and maybe run, before the
    program was cut."""

    number: int
    name: str
    arguments: dict[str, Any]
    earlier: bool


@dataclass(frozen=True, slots=True)
class ProgramPlace:
    """The line at which a program waits, with the seconds of work and the bytes that it took."""

    line: int
    seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class ProgramHost:
    """The outside of a program: `call` makes a call and returns its value, or raises ToolError."""

    call: Callable[[ProgramCall], Awaitable[Any]]
    printed: Callable[[str], None]
    stands: Callable[[ProgramPlace], None]


class ProgramRunner(Protocol):
    """Runs programs that a model writes, in Python without I/O."""

    async def run(self, program: ProgramToRun, host: ProgramHost) -> ToolResult:
        """Runs one to its end; cancelled, it ends at once."""
        ...

    def is_paused(self, key: str) -> bool:
        """Tell whether a program whose console was killed waits under this key."""
        ...

    def warm(self) -> None:
        """Be ready: a program is being written."""
        ...

    async def rest(self) -> None:
        """No program comes any more, for now."""
        ...


class SessionStore(Protocol):
    """Keeps the events of a session, in order, before they are shown."""

    async def append(self, events: Sequence[Event]) -> None:
        """Stores events durably; shown-only ones are drafts, which go when the message they add up to is stored."""
        ...
