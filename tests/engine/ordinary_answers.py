"""Ordinary conversations: what a model was given, and a call that it then makes of its own, as people use them."""

from __future__ import annotations

from typing import Any

from console_app.domain.tools import ToolSpec

Asked = tuple[str, dict[str, Any]]


def tool(server: str, name: str, description: str, *required: str, **more: str) -> ToolSpec:
    """Make a tool of a server; its arguments are texts, but for those that `more` gives another type."""
    properties = {one: {"type": "string"} for one in required} | {one: {"type": kind} for one, kind in more.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=f"{server}_{name}", server=server, tool=name, description=description, input_schema=schema)


TOOLS = [
    tool("files", "list_directory", "Lists a folder. `path` is within the working folder; `.` is all of it.", "path"),
    tool("files", "read_file", "Reads a text file. Use search_files to find it, and offset to go on.", "path"),
    tool("files", "search_files", "Finds lines that hold a text, in every file under path.", "query", path="string"),
    tool("files", "write_file", "Makes a file. To change one, prefer edit_file.", "path", "content"),
    tool("files", "edit_file", "Replaces a text. Call read_file on it first.", "path", "old_text", "new_text"),
    tool("shell", "run_command", "Runs a command in the project, such as the tests.", "command", timeout="number"),
    tool("web", "fetch", "Gets a page. web_search finds addresses.", "url"),
    tool("web", "search", "Searches the web; web_fetch reads what it found.", "query", max_results="integer"),
    tool("git", "git_log", "Shows the log; use git_show for one commit.", max_count="integer"),
    tool("git", "git_show", "Shows a commit, such as HEAD.", "revision"),
    tool("github", "list_issues", "Lists issues of a repository.", "owner", "repo", state="string"),
    tool("weather", "now", "The weather of a city.", "city", unit="string"),
    tool("calculator", "evaluate", "Evaluates an expression, such as 2^10.", "expression"),
    tool("orders", "get_order", "Looks one order up; find_orders knows customers.", "order_number"),
    tool("orders", "find_orders", "Finds the orders of a customer.", "customer"),
    tool("bank", "transfer", "Sends money.", "account", amount="number"),
]

PAGES = [
    # what tools mostly say: nothing of tools
    "src/\nsrc/main.py\nsrc/cli.py\ntests/\ntests/test_main.py\nREADME.md\npyproject.toml\n",
    "1\timport asyncio\n2\tfrom app.cli import main\n3\n4\tif __name__ == '__main__':\n5\t    asyncio.run(main())\n",
    "src/main.py:14: def read_config(path):\nsrc/cli.py:3: from main import read_config\n2 matches in 2 files.",
    "FAILED tests/test_main.py::test_reads - AssertionError: assert 3 == 4\n1 failed, 41 passed in 0.42s",
    "# Install\n\n    pip install thing\n\nThen run `thing serve` and open http://localhost:8000/docs in a browser.",
    '{"city": "Paris", "temperature": 12.5, "unit": "celsius", "text": "light rain", "humidity": 81}',
    "commit 3f2a9c1 (HEAD -> main)\nAuthor: A. Person\n\n    Read the configuration once\n\n src/main.py | 4 ++--",
    "Order 1042: Baker Ltd, 3 chairs, 240.00, shipped\nOrder 1043: Able & Co, 1 desk, 610.00, open",
    "#12 Crash when the file is empty (open)\n#15 Say which line is wrong (open)\n#9 Faster start (closed)",
    "<html><body><h1>asyncio queues</h1><p>A queue hands work from one task to another.</p></body></html>",
    # what programs and people write of tools
    "The server offers files_list_directory, files_read_file, files_search_files, files_write_file and edit_file.",
    "## Tools\n\n- `read_file`: reads a text file, with line numbers\n- `write_file`: makes or replaces a file\n"
    "- `list_directory`: lists a folder\n- `run_command`: runs a command in a shell, with a timeout of 60 seconds\n",
    "read_file(path, offset=1, limit=2000)\n    Reads a text file. `path` is relative to the working folder.\n\n"
    "search_files(query, path='.', regex=False)\n    Finds lines in files.\n",
    "Models often call run_command where read_file would do. In our runs 31 % of all calls were of that kind, and most "
    "of them read a file of the project with cat or sed.",
    "def test_the_tool_is_offered(client):\n    names = [tool.name for tool in client.tools()]\n"
    "    assert 'files_read_file' in names\n    assert 'web_fetch' in names\n",
    "class Files(Server):\n    @tool\n    def read_file(self, path: str) -> str:\n        return open(path).read()\n\n"
    "    @tool\n    def write_file(self, path: str, content: str) -> None:\n        open(path, 'w').write(content)\n",
    "2026-11-24 10:00:01 INFO tools/call run_command took 3.2 s\n2026-11-24 10:00:09 INFO tools/call read_file 2 ms\n",
    "Changes of 2.0: `git_log` and `git_show` take a repository now; `list_issues` says who is assigned; web_search is "
    "faster; the weather server has a tool for the next days.",
    '{"mcpServers": {"files": {"command": "files-server", "alwaysAllow": ["read_file", "list_directory"]}}}',
    "Rules for agents: prefer search_files to shell commands such as grep. Never use write_file for a file that is "
    "there: use edit_file. Run the tests with run_command before you say that it works.",
    "The price of a call: get_order 0.1 ms, find_orders 4 ms with an index and 900 ms without. Orders have numbers of "
    "four digits; customers are found by a part of their names.",
    "| tool | reads | writes |\n|---|---|---|\n| read_file | yes | no |\n| edit_file | yes | yes |\n| fetch | yes |",
    "run_command runs bash -c with what it is given, in the folder of the project.",
    "How web_fetch works: the address is looked up once, every redirect is judged anew, and at most 2 MB are read.",
    "calculator_evaluate knows + - * / ^ and brackets, and the functions sqrt, sin and cos. It takes one expression.",
    "It is transfer(account, amount) that moves money; the tool bank_transfer asks for both and is never called alone.",
]

CALLS: list[Asked] = [
    ("files_list_directory", {"path": "."}),
    ("files_list_directory", {"path": "src"}),
    ("files_list_directory", {"path": "docs/guide"}),
    ("files_read_file", {"path": "src/main.py"}),
    ("files_read_file", {"path": "pyproject.toml"}),
    ("files_read_file", {"path": "/home/me/app/src/cli.py", "offset": 1, "limit": 200}),
    ("files_search_files", {"query": "read_config", "path": "src"}),
    ("files_search_files", {"query": "def main"}),
    ("files_write_file", {"path": "notes.md", "content": "# Notes\n\nThe tests pass but for one, which is below.\n"}),
    ("files_edit_file", {"path": "src/main.py", "old_text": "== 3", "new_text": "== 4"}),
    ("shell_run_command", {"command": "ls"}),
    ("shell_run_command", {"command": "ls -la src"}),
    ("shell_run_command", {"command": "cd /home/me/app && python -m pytest -q tests/test_main.py"}),
    ("shell_run_command", {"command": "bash -c 'git status --short | head -20'", "timeout": 60}),
    ("shell_run_command", {"command": "grep -rn 'asyncio' src | wc -l"}),
    ("web_fetch", {"url": "https://docs.python.org/3/library/asyncio-queue.html"}),
    ("web_fetch", {"url": "http://localhost:8000/docs"}),
    ("web_search", {"query": "asyncio queue maxsize backpressure", "max_results": 5}),
    ("web_search", {"query": "light rain"}),
    ("git_git_log", {"max_count": 10}),
    ("git_git_show", {"revision": "HEAD~1"}),
    ("git_git_show", {"revision": "3f2a9c1"}),
    ("github_list_issues", {"owner": "person", "repo": "thing", "state": "open"}),
    ("weather_now", {"city": "Paris", "unit": "celsius"}),
    ("weather_now", {"city": "Rom"}),
    ("calculator_evaluate", {"expression": "240.00 + 610.00"}),
    ("calculator_evaluate", {"expression": "2^10"}),
    ("orders_get_order", {"order_number": "1042"}),
    ("orders_find_orders", {"customer": "Able"}),
    ("bank_transfer", {"account": "DE02 1203 0000 0000 2020 51", "amount": 610}),
]

TYPED: list[tuple[str, Asked]] = [
    ("Use read_file on the readme and tell me what it says.", ("files_read_file", {"path": "README.md"})),
    ("read_file src/main", ("files_read_file", {"path": "src/main.py"})),
    ("Please use run_command to run the tests in tests.", ("shell_run_command", {"command": "pytest tests"})),
    ("run_command pytest", ("shell_run_command", {"command": "cd app && pytest -q && echo passed"})),
    ("Use web_search for asyncio queues.", ("web_search", {"query": "asyncio queues python 3.11"})),
    ("Call web_fetch with https://example.org/a/b.", ("web_fetch", {"url": "https://example.org/a/b/index.html?x=1"})),
    ("list_directory src please", ("files_list_directory", {"path": "src"})),
    ("With write_file make notes/todo.md.", ("files_write_file", {"path": "/w/notes/todo.md", "content": "Buy milk."})),
    ("Show me git_show HEAD", ("git_git_show", {"revision": "HEAD~0"})),
    ("get_order 42!", ("orders_get_order", {"order_number": "42"})),
]
"""What a person asks for by a tool's name, in other words than those of the call."""
