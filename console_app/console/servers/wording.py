"""What servers say of their resources, in a few words."""

from __future__ import annotations

from console_app.domain.amounts import size
from console_app.mcp_client.offering.offers import Resource, ResourceTemplate


def uri_of(one: Resource | ResourceTemplate) -> str:
    """The URI of a resource, or of a family of them as it is written."""
    return one.uri if isinstance(one, Resource) else one.uri_template


def facts_of(one: Resource | ResourceTemplate) -> str:
    """Title or name (where the URI doesn't say it already), type and size. The words are the server's: hostile."""
    bytes_ = size(one.size) if isinstance(one, Resource) and one.size else ""
    named = one.title or (one.name if one.name not in uri_of(one) else "") or one.description
    return " · ".join(part for part in (named, one.mime, bytes_) if part)


def about_of(one: Resource | ResourceTemplate) -> str:
    """All of that, and how it is described."""
    facts = facts_of(one)
    return " · ".join(part for part in (facts, one.description if one.description not in facts else "") if part)
