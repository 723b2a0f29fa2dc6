"""The table of dialects whose tokens stand between wide bars: DeepSeek's, and those made after them."""

import itertools

from console_app.textcalls.dialect import Dialect
from console_app.textcalls.form import Form
from console_app.textcalls.named_body import NamedBody
from console_app.textcalls.table_parts import IDENT, tag
from console_app.textcalls.tag_body import TagBody


def deepseek(*words: str) -> tuple[str, ...]:
    """A DeepSeek token and its look-alikes: distilled models write plain bars and underscores."""
    return tuple(f"<{bar}{sep.join(words)}{bar}>" for bar, sep in itertools.product("｜|", "▁_"))


_SEP = r"<[｜|]tool[▁_]sep[｜|]>"
_DSML = TagBody(
    call=tag("<[｜|](?:DS|GC)ML[｜|]invoke", "name", "name"),
    param=tag("<[｜|](?:DS|GC)ML[｜|]parameter", "name", "key", string="true|false"),
    param_end=r"</[｜|](?:DS|GC)ML[｜|]parameter>",
    call_end=r"</[｜|](?:DS|GC)ML[｜|]invoke>",
    json=True,
)
_DSML_VALUE = '<｜DSML｜parameter name="$key" string="$string">$value</｜DSML｜parameter>\n'

BARRED: tuple[Dialect, ...] = (
    Dialect(
        "deepseek_v3",
        "DeepSeek V3-0324, R1-0528 and models distilled from them",
        NamedBody(rf"\s*function\s*{_SEP}\s*(?P<name>{IDENT})\s*(?:```\w*\s*(?=[{{`\"<])|(?=[{{\"]|<[｜|]tool))"),
        opens=deepseek("tool", "call", "begin"),
        closes=deepseek("tool", "call", "end"),
        sections=tuple(zip(deepseek("tool", "calls", "begin"), deepseek("tool", "calls", "end"), strict=True)),
        form=Form(
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$arguments\n```<｜tool▁call▁end｜>",
            "<｜tool▁calls▁begin｜>$calls<｜tool▁calls▁end｜>",
        ),
        marked=True,
    ),
    Dialect(
        "deepseek_v31",
        "DeepSeek V3.1",
        NamedBody(rf"\s*(?!function\s*{_SEP}\s*[\w<])(?P<name>{IDENT})\s*{_SEP}\s*(?=[^\s])"),
        opens=deepseek("tool", "call", "begin"),
        closes=deepseek("tool", "call", "end"),
        form=Form(
            "<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$arguments<｜tool▁call▁end｜>",
            "<｜tool▁calls▁begin｜>$calls<｜tool▁calls▁end｜>",
            "",
        ),
        marked=True,
    ),
    Dialect(
        "step3_steptml",
        "Step-3",
        TagBody(
            call=tag(rf"(?:function\s*{_SEP}\s*)?<steptml:invoke", "name", "name"),
            param=tag("<steptml:parameter", "name", "key"),
            param_end=r"</steptml:parameter>",
            call_end=r"</steptml:invoke>",
            exact=True,
        ),
        opens=deepseek("tool", "call", "begin"),
        closes=deepseek("tool", "call", "end"),
        form=Form(
            '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="$name">\n'
            "$arguments</steptml:invoke><｜tool_call_end｜>",
            "<｜tool_calls_begin｜>$calls<｜tool_calls_end｜>",
            values="raw",
            param='<steptml:parameter name="$key">$value</steptml:parameter>\n',
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "deepseek_v32_dsml",
        "DeepSeek V3.2",
        _DSML,
        opens=("<｜DSML｜function_calls>", "<|DSML|function_calls>"),
        begins=("<｜DSML｜invoke", "<|DSML|invoke"),
        closes=("</｜DSML｜function_calls>", "</|DSML|function_calls>"),
        form=Form(
            '<｜DSML｜invoke name="$name">\n$arguments</｜DSML｜invoke>',
            "<｜DSML｜function_calls>\n$calls\n</｜DSML｜function_calls>",
            values="exact",
            param=_DSML_VALUE,
        ),
        marked=True,
    ),
    Dialect(
        "deepseek_v4_dsml",
        "DeepSeek V4",
        _DSML,
        opens=("<｜DSML｜tool_calls>", "<|DSML|tool_calls>"),
        closes=("</｜DSML｜tool_calls>", "</|DSML|tool_calls>"),
        form=Form(
            '<｜DSML｜invoke name="$name">\n$arguments</｜DSML｜invoke>',
            "<｜DSML｜tool_calls>\n$calls\n</｜DSML｜tool_calls>",
            values="exact",
            param=_DSML_VALUE,
        ),
        marked=True,
    ),
    Dialect(
        "gigachat35",
        "GigaChat 3.5",
        _DSML,
        opens=("<｜GCML｜tool_calls>", "<|GCML|tool_calls>"),
        begins=("<｜GCML｜invoke", "<|GCML|invoke"),
        closes=("</｜GCML｜tool_calls>", "</|GCML|tool_calls>"),
        form=Form(
            '<｜GCML｜invoke name="$name">\n$arguments</｜GCML｜invoke>',
            "<｜GCML｜tool_calls>\n$calls\n</｜GCML｜tool_calls>",
            values="exact",
            param=_DSML_VALUE.replace("DSML", "GCML"),
        ),
        marked=True,
    ),
)
