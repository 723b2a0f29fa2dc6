"""Faults of servers: words in one line for what the SDK and the system raise."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from typing import cast

from pydantic import ValidationError

from console_app.config.servers import ServerConfig
from console_app.domain import one_line
from console_app.mcp_client.transport import LARGEST_LINE

LONGEST = 300  # characters


class ConnectionLost(Exception):
    """The connection ended while a call was waiting for its answer; the text says how, "" where that isn't known."""


class SessionGone(ConnectionLost):
    """The server knows the session no more, so it has not even looked at what was asked."""


class CallRefused(Exception):
    """The server answered a call with a protocol error, or with something that doesn't fit the tool. One line."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        for inner in group.exceptions:
            yield from leaves(inner)
    else:
        yield error


def cause(error: BaseException) -> BaseException:
    """Return the one exception of nested groups that says most: no cancellation, no closed stream."""
    found = list(leaves(error))
    noise = {"CancelledError", "BrokenResourceError", "ClosedResourceError", "EndOfStream", "WouldBlock"}
    return next((leaf for leaf in found if type(leaf).__name__ not in noise), found[0] if found else error)


def start_reason(error: BaseException, config: ServerConfig) -> str:
    number = error.errno if isinstance(error, OSError) else None
    said = (error.strerror if isinstance(error, OSError) else "") or error
    why = {
        errno.ENOENT: f"command not found: {config.command}",
        errno.EACCES: f"{config.command} can't be run: permission denied",
        errno.ENOEXEC: f"{config.command} is not a program",
    }.get(number or 0, f"{config.command} can't be started: {said}")
    if number == errno.ENOENT and config.started_in and getattr(error, "filename", "") == config.started_in:
        why = f"the folder {config.started_in} doesn't exist"
    return one_line(why, LONGEST)


def connection_reason(error: BaseException) -> str:
    found = cause(error)
    name = type(found).__name__
    if isinstance(found, ValidationError):
        return one_line(f"its answer doesn't fit the protocol ({first_problem(found)})", LONGEST)
    text = _in_our_words(str(found).strip())
    if name == "ConnectError":
        refused = "refused" in text.lower() or "all connection attempts failed" in text.lower()
        return "connection refused" if refused else one_line(f"can't connect: {text}", LONGEST)
    if name in {"ConnectTimeout", "PoolTimeout", "ReadTimeout", "WriteTimeout"}:
        return "no connection in time"
    if name in {"RemoteProtocolError", "ReadError", "WriteError"}:
        return one_line(f"the connection broke: {text or name}", LONGEST)
    return one_line(text or name, LONGEST)


def sign_in_reason(error: BaseException) -> str:
    """Say what went wrong with signing in, or "" where it was something else."""
    for leaf in leaves(error):
        name = type(leaf).__name__
        if name == "SignInNeeded":
            return "it wants you to sign in"
        if name in {"OAuthFlowError", "OAuthTokenError", "OAuthRegistrationError", "SignInRefused"}:
            return one_line(f"signing in failed: {leaf}", LONGEST)
    return ""


def first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _in_our_words(text: str) -> str:
    """Shorten what the SDK says of an answer that is no message: a page about its models, and the answer itself."""
    other = text.removeprefix("Unexpected content type:")
    if other != text:
        kind = other.strip()
        return f"the answer is no MCP message but {kind}" if kind else "the answer has no content type"
    said = text.removeprefix("Failed to parse JSON response: ").removeprefix("Failed to parse SSE message: ")
    if said == text or "validation error" not in said:
        return said
    if broken := re.search(r"Invalid JSON: (.*?)(?: \[type=|$)", said):
        what = f"Invalid JSON: {broken[1]}"
    else:
        answers = re.findall(r"JSONRPC(?:Response|Error)\.?(\S*)\s+(.*?) \[type=(\w+)", said)
        nothing = ("", "it has neither a result nor an error", "")
        where, problem, _ = next((one for one in answers if one[2] != "missing"), nothing)
        what = f"{where}: {problem}" if where else problem
    return f"the answer can't be read as JSON-RPC ({one_line(what, 120)})"


def protocol_reason(message: str, refusal: str = "") -> str:
    """Put the SDK's words for what came of a request into ours; `refusal` is the HTTP status that it leaves out."""
    text = _in_our_words(message)
    if text.startswith("the answer "):
        return f"The server's {text.removeprefix('the ')}."
    if "Server-sent event exceeded" in text:
        return f"The result is too large: the limit is {LARGEST_LINE // 2**20} MB."
    if text in {"Connection closed", "SSE stream ended without a response"}:
        return ""
    if text in {"Server returned an error response", "Not Found"} and refusal:
        return f"The server refused the call: {refusal}."
    return text or "The server gave no reason."
