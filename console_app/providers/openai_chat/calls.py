"""The fragments of calls as OpenAI Chat Completions streams them, with nothing that says where a call begins.

Servers are seen to send two calls under one index with different ids, empty, repeated or ever new ids, no index, names
split over fragments or repeated in each, a whole call in one fragment, and arguments as an object in place of its text.
A fragment without a name is more of a call that has begun; here it is told whether one with a name begins another.
"""

from __future__ import annotations

from typing import Any

from console_app.providers.stream.call_accumulator import Call, CallAccumulator, Label, arguments_text
from console_app.providers.stream.unowned import UNOWNED

NAMED_AGAIN = "its name came again without a label that says of which call, so this may be one call or two"


class ChatCalls:
    """Gives the fragments of one answer to `calls`.

    `names` are the tools that were offered: a name that still grows into one of them is not announced yet.
    """

    def __init__(self, calls: CallAccumulator, names: frozenset[str] = frozenset()) -> None:
        self._calls = calls
        self._names = names

    def keep(self, label: Label, data: dict[str, Any]) -> None:
        """What goes back with the call under `label`."""
        if (call := self._calls.labelled(label)) is not None:
            self._calls.keep(call, data)

    def fragment(self, label: Label, name: str, arguments: Any) -> None:
        """One piece of a call. `arguments` is text, an object, or None."""
        if not name:
            self._nameless(label, arguments)
            return
        text = arguments_text(arguments)
        call = self._calls.labelled(label)
        if self._ambiguous(call, label, name):
            return
        if call is None or not self._is_its_own(call, label, name, text):
            repeated = call is not None and call.name == name and not text.strip() and not label.id
            call = self._begin(label, name, announce=not repeated and self._is_tool(name))
            call.tentative = repeated
        elif not call.name and call.pieces:
            call = self._calls.named(call, label)
            call.doubt = "its name came when another call had begun" if call.opened else call.doubt
            call.name, call.late = name, True
        elif call.ended or call.whole:
            return  # the whole call, repeated at its end
        elif not (call.opened or call.tentative):
            self._grow(self._calls.named(call, label), name)
        if text.strip() or not call.tentative:
            self._calls.add(call, text)

    def _nameless(self, label: Label, arguments: Any) -> None:
        """More arguments; or the id alone, of a call whose name is still to come."""
        if label.id and label.key is not None and not arguments and self._calls.labelled(label) is None:
            self._begin(label, "")
        else:
            self._calls.fragment(label, arguments)

    def _begin(self, label: Label, name: str, *, announce: bool = True) -> Call:
        data = {"id": label.id} if label.id else dict[str, Any]()
        return self._calls.begin(label, label.id, name, announce=announce, data=data)

    def _is_its_own(self, call: Call, label: Label, name: str, text: str) -> bool:
        """Whether a name under the label of `call` is this call's, and not the next one's."""
        if label.id and call.label.id and label.id != call.label.id:
            return False
        if not call.name:
            return not call.ended
        if not call.pieces:
            return name == call.name or not (call.opened or self._is_another(call, name))
        if not call.whole:
            return name == call.name
        return bool(label.id) and name == call.name and (not text.strip() or text == call.arguments)

    def _ambiguous(self, call: Call | None, label: Label, name: str) -> bool:
        """Whether a name may be one of several calls', or a repeated one as well as another call's.

        Then all calls that it might belong to are in doubt.
        """
        near = [one for one in self._calls.open if one.name and one.label.may_be(label) and not one.tentative]
        near = [one for one in near if one.name == name or (not one.opened and self._known(one.name + name))]
        near = [one for one in near if not (one.label.id and label.id) and not one.whole]
        if not near or (call and near == [call] and (label.key is not None or call.name != name)):
            return False
        for one in near:
            one.doubt = NAMED_AGAIN
        return True

    # -- names

    def _is_tool(self, name: str) -> bool:
        """Whether `name` is a tool's, and not the beginning of a longer one's too."""
        return name in self._names and not any(other != name and other.startswith(name) for other in self._names)

    def _known(self, name: str) -> bool:
        return any(known.startswith(name) for known in self._names)

    def _is_another(self, call: Call, name: str) -> bool:
        """Whether `name` is a tool that the name of `call`, a tool's too, can't grow into."""
        return {name, call.name} <= self._names and not self._known(call.name + name) and not name.startswith(call.name)

    def _grow(self, call: Call, piece: str) -> None:
        joined = call.name + piece
        if self._known(joined):
            call.name = joined
        elif piece.startswith(call.name):  # repeated, or sent anew as a whole
            if call.name in self._names and piece in self._names and piece != call.name:
                call.doubt = UNOWNED  # or the name of another call
            call.name = piece
        else:
            call.name = joined
        if self._is_tool(call.name):
            self._calls.announce(call)
