"""The effects of a tool are told with each word under who said it, the server or the protocol's default."""

from __future__ import annotations

from typing import Any

from mcp.types import Tool

from console_app.console.permissions import traits
from console_app.console.servers.switches import effects
from console_app.domain.tools import ToolSpec
from console_app.mcp_client.tools.convert import annotations_of
from tests.each import each


@each(
    ("hints", "said", "brief"),
    [
        (None, "not declared: may change or destroy and reach outside its server", "may change or destroy"),
        (
            {"readOnlyHint": True},
            "only reads (declared by the server); not declared: may reach outside its server",
            "only reads (declared by server)",
        ),
        (
            {"openWorldHint": True},
            "reaches outside its server (declared by the server); not declared: may change or destroy",
            "may change or destroy",
        ),
        (
            {"destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
            "may change or destroy, running it again changes nothing more, stays within its server "
            "(declared by the server)",
            "may change or destroy (declared by server)",
        ),
    ],
    ids=["nothing", "reads", "reaches", "all"],
)
def test_what_a_server_did_not_say_is_not_said_to_be_its_word(
    hints: dict[str, Any] | None, said: str, brief: str
) -> None:
    listed = Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}, "annotations": hints})
    spec = ToolSpec(name="s_t", server="s", tool="t", annotations=annotations_of(listed))
    assert effects(spec) == said
    assert traits(spec) == brief
