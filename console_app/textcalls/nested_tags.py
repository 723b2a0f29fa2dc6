"""Lists and objects written as tags within tags, as MiniMax-M3 writes the values of its parameters."""

import re
from typing import Any


def nested_value(raw: str, prefix: str) -> Any:
    """A value written as tags that each bear a prefix: items make a list, other names an object, the rest is text."""
    tag = re.compile(rf"{re.escape(prefix)}<(/?)([\w.-]+)>")
    stack: list[tuple[str, list[tuple[str, Any]], int]] = [("", [], 0)]
    for found in tag.finditer(raw):
        closing, name = found.groups()
        if not closing:
            stack.append((name, [], found.end()))
        elif len(stack) > 1 and stack[-1][0] == name:
            _, members, begin = stack.pop()
            stack[-1][1].append((name, _members(members) if members else raw[begin : found.start()]))
        else:
            return raw
    return _members(stack[0][1]) if len(stack) == 1 and stack[0][1] else raw


def _members(members: list[tuple[str, Any]]) -> Any:
    if all(name == "item" for name, _ in members):
        return [value for _, value in members]
    return dict(members)
