"""Reads how long an endpoint asks to wait, in whatever way it says so: headers, fields of an error, or its words.

Seen: `Retry-After`, `retry-after-ms` and a dozen headers of limits; `retry_after` (OpenAI's followers), `retryDelay` of
google.rpc.RetryInfo (Gemini), `resets_in_seconds` and `resets_at` (ChatGPT plans), headers quoted in a body
(OpenRouter), `estimated_time` (Hugging Face); "try again in 1.6s" (OpenAI, Groq), "Please wait 21 seconds" (Azure),
"will reset after 2h31m5s" (Gemini), "limit reached|1749924000" (Claude).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

from console_app.textcalls import lazily

Clock = Callable[[], float]
_FAR: Final = 10**9  # seconds; a larger number is an instant, seconds or milliseconds since 1970
_DEEPEST, _MOST_FIELDS = 4, 200
_N = r"\d{1,10}(?:\.\d{1,12})?"
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_UNIT = (
    r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-z])"
    r"|(?:ms|[smhdw])(?=\d)"
)
_DURATION = rf"{_N} ?(?:{_UNIT})(?:(?:,? and |, ?| )?{_N} ?(?:{_UNIT})){{0,6}}"
_PART = lazily(rf"({_N}) ?({_UNIT})", re.IGNORECASE)
_WHOLE = lazily(_DURATION, re.IGNORECASE)
_INSTANT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)? ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)"
_SAID = lazily(
    r"\b(?:again|retry|wait|(?:will|limit|quota|usage) resets?|resets|available|come back)"
    r"(?: \w{1,15}){0,3}?[ :]{0,2}"
    rf"(?<![\d.])(?P<said>{_INSTANT}|{_DURATION})"
    rf"|retry[-_ ]after['\"]?[:= ]{{1,3}}['\"]?(?P<bare>{_N})(?![\d.]| ?[a-z])"
    r"|limit reached\|(?P<at>\d{10,13})\b",
    re.IGNORECASE,
)
_FIELD = lazily(
    r"(?:retry(?:after|delay|in)|resets?(?:in|at|after|time)|wait(?:time)?|estimatedtime|ratelimitreset)"
    r"(?:seconds|secs?|s|(ms|millis|milliseconds))?"
)
_ECHOED = frozenset({"input", "error", "errors", "response", "raw"})  # the request's own, or read elsewhere
_RETRY = ("retry-after", "x-ratelimit-reset-after", "x-ratelimit-user-retry-after")
_RESET = lazily(r"(?:x-|anthropic-)?ratelimit-(?:.*-)?reset(?:-.*)?")
_ALONE = frozenset({"x-ratelimit-reset", "ratelimit-reset", "anthropic-ratelimit-unified-reset"})


def seconds(value: Any, now: Clock = time.time) -> float | None:
    """Return a wait in seconds from now; None where `value` is none.

    It is a number, `6m0s`, "8 hours", an object of seconds and nanos, or an instant: seconds or milliseconds since
    1970, ISO 8601 with its zone, or an HTTP date.
    """
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        whole, nanos = seconds(parts.get("seconds"), now), seconds(parts.get("nanos", 0), lambda: 0.0)
        return None if whole is None else whole + (nanos or 0.0) / 10**9
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(float(value), now)
    if not isinstance(value, str) or len(value) > 100:
        return None
    text = value.strip()
    if re.fullmatch(_N, text) or re.fullmatch(r"\d{11,15}", text):
        return _from_number(float(text), now)
    if _WHOLE.fullmatch(text):
        return sum(float(number) * _size(unit) for number, unit in _PART.findall(text))
    return _until(text, now)


def in_headers(headers: Mapping[str, str], now: Clock = time.time) -> float | None:
    """Return the wait that headers ask for: `Retry-After` and its like, else the end of a limit that is used up."""
    named = {name.lower(): str(value) for name, value in headers.items()}
    milliseconds = seconds(named.get("retry-after-ms"), lambda: 0.0)
    if milliseconds is not None:
        return milliseconds / 1000
    asked = longest(*(seconds(named.get(name), now) for name in _RETRY))
    if asked is not None:
        return asked
    resets = {name: named.get(name.replace("reset", "remaining")) for name in named if _RESET.fullmatch(name)}
    over = [name for name, left in resets.items() if left == "0" or (left is None and name in _ALONE)]
    return longest(*(seconds(named[name], now) for name in over))


def in_fields(fields: Mapping[str, Any], now: Clock = time.time, *, deep: bool = True) -> float | None:
    """Return the longest wait that an error's fields ask for; `deep` looks into what it holds, too."""
    left = [_MOST_FIELDS]

    def walked(value: Any, depth: int) -> float | None:
        if depth > _DEEPEST or left[0] <= 0:
            return None
        if isinstance(value, list):
            return longest(*(walked(one, depth + 1) for one in cast("list[Any]", value)[:_MOST_FIELDS]))
        found: float | None = None
        for name, one in cast("dict[str, Any]", value).items() if isinstance(value, dict) else ():
            left[0] -= 1
            if left[0] < 0:
                break
            if (matched := _FIELD.fullmatch(_plain(name))) is not None:
                found = longest(found, _field(one, milliseconds=bool(matched[1]), now=now))
            elif isinstance(one, dict) and _plain(name) == "headers":
                found = longest(found, in_headers(cast("dict[str, str]", one), now))
            elif deep and name not in _ECHOED and isinstance(one, dict | list):
                found = longest(found, walked(one, depth + 1))
        return found

    return walked(fields, 0)


def in_words(message: str, now: Clock = time.time) -> float | None:
    """Return the longest wait that a message asks for."""
    return longest(*(seconds(found["said"] or found["bare"] or found["at"], now) for found in _SAID.finditer(message)))


def longest(*waits: float | None) -> float | None:
    """Return the longest of some waits; None where there is none."""
    return max((wait for wait in waits if wait is not None), default=None)


def used_up(headers: Mapping[str, str], kind: str) -> float | None:
    """Return the seconds until a limit of `kind` (requests, tokens) is free again, where headers say it is used up."""
    for remaining, reset in (
        (f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}"),
        (f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset"),
    ):
        if headers.get(remaining) == "0" and (wait := seconds(headers.get(reset))):
            return wait
    return None


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z]", "", name.lower()).removeprefix("x") if isinstance(name, str) and len(name) < 60 else ""


def _field(value: Any, *, milliseconds: bool, now: Clock) -> float | None:
    if not milliseconds:
        return seconds(value, now)
    found = seconds(value, lambda: 0.0)
    return found / 1000 if found is not None else None


def _from_number(number: float, now: Clock) -> float | None:
    if not 0 <= number < _FAR * 10**5:
        return None
    if number < _FAR:
        return number
    return max((number / 1000 if number >= _FAR * 1000 else number) - now(), 0.0)


def _size(unit: str) -> float:
    unit = unit.lower()
    return _UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]]


def _until(text: str, now: Clock) -> float | None:
    try:
        if re.fullmatch(_INSTANT, text):
            whole = re.sub(r" ?(Z|UTC|GMT)$", "+00:00", text)
            return max(datetime.fromisoformat(whole.replace(" +", "+")).timestamp() - now(), 0.0)
        return max(parsedate_to_datetime(text).timestamp() - now(), 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
