"""The tools that the offline model's tests offer it: those of the bundled servers, and the built-in ones, by schema."""

from __future__ import annotations

from typing import Any

from console_app.domain.tools import ToolSpec

TEXT, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def tool(server: str, name: str, properties: dict[str, Any], *needed: str) -> ToolSpec:
    """A tool of `server` with these parameters, of which `needed` are required."""
    schema = {"type": "object", "properties": properties, "required": list(needed)}
    return ToolSpec(name=f"{server}_{name}", server=server, tool=name, input_schema=schema)


CALCULATOR = tool("calculator", "evaluate", {"expression": TEXT}, "expression")
LONG_TASK = tool(
    "demo",
    "long_task",
    {"task": TEXT, "duration_seconds": NUMBER, "interval_seconds": NUMBER},
    "task",
    "duration_seconds",
)
STATUS = tool("demo", "status_updates", {"stages": {"type": "array", "items": TEXT}}, "stages")
FAIL = tool("demo", "fail", {"message": TEXT})
BIG = tool("demo", "big", {"bytes": INTEGER}, "bytes")
READ_FILE = tool("files", "read_file", {"path": TEXT}, "path")
LIST_FILES = tool("files", "list_files", {"path": TEXT})
SEARCH_FILES = tool("files", "search_files", {"pattern": TEXT, "path": TEXT}, "pattern")
TODO_ITEM = {
    "type": "object",
    "properties": {"content": TEXT, "status": {"enum": ["pending", "in_progress", "completed"]}},
    "required": ["content", "status"],
}
TODO = tool("fanout", "update_todo_list", {"todos": {"type": "array", "items": TODO_ITEM}}, "todos")
SLIDES = tool("pptx_generator", "markdown_to_pptx", {"markdown_content": TEXT, "file_name": TEXT}, "markdown_content")
FIND_ORDERS = tool("order_database", "find_orders", {"customer": TEXT}, "customer")
GET_ORDER = tool("order_database", "get_order", {"order_id": INTEGER}, "order_id")
ALL_ORDERS = tool("order_database", "list_all_orders", {})
NEW_STATUS = tool("order_database", "update_order_status", {"order_id": INTEGER, "status": TEXT}, "order_id", "status")
REVENUE = tool("order_database", "revenue_summary", {})
SEARCH = tool("duckduckgo", "search_and_fetch", {"query": TEXT, "max_results": INTEGER}, "query")
FINISHED = tool("fanout", "finished", {"final_answer": TEXT}, "final_answer")

ENABLE = tool("fanout", "enable_server", {"server": {"type": "string", "enum": ["pptx_generator", "files"]}}, "server")

EVERYTHING = (
    CALCULATOR,
    LONG_TASK,
    STATUS,
    FAIL,
    BIG,
    READ_FILE,
    LIST_FILES,
    SEARCH_FILES,
    TODO,
    SLIDES,
    FIND_ORDERS,
    GET_ORDER,
    ALL_ORDERS,
    NEW_STATUS,
    REVENUE,
    SEARCH,
)
