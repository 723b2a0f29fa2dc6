"""Plans the calls that answer a prompt: every rule reads it once, in order, and what one took the next doesn't see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from console_app.domain import AssistantMessage, Outcome, ToolMessage, ToolSpec, one_line, safe_text
from console_app.domain import schema as json_schema
from console_app.providers.offline.arithmetic import ARITHMETIC
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
    Wording,
    code,
    count_of,
    listed,
    missing,
    unquoted,
)
from console_app.records import dataclass, replace

Values = Iterator[Mapping[str, Any]]  # the arguments of calls, by the names that a wording has for parameters

# -- calls that are written out

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
            yield _called(line.span(), spec, "{}", {})


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
    return _called((start, end), spec, text[found.end() : end], cast("dict[str, Any]", value))


def _called(span: tuple[int, int], spec: ToolSpec, arguments: str, value: Mapping[str, Any]) -> RuleFinding:
    lacking = [f"`{one_line(key, 40)}`" for key in json_schema.required(spec.input_schema) if key not in value]
    if lacking:
        problem = f"I did not call `{one_line(spec.label, 80)}`: it needs {', '.join(lacking)}."
        return RuleFinding(span, problem=problem)
    return RuleFinding(span, (PlannedCall(spec, arguments),))


# -- the to-do list, which its tool replaces whole

_LIST = r"(?:(?:my|the|our)\s+)?to[\s-]?do(?:s|\s+(?:list|items?))?\b"
_ADD = (
    re.compile(rf"\badd\s+([^.\n;]{{1,300}}?)\s+(?:to|on)\s+{_LIST}", re.IGNORECASE),
    re.compile(
        rf"\b(?:update\s+)?{_LIST}(?:\s+to)?\s*(?::|(?:to\s+|and\s+)?(?:add|include|with|adding)\b)\s*"
        rf"((?:{QUOTED}|[^.\n;'\"])[^.\n;]{{0,300}})",
        re.IGNORECASE,
    ),
)
_TICK = re.compile(
    rf"\b(?:mark|tick\s+off|check\s+off|set)\s+({QUOTED}|[^.\n;]{{1,120}}?)\s+(?:as\s+)?(done|completed?|in\s+progress)\b",
    re.I,
)


def _list_tool(tools: OfflineTools) -> Match | None:
    return tools.find(("update_todo_list",), items=("todos",))


def _read_todo(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    added = [found for pattern in _ADD for found in pattern.finditer(asked.text)]
    tool = _list_tool(tools)
    items = _current(asked, tool) if tool else {}
    ticked = [found for found in _TICK.finditer(asked.text) if unquoted(found[1]).casefold() in items]
    for found in ticked:
        status = "in_progress" if "progress" in found[2].lower() else "completed"
        items[unquoted(found[1]).casefold()]["status"] = status
    for text in (text for found in added for text in listed(found[1])):
        items.setdefault(text.casefold(), {"content": text, "status": "pending"})
    for number, span in enumerate(sorted({found.span() for found in (*added, *ticked)})):
        if tool is None:
            yield missing(span, "change the to-do list", "update_todo_list")
        else:
            yield RuleFinding(span, () if number else (tool.call(items=list(items.values())),))


def _current(asked: AskedPrompt, tool: Match) -> dict[str, dict[str, Any]]:
    """Return the items of the newest list that was sent, by their words."""
    results = [one for one in asked.earlier if isinstance(one, ToolMessage)]
    done = {one.tool_call_id for one in results if one.outcome is Outcome.SUCCEEDED}
    calls = [call for one in asked.earlier if isinstance(one, AssistantMessage) for call in one.tool_calls]
    sent = [call for call in calls if call.name == tool.spec.name and call.id in done]
    listed = safe_text.object_in(sent[-1].arguments).get(tool.keys["items"]) if sent else None
    items = map(safe_text.as_object, safe_text.as_list(listed))
    return {str(one["content"]).casefold(): dict(one) for one in items if "content" in one}


# -- what servers of ours do

_MOST_SLIDES = 20
_POINTS = ("What it is", "Why it matters", "An example")


def _slides(found: re.Match[str]) -> Values:
    """An outline that claims no knowledge of the topic: a heading and open points a slide."""
    topic = unquoted(found["topic"])
    title = topic[:1].upper() + topic[1:]
    points = [*_POINTS, *(f"Point {number}" for number in range(4, _MOST_SLIDES))]
    note, count = "- Outline by Fanout's offline model: fill in the points", count_of(found["count"])
    if count == 1:
        draft = "\n".join((f"# {title}", "", *(f"- {point}" for point in _POINTS), note)) + "\n"
    else:
        draft = "\n".join((f"# {title}\n\n{note}\n", *(f"# {one}\n\n- {title}\n" for one in points[: count - 1])))
    file = re.sub(r"[^\w]+", "_", topic.lower()).strip("_")[:60] or "slides"
    yield {"markdown": draft, "file": f"{file}.pptx"}


_OTHER = r"\s+and\s+(?:also\s+)?(?:calculate|compute|work|read|list|search|look|get|add|update|create|run|show|find)\b"
SLIDES = AnswerRule.of(
    "draft an outline as slides: `create a one-slide PowerPoint about parallel computing`",
    Wording(
        rf"\b(?:create|make|write|build|generate|prepare|draft)\s+(?:me\s+)?(?:an?\s+)?(?:(?P<count>{COUNT})[\s-]slides?\s+)?"
        r"(?:short\s+|new\s+)?(?:powerpoint|pptx|presentation|slides?|slide\s+deck|deck)(?:\s+(?:presentation|deck|file))?"
        rf"\s+(?:about|on|for|titled|called)\s+(?P<topic>{QUOTED}|[^.\n;?!,]{{1,120}}?)(?={_OTHER}|\s*(?:[.\n;?!,]|$))",
        ("markdown_to_pptx", "create_pptx", "create_presentation"),
        {"markdown": ("markdown_content", "markdown", "content"), "maybe_file": ("file_name", "filename")},
        _slides,
        "make a presentation",
        "pptx_generator.markdown_to_pptx",
    ),
)

_FILE = r"[\"'`]?(?:[\w.~-]*/)*(?:[\w-][\w.-]*\.[A-Za-z]\w{0,7}|README|LICENSE|Makefile|Dockerfile)\b[\"'`]?"
_FOLDER = rf"({QUOTED}|[\w.~-]*/[\w./~-]*|[\w.-]+(?=\s+(?:folder|directory)\b))"
_FOLDERS = ("path", "directory", "dir", "folder")
_HERE = frozenset({"", "this", "current", "working", "my"})  # in “list the files in this folder”


def _folder(found: re.Match[str]) -> Values:
    folder = unquoted(found[1] or "")
    yield {"path": "." if folder.lower() in _HERE else folder}


FILES = AnswerRule.of(
    "read, list and search files: `read README.md and list the files in docs/`",
    Wording(
        r"\b(?:read|open|show|cat|print|display)\s+(?:me\s+)?(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:files?\s+)?"
        rf"({_FILE}(?:{AND}(?:the\s+)?(?:file\s+)?{_FILE})*)",
        ("read_file", "read_text_file", "read", "cat"),
        {"path": ("path", "file_path", "file", "filename", "file_name")},
        lambda found: ({"path": name.strip("\"'`")} for name in re.findall(_FILE, found[1])),
        "read `{path}`",
        "files.read_file",
    ),
    Wording(
        r"\b(?:list|show(?:\s+me)?|what(?:'s|\s+are|\s+is)?)\s+(?:all\s+)?(?:the\s+|of\s+the\s+|my\s+)?"
        r"(?:files|contents?|directory|folder|in\s+(?:this|the)\s+(?:folder|directory))\b"
        rf"(?:\s+(?:are\s+)?(?:in|of|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?{_FOLDER})?",
        ("list_files", "list_directory", "list_dir", "list", "ls"),
        {"maybe_path": _FOLDERS},
        _folder,
        "list files",
        "files.list_directory",
    ),
    Wording(
        rf"\b(?:search|grep|look)\s+(?:in\s+)?(?:the\s+|my\s+|all\s+)*files\s+for\s+({QUOTED}|\S+)"
        rf"|\b(?:find|search\s+for)\s+({QUOTED}|\S+)\s+in\s+(?:the\s+|my\s+|all\s+)*files\b",
        ("search_files", "grep", "search_text"),
        {"what": ("query", "text", "pattern"), "maybe_path": _FOLDERS},
        lambda found: iter([{"what": unquoted(found[1] or found[2]), "path": "."}]),
        "search files",
        "files.search_files",
    ),
)


def _queries(found: re.Match[str]) -> Values:
    text = re.sub(r"(?:,\s*|\s+)and\s+(?:also\s+)?for\s+", ", ", found["query"], flags=re.IGNORECASE)
    yield from ({"query": query, "results": 3} for query in listed(text, split_and=False))


SEARCHES = AnswerRule.of(
    "search the web: `search for 'structured concurrency', 'trio' and 'asyncio'`",
    Wording(
        r"\b(?:search(?:ing)?\s+(?:(?:the\s+)?(?:web|internet)\s+|online\s+)?(?:for|about)\b|google\b"
        rf"|(?:{COUNT}\s+)?searches(?:\s+at\s+once)?\s*(?::|for\b))\s*:?\s*"
        rf"(?P<query>[^\n;?!]{{1,400}}?)(?=\.(?:\s|$)|{_OTHER}|[\n;?!]|$)",
        ("search_and_fetch", "web_search", "search_web", "duckduckgo_search", "search"),
        {"query": ("query", "q"), "maybe_results": ("max_results",)},
        _queries,
        "search the web",
        "duckduckgo.search_and_fetch",
    ),
)

_ID = r"(?:(?:number|no\.?|id)\s*)?#?(?P<order>(?:[A-Za-z]{1,5}-)?\d{1,12})\b"
_IDS = ("order_id", "order_number", "id", "order", "number")
ORDERS = AnswerRule.of(
    "look up orders: `look up all orders for customer 'Acme Corp' and the total revenue summary`",
    Wording(
        r"\borders?\s+(?:for|of|from|by|placed\s+by)\s+(?:the\s+)?(?:customer\s+)?"
        rf"(?P<customer>{QUOTED}|(?-i:[A-Z][\w&.-]*(?:[ \t]+[A-Z][\w&.-]*){{0,4}}))",
        ("find_orders", "search_orders"),
        {"customer": ("customer", "customer_name", "name")},
        None,
        "look up the orders of {customer}",
        "order_database.find_orders",
    ),
    Wording(
        rf"\b(?:mark|set|update|change)\s+(?:the\s+)?(?:status\s+of\s+)?order\s+{_ID}\s+(?:as|to)\s+(?P<status>{QUOTED}|\w+)",
        ("update_order_status",),
        {"order": _IDS, "status": ("status", "new_status")},
        None,
        "change order {order}",
        "order_database.update_order_status",
    ),
    Wording(rf"\border\s+{_ID}", ("get_order",), {"order": _IDS}),
    Wording(
        r"\b(?:list|show|get|fetch|look\s+up)\s+(?:me\s+)?(?:all\s+)?(?:of\s+)?(?:the\s+|our\s+|my\s+)?orders\b",
        ("list_all_orders", "list_orders"),
        {},
        None,
        "list orders",
        "order_database.list_all_orders",
    ),
    Wording(
        r"\b(?:total\s+)?revenue(?:\s+(?:summary|report|total))?\b|\bsales\s+summary\b",
        ("revenue_summary", "get_revenue_summary"),
        {},
        None,
        "sum up the revenue",
        "order_database.revenue_summary",
    ),
)

# -- the demo server

_NUMBER = r"\d{1,5}(?:\.\d+)?"
_SECONDS = rf"(?:{_NUMBER}\s*(?:s|secs?|seconds?)?(?:\s*,\s*(?:and\s+)?|\s+and\s+))*{_NUMBER}\s*(?:s|secs?|seconds?)\b"
_SHOWN = (  # what takes its time, with its seconds
    *(("index the archive", 9), ("copy the photos", 7), ("build the site", 6), ("sort the letters", 4)),
    *(("count the words", 2), ("warm up", 1)),
)


def _tasks(found: re.Match[str]) -> Values:
    seconds = [min(float(one), 3600.0) for one in re.findall(_NUMBER, found["seconds"] or "")]
    if not seconds and not (found["verb"] and found["kind"]):
        return  # a task may be anything
    seconds = seconds or [3.0]
    for at in range(max(count_of(found["count"]), len(seconds))):
        one = seconds[min(at, len(seconds) - 1)]
        yield {"task": f"task {at + 1}", "seconds": int(one) if one.is_integer() else one}


def _updates(found: re.Match[str]) -> Values:
    if found["verb"] or found["count"] or found["stages"]:
        stages = [f"stage {at + 1}" for at in range(count_of(found["stages"]) if found["stages"] else 4)]
        yield from [{"stages": stages}] * count_of(found["count"])


def _bytes(found: re.Match[str]) -> Values:
    scale = {"k": 1_000, "m": 1_000_000}.get((found["unit"] or "").lower(), 1)
    yield {"size": min(int(found["size"]) * scale, 100_000_000)}


_TASKS = Wording(
    rf"\b(?:(?P<verb>run|start|launch|begin|try|show|do)\s+(?:me\s+)?(?:the\s+)?)?(?:(?P<count>{COUNT})\s+)?"
    r"(?P<kind>long[\s_-]*(?:running\s+)?|running\s+|demo\s+)?`?(?:long_)?tasks?`?s?\b"
    rf"(?:[^.\d\n;]{{0,40}}?(?P<seconds>{_SECONDS}))?(?:\s+and\s+show\s+status\s+updates\b)?",
    ("long_task",),
    {"task": ("task", "name"), "seconds": ("duration_seconds", "duration", "seconds")},
    _tasks,
    "run a long task",
    "demo.long_task",
)
_STAGES = Wording(
    rf"\b(?:(?P<verb>show|send|give|run|demo)\s+(?:me\s+)?)?(?:(?P<count>{COUNT})\s+)?status[\s_-]updates?\b"
    rf"(?:\s+with\s+(?P<stages>{COUNT})\s+stages)?",
    ("status_updates",),
    {"stages": ("stages",)},
    _updates,
    "show status updates",
    "demo.status_updates",
)
_FAILURE = Wording(
    r"\b(?:(?:make|let|show\s+me)\s+(?:a|one|the)\s+(?:demo\s+)?(?:call|tool|task|failure|failing\s+(?:call|tool))"
    rf"(?:\s+fail)?|fail\s+(?:with|saying))\b(?:[^\n\"'`“‘]{{0,40}}(?P<message>{QUOTED}))?",
    ("fail",),
    {"message": ("message", "error")},
    lambda found: iter([{"message": unquoted(found["message"] or "a failure you asked for")}]),
)
_BIG = Wording(
    r"\b(?:big|large|huge)\s+(?:result|output|answer|text)\s+(?:of|with)\s+(?P<size>\d{1,9})\s*(?P<unit>k|m)?(?:i?b|bytes?)\b",
    ("big",),
    {"size": ("bytes", "size")},
    _bytes,
)


def _show(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    """Twelve calls at once where the tools are on: work, a failure, a command that says no, one that asks first."""
    found = re.search(r"\bshow\s+me\s+what\s+you\s+can\s+do\b", asked.text, re.IGNORECASE)
    task, stages, fail = (one.find(tools) for one in (_TASKS, _STAGES, _FAILURE))
    check, publish = tools.find(("check",), command=("command",)), tools.find(("publish",), title=("title",))
    sums = tools.find(("evaluate",), expression=("expression",))
    if found is None or not (task and stages and fail and check and publish and sums):
        return
    calls = [task.call(task=name, seconds=seconds) for name, seconds in _SHOWN]
    calls[2:2] = [check.call(command="./check --all"), publish.call(title="What is new in May")]
    calls += [stages.call(stages=["fetch", "unpack", "compare", "install", "tidy up"]), fail.call()]
    calls += [sums.call(expression=expression) for expression in ("355/113", "e^pi")]
    yield RuleFinding(found.span(), tuple(calls))


DEMO = AnswerRule(
    "show calls that take their time: `run two long tasks of 6 s`, `show status updates`",
    lambda tools: _TASKS.find(tools) is not None,
    (_show, *(one.read for one in (_TASKS, _STAGES, _FAILURE, _BIG))),
)

# -- what no rule does

_BEYOND = re.compile(
    r"\b(?:write|compose|explain|describe|translate|summari[sz]e|compare|review|fix|debug|refactor|implement|improve"
    r"|recommend|tell\s+me|why|who|draft)\b[^.,;!?\n]{1,200}",
    re.IGNORECASE,
)


def _read_limits(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in islice(_BEYOND.finditer(asked.text), 3):
        yield RuleFinding(found.span(), problem=f"{code(found[0], 80)} is beyond me: I only follow rules.")


NAMED_CALLS = AnswerRule(
    'call any tool you name with its arguments: `server.tool {"key": "value"}`, several at once',
    lambda tools: bool(tools.tools),
    (_read_named,),
)
TODO = AnswerRule(
    "keep a to-do list: `add 'Check for coolness' to the to-do list`",
    lambda tools: _list_tool(tools) is not None,
    (_read_todo,),
)
LIMITS = AnswerRule("", lambda tools: False, (_read_limits,))
RULES: tuple[AnswerRule, ...] = (NAMED_CALLS, TODO, SLIDES, FILES, SEARCHES, ORDERS, DEMO, ARITHMETIC, LIMITS)
READS = 8_000  # characters of a prompt that the rules look at
CALLS = 64  # calls planned for one turn


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls, in the order of the prompts, and in sentences what could not be planned; `unmet` are those of them
    whose server was asked for and did not come."""

    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


def plan(prompts: Sequence[AskedPrompt], tools: OfflineTools, asked_for: frozenset[str] = frozenset()) -> Plan:
    """Return the calls that the rules find in the prompts of a turn, those that joined while it ran last.

    What a server that is off could do is a call that asks for it, unless it is one of `asked_for` already.
    """
    calls, problems, unmet = list[PlannedCall](), list[str](), list[str]()
    for asked in prompts:
        if len(asked.text) > READS:
            problems.append(f"Your message is long: I read its first {READS:,} characters only.")
        for finding in _findings(replace(asked, text=asked.text[:READS]), tools):
            wanted = None if finding.server in asked_for else tools.switch_on(finding.server)
            calls += finding.calls if wanted is None else [wanted] if wanted not in calls else []
            if finding.problem and wanted is None:
                problems.append(finding.problem)
                unmet += [finding.problem] if finding.server in asked_for else []
    if len(calls) > CALLS:
        problems.append(f"I make at most {CALLS} calls for one message: {len(calls) - CALLS} were left out.")
    return Plan(tuple(calls[:CALLS]), tuple(dict.fromkeys(problems)), tuple(dict.fromkeys(unmet)))


def _findings(asked: AskedPrompt, tools: OfflineTools) -> list[RuleFinding]:
    """Return what all rules find, in the order of the prompt."""
    findings: list[RuleFinding] = []
    for read in (read for rule in RULES for read in rule.readers):
        for finding in list(read(asked, tools)):
            findings.append(finding)
            start, end = finding.span
            asked = replace(asked, text=asked.text[:start] + " " * (end - start) + asked.text[end:])
    return sorted(findings, key=lambda finding: finding.span)
