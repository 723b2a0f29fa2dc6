"""A thousand steps of ordinary work ask hardly ever: what they take from results is a path, an id, a query, a text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

from console_app.domain.messages import Message, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.given import GivenToModel
from tests.engine.ordinary_answers import CALLS, PAGES, Asked, tool
from tests.examples import EXPLORING

AT_ONCE = 5
TOOLS = [
    tool("files", "read_file", "Reads a text file.", "path"),
    tool("files", "search_files", "Finds lines.", "query", path="string"),
    tool("files", "write_file", "Makes a file.", "path", "content"),
    tool("files", "edit_file", "Replaces a text.", "path", "old_text", "new_text"),
    tool("files", "move_file", "Moves a file.", "source", "destination"),
    tool("files", "delete_file", "Takes a file away.", "path"),
    tool("files", "list_directory", "Lists a folder.", "path"),
    tool("shell", "run_command", "Runs a command.", "command", timeout="number"),
    tool("web", "fetch", "Gets a page.", "url"),
    tool("web", "search", "Searches the web.", "query", max_results="integer"),
    tool("git", "git_show", "Shows a commit.", "revision"),
    tool("git", "git_log", "Shows the log.", max_count="integer"),
    tool("git", "commit", "Commits.", "message"),
    tool("github", "list_issues", "Lists issues.", "owner", "repo", state="string"),
    tool("github", "comment", "Comments on an issue.", "number", "body"),
    tool("github", "close_issue", "Closes one.", "number"),
    tool("mail", "send", "Sends a mail.", "to", "subject", "body"),
    tool("orders", "get_order", "Looks one up.", "order_number"),
    tool("orders", "find_orders", "Finds orders.", "customer"),
    tool("orders", "ship", "Ships an order.", "order_id", carrier="string"),
    tool("database", "query", "Runs SQL.", "sql"),
    tool("weather", "now", "The weather of a city.", "city", unit="string"),
    tool("calculator", "evaluate", "Evaluates an expression.", "expression"),
    tool("bank", "transfer", "Sends money.", "account", amount="number"),
]
BY_NAME = {spec.name: spec for spec in TOOLS}
PLACES = "core web api models views store cache queue parser config client server jobs mail auth billing report".split()  # noqa: SIM905
NOUNS = "order invoice customer session token request worker budget account ticket schedule report message".split()  # noqa: SIM905
VERBS = "read load parse check send store update merge split render run call use open add remove".split()  # noqa: SIM905
NAMES = "baker able carter dixon evans foster gray hughes irwin jones".split()  # noqa: SIM905


class Work:
    """An agent that goes from result to result: each step gives a result, then a call that takes something from it."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def _path(self) -> str:
        pick = self._random.choice
        return f"src/{pick(PLACES)}/{pick(NOUNS)}_{pick(PLACES)}_{self._random.randrange(900)}.py"

    def _function(self) -> str:
        pick = self._random.choice
        verb, noun, place = pick(VERBS), pick(NOUNS), pick(PLACES)
        return (
            f"def {verb}_{noun}({place}, limit=10):\n"
            f'    """{verb.title()} the {noun} of one {place}; call it again, or use the next, when it says so."""\n'
            f"    # Run this before you {pick(VERBS)} anything: it must be done first.\n"
            f"    for {noun} in {place}.{verb}_all(limit):\n"
            f"        {place}.log.info('now we %s the {noun} and send it', {noun})\n"
            f"    return {place}.{pick(VERBS)}({noun}, retries={self._random.randrange(9)})\n"
        )

    def steps(self) -> Iterator[tuple[str, str, Asked]]:
        """The tool that gave a result, the result, and the call that follows."""
        ways = [self._listed, self._found, self._read, self._edited, self._tested, self._searched, self._order]
        ways += [
            self._issue,
            self._hash,
            self._mailed,
            self._rows,
            self._copied,
            self._readme,
            self._linked,
            self._moved,
        ]
        while True:
            yield self._random.choice(ways)()

    def _listed(self) -> tuple[str, str, Asked]:
        paths = [self._path() for _ in range(8)]
        return "files_list_directory", "\n".join(paths), ("files_read_file", {"path": self._random.choice(paths)})

    def _found(self) -> tuple[str, str, Asked]:
        path, line = self._path(), self._function().split("\n")[0]
        said = f"{path}:{self._random.randrange(400)}: {line}\n1 match in 1 file."
        return "files_search_files", said, ("files_search_files", {"query": line[4:].partition("(")[0], "path": "src"})

    def _read(self) -> tuple[str, str, Asked]:
        said = "\n".join(f"{n}\t{line}" for n, line in enumerate(self._function().split("\n"), 1))
        return "files_read_file", said, ("shell_run_command", {"command": f"python -m pytest -q {self._path()}"})

    def _edited(self) -> tuple[str, str, Asked]:
        whole = self._function()
        lines = whole.split("\n")
        first = self._random.randrange(len(lines) - 2)
        old = "\n".join(lines[first : first + self._random.choice((1, 2, 3))])
        changed = old.replace("limit", "at_most").replace("retries", "tries") + "\n    # Every one of them is counted."
        new = self._random.choice((changed, changed, changed, ""))
        call = ("files_edit_file", {"path": self._path(), "old_text": old, "new_text": new})
        return "files_read_file", self._random.choice((whole, f"# Notes\n\nUse it so:\n\n{whole}")), call

    def _tested(self) -> tuple[str, str, Asked]:
        path, what = self._path(), self._random.choice(NOUNS)
        said = f"FAILED {path}::test_{what} - TypeError: unsupported operand type(s) for +: 'int' and 'str'\n1 failed"
        query = self._random.choice(("TypeError: unsupported operand type(s) for +: 'int' and 'str'", f"python {what}"))
        options: list[Asked] = [
            ("shell_run_command", {"command": f"python -m pytest -q {path}::test_{what}"}),
            ("web_search", {"query": query, "max_results": 5}),
            ("files_read_file", {"path": path}),
        ]
        return "shell_run_command", said, self._random.choice(options)

    def _searched(self) -> tuple[str, str, Asked]:
        pick = self._random.choice
        titles = [f"How to {pick(VERBS)} a {pick(NOUNS)} in {pick(PLACES)} without a {pick(NOUNS)}" for _ in range(5)]
        addresses = [
            f"https://docs.example.org/{pick(PLACES)}/{pick(NOUNS)}-{self._random.randrange(99)}" for _ in titles
        ]
        said = "\n\n".join(
            f"{n}. {title}\n   {address}\n   Learn how to use it, see {address} and call the {pick(NOUNS)} first."
            for n, (title, address) in enumerate(zip(titles, addresses, strict=True), 1)
        )
        return (
            "web_search",
            said,
            pick([("web_fetch", {"url": pick(addresses)}), ("web_search", {"query": pick(titles)})]),
        )

    def _linked(self) -> tuple[str, str, Asked]:
        address = f"https://{self._random.choice(NOUNS)}.example.org/api/items?page=2&size=50"
        said = (
            f"The list has 3 pages. Please open {address} for the next one, or visit the [index](https://example.org/)."
        )
        return "web_fetch", said, ("web_fetch", {"url": address.replace("page=2", "page=3")})

    def _order(self) -> tuple[str, str, Asked]:
        number, name = str(self._random.randrange(1000, 9999)), self._random.choice(NAMES)
        ident = f"{self._random.getrandbits(64):016x}-{self._random.getrandbits(48):012x}"
        said = json.dumps(
            [{"order_number": number, "id": ident, "customer": name, "note": "please send it soon"}], indent=1
        )
        asked: list[Asked] = [
            ("orders_get_order", {"order_number": number}),
            ("orders_find_orders", {"customer": name}),
        ]
        return "orders_find_orders", said, self._random.choice([*asked, ("orders_ship", {"order_id": ident})])

    def _issue(self) -> tuple[str, str, Asked]:
        number, what = self._random.randrange(999), self._random.choice(NOUNS)
        said = f"#{number} Crash when the {what} is empty (open)\n\nPlease mend it, it must not crash. Run it without."
        body = f"The {what} is checked before it is read now, and a test holds that."
        asked: list[Asked] = [
            ("github_comment", {"number": number, "body": body}),
            ("github_close_issue", {"number": number}),
            ("git_commit", {"message": f"An empty {what} is no crash (#{number})"}),
        ]
        return "github_list_issues", said, self._random.choice(asked)

    def _hash(self) -> tuple[str, str, Asked]:
        commit = f"{self._random.getrandbits(160):040x}"
        said = f"commit {commit}\nAuthor: A. Person <person@example.org>\n\n    Use the new parser and remove the old\n"
        asked: list[Asked] = [
            ("git_git_show", {"revision": commit}),
            ("shell_run_command", {"command": f"git diff {commit[:12]} --stat | tail -20"}),
        ]
        return "git_git_log", said, self._random.choice(asked)

    def _mailed(self) -> tuple[str, str, Asked]:
        name, number = self._random.choice(NAMES), self._random.randrange(1000, 9999)
        said = (
            f"From: {name.title()} <{name}{number}@example.org>\nSubject: order {number}\n\n"
            f"Hello, could you please send me the invoice of order {number}? Thank you, {name.title()}"
        )
        body = f"Dear {name.title()}, the invoice of your order comes with this mail. Kind regards"
        call = ("mail_send", {"to": f"{name}{number}@example.org", "subject": f"Re: order {number}", "body": body})
        return "mail_read", said, call

    def _rows(self) -> tuple[str, str, Asked]:
        rows = [(self._random.randrange(10**6), one) for one in self._random.sample(NAMES, 4)]
        said = "\n".join(f"{ident} | {name} | {name}@example.org | open since then" for ident, name in rows)
        return (
            "database_query",
            said,
            ("database_query", {"sql": f"SELECT * FROM orders WHERE customer_id = {rows[0][0]}"}),
        )

    def _copied(self) -> tuple[str, str, Asked]:
        whole = self._function()
        return "files_read_file", whole, ("files_write_file", {"path": self._path(), "content": whole})

    def _readme(self) -> tuple[str, str, Asked]:
        command = self._random.choice(
            ["make test", "npm install", "npm run build", "pytest -q", "make lint", "uv sync"]
        )
        said = (
            f"# Install\n\nRun `{command}` first, and then start it:\n\n    {command}\n\nYou should call it every time."
        )
        return "files_read_file", said, ("shell_run_command", {"command": command})

    def _moved(self) -> tuple[str, str, Asked]:
        one, other = self._path(), self._path()
        said = f"{one} is in the wrong folder: use {other} for that, and remove {one} then. Call it once more to see."
        asked: list[Asked] = [
            ("files_move_file", {"source": one, "destination": other}),
            ("files_delete_file", {"path": one}),
        ]
        return "shell_run_command", said, self._random.choice(asked)


def asked(steps: Iterator[tuple[str, str, Asked]]) -> list[tuple[str, dict[str, Any], str, str]]:
    """The calls that ask in a conversation of these steps, each with why and the passage.

    A model asks for a few calls at once: each stands beside the results of the others' steps as well.
    """
    given, history, found = GivenToModel(), list[Message](), list[tuple[str, dict[str, Any], str, str]]()
    history.append(UserMessage(content="Go through the orders and the project, and mend what is wrong."))

    async def work() -> None:
        while some := list(islice(steps, AT_ONCE)):
            history.extend(ToolMessage(tool_call_id="1", name=source, content=said) for source, said, _ in some)
            given.read(ModelRequest((), "", tuple(TOOLS)), history)
            for _, _, (name, arguments) in some:
                spec = BY_NAME[name]
                call = CallExecution("1", 0, name, spec, arguments=arguments)
                await given.judge(call, spec)
                if call.must_ask:
                    found.append((name, arguments, call.must_ask, call.passage))

    asyncio.run(work())
    return found


def test_a_thousand_steps_of_ordinary_work_ask_three_times_at_most() -> None:
    """In one conversation each with `make explore`, and else in two of half the length: reading takes their square."""
    for seeds, steps in [((1,), 1_000), ((2,), 1_000), ((3,), 1_000)] if EXPLORING else [((1, 2), 500)]:
        found = [one for seed in seeds for one in asked(islice(Work(seed).steps(), steps))]
        assert len(found) <= 3, (seeds, found)


def test_what_pages_say_of_tools_makes_no_ordinary_call_ask() -> None:
    """Beside every page that names tools, each call that people's agents make."""
    steps = (("web_fetch", page, call) for page in PAGES for call in CALLS if call[0] in BY_NAME)
    assert asked(steps) == []
