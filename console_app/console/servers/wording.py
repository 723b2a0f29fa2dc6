"""Servers' prompts and resources in a few words."""

from __future__ import annotations

from console_app.console.intents.intent import Intent
from console_app.domain import amounts, one_line
from console_app.mcp_client import Resource, ResourceTemplate, ServerPrompt

LONGEST_ABOUT = 200  # characters of what a prompt says about itself


def intent_of(typed: str, prompt: ServerPrompt) -> Intent:
    """Return the command for a prompt, which is typed as `server:prompt`."""
    parts = dict.fromkeys(part for part in (prompt.title, prompt.description) if part)
    about = one_line(": ".join(parts), LONGEST_ABOUT) or "a prompt of the server"
    words = ((one_line(one.name, 30), one.required) for one in prompt.arguments)
    return Intent(typed, about, argument=" ".join(word if needed else f"[{word}]" for word, needed in words))


def uri_of(one: Resource | ResourceTemplate) -> str:
    """Return the URI of a resource, or of a family of them as it is written."""
    return one.uri if isinstance(one, Resource) else one.uri_template


def facts_of(one: Resource | ResourceTemplate) -> str:
    """Return title or name (unless the URI says it), type and size. The words are the server's: hostile."""
    bytes_ = amounts.size(one.size) if isinstance(one, Resource) and one.size else ""
    named = one.title or (one.name if one.name not in uri_of(one) else "") or one.description
    return " · ".join(part for part in (named, one.mime, bytes_) if part)


def about_of(one: Resource | ResourceTemplate) -> str:
    """Return all of that, and how it is described."""
    facts = facts_of(one)
    return " · ".join(part for part in (facts, one.description if one.description not in facts else "") if part)
