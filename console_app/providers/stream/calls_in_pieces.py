"""The calls of an answer while they come in pieces, whatever their wire: how each is told of, and how it ends.

Which call the arguments without an owner belong to is told by elimination, never by a likeness of labels. While an
answer holds such arguments, no call without a whole object of its own may run. One such call and one such stream belong
together, and a person is asked. A call without arguments ends when its answer is over, and runs only where nothing else
in the answer, read or not, may be what it lacks.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from console_app.domain import chunks as ch
from console_app.domain import one_line
from console_app.providers.stream.loose_json import obj, object_problem, text
from console_app.providers.stream.offered_tools import OfferedTools
from console_app.records import dataclass, field, replace

UNOWNED = "the answer holds arguments that no label gives to a call, so this call may not be whole"
PAIRED = "its arguments came under another label"
INCOMPLETE = "the endpoint marked it incomplete"
TWICE = "its arguments came twice, and differ"
ANOTHER = "a call of the same answer is broken, and its arguments may be those of this call"
SAME_ID = "two calls of the answer have one id, so they may be one call"


class ChunkBuffer:
    """The chunks of one answer that nobody took yet, in the order in which they came. More of the same becomes one
    chunk.

    `urgent`: it holds more than pieces of what grows. `grown`: how many characters of what grows were added, taken or
    not. A token is a piece in a list until it is taken: an object each would cost as much as reading its JSON.
    """

    def __init__(self) -> None:
        self.urgent = False
        self.grown = 0
        self._chunks: list[ch.Chunk] = []
        self._pieces: list[str] = []  # of what grows at the end
        self._grows: type[ch.TextChunk | ch.ReasoningChunk] | int | None = None  # a number: the arguments of that call

    def __iter__(self) -> Iterator[ch.Chunk]:
        self._join()
        return iter(self._chunks)

    def add(self, to: type[ch.TextChunk | ch.ReasoningChunk] | int, piece: str) -> None:
        """Add to what grows: text, reasoning, or the arguments of the call of a number."""
        if self._grows != to:
            self._join()
            self._grows = to
        self._pieces.append(piece)
        self.grown += len(piece)

    def append(self, chunk: ch.Chunk) -> None:
        """Add a chunk that is more of nothing."""
        self._join()
        self._chunks.append(chunk)
        self.urgent = True

    def extend(self, chunks: Iterable[ch.Chunk]) -> None:
        for chunk in chunks:
            self.append(chunk)

    def take(self) -> list[ch.Chunk]:
        """Return the chunks since the last time."""
        self._join()
        chunks, self._chunks, self.urgent = self._chunks, [], False
        return chunks

    def _join(self) -> None:
        grows = self._grows
        if grows is None:
            return
        whole, self._grows = "".join(self._pieces), None
        self._pieces.clear()
        self._chunks.append(ch.CallDelta(grows, whole) if isinstance(grows, int) else grows(whole))


@dataclass(slots=True, eq=False)
class CallInPieces:
    """A call that has begun. `initial` are arguments that came whole with its name; pieces that follow replace them."""

    index: int
    id: str
    name: str
    initial: str = ""
    pieces: list[str] = field(default_factory=list[str])
    opened: bool = False
    ended: bool = False
    marked: bool = False  # the server marked its end
    late: bool = False  # its arguments began before its name
    doubt: str = ""  # why it may not run, though it may look whole
    paired: str = ""  # why a person is asked: its arguments became its own by elimination
    data: dict[str, Any] = field(default_factory=dict[str, Any])  # what its endpoint wants back with it

    @property
    def made_by(self) -> str:
        """The provider's id of its program that makes the call, as far as that is told; else ""."""
        caller = obj(obj(self.data.get("fields")).get("caller"))
        return text(caller.get("caller_id")) or text(caller.get("tool_id"))

    @property
    def arguments(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else self.initial

    @property
    def whole(self) -> bool:
        """Tell whether an object of arguments is complete."""
        text = self.arguments
        return text.rstrip().endswith("}") and not object_problem(text)

    @property
    def empty(self) -> bool:
        return is_empty(self.arguments)

    def is_taken_back(self, text: str) -> bool:
        """Tell whether either of the pieces so far, and of arguments that are said to be these, hold nothing."""
        return bool(self.pieces and self.arguments.strip()) and self.empty != is_empty(text)

    def contradicts(self, text: str) -> bool:
        """Tell whether pieces that are whole, and arguments that are said to be these, hold different things."""
        both = self.pieces and self.whole and not object_problem(text)
        return bool(both) and json.loads(self.arguments) != json.loads(text)


class Unowned:
    """The arguments of one answer that no label gives to a call: a stream a label. `doubt` says why no call of the
    answer may run without arguments, if so."""

    def __init__(self) -> None:
        self.doubt = ""
        self.repeats: list[str] = []  # that an event repeats whole: of a call that has them, or nobody's
        self._streams: dict[Hashable, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._streams or self.repeats or self.doubt)

    def add(self, label: Hashable, text: str) -> None:
        if text.strip() or label in self._streams:
            self._streams.setdefault(label, []).append(text)

    def take(self, label: Hashable) -> str:
        """Return the stream under `label`, whose owner is known now; "" where there is none."""
        return "".join(self._streams.pop(label, ()))

    def settle(self, calls: Sequence[CallInPieces], tools: OfferedTools) -> list[str]:
        """Judge the calls of an answer that has ended; return the streams that stay nobody's."""
        if max(Counter(call.id for call in calls if call.id).values(), default=0) > 1:
            self.doubt = self.doubt or SAME_ID
        owned = {call.arguments for call in calls if not call.empty}
        unlabelled = ["".join(pieces) for pieces in self._streams.values()]
        streams = [*unlabelled, *({*self.repeats} - owned - {*unlabelled})]
        open_ = [call for call in calls if not call.ended]
        needy = [call for call in open_ if call.name and not call.late and not _complete(call, tools)]
        spoilt = any(call.late or call.doubt not in ("", INCOMPLETE) or not (call.name or call.empty) for call in open_)
        if len(needy) == len(streams) == 1 and not spoilt:
            (call,) = needy
            call.pieces[:] = streams if call.empty else [call.arguments, *streams]
            call.paired = PAIRED
            return []
        if streams or spoilt or not all(call.empty for call in needy):
            self.doubt = self.doubt or UNOWNED
        if streams or needy:
            for call in open_:
                if call.late:
                    call.doubt = UNOWNED
        return unlabelled


class CallsInPieces(ABC):
    """The calls of one answer, of the `tools` that were offered. Methods append chunks to `out`."""

    def __init__(self, out: ChunkBuffer, tools: OfferedTools) -> None:
        self._out = out
        self._tools = tools
        self._unowned = Unowned()
        self.known_to_pair = False  # a test of the endpoint has shown that this is how it labels

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def finish(self, cut: str = "") -> None:
        """Note that the model stopped. `cut` says by what open calls were cut off and broken, "" for a normal end."""

    @abstractmethod
    def over(self) -> None:
        """End the calls that are still open, and break what began behind a normal end: nothing more comes."""

    def stray(self, place: str) -> None:
        """Doubt every call without arguments: what may be its arguments stands at `place`, which nobody reads."""
        unread = f"the answer holds what may be its arguments in a place that is not read: {one_line(place, 60)}"
        self._unowned.doubt = self._unowned.doubt or unread

    def repeat(self, arguments: Any) -> None:
        """Take arguments that something repeats, and that no label gives to a call."""
        if not is_empty(text := arguments_text(arguments)):
            self._unowned.repeats.append(text)

    def _announce(self, call: CallInPieces) -> None:
        if call.opened:
            return
        call.opened = True
        self._out.append(ch.CallOpened(call.index, call.id, self._tools.called(call.name), caller=call.made_by))
        if call.data:
            self._out.append(ch.ProviderData(dict(call.data), call.index, call.made_by))
        if call.pieces:
            self._out.add(call.index, call.arguments)

    def _add(self, call: CallInPieces, text: str) -> None:
        """Add arguments to `call`; what follows its end is passed over."""
        if call.ended or not text:
            return
        call.pieces.append(text)
        if call.opened:
            self._out.add(call.index, text)
        elif call.name:
            self._announce(call)

    def _tell_end(self, call: CallInPieces, cut: str, problem: str, must_ask: str) -> None:
        """End a call for good: broken where its answer was `cut` or there is a `problem`, else as it can be read.

        `must_ask` says why a person has to see it, if so.
        """
        self._announce(call)
        if call.initial and not call.pieces:
            self._out.add(call.index, call.initial)
        call.ended = True
        text = call.arguments
        if cut:
            problem = f"cut off by {cut} after {len(text):,} characters"
        elif not call.name:
            problem = "the call names no tool"
        end = ch.CallBroken(call.index, problem, text) if problem else self._tools.read(call.index, call.name, text)
        runs_empty = isinstance(end, ch.CallClosed) and is_empty(end.arguments)
        if runs_empty or (call.empty and call.name and not cut):
            end = ch.CallBroken(call.index, self._unowned.doubt, text) if self._unowned.doubt else end
        elif isinstance(end, ch.CallBroken) and not cut:
            self._unowned.doubt = self._unowned.doubt or ANOTHER
        if isinstance(end, ch.CallClosed) and must_ask and not (must_ask == PAIRED and self.known_to_pair):
            end = replace(end, must_ask=end.must_ask or must_ask)
        self._out.append(end)


def arguments_text(arguments: Any) -> str:
    """Return the JSON text of arguments that a server sent as text, as an object, or not at all."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def is_empty(arguments: str) -> bool:
    """Tell whether arguments hold nothing: no text, null, or an object without a key."""
    bare = arguments.strip()
    return bare in ("", "null") or (bare[:1] + bare[-1:] == "{}" and not bare[1:-1].strip())


def _complete(call: CallInPieces, tools: OfferedTools) -> bool:
    if call.empty or call.whole:
        return not call.empty
    return not isinstance(tools.read(call.index, call.name, call.arguments), ch.CallBroken)
