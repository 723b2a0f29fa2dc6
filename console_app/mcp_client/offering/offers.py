"""What a server offers beside tools: prompts and resources, in our own words. All texts are the server's: hostile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from console_app.domain.tools import Artifact


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
class ResourceTemplate:
    """A family of resources: `uri_template` (RFC 6570) with `variables` to fill in, none where it can't be read."""

    server: str
    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime: str = ""
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """One part of a resource that was read: a text, or bytes saved as a file."""

    uri: str
    mime: str = ""
    text: str = ""
    artifact: Artifact | None = None


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a filled-in prompt: its text, or what is embedded in it, with no URI where it isn't a resource."""

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
