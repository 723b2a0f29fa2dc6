"""What is no call and looks like none, where tools are named by words that answers are full of."""

from __future__ import annotations

import pytest

from console_app.dialects import ToolSignature, parse
from console_app.dialects.mentions import unread

TOOLS = ["python", "run", "search", "get", "files_read_file", "readFile"]
ORDINARY = [
    "name: run\ndescription: builds it\ninputs:\n  path:\n    required: true\n",
    "```yaml\ncontainers:\n- image: x\n  command: python\n  args: [-m, http.server]\n```",
    "Method: GET\nParameters: none",
    "Search: get\n{",
    "type: get >",
    "route: get\n<div>",
    "<tools>\n<tool>get</tool>\n</tools>",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_settings_and_lists_with_the_name_of_a_tool_are_no_call(text: str) -> None:
    assert unread(text, TOOLS) is None
    assert parse(text, [ToolSignature(name) for name in TOOLS]).problems == ()
