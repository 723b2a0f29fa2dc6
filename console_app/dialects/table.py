"""The table of dialects. To add one, add a row to one of its three parts, and its cases to the tests."""

from console_app.dialects.dialect import Dialect
from console_app.dialects.table_shapes import SHAPED
from console_app.dialects.table_tags import TAGGED
from console_app.dialects.table_tokens import TOKENED, deepseek

DIALECTS: tuple[Dialect, ...] = TAGGED + TOKENED + SHAPED

BY_NAME: dict[str, Dialect] = {dialect.name: dialect for dialect in DIALECTS}

SECTIONS: dict[str, str] = {
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>": "<|tool_call_section_end|>",
    "<tool_calls>": "</tool_calls>",
    "<function_calls>": "</function_calls>",
    "<tool_call>": "</tool_call>",
    "<ifm|tool_calls>": "</ifm|tool_calls>",
    "<tool_calls:opensource>": "</tool_calls:opensource>",
    "<|tool_calls|>": "<|calls|>",
    **dict(zip(deepseek("tool", "calls", "begin"), deepseek("tool", "calls", "end"), strict=True)),
}
"""Tokens around a run of calls that have markers of their own; they are dropped."""
