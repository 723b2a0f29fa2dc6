"""Which call the arguments without an owner belong to, told by elimination and never by a likeness of labels.

While an answer holds such arguments, no call without a whole object of its own may run. One such call and one such
stream belong together, and a person is asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from console_app.domain.chunks import CallBroken
from console_app.providers.stream.loose_json import object_problem
from console_app.providers.stream.offered_tools import OfferedTools

UNOWNED = "the answer holds arguments that no label gives to a call, so this call may not be whole"
PAIRED = "its arguments came under another label"


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

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else self.initial

    @property
    def whole(self) -> bool:
        """Whether an object of arguments is complete."""
        text = self.arguments
        return text.rstrip().endswith("}") and not object_problem(text)

    @property
    def empty(self) -> bool:
        """Whether nothing was written for it."""
        return self.arguments.strip() in ("", "null")


class Unowned:
    """The arguments of one answer that no label gives to a call: a stream a label."""

    def __init__(self) -> None:
        self._streams: dict[Hashable, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._streams)

    def add(self, label: Hashable, text: str) -> None:
        """More arguments under `label`."""
        if text.strip() or label in self._streams:
            self._streams.setdefault(label, []).append(text)

    def take(self, label: Hashable) -> str:
        """The stream under `label`, whose owner is known now; "" where there is none."""
        return "".join(self._streams.pop(label, ()))

    def settle(self, calls: Sequence[CallInPieces], tools: OfferedTools) -> list[str]:
        """Judges the calls of an answer that has ended; the streams that stay nobody's."""
        owned = {call.arguments for call in calls if not call.empty}
        streams = {label: text for label, pieces in self._streams.items() if (text := "".join(pieces)) not in owned}
        open_ = [call for call in calls if not call.ended]
        needy = [call for call in open_ if call.name and not call.late and not _complete(call, tools)]
        spoilt = any(call.late or call.doubt or not (call.name or call.empty) for call in open_)
        if len(needy) == len(streams) == 1 and not spoilt:
            (call,) = needy
            call.pieces[:] = [call.arguments, *streams.values()] if not call.empty else list(streams.values())
            call.paired = PAIRED
            return []
        if streams or spoilt or not all(call.empty for call in needy):
            for call in needy:
                if call.empty:
                    call.doubt = call.doubt or UNOWNED
        if streams or needy:
            for call in open_:
                if call.late:
                    call.doubt = UNOWNED
        return list(streams.values())


def _complete(call: CallInPieces, tools: OfferedTools) -> bool:
    if call.empty or call.whole:
        return not call.empty
    return not isinstance(tools.read(call.index, call.name, call.arguments), CallBroken)
