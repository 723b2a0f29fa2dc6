"""Makes whole calls out of the fragments of an answer, however its server cuts and labels them.

Calls are told apart by what the server gives: its key (`index`, `output_index`), its id, and, where those fail, by an
object of arguments being complete when the next name comes. Servers are seen to send two calls under one key with
different ids, empty, repeated or ever new ids, no key, names split over fragments or repeated in each, a whole call in
one fragment, and arguments as an object in place of its text.

A call is closed, and may run, only when its end is certain: the server marked it (`close`), a later call began and
this one's object is whole, or the answer finished. What was cut off or can't be read becomes a CallBroken.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from console_app.domain.ports import CallBroken, CallClosed, CallDelta, CallOpened, Chunk
from console_app.providers.loose_json import SurrogateMender

Ending = Literal["finished", "length", "cut"]


@dataclass(slots=True)
class _Call:
    index: int
    key: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])
    opened: bool = False
    ended: bool = False
    marked: bool = False  # the server marked its end, but it holds no whole object: the finish reason will tell
    next_name: str | None = None  # a name that came again behind a whole object: the next call's, should it have one
    mender: SurrogateMender = field(default_factory=SurrogateMender)

    @property
    def arguments(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class CallAccumulator:
    """The calls of one answer. Methods append chunks to `out`.

    `names` are the tools that were offered: a name that still grows into one of them is not announced yet.
    """

    def __init__(self, out: list[Chunk], names: Collection[str] = ()) -> None:
        self._out = out
        self._names = frozenset(names)
        self._calls: list[_Call] = []
        self._last: _Call | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def fragment(self, key: int | None, id: str = "", name: str = "", arguments: Any = None) -> None:
        """One piece of a call. `arguments` is text, an object, or None."""
        text = arguments_text(arguments)
        last = self._last
        if last is not None and last.key == key and not id and not name and last.opened and last.next_name is None:
            call = last  # the common case: more arguments of the call that is open
        else:
            found = self._find(key, id, name, text)
            if found is None:
                return
            call = found
        if call.ended or not text:
            return
        text = call.mender.mend(text)
        call.pieces.append(text)
        if call.opened:
            self._out.append(CallDelta(call.index, text))
        else:
            self._open(call)

    def close(self, key: int | None, arguments: str | None = None) -> None:
        """The server marked the end of the call under `key`; `arguments`, where it repeats them, is the truth."""
        call = next((call for call in reversed(self._calls) if call.key == key), None)
        if call is None or call.ended:
            return
        if arguments and arguments != call.arguments:
            if not call.pieces:
                self._open(call)
                self._out.append(CallDelta(call.index, arguments))
            call.pieces[:] = [arguments]
        # At the token limit a server may mark the end of a call that it cut off; nothing cut off may run.
        if _whole(call.arguments):
            self._end(call, "finished")
        else:
            call.marked = True

    def finish(self, ending: Ending) -> None:
        """The answer is over: every call still open is closed, or broken when it was cut off."""
        for call in self._calls:
            if not call.ended:
                self._end(call, ending)

    # -- which call a fragment belongs to

    def _find(self, key: int | None, id: str, name: str, text: str) -> _Call | None:
        call = self._candidate(key, id, name)
        if call is None:
            return self._begin(key, id, name) if id or name or text.strip() else None
        if self._starts_next(call, id, name, text):
            return self._begin(key, id, name or call.next_name or "")
        if not call.id:
            call.id = id
        if name and not call.opened:
            self._grow_name(call, name)
        self._last = call
        return call

    def _candidate(self, key: int | None, id: str, name: str) -> _Call | None:
        same_key = [call for call in self._calls if call.key == key]
        if id and (named := next((call for call in reversed(same_key) if call.id == id), None)):
            return named
        if key is None and id and name and self._last is not None and self._last.id:
            return None  # no key, and an id and name never seen: another call
        return same_key[-1] if same_key else None

    def _starts_next(self, call: _Call, id: str, name: str, text: str) -> bool:
        """Whether a fragment that is labelled as `call` is really the first of another call."""
        other_id = bool(id and call.id and id != call.id)
        if call.next_name is not None and text.strip():
            return True
        if not name:
            return other_id and bool(call.pieces) and _whole(call.arguments)
        if other_id:
            return True
        if not call.pieces:
            return call.opened and name != call.name
        if not _whole(call.arguments):
            return name != call.name
        if id and id == call.id and name == call.name and text in ("", call.arguments):
            if not call.ended:
                self._end(call, "finished")  # the server repeats the whole call at its end
            return False
        if name == call.name and not text.strip():
            call.next_name = name
            return False
        return True

    def _begin(self, key: int | None, id: str, name: str) -> _Call:
        for earlier in self._calls:
            self._open(earlier)
            # Interleaved calls go on after a later one began, so only a whole object tells that this one is over.
            if not earlier.ended and (earlier.marked or _whole(earlier.arguments)):
                self._end(earlier, "finished")
        call = _Call(len(self._calls), key, id, name)
        self._calls.append(call)
        self._last = call
        if name in self._names and not self._still_growing(name):
            self._open(call)
        return call

    # -- names

    def _still_growing(self, name: str) -> bool:
        """Whether `name` is the beginning of a longer tool's name."""
        return any(other != name and other.startswith(name) for other in self._names)

    def _grow_name(self, call: _Call, piece: str) -> None:
        joined = call.name + piece
        if joined in self._names or any(known.startswith(joined) for known in self._names):
            call.name = joined
        elif piece.startswith(call.name):
            call.name = piece  # repeated, or sent anew as a whole
        elif call.name != piece:
            call.name = joined
        if call.name in self._names and not self._still_growing(call.name):
            self._open(call)

    # -- chunks

    def _open(self, call: _Call) -> None:
        if call.opened:
            return
        call.opened = True
        self._out.append(CallOpened(call.index, call.id, call.name))
        if call.pieces:
            self._out.append(CallDelta(call.index, call.arguments))

    def _end(self, call: _Call, ending: Ending) -> None:
        self._open(call)
        call.ended = True
        text = call.arguments
        problem = _problem(text)
        if ending == "cut" or (ending == "length" and (problem or not text)):
            why = "the token limit" if ending == "length" else "a lost connection"
            self._out.append(CallBroken(call.index, f"cut off by {why} after {len(text):,} characters", text))
        elif not call.name:
            self._out.append(CallBroken(call.index, "the call names no tool", text))
        elif problem:
            self._out.append(CallBroken(call.index, problem, text))
        else:
            self._out.append(CallClosed(call.index, "" if text.strip() in ("", "null") else text))


def arguments_text(arguments: Any) -> str:
    """The JSON text of arguments that a server sent as text, as an object, or not at all."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _whole(text: str) -> bool:
    return text.rstrip().endswith("}") and not _problem(text)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _problem(text: str) -> str:
    """Why `text` is not the JSON of one object, as a sentence; "" when it is, or holds nothing."""
    if not text.strip():
        return ""
    try:
        value: Any = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return f"arguments are not valid JSON: {error.msg} at character {error.pos + 1:,}"
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return f"arguments are not valid JSON: {reason}"
    if value is None or isinstance(value, dict):
        return ""
    kind = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}[type(value)]
    return f"arguments are {kind}, not an object"
