"""The calls of an answer whose wire names the block or item that each fragment belongs to (Responses, Anthropic).

A call runs when its own closing event came: at once with a whole object, else at a normal end of the answer. Where that
event is missing though others came, something was lost, and the call doesn't run. An endpoint that closes nothing says
by the normal end that its calls are whole, and a person is asked. A label is the place in the answer, the item's id and
the call's id, as far as an event says them. A fragment or a closing event belongs to
the one call that agrees with it and contradicts it nowhere, or to the only open one where it has no label. Where there
is none, or several, it is kept until the answer ends, and then told by elimination (`calls_in_pieces`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from console_app.domain import chunks as ch
from console_app.providers.stream.calls_in_pieces import (
    INCOMPLETE,
    TWICE,
    CallInPieces,
    CallsInPieces,
    ChunkBuffer,
    arguments_text,
)
from console_app.providers.stream.offered_tools import OfferedTools
from console_app.records import dataclass

NOT_MARKED = "its endpoint did not mark where it ends"
NEVER_BEGUN = "The endpoint sent arguments that belong to no call: they were not run."


class Where(NamedTuple):
    """The labels by which an event tells the call that it is of; "" or None where it says nothing."""

    place: int | None = None  # output_index, or the index of the content block
    item: str = ""
    call: str = ""

    def agreement(self, other: Where) -> int:
        """Tell how many labels are the same; -1 when one contradicts. Some servers change an item's id midway."""
        placed = self.place is not None and other.place is not None
        if (placed and self.place != other.place) or (self.call and other.call and self.call != other.call):
            return -1
        if self.call and other.call and self.place == other.place:
            return 3
        if self.item and other.item and self.item != other.item:
            return -1
        return placed + bool(self.call and other.call) + bool(self.item and other.item)


@dataclass(slots=True, eq=False, kw_only=True)
class LabelledCall(CallInPieces):
    """A call whose place in the answer is known."""

    where: Where


class LabelledCalls(CallsInPieces):
    """The calls of one answer. `closing` is the format's name for the event that ends a call, of which a call has only
    one where `once` says so."""

    def __init__(self, out: ChunkBuffer, closing: str, tools: OfferedTools, *, once: bool = False) -> None:
        super().__init__(out, tools)
        self._closing = closing
        self._once = once
        self.closes = False  # a closing event came, of a call or of what stands beside them
        self._calls: list[LabelledCall] = []
        self._at: dict[int | None, list[LabelledCall]] = {}  # the same by their places
        self._with_id: dict[str, list[LabelledCall]] = {}
        self._told: set[int] = set()  # those that a closing event without their id named
        self._last: tuple[Where, LabelledCall] | None = None  # the owner of the last fragment
        self._whole = 0  # so many calls had begun when the answer came to a normal end

    def __len__(self) -> int:
        return len(self._calls)

    def begin(
        self, where: Where, id: str, name: str, arguments: Any = "", fields: dict[str, Any] | None = None
    ) -> None:
        """Begin another call, of which the endpoint wants `fields` back; one that is told of twice is one."""
        self._last = None
        if id and any(call.id == id and call.where.agreement(where) > 0 for call in self._near(where)):
            return
        for earlier in self._calls[-1:]:
            self._announce(earlier)
        data: dict[str, Any] = {"id": id} if id else {}
        data |= {"fields": fields} if fields else {}
        call = LabelledCall(len(self._calls), id, name, arguments_text(arguments), data=data, where=where)
        self._calls.append(call)
        self._at.setdefault(where.place, []).append(call)
        if id:
            self._with_id.setdefault(id, []).append(call)
        if name:
            self._announce(call)

    def keep(self, where: Where, fields: dict[str, Any]) -> None:
        """Keep fields of the call that `where` tells, since its endpoint wants them back."""
        call = self._owner(where, ended=True)
        known: dict[str, Any] = {} if call is None else call.data.get("fields", {})
        if call is None or known | fields == known:
            return
        call.data["fields"] = known | fields
        if call.opened:
            self._out.append(ch.ProviderData(dict(call.data), call.index, call.made_by))

    def fragment(self, where: Where, arguments: Any) -> None:
        """Take more arguments (text, an object, or None) of the call that `where` tells."""
        text = arguments_text(arguments)
        if not text:
            return
        if self._last is not None and self._last[0] == where and not self._last[1].ended:
            call = self._last[1]
        else:
            call = self._owner(where, ended=False)
            known = max((past.where.agreement(where) for past in self._near(where) if past.ended), default=-1)
            if call is not None and (known > call.where.agreement(where) or (call.marked and self._once)):
                call = None
        if call is None:
            self._unowned.add(where, text)
            return
        self._last = where, call
        self._add(call, text)

    def close(self, where: Where, name: str = "", arguments: Any = "") -> None:
        """Take the closing event of a call; `arguments`, where it repeats them, are the truth."""
        # Where ends are marked twice, this may be the second one of a call that has ended, and none of another call.
        call = self._owner(where, ended=not self._once)
        text = arguments_text(arguments)
        if call is not None and not call.ended:
            self._close(call, name, text)
        elif call is None:
            self.repeat(text)

    def close_alone(self) -> None:
        """Take a closing event without any label, in a format that sends one a call: of the only open call."""
        calls = [call for call in self.open if not call.marked]
        if len(calls) == 1:
            self._close(calls[0])

    def _close(self, call: LabelledCall, name: str = "", text: str = "") -> None:
        call.marked = self.closes = True
        call.name = call.name or name
        if text and call.is_taken_back(text):
            call.doubt = self._unowned.doubt = TWICE
        elif text and call.doubt != TWICE:
            call.doubt = ""
            call.paired = TWICE if call.contradicts(text) else call.paired
            if call.name:
                self._announce(call)
            if call.opened and not call.pieces:
                self._out.add(call.index, text)
            call.pieces[:] = [text]
        # At the token limit an end may be marked of a call that was cut off; nothing cut off may run. The name may come
        # with an end that follows.
        if call.whole and call.name and not call.empty:
            self._end(call)

    def incomplete(self, where: Where) -> None:
        """Doubt the call at `where`, whatever it holds: the endpoint says that it is not whole."""
        if (call := self._owner(where, ended=False)) is not None:
            call.doubt = INCOMPLETE

    def known(self, where: Where, name: str, arguments: Any) -> bool:
        """Tell whether a call that a closing event names was told of before. One whose id an event left out is told by
        its place or its arguments, and answers to one closing event."""
        text = arguments_text(arguments)
        for call in self._with_id.get(where.call, ()):
            if call.where.place == where.place or call.where.item == where.item or call.arguments == text:
                return True
        for call in self._calls:
            if (where.call and call.where.call) or call.index in self._told or call.name != name:
                continue
            if call.where.place == where.place or call.arguments == text:
                self._told.add(call.index)
                return True
        return False

    def finish(self, cut: str = "") -> None:
        if not cut:  # behind a normal end some servers still send the closing events
            self._whole = len(self._calls)
        for call in self.open if cut else ():
            # The model went on behind the end that is marked of an empty call, and no arguments may be those of it.
            whole = call.marked and call.empty and call is not self._calls[-1] and not self._unowned
            self._end(call, "" if whole else cut)

    def over(self) -> None:
        unowned = self._unowned.settle(self._calls, self._tools)
        for call in sorted(self.open, key=lambda call: call.empty):
            self._end(call, "" if call.index < self._whole else "the end of the answer")
        if unowned:
            self._out.append(ch.NoticeChunk(NEVER_BEGUN, "warning"))

    @property
    def open(self) -> list[LabelledCall]:
        """Return the calls that have not ended, in call order."""
        return [call for call in self._calls if not call.ended]

    def _near(self, where: Where) -> list[LabelledCall]:
        """Return the calls that are not known to stand at another place than `where`."""
        return self._calls if where.place is None else [*self._at.get(where.place, ()), *self._at.get(None, ())]

    def _owner(self, where: Where, *, ended: bool) -> LabelledCall | None:
        """Return the one call that `where` can tell, among those that are open; with `ended`, among all."""
        calls = [call for call in self._near(where) if ended or not call.ended]
        ranked = [(agreement, call) for call in calls if (agreement := call.where.agreement(where)) >= 0]
        if len(ranked) != 1:
            return None
        ((agreement, call),) = ranked
        return call if agreement or where == Where() else None

    def _end(self, call: LabelledCall, cut: str = "") -> None:
        self._last = None
        problem = call.doubt
        if not (call.marked or problem) and (self.closes or not call.whole):
            problem = f"the endpoint never sent the end of this call ({self._closing})"
        self._tell_end(call, cut, problem, call.paired or ("" if call.marked else NOT_MARKED))
