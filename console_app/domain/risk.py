"""What a tool and a waiting call may do, in words, and who says so: its server, its arguments, or nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from console_app.domain.tools import ToolAnnotations, ToolSpec

RiskWord = Literal["reads", "changes", "may destroy", "network", "unknown"]


@dataclass(frozen=True, slots=True)
class Risk:
    """One word, and where it comes from."""

    word: RiskWord
    by: str


UNKNOWN = Risk("unknown", "the server declares nothing")


def risk_of(spec: ToolSpec | None, arguments: Mapping[str, Any]) -> Risk:
    """What a call of the tool with these arguments may do. Of annotations only what the server wrote itself counts."""
    if spec is not None and spec.builtin and not spec.annotations.read_only:
        return Risk("changes", "by Fanout itself")
    if spec is None or not declares_effect(spec.annotations):
        reaches = any(
            isinstance(value, str) and value.startswith(("http://", "https://")) for value in arguments.values()
        )
        return Risk("network", "an argument is a web address") if reaches else UNKNOWN
    by = "by Fanout itself" if spec.builtin else "declared by server"
    notes = spec.annotations
    if notes.read_only:
        return Risk("reads", by)
    return Risk("may destroy" if notes.says_destructive else "changes", by)


def declares_effect(notes: ToolAnnotations) -> bool:
    """Whether `effect_of` is the server's own word, not the protocol's default."""
    return notes.read_only or notes.says_destructive or not notes.destructive


def effect_of(notes: ToolAnnotations) -> str:
    """What annotations say of any call of a tool, the protocol's defaults included."""
    return "only reads" if notes.read_only else "may change or destroy" if notes.destructive else "only adds"
