"""Makes whole calls out of the fragments of a chat completion, where nothing says where a call begins or ends.

Servers are seen to send two calls under one index with different ids, empty, repeated or ever new ids, no index, names
split over fragments or repeated in each, a whole call in one fragment, and arguments as an object in place of its text.

Every fragment has one owner, or its arguments run nowhere. It is labelled with the index and the id that its server
gave, as far as it gave them, and belongs to the one open call under that label, or to the only open one where it has no
index. What belongs to none is kept until the answer ends, and then told by elimination (`calls_in_pieces`).

A call ends, and may run, only when its end is certain: a later call began and this one's object is whole, or the answer
came to a normal end (`finish`, and `over` for those without a whole object). What was cut off, is in doubt or can't be
read becomes a CallBroken, which says why. Complete arguments that are almost JSON are mended, and then a person is
asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from console_app.domain import chunks as ch
from console_app.providers.stream.calls_in_pieces import (
    UNOWNED,
    CallInPieces,
    CallsInPieces,
    ChunkBuffer,
    arguments_text,
)
from console_app.providers.stream.offered_tools import OfferedTools
from console_app.records import dataclass

NAMED_AGAIN = "its name came again without a label that says of which call, so this may be one call or two"


class Label(NamedTuple):
    """The index and the id by which a fragment tells its call, as far as its server gives them."""

    key: int | None = None
    id: str = ""

    def may_be(self, other: Label) -> bool:
        """Tell whether both may label one call, by their keys."""
        return self.key == other.key or self.key is None or other.key is None


@dataclass(slots=True, eq=False, kw_only=True)
class _Call(CallInPieces):
    """A call that a label tells from the others."""

    label: Label
    tentative: bool = False  # a name that came again behind a whole object: another call only if arguments follow


class ChatCalls(CallsInPieces):
    """The calls of one answer."""

    def __init__(self, out: ChunkBuffer, tools: OfferedTools) -> None:
        super().__init__(out, tools)
        self._calls: list[_Call] = []
        self._open: list[_Call] = []  # in call order
        self._whole = -1  # so many calls had begun when the answer came to a normal end
        self._ended: dict[int | None, _Call] = {}  # the latest under each key
        self._ended_ids: dict[str, list[_Call]] = {}
        self._last: tuple[Label, _Call] | None = None  # the owner of the last fragment, while nothing else happened

    def __len__(self) -> int:
        return len(self._calls)

    def fragment(self, label: Label, name: str, arguments: Any) -> None:
        """Take one piece of a call. `arguments` is text, an object, or None."""
        text = arguments_text(arguments)
        call = self._labelled(label)
        if not name:
            # More arguments; or the id alone, of a call whose name is still to come.
            if label.id and label.key is not None and not arguments and call is None:
                self._begin(label, "")
            else:
                self._more(label, text)
            return
        if self._ambiguous(call, label, name):
            return
        if call is None or not self._is_its_own(call, label, name, text):
            repeated = call is not None and call.name == name and not text.strip() and not label.id
            # The name of a tool that another's begins with may still grow.
            call = self._begin(label, name, announce=not repeated and self._is_tool(name))
            call.tentative = repeated
        elif not call.name and call.pieces:
            call = self._named(call, label)
            call.doubt = "its name came when another call had begun" if call.opened else call.doubt
            call.name, call.late = name, True
        elif call.ended or call.whole:
            return  # the whole call, repeated at its end
        elif not (call.opened or call.tentative):
            self._grow(self._named(call, label), name)
        if text.strip() or not call.tentative:
            self._add(call, text)

    def more(self, key: int, text: str) -> bool:
        """Take more arguments under `key` alone, as the last fragment's were; False where that says too little."""
        last = self._last
        if last is None or last[0].key != key or last[0].id or not text:
            return False
        self._add(last[1], text)
        return True

    def keep(self, label: Label, data: dict[str, Any]) -> None:
        """Keep what its endpoint wants back with the call under `label`."""
        if (call := self._labelled(label)) is not None:
            self._keep(call, data)

    def finish(self, cut: str = "") -> None:
        self._drop_tentative()
        self._last = None
        if not cut:
            self._whole = len(self._calls)
        for call in self._open.copy():
            if cut and call.marked and call.empty and not self._unowned:
                self._end(call)
            elif cut or (call.whole and not (call.empty or call.late or call.doubt)):
                self._end(call, cut)

    def over(self) -> None:
        self._drop_tentative()
        unowned = self._unowned.settle(self._calls, self._tools) if self._whole >= 0 else []
        for call in sorted(self._open, key=lambda call: call.empty):
            self._end(call, "" if call.index < self._whole else "the end of the answer")
        for text in unowned:
            call = self._begin(Label(), "")
            self._add(call, text)
            self._end(call)

    # -- which call a fragment belongs to

    def _more(self, label: Label, text: str) -> None:
        if not text:
            return
        if self._whole >= 0:  # behind the finish it is nobody's, whatever its label says
            self._unowned.add(_stream(label), text)
        elif self._last is not None and self._last[0] == label:
            self._add(self._last[1], text)
        elif call := self._owner(label, text):
            self._last = label, call
            self._add(call, text)

    def _labelled(self, label: Label) -> _Call | None:
        """Return the latest call under `label`, ended or not."""
        near = [call for call in self._near(label) if self._same(call.label, label)]
        return near[-1] if near else self._past(label) or self._ended.get(label.key)

    def _near(self, label: Label) -> list[_Call]:
        near = [call for call in self._open if call.label.may_be(label)]
        if label.id:
            same = [call for call in near if call.label.id == label.id]
            if same or self._past(label):
                return same
        return near

    def _past(self, label: Label) -> _Call | None:
        return next((call for call in reversed(self._ended_ids.get(label.id, ())) if call.label.may_be(label)), None)

    def _owner(self, label: Label, text: str) -> _Call | None:
        """Return the one call that a fragment belongs to; None when there's no telling, and it is kept as nobody's."""
        near = self._near(label)
        if len(near) > 1:
            near = [call for call in near if not call.whole] or near[-1:]
        if len(near) == 1 and self._same(near[0].label, label):
            return self._named(near[0], label)
        self._unowned.add(_stream(label), text)
        return None

    def _same(self, begun: Label, label: Label) -> bool:
        """Tell whether a label says enough to be `begun`'s, or that call alone is open. Some servers change ids."""
        if begun.id and label.id and (begun.key is None or label.key is None):
            return begun.id == label.id
        return begun.key == label.key or (len(self._open) == 1 and (begun.key is None or label.key is None))

    def _is_its_own(self, call: _Call, label: Label, name: str, text: str) -> bool:
        """Tell whether a name under the label of `call` is this call's, and not the next one's."""
        if label.id and call.label.id and label.id != call.label.id:
            return False
        if not call.name:
            return not call.ended
        if not call.pieces:
            return name == call.name or not (call.opened or self._is_another(call, name))
        if not call.whole:
            return name == call.name
        return bool(label.id) and name == call.name and (not text.strip() or text == call.arguments)

    def _ambiguous(self, call: _Call | None, label: Label, name: str) -> bool:
        """Tell whether a name may be one of several calls', or a repeated one as well as another call's.

        Then all calls that it might belong to are in doubt.
        """
        near = [one for one in self._open if one.name and one.label.may_be(label) and not one.tentative]
        near = [one for one in near if one.name == name or (not one.opened and self._known(one.name + name))]
        near = [one for one in near if not (one.label.id and label.id) and not one.whole]
        if not near or (call and near == [call] and (label.key is not None or call.name != name)):
            return False
        for one in near:
            one.doubt = NAMED_AGAIN
        return True

    # -- the life of a call

    def _begin(self, label: Label, name: str, *, announce: bool = True) -> _Call:
        self._drop_tentative()
        for earlier in self._open.copy():
            self._announce(earlier)
            # Interleaved calls go on after a later one began, so only a whole object tells that this one is over; one
            # that came with the name doesn't, as pieces may still replace it.
            if earlier.pieces and earlier.whole and not earlier.late:
                earlier.marked = True
                if not earlier.empty:
                    self._end(earlier)
        call = _Call(len(self._calls), label.id, name, label=label, data={"id": label.id} if label.id else {})
        self._calls.append(call)
        self._open.append(call)
        self._last = None
        if announce and name:
            self._announce(call)
        if name and (text := self._unowned.take(_stream(label))):
            call.late = True
            self._add(call, text)
        return call

    def _named(self, call: _Call, label: Label) -> _Call:
        if label.id and not call.label.id:
            call.label, call.id = call.label._replace(id=label.id), call.id or label.id
            self._keep(call, {"id": call.id})
        return call

    def _keep(self, call: _Call, data: dict[str, Any]) -> None:
        if all(call.data.get(name) == value for name, value in data.items()):
            return
        call.data |= data
        if call.opened:
            self._out.append(ch.ProviderData(dict(call.data), call.index))

    def _drop_tentative(self) -> None:
        if self._open and self._open[-1].tentative and not self._open[-1].pieces:
            self._open.pop()
            self._calls.pop()
            self._last = None

    def _end(self, call: _Call, cut: str = "") -> None:
        self._open.remove(call)
        self._last = None
        self._ended[call.label.key] = call
        if call.label.id:
            self._ended_ids.setdefault(call.label.id, []).append(call)
        self._tell_end(call, cut, call.doubt, call.paired)

    # -- names

    def _is_tool(self, name: str) -> bool:
        """Tell whether `name` is a tool's, and not the beginning of a longer one's too."""
        names = self._tools.names
        return name in names and not any(other != name and other.startswith(name) for other in names)

    def _known(self, name: str) -> bool:
        return any(known.startswith(name) for known in self._tools.names)

    def _is_another(self, call: _Call, name: str) -> bool:
        """Tell whether `name` is a tool that the name of `call`, a tool's too, can't grow into."""
        both_tools = {name, call.name} <= self._tools.names
        return both_tools and not self._known(call.name + name) and not name.startswith(call.name)

    def _grow(self, call: _Call, piece: str) -> None:
        joined = call.name + piece
        if not self._known(joined) and piece.startswith(call.name):  # repeated, or sent anew as a whole
            if piece != call.name and {call.name, piece} <= self._tools.names:
                call.doubt = UNOWNED  # or the name of another call
            joined = piece
        call.name = joined
        if self._is_tool(call.name):
            self._announce(call)


def _stream(label: Label) -> int | str:
    """Tell where arguments without an owner are kept: some servers change ids midway."""
    return label.id if label.key is None else label.key
