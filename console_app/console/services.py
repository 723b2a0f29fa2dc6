"""Everything that a console is given from outside, time too, so that a test can give its own. Building it imports no
SDK, and it may be built before anything is painted."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from console_app.config.trust import CustomCommands
from console_app.console.talk.question_queue import QuestionQueue
from console_app.domain import FanoutError
from console_app.domain.steady_time import steady_time
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from console_app.config import trust
    from console_app.config.settings import OwnSettings, UserRules
    from console_app.console.connecting import Connecting
    from console_app.console.models import Models
    from console_app.console.servers import HubSwitches
    from console_app.domain import events as ev
    from console_app.domain import ports
    from console_app.engine import Engine
    from console_app.mcp_client import Hub, RawMessage, ServerStatus
    from console_app.sessions import Library, Replay


class Later(Protocol):
    """A call that comes once, after a while."""

    def stop(self) -> None: ...


class Timers(Protocol):
    """An owner of timers, a widget say, which ends them with itself."""

    @property
    def is_running(self) -> bool: ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> Later: ...


class Timing:
    def now(self) -> float:
        """Seconds of a clock that nobody sets."""
        return time.monotonic()

    def later(self, timers: Timers, seconds: float, run: Callable[[], object]) -> Later:
        """Calls `run` once, unless the owner of `timers` is gone by then."""
        return timers.set_timer(seconds, run)


# bell: the terminal's own · osc9: iTerm2, kitty, WezTerm, Ghostty · osc777: urxvt, foot, WezTerm, Ghostty
Notification = Literal["bell", "osc9", "osc777"]


@dataclass(frozen=True, slots=True)
class AttentionSettings:
    """Ways to call for attention. Inside tmux a notification is wrapped, which `allow-passthrough` permits."""

    notifications: Sequence[Notification] = ()
    title: bool = False
    tmux: bool = False


async def _nothing() -> None:
    """Stands for a start or a close that has nothing to do."""


def _no_page(events: Sequence[ev.Event], title: str) -> str:
    """Stands where no page can be made. Raises FanoutError."""
    raise FanoutError("no page of HTML can be made here", "/export md writes Markdown.")


@dataclass(slots=True)
class Services:
    """Everything the console talks to. The five fields without a default have to be given."""

    engine: Engine
    models: Models
    history_path: Path  # prompts you sent, kept between sessions
    log_path: Path  # this program's log, shown by /log
    theme_dirs: Sequence[Path]  # folders of *.toml; a later folder overrides an earlier one's theme of the same name

    start: Callable[[], Awaitable[None]] = _nothing
    """Called once, after the first paint. Returns when the SDK is loaded (in a thread) and the provider is in `engine`;
    servers go on connecting in the background. Raises FanoutError: shown as one line."""
    connect: Callable[[], Awaitable[None]] = _nothing
    """Called once `start` has returned or failed. Returns when a prompt need not wait for servers any longer."""
    close: Callable[[], Awaitable[None]] = _nothing
    """Called once as the console ends: closes servers and the provider."""

    server_statuses: Callable[[], Sequence[ServerStatus]] = lambda: ()
    servers: HubSwitches | None = None
    """The servers as their screen reads and switches them; None where there are none to speak of, as in a replay."""
    server_files: trust.ServerFiles | None = None
    """The files that say which servers there are, for /reload."""
    project_trust: trust.ProjectTrust | None = None
    """The project's files that wait for a yes, for /trust."""
    hub: Hub | None = None
    """The hub whose prompts and resources are offered; None where there are no servers."""
    redact: Callable[[str], str] = lambda text: text
    """Takes secrets out of what is shown or written of a server's messages."""
    page: Callable[[Sequence[ev.Event], str], str] = _no_page
    """Writes a session, under its title, as a page of HTML."""
    exchange: Callable[[str], Sequence[RawMessage]] = lambda _call_id: ()
    """The raw JSON-RPC messages of a call, as far as they were kept."""
    calls_path: Path | None = None
    """Calls made by hand, kept between sessions; None keeps none."""
    on_servers_changed: Callable[[Callable[[], None]], None] = lambda _listener: None
    """Takes the console's listener, which is called (on the event loop) whenever a server's status changes."""

    human: QuestionQueue = field(default_factory=QuestionQueue)
    """The queue of what servers ask the user; the hub has it as its HumanPort."""

    store: ports.SessionStore | None = None
    """The store that events are appended to before they are shown; None keeps nothing."""
    library: Library | None = None
    """The sessions that were kept, for /sessions and what belongs to it; the same as `store`, where there is one."""
    resume: str = ""
    """The id of the session to go on with, opened after the first paint; "" for a new one."""
    replay: Replay | None = None
    """A stored session to be played, and nothing else; `clock` is its clock then."""

    connecting: Connecting | None = None
    """Finds endpoints, tries models and keeps one, for /connect; None where no other model can answer."""
    theme: str = "fanout-dark"
    motion: bool = True
    """Tell whether anything may move by itself."""
    settings: OwnSettings | None = None
    """Every setting, for /config; None where there are none to change, as in a replay."""
    remember_theme: Callable[[str], None] | None = None
    """Writes the picked theme to the user's configuration; None: the pick holds for this session only."""
    attention: AttentionSettings = field(default_factory=AttentionSettings)
    """The ways to tell somebody who looks at another window; none by default."""
    rules: UserRules | None = None
    """The user's configuration, for rules that are to hold always; None: they hold for this session only."""
    keymap: Mapping[str, str] = field(default_factory=dict[str, str])  # binding id -> keys, from config
    working_folder: Path = field(default_factory=Path.cwd)  # what `@` completes and attaches
    replaced_files: Path = field(default_factory=Path)  # the bytes that calls replaced in files, by their hashes
    pictures_path: Path | None = None
    """The folder of the pictures that go with messages; None: none can go."""
    clock: Callable[[], float] = steady_time  # what elapsed times are counted by; the engine's
    timing: Timing = field(default_factory=Timing)  # what keys are judged by
    custom_commands: Callable[[], CustomCommands] = CustomCommands
    """Reads the commands that people wrote; for a thread."""
    diagnose: Callable[[], Awaitable[Sequence[str]]] | None = None
    """The lines of `fanout doctor`; asks endpoints. Raises FanoutError."""
    write_crash_report: Callable[[BaseException], Path | None] | None = None
    """Writes down an internal error that ends the console; returns the file, or None when that can't be done."""
    problems: Sequence[str] = ()
    """Start-up problems, one line each, shown as notices (a broken theme or server entry, say)."""
