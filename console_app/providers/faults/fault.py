"""Turns whatever goes wrong between here and a model into one line for people: what failed, where, what to do next.

Nothing here imports the HTTP library: its errors are read by their names and causes. What servers write goes through
`safe_text`, and keys are taken out of every line.
"""

from __future__ import annotations

import asyncio
import random
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import cast
from urllib.parse import urlsplit

from console_app.domain import errors, one_line, web_address
from console_app.providers.endpoint.address import EndpointAddress
from console_app.providers.endpoint.rate_limiter import LONGEST_WAIT, HeldBack
from console_app.providers.faults import waits
from console_app.providers.faults.error_bodies import ErrorBody, ServerFault, StatusFault, html_title, read_error
from console_app.providers.faults.wordings import MANY_TOOLS, NO_TOOLS, OVERLOAD, SPENT, is_overflow
from console_app.records import dataclass

FIRST_DELAY = 0.5
LONGEST_DELAY = 20.0
NEVER_RETRIED = frozenset({400, 401, 403, 404, 413, 422})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of tries and the time between them. Tests pass a `sleep` that returns at once."""

    max_tries: int = 5
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    def delay(self, tries: int, retry_after: float | None) -> float:
        """Return the seconds before the next try after `tries`: what the endpoint asked for, else growing ones."""
        if retry_after is not None and retry_after > 0:
            return retry_after
        # Full backoff less up to a quarter, so that many clients don't come back at the same instant.
        return min(FIRST_DELAY * 2 ** (tries - 1), LONGEST_DELAY) * (1 - self.jitter() / 4)


def status_may_pass(status: int, headers: Mapping[str, str]) -> bool:
    """Tell whether a request refused with `status` is worth another try; the server's `x-should-retry` is believed."""
    if status in NEVER_RETRIED:
        return False
    advice = headers.get("x-should-retry", "").lower()
    if advice in ("true", "false"):
        return advice == "true"
    return status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505))


def proxy_in_use(url: str) -> str:
    """Return `HOST:PORT` of the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY (or the system) names for `url`,
    without what it may hold of a password; "" when none is used, as for this machine."""
    from urllib.request import getproxies, proxy_bypass  # 50 ms, and only for what failed

    parts = urlsplit(url)
    if web_address.is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return ""
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all") or ""
    place = named.partition("://")[2] or named
    return one_line(place.rpartition("@")[2].partition("/")[0], 120)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure: the error to show, and whether the same request may go through later."""

    error: errors.ProviderError
    passing: bool = False
    why: str = ""  # a few words for a retry line
    most_tries: int = 99  # what is not worth the full number of tries
    message: str = ""  # the endpoint's own words, its code, and the field it complains of
    code: str = ""
    param: str = ""


def fault_of(error: BaseException, where: EndpointAddress, *, tools_sent: bool) -> Fault:
    """Return the fault behind an exception of the HTTP library, or one of ours."""
    match error:
        case ServerFault():
            return _reported(error, where, tools_sent)
        case StatusFault():
            return _refused(error, where, tools_sent)
        case HeldBack():
            held = errors.ProviderError(error.said, come_back(error.seconds), status=429, retry_after=error.seconds)
            held.unavailable = True
            return Fault(held)
        case _:
            return _unreachable(error, where)


# -- the endpoint answered with an error status


def _refused(fault: StatusFault, where: EndpointAddress, tools_sent: bool) -> Fault:
    status, headers, found = fault.status, fault.headers, read_error(fault.body)
    line = one_line(where.scrub(found.message), 400)
    make = _Maker(where, status, waits.longest(found.wait, waits.in_headers(headers)))
    if (error := _by_wording(make, line, found, tools_sent)) is not None:
        return _fault(error, False, "", found)
    words = _STATUS_WORDS.get(status, "from the server" if status >= 500 else "refused")
    passing = status_may_pass(status, headers) or (status in _OF_PLANS and found.wait is not None)
    if passing and make.is_far:
        return _far(make, f"{_STATUS_WORDS.get(status, 'busy')} ({status}): {line or 'no reason given'}", found)
    return _fault(_by_status(make, status, line, _codes(found), headers), passing, f"{status} {words}", found)


def _far(make: _Maker, what: str, found: ErrorBody) -> Fault:
    error = make.error(what, come_back(make.retry_after))
    error.unavailable = True
    return _fault(error, False, "", found)


def _fault(error: errors.ProviderError, passing: bool, why: str, found: ErrorBody) -> Fault:
    return Fault(error, passing, why, message=found.message, code=_codes(found), param=found.param)


def _codes(error: ErrorBody) -> str:
    return f"{error.code} {error.upstream}".strip()


_OF_PLANS = (402, 403)  # as which some refuse what a plan allows again later
_STATUS_WORDS = {408: "timeout", 409: "conflict", 429: "rate limit", 503: "not available", 529: "overloaded"}


@dataclass(frozen=True, slots=True)
class _Maker:
    where: EndpointAddress
    status: int | None
    retry_after: float | None = None

    def error(
        self, what: str, hint: str = "", kind: type[errors.ProviderError] = errors.ProviderError
    ) -> errors.ProviderError:
        return kind(f"{self.where}: {what}", hint, status=self.status, retry_after=self.retry_after)

    @property
    def is_far(self) -> bool:
        """Tell whether the endpoint asks to wait for longer than a turn does."""
        return self.retry_after is not None and self.retry_after > LONGEST_WAIT


def _by_wording(make: _Maker, line: str, found: ErrorBody, tools_sent: bool) -> errors.ProviderError | None:
    message, code, status = found.message, _codes(found), make.status
    if is_overflow(message, code) and status in (None, 400, 413, 422, 500):
        hint = (
            "Older turns are summed up before the next prompt, or now with /compact. Where this one alone is too "
            "large, /undo takes it back; /new begins anew, and /model may find a larger window."
        )
        what = f"the request is larger than the model's context window: {line}"
        return make.error(what, hint, errors.ContextOverflow)
    if tools_sent and NO_TOOLS.search(message) and status in (None, 400, 404, 405, 422, 500, 501):
        hint = 'Protocol text asks for tool calls as text: /protocol text, or protocol = "text" in config.toml.'
        return make.error(f"takes no tools: {line}", hint, errors.ToolsRefused)
    if tools_sent and MANY_TOOLS.search(message) and status in (None, 400, 413, 422):
        return make.error(f"takes fewer tools: {line}", "Switch servers, or single tools of them, off with /mcp.")
    if (SPENT.search(message) or SPENT.search(code)) and found.wait is None:  # Gemini says so of a minute's quota, too
        return make.error(f"the account's credit or quota is used up: {line}", "See the provider's billing page.")
    return None


def _by_status(make: _Maker, status: int, line: str, code: str, headers: Mapping[str, str]) -> errors.ProviderError:
    where = make.where
    tail = f": {line}" if line else ""
    match status:
        case 401 | 403 if not where.has_key:
            return make.error(f"unauthorized ({status}){tail}", where.config.key_hint)
        case 401:
            return make.error(f"did not accept the key (401){tail}", where.config.key_hint)
        case 403:
            return make.error(f"refused the request (403){tail}", "The key may lack access to this model or region.")
        case 404:
            hint = "See /model or `fanout models`; a base URL for OpenAI formats ends in /v1, for Anthropic not."
            knows = f"knows no model {where.model}, or no such path" if where.model else "has no such path"
            return make.error(f"{knows} (404){tail}", hint)
        case 407:
            hint = "The proxy that HTTPS_PROXY or HTTP_PROXY names wants its user and password in that URL."
            return make.error(f"a proxy in between refused the request (407){tail}", hint)
        case 413:
            return make.error(f"the request is too large (413){tail}", "Shorten the conversation, or start anew.")
        case 429:
            return make.error(f"rate limit (429){tail}", come_back(make.retry_after))
        case _ if 300 <= status < 400:
            to = one_line(headers.get("location", "elsewhere"), 200)
            return make.error(f"redirects to {to} ({status})", "Set the base URL to where the API really is.")
        case _ if status >= 500:
            return make.error(f"failed (HTTP {status}){tail}", come_back(make.retry_after))
        case _:
            return make.error(f"refused the request (HTTP {status}){tail}", "")


_WEEK, _YEAR = 6 * 86400, 366 * 86400  # seconds: up to here a weekday, or a date, say when, beside a time of day


def come_back(seconds: float | None) -> str:
    """Say in how long, and at what time of day, an endpoint may be asked again."""
    if seconds is None or seconds <= 0:
        return "Try again in a while."
    if seconds > _YEAR:
        return f"Retry in {min(seconds / 86400, 9999):,.0f} days."
    then = time.localtime(time.time() + seconds)
    day = time.strftime("%A" if seconds <= _WEEK else f"{then.tm_mday} %B", then)
    amount = f"{round(seconds)} seconds" if seconds < 120 else f"{round(seconds / 60)} minutes"
    if seconds >= 7200:
        amount = f"{round(seconds / 3600)} hours" if seconds <= _WEEK else f"{round(seconds / 86400)} days"
    return f"Retry in {amount}, {f'on {day} ' if seconds >= 43200 else ''}at {time.strftime('%H:%M', then)}."


# -- the endpoint reported an error inside its stream


def _reported(fault: ServerFault, where: EndpointAddress, tools_sent: bool) -> Fault:
    found = read_error(fault.body)
    message, code = found.message, _codes(found)
    line = one_line(where.scrub(message or code), 400) or "no reason given"
    status = int(found.code) if re.fullmatch("[45][0-9]{2}", found.code) else None
    make = _Maker(where, status, waits.longest(found.wait, waits.in_headers(fault.headers)))
    if (error := _by_wording(make, line, found, tools_sent)) is not None:
        return _fault(error, False, "", found)
    passing = status_may_pass(status, {}) if status is not None else bool(OVERLOAD.search(f"{code} {message}"))
    what = f"reported an error: {line}"
    if passing or make.retry_after is not None:
        if make.is_far:
            return _far(make, what, found)
        why = one_line(code or message, 60) or "an error"
        return _fault(make.error(what, come_back(make.retry_after)), True, why, found)
    return _fault(make.error(what), False, "", found)


# -- the endpoint could not be reached, or the connection was lost


_WAITING = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


def _unreachable(error: BaseException, where: EndpointAddress) -> Fault:
    chain = list(_chain(error))
    names = {name for link in chain for name in _names(link)}
    make = _Maker(where, None)
    if (proxied := _by_proxy(make, chain, names)) is not None:
        return proxied
    if any(isinstance(link, socket.gaierror) for link in chain):
        problem = make.error(f"no such host: {where.host}", "Check the base URL and the network.")
        return Fault(problem, True, "the host name can't be resolved", most_tries=3)
    if any(isinstance(link, ssl.SSLCertVerificationError) for link in chain):
        why = next(link.verify_message for link in chain if isinstance(link, ssl.SSLCertVerificationError))
        hint = "Check the base URL; a private certificate authority is named with SSL_CERT_FILE."
        return Fault(make.error(f"its certificate can't be trusted: {one_line(why, 200)}", hint))
    if any(isinstance(link, ConnectionRefusedError) for link in chain):
        problem = make.error("the connection was refused", "Is the server running, and the base URL right?")
        return Fault(problem, True, "connection refused", most_tries=3)
    if "ConnectTimeout" in names:
        what = f"no connection within {where.config.connect_timeout:g} s"
        problem = make.error(what, "Check the base URL and the network.")
        return Fault(problem, True, "no connection", most_tries=3)
    if "TimeoutException" in names:
        problem = make.error(
            f"nothing came for {where.config.read_timeout:g} s", "The server hangs, or the model is too slow."
        )
        problem.unavailable = True
        return Fault(problem, False, "silence")
    # A handshake that waits for bytes leaves SSLWantReadError behind, which is no failure.
    if handshake := [link for link in chain if isinstance(link, ssl.SSLError) and not isinstance(link, _WAITING)]:
        hint = "Should the base URL begin with http:// instead?"
        return Fault(make.error(f"no secure connection: {one_line(str(handshake[0]), 200)}", hint))
    if "DecodingError" in names:
        why = next((str(link) for link in chain if "DecodingError" in _names(link) and str(link)), "no reason given")
        hint = "Something between may have changed it: a proxy, or a wrong base URL."
        return Fault(make.error(f"its answer can't be read: {one_line(where.scrub(why), 200)}", hint))
    if "UnsupportedProtocol" in names or "InvalidURL" in names or "LocalProtocolError" in names:
        what = f"the request can't be sent: {where.scrub(one_line(str(chain[-1]), 200))}"
        return Fault(make.error(what, "Check the base URL and the headers."))
    if "TransportError" in names or any(isinstance(link, OSError) for link in chain):
        of_network = [link for link in chain if isinstance(link, OSError) or "TransportError" in _names(link)]
        said = next((str(link) for link in reversed(of_network) if str(link)), type(of_network[-1]).__name__)
        why = one_line(where.scrub(said), 200)
        problem = make.error(f"the connection was lost: {why}", "Check the network and try again.")
        return Fault(problem, True, "connection lost")
    why = one_line(where.scrub(f"{type(error).__name__}: {error}"), 300)
    return Fault(make.error(f"failed: {why}", ""))


def _by_proxy(make: _Maker, chain: list[BaseException], names: set[str]) -> Fault | None:
    proxy = proxy_in_use(make.where.url)
    hint = "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name it; NO_PROXY lists the hosts that are reached without."
    if any(isinstance(link, ImportError) and "socksio" in str(link) for link in chain):
        what = f"the proxy {proxy or 'of the environment'} is a SOCKS proxy, which Fanout doesn't speak"
        return Fault(make.error(what, f"Name an HTTP proxy. {hint}"))
    if not proxy:
        return None
    if "ProxyError" in names:
        said = next((str(link) for link in chain if "ProxyError" in _names(link) and str(link)), "no reason given")
        problem = make.error(f"the proxy {proxy} refused: {one_line(make.where.scrub(said), 200)}", hint)
        return Fault(problem, said[:1] == "5", "the proxy", most_tries=3)
    if any(isinstance(link, ConnectionRefusedError | socket.gaierror) for link in chain) or "ConnectTimeout" in names:
        return Fault(make.error(f"the proxy {proxy} can't be reached", hint), True, "no proxy", most_tries=3)
    return None


def _names(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Return `error` and what it came from, members of groups included; each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting.extend(cast("BaseExceptionGroup[BaseException]", link).exceptions)
        waiting.extend(cause for cause in (link.__context__, link.__cause__) if cause is not None)


# -- the endpoint answered with something else


def not_a_stream(body: str, content_type: str, where: EndpointAddress) -> errors.ProviderError:
    """Return an answer that is neither a stream of events nor JSON: most often a web page."""
    make = _Maker(where, 200)
    hint = "Check the base URL: for OpenAI formats it ends in /v1, for Anthropic not."
    if not body.strip():
        return make.error("answered with nothing (HTTP 200, empty)", hint)
    if body.lstrip()[:1] == "<":
        title = where.scrub(html_title(body))
        return make.error(f"answered with a web page ({title}) in place of a model's answer", hint)
    kind = one_line(content_type, 60) or "no content type"
    start = one_line(where.scrub(body), 120)
    return make.error(f"answered with something that is no model's answer ({kind}): {start}", hint)
