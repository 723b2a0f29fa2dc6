"""A call that its endpoint marks as incomplete never runs, though it may hold an object and the answer end well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.reading import answer_to, broken_of, calls_of
from tests.wire_bytes import responses_event
from tests.wire_server import Reply, WireServer

CUT: dict[str, Any] = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "demo_fail"}
CUT |= {"arguments": "{}", "status": "incomplete"}
WHOLE = {**CUT, "id": "fc_2", "call_id": "call_2", "status": "completed"}


@pytest.mark.parametrize("told", ["in its own event", "in the last one", "in both"])
async def test_of_an_answer_that_is_complete(server: WireServer, told: str) -> None:
    begun = [
        responses_event("response.output_item.added", output_index=place, item={**item, "arguments": ""})
        for place, item in enumerate((CUT, WHOLE))
    ]
    done = [
        responses_event("response.output_item.done", output_index=place, item=item)
        for place, item in enumerate((CUT, WHOLE))
    ]
    output = [CUT, WHOLE] if told != "in its own event" else []
    last = responses_event("response.completed", response={"status": "completed", "output": output})
    events = [*(begun + done if told != "in the last one" else []), last]
    chunks = await answer_to(server, "openai-responses", Reply(events))
    assert calls_of(chunks) == [("demo_fail", "{}")]
    assert broken_of(chunks) == ["the endpoint marked it incomplete"]
