"""A batch as data: an item that is a whole turn, what came of it, and what is told of it while it runs.

All of it is plain JSON, so that an item may run in another process and its result be read years later.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from console_app.domain.tools import CallState, Frozen, Outcome

# `invalid`: the answer doesn't fit its schema. `approval`: a call needed one, and nobody could give it. `interrupted`:
# it was cut short after it may have changed something, and doesn't run again by itself.
ItemStatus = Literal[
    "completed", "failed", "invalid", "step_limit", "timed_out", "approval", "cancelled", "interrupted"
]
RESULT_VERSION = 1  # of `ItemResult`: a reader may refuse a higher one


class GivenCall(Frozen):
    """A call that an item runs without a model."""

    tool: str  # SERVER.TOOL
    arguments: dict[str, Any] = Field(default_factory=dict)


class WorkItem(Frozen):
    """One item, ready to run: its template is filled in. `source` is where it was written, as `items.jsonl:3`."""

    id: str
    prompt: str = ""
    model: str = ""  # PROVIDER/MODEL; "": the run's
    system: str | None = None  # in place of the run's system prompt
    attachments: tuple[str, ...] = ()  # paths of files and folders
    allowed_tools: tuple[str, ...] | None = None  # patterns of SERVER.TOOL: it is offered no others; None: all
    answer_schema: dict[str, Any] | None = None  # JSON Schema that its answer has to fit
    calls: tuple[GivenCall, ...] = ()  # these run, and no model is asked
    max_price: float | None = None  # US dollars that are left for it
    source: str = ""

    @cached_property
    def digest(self) -> str:
        """What it is, whatever it is called and wherever it was written: 16 hexadecimal digits."""
        content = self.model_dump(exclude={"id", "source", "max_price"}, exclude_defaults=True)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


class ItemUsage(Frozen):
    """Tokens of all requests of an item; `cost` is in US dollars, None where no price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None


class ItemCall(Frozen):
    """One call of an item, with how it ended. `content` is what the model read."""

    server: str
    tool: str
    arguments: dict[str, Any] | None = None
    outcome: Outcome
    content: str = ""
    error: str | None = None
    duration_ms: int = 0


class ItemResult(Frozen):
    """What came of an item: one line of the results file. The last line of an id is the one that counts.

    `item` is the item's `digest`. `structured` is the answer as JSON, where the item asked for a schema. Times are
    seconds since 1970.
    """

    version: int = RESULT_VERSION
    id: str
    item: str
    status: ItemStatus
    answer: str = ""
    structured: Any = None
    error: str | None = None
    model: str = ""
    calls: tuple[ItemCall, ...] = ()
    usage: ItemUsage = ItemUsage()
    started_at: float = 0.0
    finished_at: float = 0.0
    tries: int = 1  # answers that were asked for: 2 where the first one didn't fit its schema
    source: str = ""

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status == "completed"

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(self.finished_at - self.started_at, 0.0)


class ItemStarted(Frozen):
    """An item began to run."""

    type: Literal["item.started"] = "item.started"
    item: str
    model: str = ""
    at: float = 0.0


class ItemCallChanged(Frozen):
    """A call of a running item came to another state. `read_only` is what its server says of the tool."""

    type: Literal["item.call"] = "item.call"
    item: str
    call_id: str
    label: str  # SERVER.TOOL, or the name that the model used
    state: CallState
    outcome: Outcome | None = None
    read_only: bool = False
    at: float = 0.0


class ItemTurnEvent(Frozen):
    """An event of the turn of an item that is watched: `event` is one of `domain.events`, as JSON."""

    type: Literal["item.event"] = "item.event"
    item: str
    event: dict[str, Any]


class EngineNotice(Frozen):
    """Something the user should know of the engine: a worker that was lost, an endpoint that is slowed down."""

    type: Literal["engine.notice"] = "engine.notice"
    text: str


BatchEvent = ItemStarted | ItemCallChanged | ItemTurnEvent | EngineNotice
BATCH_EVENT: TypeAdapter[BatchEvent] = TypeAdapter(
    Annotated[BatchEvent, Field(discriminator="type")], config=ConfigDict(defer_build=True)
)
