"""Reads an error where it stands: whatever an endpoint, or a router in front of it, wrote in place of an answer.

Seen: `{"error": {...}}`, `{"error": "text"}`, `{"object": "error", "message": ...}`, a list of either, `detail` as a
list of findings, a router's `error.metadata.raw` (JSON inside of a string), plain text, web pages, and events of a
stream, though the status is an error's (LiteLLM).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from console_app.domain import one_line
from console_app.providers.faults import waits
from console_app.providers.stream.loose_json import arr, obj, text
from console_app.records import dataclass, replace

_MESSAGES = "message detail details msg error_message error_msg error_description title reason".split()  # noqa: SIM905
_DEEPEST = 6
_LONGEST = 8_000  # characters of a message: a router's may hold another's, and that a list of findings
_LONGEST_WORD = 200  # of a code, or of a field's name
_MOST_FINDINGS = 5
_TAGS = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


class ServerFault(Exception):
    """The endpoint reported an error inside its stream. `body` is the error as it wrote it, `headers` those of the
    response that held it."""

    def __init__(self, body: Any) -> None:
        super().__init__("error event")
        self.body = body
        self.headers: Mapping[str, str] = {}


class StatusFault(Exception):
    """The endpoint answered with the status of an error, or of a redirect."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers, self.body = status, headers, body


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The message of an error, its code (or type) and the field it complains of; "" where it doesn't say."""

    message: str = ""
    code: str = ""
    param: str = ""
    upstream: str = ""  # the code of the endpoint behind a router
    wait: float | None = None  # seconds that it asks to wait


def read_error(body: Any) -> ErrorBody:
    """Return the error in `body`: parsed JSON of any shape, or a text. Of long words the beginning, as what an endpoint
    means is looked for in them with patterns that a hostile one could keep busy."""
    found = _read(body, 0)
    message = found.message[:_LONGEST]
    return ErrorBody(
        message,
        found.code[:_LONGEST_WORD],
        found.param[:_LONGEST_WORD],
        found.upstream[:_LONGEST_WORD],
        waits.longest(found.wait, waits.in_words(message)),
    )


def _read(body: Any, depth: int) -> ErrorBody:
    if depth > _DEEPEST:
        return ErrorBody()
    if isinstance(body, str):
        return _of_text(body, depth)
    if isinstance(body, list):
        return _of_list(arr(body), depth)
    fields = obj(body)
    inner: Any = fields.get("error") or obj(fields.get("response")).get("error") or fields.get("errors")
    if isinstance(inner, str | list | dict) and inner:
        found = _read(inner, depth + 1)
        code = found.code or _word(fields.get("code")) or ("" if fields.get("type") == "error" else _code(fields))
        return replace(
            found,
            message=found.message or _message(fields, depth),
            code=code,
            param=found.param or text(fields.get("param")),
            wait=waits.longest(found.wait, waits.in_fields(fields, deep=False)),
        )
    param, wait = text(fields.get("param")), waits.in_fields(fields)
    return _with_upstream(ErrorBody(_message(fields, depth), _code(fields), param, wait=wait), fields, depth)


def raise_for_error(name: str, data: dict[str, Any]) -> None:
    """Raise ServerFault when an event is an error, in any of the shapes that servers use."""
    if name == "error" or "error" in (data.get("type"), data.get("object")) or data.get("error"):
        raise ServerFault(data)


def html_title(page: str) -> str:
    """Return what a web page says it is: its title, its first heading, its first words, or "untitled"."""
    page = page[:20_000]
    lowered = page.lower()
    for tag in ("title", "h1"):
        start = lowered.find(f"<{tag}")
        opened = lowered.find(">", start) if start >= 0 else -1
        end = lowered.find("<", opened) if opened >= 0 else -1
        if end > opened and (found := one_line(page[opened + 1 : end], 120)):
            return found
    return one_line(_TAGS.sub(" ", page), 120) or "untitled"


def _of_text(body: str, depth: int) -> ErrorBody:
    if body.startswith(("data:", "event:")):
        data = (line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:"))
        body = next(data, body)
    start = body.lstrip()[:1]
    if start == "<":
        return ErrorBody(html_title(body))
    if start in ("{", "["):
        try:
            value: Any = json.loads(body)
        except (ValueError, RecursionError):
            return ErrorBody(body)
        found = _read(value, depth + 1)
        return found if found.message else replace(found, message=body)
    return ErrorBody(body)


def _of_list(body: list[Any], depth: int) -> ErrorBody:
    found = [_read(one, depth + 1) for one in body[:_MOST_FINDINGS]]
    messages = [f"{_place(obj(one))}{error.message}" for one, error in zip(body, found, strict=False) if error.message]
    code = next((error.code for error in found if error.code), "")
    param = next((error.param for error in found if error.param), "")
    upstream = next((error.upstream for error in found if error.upstream), "")
    return ErrorBody("; ".join(messages), code, param, upstream, waits.longest(*(error.wait for error in found)))


def _place(finding: dict[str, Any]) -> str:
    parts = [str(part) for part in arr(finding.get("loc")) if part != "body"]
    return f"{'.'.join(parts)}: " if parts else ""


def _message(fields: dict[str, Any], depth: int) -> str:
    for name in _MESSAGES:
        value = fields.get(name)
        if isinstance(value, str) and value.strip()[:1] not in ("{", "["):
            if value.strip():
                return value
        elif value and isinstance(value, str | list | dict) and (found := _read(value, depth + 1).message):
            return found
    return ""


def _code(fields: dict[str, Any]) -> str:
    return _word(fields.get("code")) or _word(fields.get("type")) or _word(fields.get("status"))


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _with_upstream(error: ErrorBody, fields: dict[str, Any], depth: int) -> ErrorBody:
    """Return `error` with what a router was told itself: its own words are no more than "Provider returned error"."""
    raw: Any = obj(fields.get("metadata")).get("raw")
    found = _read(raw, depth + 1) if raw else ErrorBody()
    error = replace(error, wait=waits.longest(error.wait, found.wait))
    if not found.message or found.message in error.message:
        return error
    who = text(obj(fields.get("metadata")).get("provider_name"))
    said = f"{who}: {found.message}" if who else found.message
    message = f"{error.message}: {said}" if error.message else said
    return replace(error, message=message, param=error.param or found.param, upstream=found.upstream or found.code)
