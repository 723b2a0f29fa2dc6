"""Every request, notification and result of the protocol that the SDK knows is sent, answered or passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp_types import methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from console_app.domain.tools import Outcome
from tests.mcp_client.conftest import SaidServer, StartHub
from tests.sdk_models import whole

SENT = {
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
}
ANSWERED = {"elicitation/create", "ping", "roots/list", "sampling/createMessage"}
HEARD = {
    "notifications/cancelled": "a question is withdrawn",
    "notifications/elicitation/complete": "a page is done",
    "notifications/message": "a line of its log",
    "notifications/progress": "progress of a call",
    "notifications/prompts/list_changed": "prompts are listed again",
    "notifications/resources/list_changed": "resources are listed again",
    "notifications/resources/updated": "a watched resource changed",
    "notifications/subscriptions/acknowledged": "a stream of notices begins",
    "notifications/tools/list_changed": "tools are listed again",
}
BLOCKS = {"text", "image", "audio", "resource_link", "resource"}


def named(table: Any) -> set[str]:
    return {method for method, _ in table}


def test_every_method_has_a_fate() -> None:
    assert named(methods.CLIENT_REQUESTS) == SENT
    assert named(methods.SERVER_RESULTS) == SENT
    assert named(methods.SERVER_REQUESTS) == ANSWERED
    assert named(methods.CLIENT_RESULTS) == ANSWERED
    assert named(methods.SERVER_NOTIFICATIONS) == set(HEARD)


async def test_every_request_of_a_server_is_answered_and_no_notice_harms_a_call(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path
) -> None:
    version = LATEST_HANDSHAKE_VERSION
    asked = [(method, row) for (method, of), row in methods.SERVER_REQUESTS.items() if of == version]
    told = [(method, row) for (method, of), row in methods.SERVER_NOTIFICATIONS.items() if of == version]
    before: list[dict[str, Any]] = []
    for number, (method, row) in enumerate([*asked, *told]):
        params = whole(row.model_fields["params"].annotation)[0] if method != "notifications/cancelled" else {}
        identifier = {"id": f"asked {number}"} if number < len(asked) else {}
        before.append({"method": method, "params": params if isinstance(params, dict) else {}, **identifier})
    messages = {
        "tools/list": {"result": {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}},
        "tools/call": {"result": {"content": [{"type": "text", "text": "done"}]}, "before": before},
    }
    bench = await start_hub(said_server(messages))
    result = await bench.call("work")
    assert (result.outcome, result.content) == (Outcome.SUCCEEDED, "done")
    await bench.hub.ping("odd")
    heard = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert {one["id"] for one in before if "id" in one} <= {one["id"] for one in heard if "method" not in one}
