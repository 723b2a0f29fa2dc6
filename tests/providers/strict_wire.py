"""A strict reader of request bodies: raises BadRequest for whatever one of the three real APIs answers with 400.

Each rule is one that the vendor enforces on the sequence, shape or spelling of messages. Tests send whatever histories
they can think of through the requests of the providers and let this judge them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")


class BadRequest(AssertionError):
    """The reason for which the API would refuse a request."""


def check(api: str, body: dict[str, Any]) -> None:
    """Checks the body of a request to `api`."""
    {"openai-chat": check_chat, "openai-responses": check_responses, "anthropic": check_anthropic}[api](body)


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise BadRequest(problem)


def _fields(thing: dict[str, Any], required: set[str], optional: set[str], what: str) -> None:
    _require(required <= set(thing), f"{what} lacks {required - set(thing)}")
    _require(set(thing) <= required | optional, f"{what} has unknown fields {set(thing) - required - optional}")


def _encodable(body: dict[str, Any]) -> None:
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, UnicodeEncodeError) as error:
        raise BadRequest(f"the body is not JSON in UTF-8: {error}") from error


def _json_object(text: Any, what: str) -> None:
    _require(isinstance(text, str), f"{what}: arguments are no text")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadRequest(f"{what}: arguments are not JSON: {text!r}") from error
    _require(isinstance(value, dict), f"{what}: arguments are no object")


def _schema(schema: Any, what: str) -> None:
    _require(isinstance(schema, dict) and schema.get("type") == "object", f"{what}: schema is no object")
    _require(isinstance(schema.get("properties"), dict), f"{what}: object schema missing properties")
    _require(not {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema), f"{what}: alternatives at the top level")


def _unique(names: list[str], what: str) -> None:
    _require(len(names) == len(set(names)), f"{what} are not unique: {names}")


# -- OpenAI Chat Completions

_CHAT_FIELDS = {"model", "messages", "stream"}
_CHAT_OPTIONAL = {"stream_options", "tools", "tool_choice", "parallel_tool_calls", "max_tokens"} | {
    "max_completion_tokens",
    "temperature",
    "stop",
}


@dataclass(frozen=True)
class ChatRules:
    """The leeway of an endpoint beyond its format: the shape of its ids, and fields of its own."""

    id: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,40}")
    fields: Set[str] = frozenset()
    call_fields: Set[str] = frozenset()
    parts: Set[str] = frozenset()  # kinds of parts in an answer's content, beside text


def check_chat(body: dict[str, Any], rules: ChatRules | None = None) -> None:
    """OpenAI Chat Completions, and with `rules` another endpoint that speaks it."""
    rules = rules or _LENIENT
    _encodable(body)
    _fields(body, _CHAT_FIELDS, _CHAT_OPTIONAL, "body")
    if "tools" in body:
        _require(body["tools"], "tools is empty")
        for tool in body["tools"]:
            _fields(tool, {"type", "function"}, set(), "tool")
            _fields(tool["function"], {"name", "parameters"}, {"description", "strict"}, "function")
            _require(LEGAL_NAME.fullmatch(tool["function"]["name"]), f"tool name {tool['function']['name']!r}")
            _schema(tool["function"]["parameters"], "function")
        _unique([tool["function"]["name"] for tool in body["tools"]], "tool names")
    for field in ("tool_choice", "parallel_tool_calls"):
        _require(field not in body or "tools" in body, f"{field} is only allowed with tools")
    _require(body["messages"], "messages is empty")
    waiting: set[str] = set()
    for number, message in enumerate(body["messages"]):
        waiting = _chat_message(message, waiting, f"messages[{number}]", rules)
    _require(not waiting, f"tool_call_ids without a response: {waiting}")
    calls = [call["id"] for message in body["messages"] for call in message.get("tool_calls", [])]
    _unique(calls, "call ids")


def _chat_message(message: dict[str, Any], waiting: set[str], what: str, rules: ChatRules) -> set[str]:
    """Checks one message; `waiting` are ids that still need their tool message, and what it returns are those then."""
    role = message.get("role")
    if role == "tool":
        _fields(message, {"role", "content", "tool_call_id"}, set(), what)
        _require(isinstance(message["content"], str), f"{what}: content is no text")
        _require(message["tool_call_id"] in waiting, f"{what}: no preceding call {message['tool_call_id']!r}")
        waiting.remove(message["tool_call_id"])
        return waiting
    _require(not waiting, f"{what}: tool_call_ids without a response: {waiting}")
    if role in ("system", "user"):
        _fields(message, {"role", "content"}, set(), what)
        _require(isinstance(message["content"], str), f"{what}: content is no text")
        return set()
    _require(role == "assistant", f"{what}: unknown role {role!r}")
    _fields(message, {"role", "content"}, {"tool_calls", *rules.fields}, what)
    calls = message.get("tool_calls")
    _require("tool_calls" not in message or calls, f"{what}: tool_calls is empty")
    for part in message["content"] if isinstance(message["content"], list) else ():
        _require(part.get("type") in {"text", *rules.parts}, f"{what}: a part of kind {part.get('type')!r}")
    _require(message["content"] is None or isinstance(message["content"], str | list), f"{what}: content")
    _require(rules.parts or not isinstance(message["content"], list), f"{what}: content in parts")
    _require(message["content"] or calls, f"{what}: neither content nor tool_calls")
    for call in calls or []:
        _fields(call, {"id", "type", "function"}, set(rules.call_fields), f"{what} call")
        _fields(call["function"], {"name", "arguments"}, set(), f"{what} call")
        _require(rules.id.fullmatch(call["id"]), f"{what}: id {call['id']!r}")
        _require(LEGAL_NAME.fullmatch(call["function"]["name"]), f"{what}: name {call['function']['name']!r}")
        _json_object(call["function"]["arguments"], what)
    ids = [call["id"] for call in calls or []]
    _unique(ids, f"{what}: call ids")
    return set(ids)


_LENIENT = ChatRules(fields=frozenset({"reasoning_content", "reasoning", "reasoning_details"}))


# -- OpenAI Responses

_RESPONSES_FIELDS = {"model", "input", "stream", "store"}
_RESPONSES_OPTIONAL = {"include", "instructions", "tools", "tool_choice", "parallel_tool_calls"} | {
    "max_output_tokens",
    "temperature",
    "reasoning",
    "prompt_cache_key",
}
# Items of tools that the provider runs, and what the API wants of each.
_SERVER_ITEMS: dict[str, set[str]] = {
    "web_search_call": {"id", "status", "action"},
    "file_search_call": {"id", "status", "queries"},
    "code_interpreter_call": {"id", "status", "code", "container_id"},
    "mcp_list_tools": {"id", "server_label", "tools"},
    "mcp_call": {"id", "server_label", "name", "arguments"},
    "compaction": {"id", "encrypted_content"},
    "tool_search_call": {"id", "execution", "status", "arguments"},
    "tool_search_output": {"id", "execution", "status", "tools"},
    "program": {"id", "call_id", "code", "fingerprint"},
    "program_output": {"id", "call_id", "result", "status"},
}
_OF_PROGRAMS = {"allowed_callers", "output_schema"}


def _callers(tool: dict[str, Any], program: str, offered: object) -> None:
    """A tool may be called by programs only where these are offered."""
    callers = tool.get("allowed_callers", ["direct"])
    _require(callers and set(callers) <= {"direct", program}, f"allowed_callers {callers}")
    _require(offered or program not in callers, f"{program} is not offered")


def check_responses(body: dict[str, Any]) -> None:
    """OpenAI Responses."""
    _encodable(body)
    _fields(body, _RESPONSES_FIELDS, _RESPONSES_OPTIONAL, "body")
    _require(0 < len(body.get("prompt_cache_key", "x")) <= 64, "prompt_cache_key is blank or too long")
    functions = [tool for tool in body.get("tools", []) if tool.get("type") == "function"]
    for tool in functions:
        optional = {"description", "strict", "defer_loading", "async", *_OF_PROGRAMS}
        _fields(tool, {"type", "name", "parameters"}, optional, "tool")
        _require(not tool.get("async") or "allowed_callers" not in tool, "an async tool that programs may call")
        _callers(tool, "programmatic", {one.get("type") for one in body["tools"]} & {"programmatic_tool_calling"})
        _require(LEGAL_NAME.fullmatch(tool["name"]), f"tool name {tool['name']!r}")
        _schema(tool["parameters"], "tool")
    _unique([tool["name"] for tool in functions], "tool names")
    _require(body.get("max_output_tokens", 16) >= 16, "max_output_tokens is below 16")
    _require(body["input"], "input is empty")
    calls: set[str] = set()
    results: set[str] = set()
    for number, item in enumerate(body["input"]):
        _responses_item(item, calls, results, f"input[{number}]")
        if item.get("type") == "reasoning":
            after = body["input"][number + 1] if number + 1 < len(body["input"]) else {}
            kinds = ("function_call", "reasoning", *_SERVER_ITEMS)
            follows = after.get("role") == "assistant" or after.get("type") in kinds
            _require(follows, f"input[{number}]: reasoning without its required following item")
    late = {item["call_id"] for item in body["input"] if item.get("async")}  # whose output may come in a later request
    _require(calls - late <= results, f"no tool output found for: {calls - late - results}")
    programs = {item["call_id"] for item in body["input"] if item.get("type") == "program"}
    made = {item["caller"]["caller_id"] for item in body["input"] if "caller_id" in item.get("caller", {})}
    _require(made <= programs, f"callers that are no program: {made - programs}")
    told = {item["call_id"]: item.get("caller") for item in body["input"] if item.get("type") == "function_call"}
    for item in body["input"]:
        if item.get("type") == "function_call_output":
            _require(item.get("caller") == told[item["call_id"]], "an output has not the caller of its call")


def _responses_item(item: dict[str, Any], calls: set[str], results: set[str], what: str) -> None:
    match item.get("type", "message"):
        case "message":
            _fields(item, {"role", "content"}, {"type", "phase"} if item.get("role") == "assistant" else {"type"}, what)
            _require(item.get("phase", "final_answer") in ("commentary", "final_answer"), f"{what}: phase")
            _require(item["role"] in ("user", "assistant", "system", "developer"), f"{what}: role {item['role']!r}")
            _require(isinstance(item["content"], str), f"{what}: content is no text")
        case "function_call":
            optional = {"id", "status", "caller", "namespace", "async"}
            _fields(item, {"type", "call_id", "name", "arguments"}, optional, what)
            _require(0 < len(item["call_id"]) <= 64, f"{what}: call_id {item['call_id']!r}")
            _require(item["call_id"] not in calls, f"{what}: duplicate call_id {item['call_id']!r}")
            _require(LEGAL_NAME.fullmatch(item["name"]), f"{what}: name {item['name']!r}")
            _json_object(item["arguments"], what)
            calls.add(item["call_id"])
        case "function_call_output":
            _fields(item, {"type", "call_id", "output"}, {"id", "status", "caller"}, what)
            _require(item["call_id"] in calls, f"{what}: no tool call found for {item['call_id']!r}")
            _require(item["call_id"] not in results, f"{what}: a second output for {item['call_id']!r}")
            _require(isinstance(item["output"], str), f"{what}: output is no text")
            results.add(item["call_id"])
        case "reasoning":
            _fields(item, {"type", "id", "summary"}, {"encrypted_content", "content", "status"}, what)
            kept = item.get("encrypted_content") or item.get("content")
            _require(kept, f"{what}: reasoning without encrypted content, and store is false")
        case kind if kind in _SERVER_ITEMS:
            _fields(item, {"type", *_SERVER_ITEMS[kind]}, {"output", "outputs", "results", "error", "summary"}, what)
        case other:
            raise BadRequest(f"{what}: unknown type {other!r}")


# -- Anthropic Messages

# Blocks of tools that the provider runs, and what the API wants of each.
_SERVER_BLOCKS: dict[str, set[str]] = {
    "server_tool_use": {"id", "name", "input"},
    "mcp_tool_use": {"id", "name", "server_name", "input"},
    "web_search_tool_result": {"tool_use_id", "content"},
    "code_execution_tool_result": {"tool_use_id", "content"},
    "mcp_tool_result": {"tool_use_id", "content"},
    "tool_search_tool_result": {"tool_use_id", "content"},
}
SERVER_ID = re.compile(r"(srvtoolu|mcptoolu)_[A-Za-z0-9_]+")
_ANTHROPIC_FIELDS = {"model", "messages", "max_tokens", "stream"}
_ANTHROPIC_OPTIONAL = {
    "system",
    "tools",
    "tool_choice",
    "temperature",
    "stop_sequences",
    "thinking",
    "cache_control",
    "container",
}


def check_anthropic(body: dict[str, Any]) -> None:
    """Anthropic Messages."""
    _encodable(body)
    _fields(body, _ANTHROPIC_FIELDS, _ANTHROPIC_OPTIONAL, "body")
    _require(body["max_tokens"] >= 1, "max_tokens is below 1")
    _require(0 <= body.get("temperature", 0) <= 1, "temperature is outside 0..1")
    system = body.get("system", "x")
    for block in system if isinstance(system, list) else [{"type": "text", "text": system}]:
        _anthropic_block(_unmarked(block), "system")
    _require(len(_marks(body)) <= 4, "A maximum of 4 blocks with cache_control may be provided")
    _require(all(stop.strip() for stop in body.get("stop_sequences", [])), "blank stop sequence")
    for marked in body.get("tools", []):
        tool = _unmarked(marked)
        if "type" in tool:
            continue  # one that the provider runs
        _fields(
            tool,
            {"name", "input_schema"},
            {"description", "eager_input_streaming", "defer_loading", "allowed_callers"},
            "tool",
        )
        programs = [one["type"] for one in body["tools"] if one.get("name") == "code_execution"]
        _callers(tool, (programs or ["code_execution"])[0], programs)
        _require(
            not (tool.get("defer_loading") and "cache_control" in marked), "a deferred tool takes no cache_control"
        )
        _require(LEGAL_NAME.fullmatch(tool["name"]), f"tool name {tool['name']!r}")
        _schema(tool["input_schema"], "tool")
    _unique([tool["name"] for tool in body.get("tools", [])], "tool names")
    _require("tool_choice" not in body or body.get("tools"), "tool_choice may only be specified with tools")
    messages = body["messages"]
    _require(messages, "messages is empty")
    _require(messages[0]["role"] == "user", "the first message must be of the user")
    for number, message in enumerate(messages):
        _fields(message, {"role", "content"}, set(), f"messages.{number}")
        _require(message["role"] == ("user", "assistant")[number % 2], f"messages.{number}: roles must alternate")
        before = messages[number - 1]["content"] if number else []
        after = messages[number + 1]["content"] if number + 1 < len(messages) else []
        last = number == len(messages) - 1
        _anthropic_message(message, before, after, f"messages.{number}", last=last)
    _programs(messages)
    uses = [b for m in messages for b in m["content"] if isinstance(b, dict) and b["type"] == "tool_use"]
    _unique([use["id"] for use in uses], "tool_use ids")
    _require(not uses or body.get("tools"), "requests with tool_use blocks must define tools")


def _marks(thing: Any) -> list[Any]:
    """Every cache_control in a body."""
    if isinstance(thing, dict):
        own = [thing["cache_control"]] if "cache_control" in thing else []
        return own + [mark for inner in thing.values() for mark in _marks(inner)]
    return [mark for inner in thing for mark in _marks(inner)] if isinstance(thing, list) else []


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    """A block without its cache mark, which has to be one and stand where one may."""
    mark = block.get("cache_control", {"type": "ephemeral"})
    _require(mark == {"type": "ephemeral"}, f"cache_control {mark!r}")
    marked = "cache_control" in block
    _require(not marked or block.get("type") not in ("thinking", "redacted_thinking"), "a mark on thinking")
    return {name: value for name, value in block.items() if name != "cache_control"}


def _is_server_use(block: dict[str, Any]) -> bool:
    return block["type"] in ("server_tool_use", "mcp_tool_use")


def _programs(messages: list[dict[str, Any]]) -> None:
    """A program has its result, or waits for the results of its calls, which stand alone at the end."""
    answers = [[dict(one) for one in message["content"]] for message in messages if message["role"] == "assistant"]
    blocks = [block for answer in answers for block in answer]
    uses = {block["id"] for block in blocks if _is_server_use(block)}
    over = {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
    callers = [block["caller"]["tool_id"] for block in blocks if "tool_id" in block.get("caller", {})]
    _require(set(callers) <= uses, f"callers that are no program: {set(callers) - uses}")
    waiting = {block["id"] for block in blocks if block.get("name") == "code_execution"} - over
    made = {block["caller"]["tool_id"] for block in (answers or [[]])[-1] if "tool_id" in block.get("caller", {})}
    _require(waiting <= made, f"programs that nobody goes on with: {waiting - made}")
    alone = {block["type"] for block in messages[-1]["content"]} == {"tool_result"}
    _require(not waiting or alone, "a program waits, and something stands beside its results")


def _server_blocks(content: list[dict[str, Any]], what: str, *, goes_on: bool) -> None:
    """A result of the provider's own tools stands behind its call, and only a turn that goes on may lack one."""
    open_uses: list[str] = []
    for block in content:
        if _is_server_use(block):
            open_uses.append(block["id"])
        elif block["type"].endswith("_tool_result") and block["type"] != "tool_result":
            _require(block["tool_use_id"] in open_uses, f"{what}: {block['type']} without its call")
            open_uses.remove(block["tool_use_id"])
    _require(goes_on or not open_uses, f"{what}: server tools without a result: {open_uses}")


def _anthropic_message(message: dict[str, Any], before: Any, after: Any, what: str, *, last: bool) -> None:
    content = message["content"]
    if isinstance(content, str):
        _require(content.strip(), f"{what}: text content must be non-empty")
        return
    _require(content, f"{what}: content is empty")
    allowed = {
        "user": {"text", "tool_result", "image"},
        "assistant": {"text", "tool_use", "thinking", "redacted_thinking", *_SERVER_BLOCKS},
    }
    content = list(map(_unmarked, content))
    for block in content:
        _require(block["type"] in allowed[message["role"]], f"{what}: a {block['type']} block of the {message['role']}")
        _anthropic_block(block, what)
    if message["role"] == "assistant":
        programs = {block["id"] for block in content if block.get("name") == "code_execution"}
        plain = [one for one in content if not {one.get("id"), one.get("tool_use_id")} & programs]
        _server_blocks([one for one in plain if one["type"] != "code_execution_tool_result"], what, goes_on=last)
        _require(content[-1]["type"] not in ("thinking", "redacted_thinking"), f"{what}: ends with thinking")
        results = [b["tool_use_id"] for b in after if isinstance(b, dict) and b["type"] == "tool_result"]
        missing = {b["id"] for b in content if b["type"] == "tool_use"} - set(results)
        _require(not missing, f"{what}: tool_use without tool_result in the next message: {missing}")
        return
    kinds = [block["type"] for block in content]
    opening = kinds[: kinds.count("tool_result")]
    _require(set(opening) <= {"tool_result"}, f"{what}: tool_result blocks must come first")
    ids = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    _unique(ids, f"{what}: tool_result ids")
    called = {b["id"] for b in before if isinstance(b, dict) and b["type"] == "tool_use"}
    _require(set(ids) <= called, f"{what}: tool_result without tool_use in the previous message: {set(ids) - called}")


def _anthropic_block(block: dict[str, Any], what: str) -> None:
    match block["type"]:
        case "text":
            _fields(block, {"type", "text"}, {"citations"}, what)
            _require(block["text"].strip(), f"{what}: text content blocks must contain non-whitespace text")
        case "tool_use":
            _fields(block, {"type", "id", "name", "input"}, {"caller", "toolset_name"}, what)
            _require(LEGAL_ID.fullmatch(block["id"]), f"{what}: tool_use.id {block['id']!r}")
            _require(LEGAL_NAME.fullmatch(block["name"]), f"{what}: tool_use.name {block['name']!r}")
            _require(isinstance(block["input"], dict), f"{what}: tool_use.input should be a dictionary")
        case "tool_result":
            _fields(block, {"type", "tool_use_id"}, {"content", "is_error"}, what)
            _require(LEGAL_ID.fullmatch(block["tool_use_id"]), f"{what}: tool_use_id {block['tool_use_id']!r}")
            blank = not str(block.get("content", "")).strip()
            _require(not (block.get("is_error") and blank), f"{what}: content cannot be empty if is_error is true")
            parts = block["content"] if isinstance(block.get("content"), list) else []
            words = all(part["type"] == "text" for part in parts)
            _require(words or not block.get("is_error"), f"{what}: all content must be type text if is_error is true")
        case "thinking":
            _fields(block, {"type", "thinking", "signature"}, set(), what)
            _require(block["signature"], f"{what}: thinking without signature")
        case "redacted_thinking":
            _fields(block, {"type", "data"}, set(), what)
        case kind if kind in _SERVER_BLOCKS:
            _fields(block, {"type", *_SERVER_BLOCKS[kind]}, {"is_error", "caller"}, what)
            ids = [block[name] for name in ("id", "tool_use_id") if name in block]
            _require(all(SERVER_ID.fullmatch(id) for id in ids), f"{what}: ids {ids}")
            _require(isinstance(block.get("input", {}), dict), f"{what}: {kind}.input should be a dictionary")
        case "image":
            _fields(block, {"type", "source"}, set(), what)
        case other:
            raise BadRequest(f"{what}: unknown block {other!r}")


# -- a history through all three


def check_history(request: Any) -> None:
    """Sends a ModelRequest's history through the requests of all three formats and checks each body."""
    from console_app.domain.settings import ProviderConfig
    from console_app.providers.formats.anthropic import anthropic_body
    from console_app.providers.formats.openai_chat import chat_body
    from console_app.providers.formats.openai_responses import responses_body

    chat = ProviderConfig("test", "openai-chat", "m")
    check_chat(chat_body(request, chat, source="", limit_field="max_tokens"))
    check_responses(responses_body(request, ProviderConfig("test", "openai-responses", "m"), source=""))
    anthropic = ProviderConfig("test", "anthropic", "m")
    check_anthropic(anthropic_body(request, anthropic, source="", max_tokens=1000, eager=True))
