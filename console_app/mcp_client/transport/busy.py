"""A call that a server behind HTTP had no room for: it was not run, and is sent again.

429 says so, and 503 where it comes with a time to come back at; any other 503 may be of something between, which lost
the answer to a call that ran. The SDK leaves out both status and time, so they are put into the error that it reads.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final, cast

import httpx2
from mcp import MCPError
from mcp_types import INTERNAL_ERROR

MOST_TRIES: Final = 5
LONGEST_WAIT: Final = 60.0  # seconds: what is not soon is for the model to decide
_WAITS: Final = (1.0, 2.0, 4.0, 8.0)  # where the server names none
_KEY: Final = "fanout/wait"


async def told(response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
    """`response`, or in place of a refusal for want of room, an error that `seconds_to_wait` knows."""
    after = response.headers.get("retry-after", "").strip()
    seconds = float(after[:9]) if after.isascii() and after.isdecimal() else None
    if response.status_code != 429 and (response.status_code != 503 or seconds is None):
        return response
    asked = _object(await request.aread())
    if asked.get("method") != "tools/call":
        return response
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    error = _object(await response.aread()).get("error") if is_json else None
    await response.aclose()
    said: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    code, message = said.get("code"), said.get("message")
    status = HTTPStatus(response.status_code)
    own = {
        "code": code if type(code) is int else INTERNAL_ERROR,
        "message": message if isinstance(message, str) and message else _refused(status),
        "data": {_KEY: seconds},
    }
    answer = {"jsonrpc": "2.0", "id": asked.get("id"), "error": own}
    return httpx2.Response(status, json=answer, request=request)


def seconds_to_wait(error: MCPError, tries: int) -> float | None:
    """Seconds until a call may go out again that failed with `error`, `tries` times; None where it may not."""
    data: Any = error.error.data
    if not isinstance(data, dict) or _KEY not in data or tries >= MOST_TRIES:
        return None
    named: Any = cast("dict[str, Any]", data)[_KEY]
    wait = named if isinstance(named, float | int) else _WAITS[tries - 1]
    return float(wait) if 0 <= wait <= LONGEST_WAIT else None


def _refused(status: HTTPStatus) -> str:
    return f"The server refused the call: HTTP {status.value} {status.phrase}."


def _object(body: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
