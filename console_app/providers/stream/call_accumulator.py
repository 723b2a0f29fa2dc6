"""Makes whole calls out of the fragments of an answer. Every fragment has one owner, or its arguments run nowhere.

A fragment is labelled with the index and the id that its server gave, as far as it gave them, and belongs to the one
open call under that label, or to the only open one where it has no index. What belongs to none is kept until the
answer ends, and then told by elimination (`unowned`).

A call ends, and may run, only when its end is certain: a later call began and this
one's object is whole, or the answer came to a normal end (`finish`). What was cut off, is in doubt or can't be read
becomes a CallBroken, which says why. Complete arguments that are almost JSON are mended, and then a person is asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from console_app.domain.chunks import CallBroken, CallClosed, CallOpened, ProviderData
from console_app.providers.stream.chunk_buffer import ChunkBuffer
from console_app.providers.stream.offered_tools import OfferedTools
from console_app.providers.stream.unowned import CallInPieces, Unowned


class Label(NamedTuple):
    """What a fragment says of the call that it belongs to, as far as its server says it."""

    key: int | None = None
    id: str = ""

    def may_be(self, other: Label) -> bool:
        """Whether both may label one call, by their keys."""
        return self.key == other.key or self.key is None or other.key is None


@dataclass(slots=True, eq=False, kw_only=True)
class Call(CallInPieces):
    """One that its fragments are told to be of by a label."""

    label: Label
    tentative: bool = False  # a name that came again behind a whole object: another call only if arguments follow
    data: dict[str, Any] | None = None  # what its endpoint wants back with it


class CallAccumulator:
    """The calls of one answer, of the `tools` that were offered. Methods append chunks to `out`."""

    def __init__(self, out: ChunkBuffer, tools: OfferedTools | None = None) -> None:
        self._out = out
        self._tools = tools or OfferedTools()
        self._count = 0
        self.open: list[Call] = []  # in call order
        self._ended: dict[int | None, Call] = {}  # the latest under each key
        self._ended_ids: dict[str, list[Call]] = {}
        self._unowned = Unowned()
        self._last: tuple[Label, Call] | None = None  # the owner of the last fragment, while nothing else happened

    def __len__(self) -> int:
        return self._count

    def begin(
        self,
        label: Label,
        id: str,
        name: str,
        arguments: str = "",
        *,
        announce: bool = True,
        data: dict[str, Any] | None = None,
    ) -> Call:
        """Another call. Without `announce` its name may still grow; `data`, where an id that comes late is kept too,
        goes back with it."""
        self._drop_tentative()
        for earlier in self.open.copy():
            self.announce(earlier)
            # Interleaved calls go on after a later one began, so only a whole object tells that this one is over; one
            # that came with the name doesn't, as pieces may still replace it.
            if earlier.pieces and earlier.whole and not earlier.late:
                self._end(earlier)
        call = Call(self._count, id, name, arguments, label=label, data=data)
        self._count += 1
        self.open.append(call)
        self._last = None
        if announce and name:
            self.announce(call)
        if name and (text := self._unowned.take(_stream(label))):
            call.late = True
            self.add(call, text)
        return call

    def fragment(self, label: Label, arguments: Any) -> None:
        """More arguments (text, an object, or None) of the call that `label` tells."""
        text = arguments_text(arguments)
        if not text:
            return
        if self._last is not None and self._last[0] == label:
            self.add(self._last[1], text)
        elif call := self._owner(label, text):
            self._last = label, call
            self.add(call, text)

    def more(self, key: int, text: str) -> bool:
        """More arguments under `key` alone, as the last fragment's were; False where there is more to ask than that."""
        last = self._last
        if last is None or last[0].key != key or last[0].id or not text:
            return False
        self.add(last[1], text)
        return True

    def add(self, call: Call, text: str) -> None:
        """More arguments of `call`; what follows its end is passed over."""
        if call.ended or not text:
            return
        if call.opened:
            call.pieces.append(text)
            self._out.add_arguments(call.index, text)
            return
        call.pieces.append(text)
        if call.name:
            self.announce(call)

    def finish(self, cut: str = "") -> None:
        """The answer is over. `cut` says by what it was cut off, "" for a normal end: open calls end, or are broken."""
        self._drop_tentative()
        for text in () if cut else self._unowned.settle(self.open, self._tools):
            self.add(self.begin(Label(), "", ""), text)
        for call in self.open.copy():
            self._end(call, cut)

    def over(self) -> None:
        """Nothing more comes: what began behind the finish is broken."""
        self.finish("the end of the answer")

    def labelled(self, label: Label) -> Call | None:
        """The latest call under `label`, ended or not."""
        near = [call for call in self._near(label) if self._same(call.label, label)]
        return near[-1] if near else self._past(label) or self._ended.get(label.key)

    def announce(self, call: Call) -> None:
        """The call's name is known."""
        if call.opened:
            return
        call.opened = True
        self._out.append(CallOpened(call.index, call.id, self._tools.called(call.name)))
        if call.data:
            self._out.append(ProviderData(call.data, call.index))
        if call.pieces:
            self._out.add_arguments(call.index, call.arguments)

    def named(self, call: Call, label: Label) -> Call:
        """`call`, with the id that came only now."""
        if label.id and not call.label.id:
            call.label, call.id = call.label._replace(id=label.id), call.id or label.id
            if call.data is not None:
                self.keep(call, {"id": call.id})
        return call

    def keep(self, call: Call, data: dict[str, Any]) -> None:
        """What its endpoint wants back with a call, beside what is known of that."""
        if all((call.data or {}).get(name) == value for name, value in data.items()):
            return
        call.data = (call.data or {}) | data
        if call.opened:
            self._out.append(ProviderData(call.data, call.index))

    # -- which call a fragment belongs to

    def _near(self, label: Label) -> list[Call]:
        near = [call for call in self.open if call.label.may_be(label)]
        if label.id:
            same = [call for call in near if call.label.id == label.id]
            if same or self._past(label):
                return same
        return near

    def _past(self, label: Label) -> Call | None:
        """The latest call with the label's id that has ended."""
        return next((call for call in reversed(self._ended_ids.get(label.id, ())) if call.label.may_be(label)), None)

    def _owner(self, label: Label, text: str) -> Call | None:
        """The one call that a fragment belongs to; None when there's no telling, and it is kept as nobody's."""
        near = self._near(label)
        if len(near) > 1:
            near = [call for call in near if not call.whole] or near[-1:]
        if len(near) == 1 and self._same(near[0].label, label):
            return self.named(near[0], label)
        self._unowned.add(_stream(label), text)
        return None

    def _same(self, begun: Label, label: Label) -> bool:
        """Whether a label says enough to be that of the call which began under `begun`, or that call alone is open.
        Some servers change ids midway."""
        if begun.id and label.id and (begun.key is None or label.key is None):
            return begun.id == label.id
        return begun.key == label.key or (len(self.open) == 1 and (begun.key is None or label.key is None))

    # -- how a call ends

    def _drop_tentative(self) -> None:
        if self.open and self.open[-1].tentative and not self.open[-1].pieces:
            self.open.pop()
            self._count -= 1
            self._last = None

    def _end(self, call: Call, cut: str = "") -> None:
        self.announce(call)
        if call.initial and not call.pieces:
            self._out.add_arguments(call.index, call.initial)
        call.ended = True
        self.open.remove(call)
        self._last = None
        self._ended[call.label.key] = call
        if call.label.id:
            self._ended_ids.setdefault(call.label.id, []).append(call)
        text = call.arguments
        if cut:
            problem = f"cut off by {cut} after {len(text):,} characters"
        elif not call.name:
            problem = "the call names no tool"
        else:
            problem = call.doubt
        end = CallBroken(call.index, problem, text) if problem else self._tools.read(call.index, call.name, text)
        if isinstance(end, CallClosed) and call.paired:
            end = replace(end, must_ask=end.must_ask or call.paired)
        self._out.append(end)


def arguments_text(arguments: Any) -> str:
    """The JSON text of arguments that a server sent as text, as an object, or not at all."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _stream(label: Label) -> int | str:
    """Where arguments without an owner are kept: some servers change ids midway."""
    return label.id if label.key is None else label.key
