"""The outcome of reading an answer: calls, problems, events; frozen, so that they can be stored and compared."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypeGuard

from console_app.records import dataclass, field

Arguments: TypeAlias = dict[str, Any]
"""Arguments of a call: JSON values, whose shape only the tool's own schema knows."""

Schema: TypeAlias = Mapping[str, Any]

ErrorKind: TypeAlias = Literal["truncated", "invalid"]
ReadingLevel: TypeAlias = Literal["none", "marked", "all"]
"""Which calls of a text are read: none · all, but one that only its shape shows asks, and has to fit its tool · all."""

ProblemKind: TypeAlias = Literal["truncated", "invalid", "repaired", "ignored", "asks"]
GAVE_UP = "the rest of the answer is not read for calls"
IS_PYTHON = "the code in a tool_code block is no call of a tool"
UNMARKED = "unmarked in the answer's text: only its shape shows that it is a call"
UNQUOTED = "a text without quotes of its own"
IN_REASONING = "Not taken as a call: it stands in reasoning"


@dataclass(frozen=True, slots=True)
class ToolSignature:
    """A tool as far as calls need it: its name, the JSON schema of its parameters, and for prompts its description."""

    name: str
    parameters: Schema = field(default_factory=dict[str, Any])
    description: str = ""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """The parts of a call that are needed to write it."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(slots=True)  # there may be thousands, and a frozen one takes twice as long to make
class ParsedCall:
    """A call, complete and decoded. `index` counts the calls the answer attempted, the unreadable ones included. `raw`
    is the exact source text, `start:end` of the answer, `around` reaches over its marks, if it is alone between them.
    `repaired` says in words what was mended. `known` is false for a name that no tool has, `marked` for a call that
    only its shape shows. `form` is the family that writes so, `stood` says in words where it stood, `asks` why a person
    has to approve it in every mode; None: its place is clean."""

    index: int
    name: str
    arguments: Arguments
    form: str
    raw: str
    start: int
    end: int
    repaired: tuple[str, ...] = ()
    known: bool = True
    marked: bool = True
    stood: str = ""
    asks: str | None = None
    around: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """Something that was not read as written: a plain sentence, and where it stands; `line` and `column` count from 1.
    `raw` is bounded to 500 characters. `index` is the call's place among the calls attempted, when it was one. `name`
    of what was ignored is a tool there is, that the text seems to call."""

    kind: ProblemKind
    message: str
    start: int
    end: int
    line: int
    column: int
    raw: str
    name: str | None = None
    index: int | None = None

    @property
    def thought(self) -> bool:
        return self.message.startswith(IN_REASONING)

    @property
    def is_told(self) -> bool:
        """Tell whether people are told of it although it may name no tool."""
        return self.message.lower().startswith((GAVE_UP, IS_PYTHON))


@dataclass(frozen=True, slots=True)
class ScanResult:
    """A whole answer, read. `content` is what a person should see, `reasoning` what think blocks held."""

    calls: tuple[ParsedCall, ...]
    content: str
    reasoning: str
    error: ErrorKind | None
    dialect: str | None
    problems: tuple[ScanProblem, ...]


@dataclass(slots=True)  # there is one for nearly every piece
class VisibleText:
    """Text that belongs on the screen, in order; never part of a tag."""

    text: str


@dataclass(slots=True)
class CallNamed:
    """A call's name is sure. Provisional: calls are final only when the answer has ended."""

    index: int
    name: str
    dialect: str


@dataclass(slots=True)
class CallArgumentsDelta:
    """More of an open call's source text, as the model writes it."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallRetracted:
    """A text that looked like a call is none, or cannot be read; its index may be used again."""

    index: int


@dataclass(frozen=True, slots=True)
class CallFinal:
    """A call in the licensed form may start: nothing that is still to come takes it back. The result has it too."""

    call: ParsedCall


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Replace the text shown so far with `content`; while the answer goes on it is empty, for all was reasoning."""

    content: str


ScanEvent: TypeAlias = VisibleText | CallNamed | CallArgumentsDelta | CallRetracted | CallFinal | Rewritten


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


class Unreadable(ValueError):
    """Text that is not what it should be. `offset` counts from the start of the text that was given."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
