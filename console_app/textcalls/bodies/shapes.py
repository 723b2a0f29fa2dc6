"""JSON objects that mean a call, told from data and definitions: models use many keys for a name and arguments."""

from collections.abc import Iterator, Mapping
from typing import Any

from console_app.domain import schema as json_schema
from console_app.records import dataclass
from console_app.textcalls.bodies.literals import decode_json
from console_app.textcalls.model import Arguments, Unreadable, is_list, is_object
from console_app.textcalls.patterns import lazily
from console_app.textcalls.tool_schemas import ToolSchemas

NAME_KEYS = ("name", "tool", "tool_name", "function", "action", "recipient_name", "function_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "tool_arguments", "action_input", "params")
LIST_KEYS = ("tool_calls", "tool_uses")
WRAPPER_KEYS = ("tool_call", "function_call", "function")
SIDE_KEYS = frozenset({"id", "type", "index", "tool_call_id", "call_id", "thought", "thoughts"})
SAID = "content"
"""The key of what a model says beside its calls, in one object with them."""
CALL_KEYS = frozenset({*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *WRAPPER_KEYS, *SIDE_KEYS, SAID})
_KINDS: dict[type, str] = {
    bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list", dict: "an object",
}  # fmt: skip
PARALLEL = "multi_tool_use.parallel"
"""The name of a tool that no one has: its arguments are calls."""
NO_CALL = frozenset({"directly_answer", "directly-answer", "Final Answer"})
_SIDE = r"(?:[\"'](?:id|type|index|tool_call_id)[\"']\s*:\s*(?:\"[^\"\\]*\"|'[^'\\]*'|\d+)\s*,\s*)*+"
_BEFORE_NAME = (
    r"\s*+(?:\[\s*+)?\{{1,2}\s*" + _SIDE + rf"(?:[\"'](?:{'|'.join(WRAPPER_KEYS)})[\"']\s*:\s*\{{\s*)?" + _SIDE
    + rf"[\"']?(?:{'|'.join(NAME_KEYS)})[\"']?\s*:\s*"
)  # fmt: skip
NAMED = lazily(_BEFORE_NAME + r"[\"']([^\"'\\]*)[\"']")
"""An object, or a list of objects, up to the name in the first."""
HALF_NAMED = lazily(_BEFORE_NAME + r"(?:[\"']([^\"'\\]*))?$")
MAPPED = lazily(rf"\{{\s*\"(?!(?:{'|'.join(sorted(CALL_KEYS))})\")([^\"\\]+)\"\s*:\s*\{{")
"""An object whose one key is the name, as Apertus writes it."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A call as an object shows it. `exact`: a name and an arguments object and nothing foreign beside them."""

    name: str
    arguments: Any
    exact: bool
    flat: bool = False


@dataclass(frozen=True, slots=True)
class NotACall:
    """The reason why an object is no call. `silent`: it means something else, as data, so it is no mistake."""

    why: str
    silent: bool = False


def spread(value: Any) -> Iterator[Any]:
    """The candidate objects within a value: itself, the members of a list, what stands under tool_calls."""
    if is_list(value):
        for member in value:
            yield from spread(member) if is_object(member) else (member,)
    elif is_object(value) and len(value) <= 4:
        if PARALLEL in (value.get("name"), value.get("recipient_name")):
            arguments = next((value[key] for key in ARGUMENT_KEYS if is_object(value.get(key))), value)
            value = arguments if is_list(arguments.get("tool_uses")) else value
        yield from next((value[key] for key in LIST_KEYS if is_list(value.get(key))), (value,))
    else:
        yield value


def shape(value: Any, tools: ToolSchemas, *, marked: bool = False) -> Shaped | NotACall:
    """Read an object as a call: its name and arguments, or, as its only key, the name of a tool, any if `marked`."""
    if not is_object(value):
        return NotACall(f"a call should be an object, not {_kind(value)}")
    if len(value) == 2:  # as most have, which surely are calls
        name, arguments = value.get("name"), value.get("arguments")
        if isinstance(name, str) and is_object(arguments) and name.strip() and "properties" not in arguments:
            return Shaped(name, arguments, exact=True)
    if len(value) == 1:
        ((name, arguments),) = value.items()
        if is_object(arguments) and (tools.resolve(name) or (marked and name not in CALL_KEYS)):
            return Shaped(name, arguments, exact=True)
    for key in WRAPPER_KEYS:
        if is_object(value.get(key)):
            return shape(value[key], tools, marked=marked)
    present = [key for key in NAME_KEYS if key in value]
    texts = [key for key in present if isinstance(value[key], str)]
    if present and not texts:
        return NotACall(f"the name of the tool should be text, not {_kind(value[present[0]])}")
    name_key = next((key for key in texts if tools.resolve(value[key])), texts[0] if texts else "")
    name = value[name_key] if texts else ""
    if not name.strip():
        return NotACall("it names no tool")
    if is_definition(value, tools, name):
        return NotACall("it defines a tool", silent=True)
    others = value.keys() - SIDE_KEYS - {name_key}
    for key in ARGUMENT_KEYS:
        if key in others:
            return Shaped(name, value[key], exact=len(others) == 1 and isinstance(value[key], dict | str))
    arguments = {key: item for key, item in value.items() if key in others}
    return Shaped(name, arguments or None, exact=False, flat=bool(arguments))


def is_definition(value: Mapping[str, Any], tools: ToolSchemas, name: str) -> bool:
    """Tell whether the object describes a tool and calls none: it has a description, or its parameters are a schema."""
    if "inputSchema" in value or "input_schema" in value:
        return True
    arguments = [value[key] for key in ARGUMENT_KEYS if key in value]
    declared = any(json_schema.declares_members(json_schema.as_schema(schema)) for schema in arguments)
    if not declared and "description" not in value:
        return False
    properties = tools.properties(tools.resolve(name) or "")
    if "description" in value and (arguments or "description" not in properties):
        return True
    return declared and "properties" not in properties


def arguments_of(value: Any, name: str, tools: ToolSchemas, flat: bool = False) -> tuple[Arguments, tuple[str, ...]]:
    """Return the arguments that `value` means, typed by the schema, and what was mended: text is decoded, nothing is
    `{}`, and a lone value goes to the only parameter it can be meant for."""
    repairs: tuple[str, ...] = ()
    if isinstance(value, str) and value.strip():
        try:
            decoded, repairs = decode_json(value)
        except Unreadable as error:
            if value.lstrip().startswith("{"):
                raise Unreadable(f"the text of its arguments is not JSON: {error.message}") from None
            decoded = value
        if isinstance(decoded, str) and decoded.lstrip().startswith("{") and decoded is not value:
            return arguments_of(decoded, name, tools)
        if decoded is None or is_object(decoded) or is_list(decoded) or isinstance(decoded, str):
            value = decoded
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}, repairs
    if is_object(value):
        if flat and not fits_schema(value, name, tools):
            raise Unreadable("it has no arguments object, and its other keys are not the tool's parameters")
        return tools.coerced(name, value), repairs
    if is_list(value):
        raise Unreadable("its arguments are a list where an object is due")
    sole = tools.required(name) or tuple(tools.properties(name))
    if len(sole) != 1:
        raise Unreadable("its arguments are a single value, and the tool does not take just one")
    return tools.coerced(name, {sole[0]: value}), (*repairs, f"a lone value, taken as {sole[0]}")


def fits_schema(arguments: Mapping[str, Any], name: str, tools: ToolSchemas) -> bool:
    """Tell whether every argument is a parameter of the tool and none that is required is missing."""
    return set(arguments) <= set(tools.properties(name)) and set(tools.required(name)) <= set(arguments)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")
