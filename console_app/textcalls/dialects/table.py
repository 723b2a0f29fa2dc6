"""The table of dialects: its parts, by how they are marked, and what is looked up in it. A new dialect is a row."""

from console_app.textcalls.dialects.dialect import Dialect
from console_app.textcalls.dialects.shapes import SHAPED
from console_app.textcalls.dialects.tags import TAGGED
from console_app.textcalls.dialects.tokens import TOKENED

DIALECTS: tuple[Dialect, ...] = TAGGED + TOKENED + SHAPED

BY_NAME: dict[str, Dialect] = {dialect.name: dialect for dialect in DIALECTS}

SECTIONS: dict[str, str] = {opener: closer for dialect in DIALECTS for opener, closer in dialect.sections}
"""Tokens around a run of calls that have markers of their own; they are dropped."""
