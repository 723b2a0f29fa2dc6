"""Tools and calls: what can be called, what a model asked for, and what came of it. Frozen data throughout."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from console_app.domain import amounts, picture_size
from console_app.domain.schema import object_of
from console_app.records import dataclass


class Frozen(BaseModel):
    """Base of the domain's data: immutable, and forgiving of fields that a newer version wrote."""

    # A server may report a progress of infinity: as JSON that is a string, since null could not be read back.
    # Validators are built when first used: thirty of them before the first paint would be felt.
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings", defer_build=True)


# Arguments that Fanout fills in for tools which name them; what a model writes there is never sent.
INJECTED = frozenset({"_atlas_user", "_mcp_data"})


class Outcome(StrEnum):
    """The end of a call. Each call has exactly one, whatever happens."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    DENIED = "denied"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"

    @property
    def is_error(self) -> bool:
        """Tell whether the tool failed, which blocks a completion beside it. Your own no and what was put off are
        neutral."""
        return self in _ERRORS


_ERRORS = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.INVALID, Outcome.INTERRUPTED})


OWN_SERVER = "fanout"
"""The server that Fanout's own tools are of."""
FAILED = "Tool execution failed: "
"""The beginning of the result of a call that its tool failed; the tool's words follow."""

# The way a call came: by the API's own tool calls, as text, or as one that the provider runs itself.
CallOrigin = Literal["native", "text", "provider"]


class CallState(StrEnum):
    """The stage that a call has reached."""

    ANNOUNCED = "announced"
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"


class ToolAnnotations(Frozen):
    """A server's words about its tool's effects (MCP ToolAnnotations): hints, not facts."""

    title: str = ""
    read_only: bool = False
    destructive: bool = True
    says_destructive: bool = False  # the server wrote so itself; `destructive` is the protocol's default
    idempotent: bool = False
    open_world: bool = True
    says_open_world: bool = False  # the same of `open_world`

    @property
    def declares_effect(self) -> bool:
        return self.read_only or self.says_destructive or not self.destructive

    @property
    def may_do_twice(self) -> bool:
        """Tell whether running a call of the tool again may change more than once was meant."""
        return not (self.read_only or self.idempotent)

    @property
    def effect(self) -> str:
        """Return any call's possible effect in words, the protocol's defaults included."""
        return "only reads" if self.read_only else "may change or destroy" if self.destructive else "only adds"


class ServerIdentity(Frozen):
    """The program or address behind a server: compared by `digest`, shown to people as `text`."""

    digest: str
    text: str


class ToolSpec(Frozen):
    """A tool that is switched on. `name` is what goes on the wire: legal everywhere and unique."""

    name: str
    server: str
    tool: str
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=lambda: object_of({}))
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations = ToolAnnotations()
    require_approval: bool = False
    changed: str = ""  # how it differs from what the user trusted, as a diff; then it requires an approval
    definition: str = ""  # hash of what its server says of it; "" where no server does
    identity: ServerIdentity | None = None  # the program or address that runs it; None: Fanout's own
    folder: str = ""  # that its server works in; "" is the current one
    timeout: float | None = None  # seconds without progress from a running call; None: the engine's default
    server_limit: int | None = None  # calls of its server that may run at once
    tool_limit: int | None = None  # calls of this tool that may run at once
    parallel: bool = True  # False: never beside another call of the same tool
    offer: Literal["auto", "always", "search"] = "auto"  # when its definition stands in requests
    builtin: bool = False  # a tool of Fanout itself: it takes no slot, and needs no approval
    asks: bool = False  # of a built-in one: it needs an approval all the same

    @property
    def label(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def characters(self) -> int:
        return len(self.name) + len(self.description) + len(json.dumps(self.input_schema))

    @property
    def fingerprint(self) -> str:
        """The identity that a decision about a call stands for: this definition, of this program."""
        return f"{self.definition} {self.identity.digest if self.identity else ''}"


class ToolCall(Frozen):
    """A call that a model asked for, as it joins the history. `arguments` is the JSON text of one object."""

    id: str
    name: str
    arguments: str = "{}"
    origin: Literal["native", "text"] = "native"
    raw: str = ""  # for a call read from text: the text it was read from
    repaired: tuple[str, ...] = ()  # what had to be mended to read it, in words
    model: str = ""  # PROVIDER/MODEL that asked for it; "" where that was not kept
    provider_data: dict[str, Any] = Field(default_factory=dict)  # what its message's endpoint wants back with it
    whole: bool = True  # its arguments were read whole; else `{}` stands in their place, and must not run


class Artifact(Frozen):
    """A file that a call made: kept on disk, named on screen, never base64 in the conversation."""

    name: str
    mime: str = "application/octet-stream"
    path: str = ""  # where it was saved, or "" when it is only a link
    uri: str = ""
    size: int = 0  # bytes
    sides: tuple[int, int] | None = None  # width and height in pixels of a picture, where they are known

    @property
    def is_picture(self) -> bool:
        return bool(self.path) and self.mime in picture_size.SENT

    @property
    def picture_facts(self) -> str:
        """`640x480 PNG · 12 kB`, as far as it is known."""
        sides = "{}x{} ".format(*self.sides) if self.sides is not None else ""
        name = self.mime.partition("/")[2].upper().replace("JPG", "JPEG")
        name = "WebP" if name == "WEBP" else name
        return f"{sides}{name}" + (f" · {amounts.size(self.size)}" if self.size else "")


class ToolResult(Frozen):
    """The result of a call: `content` is exactly what is read, and `remark` what is still to be told of it."""

    outcome: Outcome
    content: str
    error: str | None = None  # the error alone, in one line, for people
    artifacts: tuple[Artifact, ...] = ()
    structured: dict[str, Any] | None = None
    remark: str = ""


RiskWord = Literal["reads", "edits", "creates", "runs", "deletes", "network", "sends", "changes"]
AGENT = "agent"  # the tool that sends one, whose own calls ask by themselves
COMMANDS = frozenset({"command", "cmd", "commands", "script", "shell_command"})  # arguments by which a call runs one
_REPLACED = frozenset({"old_text", "oldText", "old_string", "old_str", "edits", "patch", "diff"})
_WRITTEN = frozenset({"content", "contents", "text", "file_text"})
_DELETES = frozenset({"delete", "remove", "rm", "drop", "destroy", "purge", "erase", "wipe"})
_CREATES = frozenset({"create", "new", "mkdir", "touch"})
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
DANGEROUS = re.compile(
    r"(?<![\w./-])(?:rm|dd|mkfs\S*|shred|truncate|chmod|chown|push|sudo|kill|pkill|killall|reset --hard|mv"
    r"|(?:curl|wget)\b[^|;&\n]*\|\s*(?:ba|z)?sh)(?![\w.-])"
)
"""Words of a command that may do what can't be taken back."""


@dataclass(frozen=True, slots=True)
class Risk:
    """A word for what a call may do, and where the word comes from."""

    word: RiskWord = "changes"
    by: str = "nothing more is known"

    def dangers_in(self, command: str) -> list[tuple[int, int]]:
        """Find words in a command that may do what can't be taken back."""
        return [found.span() for found in DANGEROUS.finditer(command)] if self.word == "runs" else []

    @staticmethod
    def of(spec: ToolSpec | None, arguments: Mapping[str, Any]) -> Risk:
        """Return the risk of a call. Its server's hint never makes it smaller than what the arguments show."""
        if spec is not None and spec.builtin:
            word: RiskWord = "sends" if spec.tool == AGENT else "reads" if spec.annotations.read_only else "changes"
            return Risk(word, "by Fanout itself")
        named = {word.lower() for word in _WORD.findall(spec.tool)} if spec is not None else set[str]()
        shown = _shown(named, arguments)
        if shown is not None:
            return Risk(shown, "its arguments show it")
        if spec is not None and spec.annotations.read_only:
            return Risk("reads", "declared by server")
        if spec is not None and spec.annotations.declares_effect:
            return Risk("changes", "declared by server")
        return Risk()


def _shown(named: Collection[str], arguments: Mapping[str, Any]) -> RiskWord | None:
    if not COMMANDS.isdisjoint(arguments):
        return "runs"
    if not _DELETES.isdisjoint(named):
        return "deletes"
    if not _REPLACED.isdisjoint(arguments):
        return "edits"
    if not _CREATES.isdisjoint(named):
        return "creates"
    if "path" in " ".join(arguments) and not _WRITTEN.isdisjoint(arguments):
        return "edits"
    values = (value for value in arguments.values() if isinstance(value, str))
    return "network" if any(value.startswith(("http://", "https://")) for value in values) else None
