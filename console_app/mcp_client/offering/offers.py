"""Prompts and resources, which a server offers beside tools, in our own words. All texts are the server's: hostile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote, unquote

from console_app.domain import Artifact, UsageError, errors
from console_app.mcp_client.offering.typed_names import words_of
from console_app.records import dataclass

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_ONE_VARIABLE = re.compile(r"([+]?)(\w+)")
_RESERVED = ":/?#[]@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A value that a prompt takes: always a text."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt that a server has ready, filled in with arguments."""

    server: str
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()

    def arguments_of(self, text: str) -> dict[str, str]:
        """Return what was typed behind the prompt's command, by argument: words in their order, or `name=value`.

        The last argument that is left takes all the words that are. Raises UsageError for words that no argument takes.
        """
        known = [argument.name for argument in self.arguments]
        words = words_of(text)
        values = {name: value for name, value in words if name in known}
        loose = [f"{name}={value}" if name else value for name, value in words if name not in known]
        free = [name for name in known if name not in values]
        for place, name in enumerate(free):
            if not loose:
                break
            last = place == len(free) - 1
            values[name] = " ".join(loose) if last else loose[0]
            loose = [] if last else loose[1:]
        if loose:
            takes = f"takes {', '.join(known)}" if known else "takes no arguments"
            raise UsageError(f"the prompt {self.name} {takes}; nothing takes {' '.join(loose)[:60]}")
        return values

    def typing(self, before: str, word: str) -> tuple[dict[str, str], PromptArgument | None, str, bool]:
        """Read the words typed `before` a word, and the word that is being typed.

        Return (the values before it, its argument, that argument's value so far, whether the name is typed).
        """
        table = {argument.name: argument for argument in self.arguments}
        words = words_of(before)
        values = {name: value for name, value in words if name in table}
        loose = [value for name, value in words if name not in table]
        name, equals, value = word.partition("=")
        if equals and name in table:
            return values, table[name], value.strip('"'), True
        free = [one for one in table if one not in values]
        values |= zip(free, loose, strict=False)
        left = [one for one in free if one not in values]
        return values, table[left[0]] if left else None, word.strip('"'), False

    def missing(self, values: Mapping[str, str]) -> list[str]:
        return [argument.name for argument in self.arguments if argument.required and not values.get(argument.name)]


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that can be read at a server. `size` is bytes, None where the server doesn't say."""

    server: str
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """The place in a template where a typed URI ends: in a variable's value, or ("" as variable) in a fixed part.

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
        """Return the URI with the variable filled in, up to the next one."""
        return self.before + quote(value, safe=_RESERVED if self.reserved else "") + self.behind


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A family of resources: `uri_template` (RFC 6570) with `variables` to fill in, none where it can't be read."""

    server: str
    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime: str = ""
    variables: tuple[str, ...] = ()

    def expand(self, values: Mapping[str, str]) -> str:
        """Return the URI with the variables filled in. Raises ServerError for a template that can't be read."""
        from mcp.shared.uri_template import UriTemplate  # loaded already: the template came from a server

        try:
            return UriTemplate.parse(self.uri_template).expand({name: value for name, value in values.items() if value})
        except ValueError as error:
            raise errors.ServerError(
                f"{self.server}: the template {self.uri_template} can't be filled in: {error}"
            ) from None

    @property
    def fixed_start(self) -> str:
        return self.uri_template.partition("{")[0]

    def place_in(self, uri: str) -> TemplateVariable | None:
        """Return where `uri` ends in the template; None for another's URI, or a template with operators."""
        parts = _EXPRESSION.split(self.uri_template)
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


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """A part of a resource that was read: a text, or bytes saved as a file."""

    uri: str
    mime: str = ""
    text: str = ""
    artifact: Artifact | None = None


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a filled-in prompt: its text, or what is embedded in it, with no URI where it isn't a resource."""

    role: Literal["user", "assistant"]
    text: str
    contents: tuple[ResourceContent, ...] = ()


@dataclass(frozen=True, slots=True)
class Offers:
    """All that one server lists. A list that could not be had is empty, with the reason in `problems`."""

    prompts: tuple[ServerPrompt, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    problems: tuple[str, ...] = ()
