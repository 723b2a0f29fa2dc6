"""URI templates of resources (RFC 6570): filled in, and followed while a URI is being typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from console_app.domain.errors import ServerError
from console_app.mcp_client.offering.offers import ResourceTemplate

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_ONE_VARIABLE = re.compile(r"([+]?)(\w+)")
_RESERVED = ":/?#[]@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """Where in a template the end of a typed URI is: in a variable's value, or ("" as variable) in a fixed part.

    `before` is the URI up to there; `value` is typed of it already; `behind` is the fixed part that follows.
    """

    before: str
    variable: str
    value: str
    behind: str
    others: Mapping[str, str]
    more: bool  # another variable follows
    reserved: bool = False

    def with_value(self, value: str) -> str:
        """The URI with the variable filled in, up to the next one."""
        return self.before + quote(value, safe=_RESERVED if self.reserved else "") + self.behind


def expand(template: ResourceTemplate, values: Mapping[str, str]) -> str:
    """The URI of a template with its variables filled in. Raises ServerError for a template that can't be read."""
    from mcp.shared.uri_template import UriTemplate  # loaded already: the template came from a server

    try:
        return UriTemplate.parse(template.uri_template).expand({name: value for name, value in values.items() if value})
    except ValueError as error:
        raise ServerError(
            f"{template.server}: the template {template.uri_template} can't be filled in: {error}"
        ) from None


def fixed_start(uri_template: str) -> str:
    """What all URIs of a template begin with."""
    return uri_template.partition("{")[0]


def place_in(uri_template: str, uri: str) -> TemplateVariable | None:
    """Where `uri` ends in a template; None where it is none of its URIs, or the template says more than names."""
    parts = _EXPRESSION.split(uri_template)
    at, others = 0, dict[str, str]()
    for number in range(0, len(parts), 2):
        fixed = parts[number]
        typed = uri[at:]
        more = number + 1 < len(parts)
        if len(typed) < len(fixed):
            return TemplateVariable(uri[:at], "", typed, fixed, others, more) if fixed.startswith(typed) else None
        if not typed.startswith(fixed):
            return None
        at += len(fixed)
        if not more:
            return None if at < len(uri) else TemplateVariable(uri, "", "", "", others, False)
        known = _ONE_VARIABLE.fullmatch(parts[number + 1])
        if known is None:
            return None
        behind = parts[number + 2]
        end = uri.find(behind, at) if behind else -1
        if end < 0:
            value = uri[at:]
            reserved = bool(known[1])
            if "/" in value and not reserved:
                return None
            later = number + 3 < len(parts)
            return TemplateVariable(uri[:at], known[2], unquote(value), behind, others, later, reserved)
        others[known[2]] = unquote(uri[at:end])
        at = end
    return None
