"""Reads script files, with errors that name the file, the line and what is wrong there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from console_app.domain.errors import ConfigError
from console_app.providers.scripted.format import KINDS, Script

_DOCUMENTATION = "docs/scripts.md describes the format."


def read_script(path: Path) -> Script:
    """The script in the file at `path`. Raises ConfigError that names the file, the line and what is wrong there."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"the script {path} can't be read: {reason}", "Check the path behind `-m scripted/`."
        ) from error
    return parse_script(text, where=str(path), name=path.stem)


def parse_script(text: str, *, where: str = "script", name: str = "script") -> Script:
    """The script written in `text`. Raises ConfigError as `WHERE:LINE: what is wrong`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise ConfigError(f"{where}:{line}: not TOML: {error}", _DOCUMENTATION) from error
    try:
        return Script.model_validate_json(_json({"name": name, **data}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        line = _line(text, first["loc"])
        raise ConfigError(f"{where}:{line}: {_what(first)}", _DOCUMENTATION) from error


def _json(data: dict[str, Any]) -> str:
    """As JSON, so that strict models take arrays for tuples; TOML's dates become text."""
    return json.dumps(data, default=str)


def _what(error: ErrorDetails) -> str:
    if error["type"] == "union_tag_not_found":
        return f"a step does exactly one of: {', '.join(KINDS)}"
    if error["type"] == "extra_forbidden":
        return f"unknown key `{error['loc'][-1]}`"
    if error["type"] in ("missing", "too_short") and error["loc"] == ("answer",):
        return "no [[answer]] in it"
    key = next((part for part in reversed(error["loc"]) if isinstance(part, str) and part.isidentifier()), "script")
    return f"`{key}`: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _line(text: str, loc: tuple[int | str, ...]) -> int:
    """About where in the file the value at `loc` stands: its key in its step or answer, else their first line."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    if len(loc) > 1 and loc[0] == "answer" and isinstance(loc[1], int):
        headers = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*answer\s*\]\]", line)]
        if loc[1] < len(headers):
            start = headers[loc[1]]
            end = headers[loc[1] + 1] if loc[1] + 1 < len(headers) else len(lines)
        if len(loc) > 3 and loc[2] == "steps" and isinstance(loc[3], int):
            steps = [at for at in range(start, end) if lines[at].lstrip().startswith("{")]
            if loc[3] < len(steps):
                start = steps[loc[3]]
                end = steps[loc[3] + 1] if loc[3] + 1 < len(steps) else end
    key = next((part for part in reversed(loc) if isinstance(part, str) and part.isidentifier()), None)
    named = re.compile(rf"(?<![\w-]){re.escape(str(key))}\s*=") if key is not None else None
    hit = next((at for at in range(start, end) if named and named.search(lines[at])), start)
    return min(hit, len(lines) - 1) + 1
