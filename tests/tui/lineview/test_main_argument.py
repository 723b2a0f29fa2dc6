"""The value that tells calls of a tool apart is whole in a row of 120 cells, measured on the schemas of real tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript import BatchView
from console_app.servers import csv_reporter, demo, files, order_database
from console_app.tui.lineview import CallBlock
from console_app.tui.lineview.calls.group import CallGroup
from tests.tui.lineview.test_blocks import a_call, shown

KNOWN = """
read_text_file path head tail | read_multiple_files paths | write_file path content | edit_file path edits dryRun
create_directory path | list_directory path | list_directory_with_sizes path sortBy | directory_tree path
move_file source destination | search_files path pattern excludePatterns | get_file_info path
git_status repo_path | git_diff repo_path target context_lines | git_commit repo_path message
git_log repo_path max_count | git_show repo_path revision | git_checkout repo_path branch_name
fetch url max_length start_index raw | search_nodes query | open_nodes names | get_current_time timezone
convert_time source_timezone time target_timezone | sequentialthinking thought nextThoughtNeeded thoughtNumber
create_issue owner repo title body labels | get_issue owner repo issue_number | search_code query page perPage
create_pull_request owner repo title head base body | get_file_contents owner repo path ref
read_query query | write_query query | describe_table table_name | append_insight insight
slack_post_message channel_id text | slack_get_thread_replies channel_id thread_ts
puppeteer_navigate url | puppeteer_click selector | puppeteer_fill selector value | puppeteer_evaluate script
brave_web_search query count offset | shell command cwd timeout | bash command description | grep pattern path glob
"""  # of servers that many people use: the name of a tool, then its arguments as its schema has them
TELLS = {
    "git_commit": "message", "git_diff": "target", "git_show": "revision", "git_checkout": "branch_name",
    "create_issue": "title", "create_pull_request": "title", "search_files": "pattern", "get_file_contents": "path",
    "slack_post_message": "text", "slack_get_thread_replies": "thread_ts",
}  # fmt: skip  # where it isn't the first
LONG = {"content", "edits", "body", "contents", "markdown", "rows", "old_text", "new_text", "slides"}
NUMBERS = {"head", "tail", "max_count", "max_length", "start_index", "page", "perPage", "count", "offset", "timeout",
           "issue_number", "thoughtNumber", "context_lines"}  # fmt: skip


def tools() -> Iterator[tuple[str, list[str]]]:
    for line in KNOWN.replace("\n", " | ").split("|"):
        if names := line.split():
            yield names[0], names[1:]
    for server in (demo, files, order_database, csv_reporter):
        for tool in server.TOOLS:
            yield tool.name, list(tool.properties)


def value(name: str, number: int) -> Any:
    if name in LONG:
        return f"{number} lines of a text\n" * 40
    if name in NUMBERS:
        return 100
    if "url" in name:
        return f"https://docs.example.org/reference/http/retry/{number}"
    if "path" in name or name in ("source", "destination", "cwd"):
        return f"packages/server/src/http/retry_{number}.py"
    return f"where retries are decided, part {number}"


def test_what_tells_calls_apart_is_whole_for_nine_tools_of_ten() -> None:
    cut: list[str] = []
    all_tools = [(tool, names) for tool, names in tools() if names]
    for tool, names in all_tools:
        tells = TELLS.get(tool, names[0])
        calls = []
        for number in range(8):
            call = a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content="what came of it, in a line " * 5)
            call.id, call.tool, call.name = f"call_{number}", tool, f"demo_{tool}"
            call.arguments = {name: value(name, number if name in (tells, *LONG) else 1) for name in names}
            calls.append(call)
        group = CallGroup(BatchView(calls))
        rows = [shown(CallBlock(call, group), 120) for call in calls]
        told = [str(value(tells, number)).split("\n")[0] for number in range(8)]
        if not all(text in row for text, row in zip(told, rows, strict=True)):
            cut.append(rows[1])
    assert len(all_tools) >= 50
    assert len(cut) <= len(all_tools) // 10, "\n".join(cut)
