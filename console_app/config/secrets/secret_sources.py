"""Finds values that are secret: in the environment, URLs, headers, arguments, `auth` and kept credentials."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

SHORTEST = 6  # characters; to hide a shorter value would black out parts of ordinary words
# Switches, levels and places that stand in the environment of many servers and in any text: no secret is one of them.
_COMMON = frozenset(
    {
        *("disabled", "enabled", "always", "never", "required", "optional"),
        *("default", "verbose", "warning", "critical"),
        *("production", "development", "testing", "staging", "information", "python", "node.js", "fanout", "stdio"),
        *("localhost", "127.0.0.1", "0.0.0.0", "application/json", "text/event-stream", "keep-alive", "no-cache"),
        *("bearer", "basic"),
    }
)
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|[_-]PASS$|[_-]PWD$|CREDENTIAL|AUTH(?!OR(?!I))|BEARER|COOKIE|SIGNATURE|[_-]PAT$|DSN|JWT",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(r"^(SSH_AUTH_SOCK|XAUTHORITY|.*_(FILE|PATH|DIR|URL|SOCK))$")
_PLAIN_HEADERS = frozenset({"accept", "content-type", "user-agent"})
_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=~-]{16,}")  # no word, no path, no address
_FLAG = re.compile(r"--?[A-Za-z0-9_-]+")
_NAMED = re.compile(r"([\w.-]+)(?:=|:(?!//))\s*")
_URL = re.compile(r"[\w+.-]+://")
_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|apikey|bot|key)\s+")


def is_worth_hiding(value: str) -> bool:
    """Return whether a value can be told from ordinary text: no short one, no common word and no place of this machine.

    Logs and errors that hide those say nothing any more.
    """
    if len(value) < SHORTEST or value.lower() in _COMMON:
        return False
    path = os.path.expanduser(value)
    if not os.path.isabs(path):
        return True
    # A path that is there is a place, and so is one below a top folder that is: errors name what is not there.
    top = Path(*Path(path).parts[:2])
    try:
        return not (os.path.exists(path) or (str(top) != path and top.is_dir()))
    except ValueError:  # a zero byte
        return True


def is_secret_name(name: str) -> bool:
    """Return whether the name of a variable, header, field or flag says that its value is secret."""
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET.match(name)


def may_be_secret(name: str, value: str) -> bool:
    """Return whether the name of a variable, or the look of its value, says that it is secret."""
    return is_secret_name(name) or _RANDOM.fullmatch(value) is not None


def secrets_of_environment(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables with a secret name, and the passwords and tokens of URLs in all others."""
    for name, value in environ.items():
        if is_secret_name(name):
            yield value
        yield from secrets_of_url(value, query=False)


def secrets_of_url(url: str, *, query: bool = True) -> Iterator[str]:
    """Yield user and password of a URL, both as written and decoded, and with `query` what may be secret behind its
    host: the values of its query and the parts of its path that no one would choose as a name."""
    if "://" not in url:
        return
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    userinfo = parts.netloc.rpartition("@")[0]
    for part in userinfo.split(":", 1) if userinfo else ():
        yield part
        yield unquote(part)
    for behind in (parts.query, parts.fragment) if query else ():
        yield from (value for _, value in parse_qsl(behind))
        yield from (piece.partition("=")[2] for piece in behind.split("&"))
    yield from (part for part in parts.path.split("/") if query and _RANDOM.fullmatch(part))


def secrets_of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the values, with and without `Bearer` before them, what `Basic` encodes, and each value of a cookie."""
    for name, value in headers.items():
        if name.lower() in _PLAIN_HEADERS:
            continue
        yield value
        token = _SCHEME.sub("", value)
        yield token
        if name.lower() == "cookie":
            yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
        if value.lower().startswith("basic "):
            try:
                user, _, password = base64.b64decode(token + "==").decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                continue
            yield from (f"{user}:{password}", password)


def secrets_of_arguments(words: Sequence[str]) -> Iterator[str]:
    """Yield the values that a secret name stands before (behind a flag, `=` or `:`, in JSON, in the line of a shell),
    and those in URLs."""
    before = ""
    for word in words:
        if named := next((one for one in _NAMED.finditer(word) if is_secret_name(one[1])), None):
            yield from secrets_of_headers({named[1]: word[named.end() :].strip("\"'")})
        elif _FLAG.fullmatch(before) and is_secret_name(before) and not word.startswith("-"):
            yield word
        with suppress(ValueError, RecursionError):
            yield from _secret_fields(json.loads(word[word.find("{") :]))
        with suppress(ValueError):  # quotation marks without an end
            if len(within := shlex.split(word)) > 1:
                yield from secrets_of_arguments(within)
        yield from secrets_of_url(word[url.start() :] if (url := _URL.search(word)) else "")
        before = word


def secrets_of_auth(auth: str | Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the secrets in `auth` of mcp.json: a token, or fields with secret names."""
    if isinstance(auth, str):
        yield _SCHEME.sub("", auth)
    else:
        yield from _secret_fields(auth)


def _secret_fields(data: Any) -> Iterator[str]:
    """Yield the texts of JSON data that stand under a secret name, at any depth."""
    if isinstance(data, Mapping):
        for name, value in cast("Mapping[str, Any]", data).items():
            if not isinstance(value, str):
                yield from _secret_fields(value)
            elif is_secret_name(name) and "endpoint" not in name and not name.endswith("_type"):
                yield value
    elif isinstance(data, list):
        for item in cast("list[Any]", data):
            yield from _secret_fields(item)


def secrets_of_kept(text: str) -> Iterator[str]:
    try:
        yield from _secret_fields(json.loads(text))
    except ValueError:
        yield text
