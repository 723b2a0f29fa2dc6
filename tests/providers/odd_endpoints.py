"""Endpoints that stray from their format, as tests need them: how each answers with two calls, and to their results.

Every behaviour is one that a vendor, a router or a local server shows or may show. The tables are one a wire format, in
the modules beside this one; `test_odd_endpoints` plays turns on each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.providers.strict_wire import ChatRules
from tests.wire_bytes import Answer, Text
from tests.wire_server import Part, Reply, Scripted

TOOL = "demo_do"
BOTH, FIRST, NONE = (0, 1), (0,), ()


def arguments(turn: int, call: int) -> str:
    """The arguments of a call, which no other call of the two turns has."""
    return json.dumps({"n": f"{turn}.{call}"})


@dataclass(frozen=True)
class Odd:
    """An endpoint. `calls` is what it answers to the prompt of a turn, `said` to the results of the calls.

    `runs` are the calls whose end was sent, so that they run; `goes_well` says whether the turns end well, and `told`
    what is said of it. `before` are replies to the first requests. What the endpoint takes beyond its format, which is
    at least what it gave, is in `rules` for the chat format; `mend` takes it out of a request of the others.
    """

    what: str
    calls: Callable[[int], Scripted]
    runs: Sequence[int] = BOTH
    goes_well: bool = True
    said: Callable[[int], Scripted] = lambda turn: Answer(Text(f"Done {turn}."))
    told: str = ""
    before: Sequence[Scripted] = ()
    rules: ChatRules | None = None
    mend: Callable[[dict[str, Any]], None] = lambda body: None

    def __str__(self) -> str:
        return self.what


def stream(*events: Part, **how: Any) -> Reply:
    """A streamed answer."""
    return Reply(list(events), **how)
