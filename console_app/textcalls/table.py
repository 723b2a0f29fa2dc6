"""The table of dialects: its parts, by how they are marked, and what is looked up in it. A new dialect is a row."""

from console_app.textcalls.dialect import Dialect
from console_app.textcalls.table_shapes import SHAPED
from console_app.textcalls.table_tags import TAGGED
from console_app.textcalls.table_tokens import TOKENED
from console_app.textcalls.table_values import VALUED

DIALECTS: tuple[Dialect, ...] = TAGGED + VALUED + TOKENED + SHAPED

BY_NAME: dict[str, Dialect] = {dialect.name: dialect for dialect in DIALECTS}

SECTIONS: dict[str, str] = {opener: closer for dialect in DIALECTS for opener, closer in dialect.sections}
"""Tokens around a run of calls that have markers of their own; they are dropped."""
