"""Plans the calls that answer a prompt: every rule reads it once, in order, and what one took the next doesn't see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, cast

from console_app.domain import ToolSpec, one_line, safe_text
from console_app.domain import schema as json_schema
from console_app.providers.offline.arithmetic import ARITHMETIC
from console_app.providers.offline.demo import DEMO
from console_app.providers.offline.rule import (
    AND,
    COUNT,
    QUOTED,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    PlannedCall,
    RuleFinding,
    code,
    count_of,
    listed,
    missing,
    reader,
    unquoted,
)
from console_app.providers.offline.todo import TODO
from console_app.records import dataclass, replace

_WEB_SEARCH = re.compile(
    r"\b(?:search(?:ing)?\s+(?:(?:the\s+)?(?:web|internet)\s+|online\s+)?(?:for|about)\b|google\b"
    rf"|(?:{COUNT}\s+)?searches(?:\s+at\s+once)?\s*(?::|for\b))\s*:?\s*([^\n;?!]{{1,400}})",
    re.IGNORECASE,
)
_SEARCH_END = re.compile(
    r"\.(?:\s|$)|\s+and\s+(?:also\s+)?(?:calculate|compute|read|list|look|get|add|update|create|run|show)\b", re.I
)
_AND_FOR = re.compile(r"(?:,\s*|\s+)and\s+(?:also\s+)?for\s+", re.IGNORECASE)


def _web_searcher(tools: OfflineTools) -> Match | None:
    names = ("search_and_fetch", "web_search", "search_web", "duckduckgo_search", "search")
    return tools.find(names, query=("query", "q"), maybe_results=("max_results",))


def _read_searches(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in _WEB_SEARCH.finditer(asked.text):
        text = found[1]
        if stop := _SEARCH_END.search(text):
            text = text[: stop.start()]
        end = found.start(1) + len(text)
        tool = _web_searcher(tools)
        if tool is None:
            yield missing((found.start(), end), "search the web", "duckduckgo.search_and_fetch")
            continue
        queries = listed(_AND_FOR.sub(", ", text), split_and=False)
        yield RuleFinding((found.start(), end), tuple(tool.call(query=query, results=3) for query in queries))


SEARCHES = AnswerRule(
    can="search the web: `search for 'structured concurrency', 'trio' and 'asyncio'`",
    able=lambda tools: _web_searcher(tools) is not None,
    read=_read_searches,
)


_WITH_JSON = re.compile(r"(?<![\w.-])([A-Za-z_][\w-]*(?:\.[\w-]+){0,3})[ \t`]*(\()?[ \t`]*(?=\{)")
_ALONE = re.compile(
    r"^[ \t`]*(?:(?:please[ \t]+)?(?:call|run|use)[ \t]+)?`?([\w-]+\.[\w-]+)`?[ \t]*[.!]?[ \t]*$", re.I | re.M
)


_JSON = json.JSONDecoder(parse_constant=safe_text.no_constant)


def _read_named(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    at = 0
    while found := _WITH_JSON.search(asked.text, at):
        finding = _with_json(asked.text, found, tools)
        at = found.end() + 1
        if finding:
            yield finding
            at = max(at, finding.span[1])
    for line in _ALONE.finditer(asked.text):
        if spec := tools.lookup(line[1]):
            if lacking := json_schema.required(spec.input_schema):
                yield RuleFinding(line.span(), problem=_lacks(spec, lacking))
            else:
                yield RuleFinding(line.span(), (PlannedCall(spec, "{}"),))


def _with_json(text: str, found: re.Match[str], tools: OfflineTools) -> RuleFinding | None:
    name, start = found[1], found.start()
    spec = tools.lookup(name)
    if spec is None and "." not in name:
        return None  # a word before a brace: code, most likely
    line_end = text.find("\n", found.end())
    try:
        value, end = _JSON.raw_decode(text, found.end())
    except (ValueError, RecursionError) as error:
        end = len(text) if line_end < 0 else line_end
        why = error.msg if isinstance(error, json.JSONDecodeError) else one_line(str(error), 80)
        return RuleFinding(
            (start, end), problem=f"I did not call `{one_line(name, 80)}`: its arguments are not JSON ({why})."
        )
    if spec is None:
        known = ", ".join(f"`{one_line(tool.label, 60)}`" for tool in tools.tools[:8]) or "none"
        problem = f"There is no tool `{one_line(name, 80)}` on. Those that are on: {known}."
        return RuleFinding((start, end), problem=problem, server=name.partition(".")[0])
    lacking = [key for key in json_schema.required(spec.input_schema) if key not in cast("dict[str, Any]", value)]
    if lacking:
        return RuleFinding((start, end), problem=_lacks(spec, lacking))
    return RuleFinding((start, end), (PlannedCall(spec, text[found.end() : end]),))


def _lacks(spec: ToolSpec, keys: list[str] | tuple[str, ...]) -> str:
    names = ", ".join(f"`{one_line(key, 40)}`" for key in keys)
    return f"I did not call `{one_line(spec.label, 80)}`: it needs {names}."


NAMED_CALLS = AnswerRule(
    can='call any tool you name with its arguments: `server.tool {"key": "value"}`, several at once',
    able=lambda tools: bool(tools.tools),
    read=_read_named,
)


_ID = r"(?:(?:number|no\.?|id)\s*)?#?((?:[A-Za-z]{1,5}-)?\d{1,12})\b"
_OF_CUSTOMER = re.compile(
    r"\b[Oo]rders?\s+(?:for|of|from|by|placed\s+by)\s+(?:the\s+)?(?:customer\s+)?"
    rf"({QUOTED}|[A-Z][\w&.-]*(?:[ \t]+[A-Z][\w&.-]*){{0,4}})"
)
_STATUS = re.compile(
    rf"\b(?:mark|set|update|change)\s+(?:the\s+)?(?:status\s+of\s+)?order\s+{_ID}\s+(?:as|to)\s+({QUOTED}|\w+)", re.I
)
_ONE = re.compile(rf"\border\s+{_ID}", re.IGNORECASE)
_ALL = re.compile(
    r"\b(?:list|show|get|fetch|look\s+up)\s+(?:me\s+)?(?:all\s+)?(?:of\s+)?(?:the\s+|our\s+|my\s+)?orders\b", re.I
)
_REVENUE = re.compile(r"\b(?:total\s+)?revenue(?:\s+(?:summary|report|total))?\b|\bsales\s+summary\b", re.IGNORECASE)
_IDS = ("order_id", "order_number", "id", "order", "number")


def _of_customer(tools: OfflineTools) -> Match | None:
    return tools.find(("find_orders", "search_orders"), customer=("customer", "customer_name", "name"))


def _revenue(tools: OfflineTools) -> Match | None:
    return tools.find(("revenue_summary", "get_revenue_summary"))


def _new_status(tools: OfflineTools) -> Match | None:
    return tools.find(("update_order_status",), order=_IDS, status=("status", "new_status"))


_READERS: tuple[tuple[re.Pattern[str], str, Callable[[OfflineTools], Match | None], tuple[str, ...]], ...] = (
    (_OF_CUSTOMER, "find_orders", _of_customer, ("customer",)),
    (_STATUS, "update_order_status", _new_status, ("order", "status")),
    (_ONE, "get_order", lambda tools: tools.find(("get_order",), order=_IDS), ("order",)),
    (_ALL, "list_all_orders", lambda tools: tools.find(("list_all_orders", "list_orders")), ()),
    (_REVENUE, "revenue_summary", _revenue, ()),
)


def _read_orders(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    taken: list[tuple[int, int]] = []
    for pattern, name, find, names in _READERS:
        for found in pattern.finditer(asked.text):
            tool = find(tools)
            if tool is None and pattern is _ONE:
                continue  # "in order 2" and the like: no reason to speak of a tool
            if any(start < found.end() and found.start() < end for start, end in taken):
                continue
            taken.append(found.span())
            if tool:
                values = {name: unquoted(group) for name, group in zip(names, found.groups(), strict=True)}
                yield RuleFinding(found.span(), (tool.call(**values),))
            else:
                yield missing(found.span(), f"look up “{found[0].strip()}”", f"order_database.{name}")


ORDERS = AnswerRule(
    can="look up orders: `look up all orders for customer 'Acme Corp' and the total revenue summary`",
    able=lambda tools: (_of_customer(tools) or _revenue(tools)) is not None,
    read=_read_orders,
)


_SLIDES = re.compile(
    rf"\b(?:create|make|write|build|generate|prepare|draft)\s+(?:me\s+)?(?:an?\s+)?(?:({COUNT})[\s-]slides?\s+)?"
    r"(?:short\s+|new\s+)?(?:powerpoint|pptx|presentation|slides?|slide\s+deck|deck)(?:\s+(?:presentation|deck|file))?"
    rf"\s+(?:about|on|for|titled|called)\s+({QUOTED}|[^.\n;?!,]{{1,120}}?)"
    r"(?=\s+and\s+(?:also\s+)?(?:calculate|compute|work|read|list|search|look|get|add|update|create|run|show|find)\b"
    r"|\s*(?:[.\n;?!,]|$))",
    re.IGNORECASE,
)
_POINTS = ("What it is", "Why it matters", "An example")
_MOST_SLIDES = 20


def _maker(tools: OfflineTools) -> Match | None:
    return tools.find(
        ("markdown_to_pptx", "create_pptx", "create_presentation"),
        markdown=("markdown_content", "markdown", "content"),
        maybe_file=("file_name", "filename"),
    )


def _draft(topic: str, slides: int) -> str:
    """Return an outline that claims no knowledge of the topic: a heading and open points a slide."""
    title = topic[:1].upper() + topic[1:]
    note = "- Outline by Fanout's offline model: fill in the points"
    if slides == 1:
        return "\n".join((f"# {title}", "", *(f"- {point}" for point in _POINTS), note)) + "\n"
    parts = [f"# {title}\n\n{note}\n"]
    for number in range(2, min(slides, _MOST_SLIDES) + 1):
        point = _POINTS[number - 2] if number - 2 < len(_POINTS) else f"Point {number - 1}"
        parts.append(f"# {point}\n\n- {title}\n")
    return "\n".join(parts)


def _slides(tool: Match, found: re.Match[str]) -> list[PlannedCall]:
    topic = unquoted(found[2])
    file = re.sub(r"[^\w]+", "_", topic.lower()).strip("_")[:60] or "slides"
    return [tool.call(markdown=_draft(topic, count_of(found[1])), file=f"{file}.pptx")]


SLIDES = AnswerRule(
    can="draft an outline as slides: `create a one-slide PowerPoint about parallel computing`",
    able=lambda tools: _maker(tools) is not None,
    read=reader(_SLIDES, _maker, _slides, lambda _: ("make a presentation", "pptx_generator.markdown_to_pptx")),
)


_FILE = r"[\"'`]?(?:[\w.~-]*/)*(?:[\w-][\w.-]*\.[A-Za-z]\w{0,7}|README|LICENSE|Makefile|Dockerfile)\b[\"'`]?"
_READ = re.compile(
    r"\b(?:read|open|show|cat|print|display)\s+(?:me\s+)?(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:files?\s+)?"
    rf"({_FILE}(?:{AND}(?:the\s+)?(?:file\s+)?{_FILE})*)",
    re.IGNORECASE,
)
_NAME = re.compile(_FILE)
_FOLDER = rf"({QUOTED}|[\w.~-]*/[\w./~-]*|[\w.-]+(?=\s+(?:folder|directory)\b))"
_LIST = re.compile(
    r"\b(?:list|show(?:\s+me)?|what(?:'s|\s+are|\s+is)?)\s+(?:all\s+)?(?:the\s+|of\s+the\s+|my\s+)?"
    r"(?:files|contents?|directory|folder|in\s+(?:this|the)\s+(?:folder|directory))\b"
    rf"(?:\s+(?:are\s+)?(?:in|of|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?{_FOLDER})?",
    re.IGNORECASE,
)
_SEARCH = re.compile(
    rf"\b(?:search|grep|look)\s+(?:in\s+)?(?:the\s+|my\s+|all\s+)*files\s+for\s+({QUOTED}|\S+)"
    rf"|\b(?:find|search\s+for)\s+({QUOTED}|\S+)\s+in\s+(?:the\s+|my\s+|all\s+)*files\b",
    re.IGNORECASE,
)
_PATHS = ("path", "file_path", "file", "filename", "file_name")
_FOLDERS = ("path", "directory", "dir", "folder")
_HERE = frozenset({"", "this", "current", "working", "my"})  # in “list the files in this folder”


def _reader(tools: OfflineTools) -> Match | None:
    return tools.find(("read_file", "read_text_file", "read", "cat"), path=_PATHS)


def _lister(tools: OfflineTools) -> Match | None:
    return tools.find(("list_files", "list_directory", "list_dir", "list", "ls"), maybe_path=_FOLDERS)


def _searcher(tools: OfflineTools) -> Match | None:
    return tools.find(("search_files", "grep", "search_text"), what=("query", "text", "pattern"), maybe_path=_FOLDERS)


def _paths(found: re.Match[str]) -> list[str]:
    return [name.strip("\"'`") for name in _NAME.findall(found[1])]


def _folder(found: re.Match[str]) -> str:
    folder = unquoted(found[1] or "")
    return "." if folder.lower() in _HERE else folder


_READERS_OF_FILES = (
    reader(
        _READ,
        _reader,
        lambda tool, found: [tool.call(path=path) for path in _paths(found)],
        lambda found: (f"read `{', '.join(_paths(found))}`", "files.read_file"),
    ),
    reader(
        _LIST,
        _lister,
        lambda tool, found: [tool.call(path=_folder(found))],
        lambda _: ("list files", "files.list_directory"),
    ),
    reader(
        _SEARCH,
        _searcher,
        lambda tool, found: [tool.call(what=unquoted(found[1] or found[2]), path=".")],
        lambda _: ("search files", "files.search_files"),
    ),
)
FILES = AnswerRule(
    can="read, list and search files: `read README.md and list the files in docs/`",
    able=lambda tools: (_reader(tools) or _lister(tools)) is not None,
    read=lambda asked, tools: chain.from_iterable(read(asked, tools) for read in _READERS_OF_FILES),
)


_BEYOND = re.compile(
    r"\b(?:write|compose|explain|describe|translate|summari[sz]e|compare|review|fix|debug|refactor|implement|improve"
    r"|recommend|tell\s+me|why|who|draft)\b[^.,;!?\n]{1,200}",
    re.IGNORECASE,
)
_MOST = 3


LIMITS = AnswerRule(
    can="",
    able=lambda tools: False,
    read=lambda asked, tools: [
        RuleFinding(found.span(), problem=f"{code(found[0], 80)} is beyond me: I only follow rules.")
        for found in islice(_BEYOND.finditer(asked.text), _MOST)
    ],
)
RULES: tuple[AnswerRule, ...] = (NAMED_CALLS, TODO, SLIDES, FILES, SEARCHES, ORDERS, DEMO, ARITHMETIC, LIMITS)
READS = 8_000  # characters of a prompt that the rules look at
CALLS = 64  # calls planned for one prompt


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls, in the order of the prompt, and in sentences what could not be planned; `unmet` are those of them
    whose server was asked for and did not come."""

    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


def plan(asked: AskedPrompt, tools: OfflineTools, asked_for: frozenset[str] = frozenset()) -> Plan:
    """Return the calls that the rules find in one prompt. What a server that is off could do is a call that asks for
    it, unless it is one of `asked_for` already."""
    problems: list[str] = []
    if len(asked.text) > READS:
        problems.append(f"Your message is long: I read its first {READS:,} characters only.")
        asked = replace(asked, text=asked.text[:READS])
    findings: list[RuleFinding] = []
    for rule in RULES:
        for finding in list(rule.read(asked, tools)):
            findings.append(finding)
            start, end = finding.span
            asked = replace(asked, text=asked.text[:start] + " " * (end - start) + asked.text[end:])
    findings.sort(key=lambda finding: finding.span)
    calls: list[PlannedCall] = []
    unmet: list[str] = []
    for finding in findings:
        wanted = None if finding.server in asked_for else tools.switch_on(finding.server)
        calls += finding.calls if wanted is None else [wanted] if wanted not in calls else []
        if finding.problem and wanted is None:
            problems.append(finding.problem)
            unmet += [finding.problem] if finding.server in asked_for else []
    if len(calls) > CALLS:
        problems.append(f"I make at most {CALLS} calls for one message: {len(calls) - CALLS} were left out.")
    return Plan(tuple(calls[:CALLS]), tuple(dict.fromkeys(problems)), tuple(dict.fromkeys(unmet)))


def plan_all(prompts: Sequence[AskedPrompt], tools: OfflineTools, asked_for: frozenset[str] = frozenset()) -> Plan:
    """Make one plan for all prompts of a turn, those that joined while it ran last."""
    plans = [plan(asked, tools, asked_for) for asked in prompts]
    return Plan(
        tuple(call for one in plans for call in one.calls),
        tuple(problem for one in plans for problem in one.problems),
        tuple(problem for one in plans for problem in one.unmet),
    )
