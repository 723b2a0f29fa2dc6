"""The table of dialects that are marked by special tokens."""

import itertools

from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import BracketBody, NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.dialect import CALL, JSON, PARAMETERS, SEP, Dialect
from console_app.textcalls.dialects.form import Form
from console_app.textcalls.patterns import IDENT, tag


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

_BARRED: tuple[Dialect, ...] = (
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

_HARMONY = NamedBody(
    r"(?:<\|start\|>\s*assistant)?(?:<\|channel\|>\s*(?!analysis(?!\s+to=functions\.))\w+)?"
    r"\s*to=(?!(?:assistant|user|self|commentary|all|developer)\b)(?P<name>[^\s<]++)\s*+(?:<\|channel\|>)?+[^<]*+"
    r"(?:<\|constrain\|>[^<]*+)?+<\|message\|>(?=\s*(?:[^\s<]|<\|))",
    bare_names=True,
)

TOKENED: tuple[Dialect, ...] = (
    Dialect(
        "mistral_json",
        "Mistral 7B v0.3, Nemo, Small 2409 and 2501, Large 2407",
        JsonBody(required_close=False),
        opens=("[TOOL_CALLS]",),
        closes=("[/TOOL_CALLS]",),
        form=Form(CALL, "[TOOL_CALLS][$calls]", ", "),
        marked=True,
    ),
    Dialect(
        "mistral_v11",
        "Mistral Small 3.1 and later, Magistral, Devstral, Ministral 3",
        NamedBody(
            rf"\s*(?P<name>{IDENT})\s*(?:\[CALL_ID\]\s*[\w-]*\s*)?(?:\[ARGS\]\s*(?=\")|(?:\[ARGS\]\s*)?(?=\{{))",
            required_close=False,
        ),
        opens=("[TOOL_CALLS]",),
        closes=("[/TOOL_CALLS]",),
        form=Form("[TOOL_CALLS]$name[ARGS]$arguments", between=""),
        marked=True,
    ),
    Dialect(
        "solar_open",
        "Solar Open",
        NamedBody(rf"\s*(?:[\w.:-]+\s*)?<\|tool_call:name\|>\s*(?P<name>{IDENT})\s*<\|tool_call:args\|>"),
        opens=("<|tool_call:begin|>",),
        closes=("<|tool_call:end|>",),
        sections=(("<|tool_calls|>", "<|calls|>"),),
        form=Form(
            "<|tool_call:begin|>call$index<|tool_call:name|>$name<|tool_call:args|>$arguments<|tool_call:end|>",
            "<|tool_calls|>$calls<|calls|>",
            "",
        ),
        marked=True,
    ),
    Dialect(
        "plamo3",
        "PLaMo 3",
        NamedBody(
            rf"\s*<\|plamo:begin_tool_name:plamo\|>\s*(?P<name>{IDENT})\s*<\|plamo:end_tool_name:plamo\|>"
            r"\s*<\|plamo:begin_tool_arguments:plamo\|>"
        ),
        opens=("<|plamo:begin_tool_request:plamo|>",),
        closes=(
            "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
            "<|plamo:end_tool_request:plamo|>",
        ),
        sections=(("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"),),
        form=Form(
            "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>$name<|plamo:end_tool_name:plamo|>"
            "<|plamo:begin_tool_arguments:plamo|>$arguments<|plamo:end_tool_arguments:plamo|>"
            "<|plamo:end_tool_request:plamo|>",
            "<|plamo:begin_tool_requests:plamo|>$calls<|plamo:end_tool_requests:plamo|>",
            "",
        ),
        marked=True,
    ),
    *_BARRED,
    Dialect(
        "kimi_k2",
        "Kimi K2 and K2.5",
        NamedBody(
            rf"\s*(?P<name>{IDENT}(?::\d+)?)\s*<\|tool_call_argument_begin\|>",
            bare_names=True,
        ),
        opens=("<|tool_call_begin|>",),
        closes=("<|tool_call_end|>",),
        sections=(
            ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
            ("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
        ),
        form=Form(
            "<|tool_call_begin|>functions.$name:$index<|tool_call_argument_begin|>$arguments<|tool_call_end|>",
            "<|tool_calls_section_begin|>$calls<|tool_calls_section_end|>",
            "",
        ),
        marked=True,
    ),
    Dialect(
        "kimi_k3_xtml",
        "Kimi K3",
        TagBody(
            call=tag(r"<\|open\|>call", "tool", "name", SEP),
            param=tag(r"<\|open\|>argument", "key", "key", SEP, type=r"\w+"),
            param_end=r"<\|close\|>argument<\|sep\|>",
            call_end=r"(?:<\|close\|>json<\|sep\|>)?<\|close\|>call<\|sep\|>",
            wrapper=r"<\|open\|>json[^<]*<\|sep\|>",
            json=True,
        ),
        opens=("<|open|>tools<|sep|>",),
        begins=("<|open|>call",),
        closes=("<|close|>tools<|sep|>",),
        form=Form(
            '<|open|>call tool="$name" index="$number"<|sep|>$arguments<|close|>call<|sep|>',
            "<|open|>tools<|sep|>$calls<|close|>tools<|sep|>",
            "",
            values="exact",
            param='<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>',
        ),
        marked=True,
    ),
    Dialect(
        "pangu",
        "openPangu",
        JSON,
        opens=("[unused11]",),
        closes=("[unused12]",),
        form=Form(CALL, "[unused11][$calls][unused12]", ", "),
        marked=True,
    ),
    Dialect(
        "granite3",
        "Granite 3",
        JsonBody(required_close=False),
        opens=("<|tool_call|>",),
        closes=("<|/tool_call|>",),
        form=Form(CALL, "<|tool_call|>[$calls]", ", "),
        marked=True,
    ),
    Dialect(
        "gigachat3",
        "GigaChat 3",
        JSON,
        opens=("<|function_call|>", "function call<|role_sep|>"),
        form=Form("<|function_call|>" + CALL, between=""),
        marked=True,
    ),
    Dialect(
        "internlm2",
        "InternLM 2 and 3",
        JSON,
        opens=("<|action_start|><|plugin|>", "<|action_start|>"),
        closes=("<|action_end|>",),
        form=Form("<|action_start|><|plugin|>\n" + PARAMETERS + "<|action_end|>"),
        marked=True,
    ),
    Dialect(
        "phi4mini_functools",
        "Phi-4-mini, Firefunction v2",
        JsonBody(arrays_only=True),
        opens=("functools",),
        weak=True,
        form=Form(CALL, "functools[$calls]", ", "),
        marked=False,
    ),
    Dialect(
        "command_a_action",
        "Command R7B, Command A, North",
        JSON,
        opens=("<|START_ACTION|>",),
        closes=("<|END_ACTION|>",),
        form=Form(
            '    {"tool_call_id": "$index", "tool_name": "$name", "parameters": $arguments}',
            "<|START_ACTION|>[\n$calls\n]<|END_ACTION|>",
            ",\n",
        ),
        marked=True,
    ),
    Dialect(
        "apertus",
        "Apertus",
        JsonBody(named_map=True),
        opens=("<|tools_prefix|>",),
        closes=("<|tools_suffix|>",),
        form=Form('{"$name": $arguments}', "<|tools_prefix|>[$calls]<|tools_suffix|>", ", "),
        marked=True,
    ),
    Dialect(
        "inkling",
        "Inkling",
        JsonBody(lead_in=rf"\s*(?:{IDENT}\s*)?<\|content_invoke_tool_json\|>"),
        opens=("<|message_model|>",),
        closes=("<|end_message|>",),
        form=Form(
            '<|message_model|>$name<|content_invoke_tool_json|>{"name": "$name", "args": $arguments}<|end_message|>',
            between="",
        ),
        marked=True,
    ),
    Dialect(
        "llama3_python_tag",
        "Llama 3",
        JSON,
        opens=("<|python_tag|>",),
        closes=("<|eom_id|>", "<|eot_id|>"),
        form=Form(PARAMETERS, "<|python_tag|>$calls<|eom_id|>", "; "),
        marked=True,
    ),
    Dialect(
        "llama3_builtin",
        "Llama 3, for its built-in tools",
        PythonBody(),
        opens=("<|python_tag|>",),
        closes=("<|eom_id|>", "<|eot_id|>"),
        marked=True,
    ),
    Dialect(
        "llama4_pythonic",
        "Llama 4",
        PythonBody(),
        opens=("<|python_start|>",),
        closes=("<|python_end|>",),
        form=Form("$name($arguments)", "<|python_start|>[$calls]<|python_end|>", ", ", values="python"),
        marked=True,
    ),
    Dialect(
        "lfm2",
        "LFM2 and 2.5",
        PythonBody(),
        opens=("<|tool_call_start|>",),
        closes=("<|tool_call_end|>",),
        form=Form("$name($arguments)", "<|tool_call_start|>[$calls]<|tool_call_end|>", ", ", values="python"),
        marked=True,
    ),
    Dialect(
        "lfm2_json",
        "LFM2, told to write JSON",
        JsonBody(),
        opens=("<|tool_call_start|>",),
        closes=("<|tool_call_end|>",),
        marked=True,
    ),
    Dialect(
        "gemma4",
        "Gemma 4",
        BracketBody('<|"|>'),
        opens=("<|tool_call>",),
        closes=("<tool_call|>",),
        form=Form("<|tool_call>call:$name{$arguments}<tool_call|>", between="", values="quoted", quote='<|"|>'),
        marked=True,
    ),
    Dialect(
        "functiongemma",
        "FunctionGemma",
        BracketBody("<escape>"),
        opens=("<start_function_call>",),
        closes=("<end_function_call>",),
        form=Form(
            "<start_function_call>call:$name{$arguments}<end_function_call>",
            between="",
            values="quoted",
            quote="<escape>",
        ),
        marked=True,
    ),
    Dialect(
        "harmony",
        "GPT-OSS",
        _HARMONY,
        begins=("<|channel|>", "<|start|>"),
        closes=("<|call|>", "<|end|>", "<|return|>"),
        form=Form(
            "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$arguments<|call|>",
            between="<|start|>assistant",
        ),
        marked=True,
    ),
    Dialect(
        "harmony_recipient",
        "GPT-OSS, where the endpoint keeps the first token of the answer to itself",
        _HARMONY,
        begins=("to=functions.",),
        closes=("<|call|>", "<|end|>", "<|return|>"),
        weak=True,
        form=Form(
            " to=functions.$name<|channel|>commentary json<|message|>$arguments<|call|>", between="<|start|>assistant"
        ),
        marked=True,
    ),
)
