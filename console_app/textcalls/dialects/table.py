"""The table of dialects: a row a body, and the families that write each body in a coat of their own."""

import re
from functools import cache

from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import BracketBody, NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.coats import BEGIN, CLOSE, MARK, OPEN, OTHER_OPENS, PLAIN_OPENS, SPECIAL, P, S
from console_app.textcalls.dialects.dialect import CALL, PARAMETERS, Dialect, Family
from console_app.textcalls.dialects.form import Form
from console_app.textcalls.patterns import ACTION, ACTION_INPUT, IDENT, any_of, label, tag

_NAME = r"(?:[\w.\-]+/)?\w[\w.\-]*"
_SEP = r"<\|sep\|>"
_M3 = "]<]minimax[>["
_M3_RE = r"\]<\]minimax\[>\["
_AROUND = "(?:args|arguments|parameters|params|input)"
_KEY = (
    rf"<(?:{P}arg_key{S}|\|tool_arg:start\|)>(?P<key>[^<]+)(?:</{P}arg_key{S}>\s*"
    rf"(?:<{P}arg_type{S}>(?P<type>[^<]*)</{P}arg_type{S}>\s*)?<{P}arg_value{S}>|<\|tool_arg:value\|>)"
)
_WITHIN = {
    "wrapper": rf"<{_AROUND}>",
    "param": r"<(?:(?:parameter|param|argument|arg)\s+name\s*=\s*[\"'])?(?P<key>[\w.-]+)[\"']?>",
    "param_end": r"</(?:parameter|param|argument|arg|KEY)>",
}
_QWEN = "<parameter=$key>\n$value\n</parameter>\n"
_INVOKE = '<invoke name="$name">\n$arguments</invoke>'
_INVOKED = '<parameter name="$key">$value</parameter>\n'
_GLM = "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"
_ITEM = '{"type": "function", "function": {"name": "$name", "arguments": $arguments}}'

DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "hermes_json",
        "Qwen 2, 2.5 and 3, QwQ, Hermes 2 to 4, Granite 4, Ernie 4.5, many fine-tunes",
        JsonBody(),
        Form("<tool_call>\n" + CALL + "\n</tool_call>"),
        coated=True,
    ),
    Dialect(
        "inkling",
        "Inkling",
        JsonBody(lead_in=rf"\s*(?:{IDENT}\s*)?<\|content_invoke_tool_json\|>"),
        Form(
            '<|message_model|>$name<|content_invoke_tool_json|>{"name": "$name", "args": $arguments}<|end_message|>',
            between="",
        ),
        coated=True,
    ),
    Dialect(
        "qwen3_coder_xml",
        "Qwen3-Coder, Qwen3.5, MiMo, Nemotron 3 Nano, Step-3.5, Nanbeige",
        TagBody(
            call=(
                rf"(?:function\s*{SPECIAL}\s*)?<{P}(?:function\s*=\s*(?=[^<>\n]+>)|(?:invoke|function)\s*(?:\s[^<>]*?)?"
                r"name\s*=\s*)[\"']?(?P<name>[^\"'<>=/]+)[\"']?[^<>]*>"
            ),
            param=(
                rf"<{P}(?:parameter\s*=\s*(?=[^<>\n]+>)|param(?:eter)?\s*(?:\s[^<>]*?)?name\s*=\s*(?=[\"']))"
                r"(?:(?=[^<>]*\sstring\s*=\s*[\"'](?P<string>true|false))|)[\"']?(?P<key>[^\"'<>]+)[\"']?[^<>]*>"
            ),
            param_end=rf"</{P}param(?:eter)?{S}>",
            call_end=rf"</{P}(?:invoke|function){S}>",
            json=True,
            exact=None,
        ),
        Form("<tool_call>\n<function=$name>\n$arguments</function>\n</tool_call>", values="raw", param=_QWEN),
        coated=True,
    ),
    Dialect(
        "hermes_xml",
        "fine-tunes that write name and arguments as tags, prompts of Claude 2's style and of Cline for servers",
        TagBody(
            call=(
                r"(?:<invoke>\s*|<use_mcp_tool>\s*(?:<server_name>\s*(?P<server>[^<>]*?)\s*</server_name>\s*)?)?"
                r"<(?:tool_)?name>\s*(?P<name>[^<>]+?)\s*</(?:tool_)?name>"
            ),
            inner=rf"(?:{OPEN}|<invoke>)\s*<(?:tool_)?name>",
            call_end=rf"(?:</{_AROUND}>\s*)?(?:</invoke>|</use_mcp_tool>|{CLOSE})",
            json=True,
            **_WITHIN,
        ),
        Form("<tool_call>\n<name>$name</name>\n<arguments>$arguments</arguments>\n</tool_call>"),
        coated=True,
    ),
    Dialect(
        "named_tag",
        "fine-tunes that name the tool in the tag of the call",
        TagBody(
            call=rf"<{P}(?:tool|function)_call\s[^<>]*?name\s*=\s*[\"']?(?P<name>[^\"'<>=/]+)[\"']?[^<>]*>",
            call_end=rf"(?:</{_AROUND}>\s*)?</{P}(?:tool|function)_call{S}>",
            empty=r"<[^>]*/>",
            json=True,
            **_WITHIN,
        ),
        Form('<tool_call name="$name">\n$arguments\n</tool_call>'),
        coated=True,
    ),
    Dialect(
        "glm45",
        "GLM 4.5 to 5, Poolside Laguna, Spark 3, Ling 3",
        TagBody(
            call=rf"(?P<name>{_NAME})\s*(?:\\n\s*)?(?:<{P}tool_sep{S}>)?\s*(?={_KEY.replace('?P<key>', '').replace('?P<type>', '')}|{CLOSE})",
            inner=rf"{OPEN}\s*{_NAME}",
            param=_KEY,
            param_end=rf"(?:</{P}arg_value{S}>|<\|tool_arg:end\|>)",
            call_end=CLOSE,
            exact=True,
        ),
        Form("<tool_call>$name\n$arguments</tool_call>", values="raw", param=_GLM, keeps=True),
        coated=True,
    ),
    Dialect(
        "gemma4",
        "Gemma 4",
        BracketBody(('<|"|>', "<escape>")),
        Form("<|tool_call>call:$name{$arguments}<tool_call|>", between="", values="quoted", quote='<|"|>'),
        coated=True,
    ),
    Dialect(
        "hermes_named",
        "fine-tunes that put the name before the object, GLM 5.3 Flash, Step-Audio 2",
        NamedBody(
            rf"\s*(?:(?:\w[\w.:-]*\s*)?{SPECIAL}\s*|function\s*\n\s*)?(?P<name>{_NAME}(?::\d+)?)\s*"
            rf"(?:(?:>|\\n|\[CALL_ID\]\s*[\w-]*|\[ARGS\]|{SPECIAL})\s*){{0,4}}(?:```\w*\s*)?(?=[\{{\"]|{CLOSE})",
            bare_names=True,
        ),
        Form("<tool_call>$name\n$arguments\n</tool_call>"),
        coated=True,
    ),
    Dialect(
        "hermes_python",
        "fine-tunes that write the call as code",
        PythonBody(),
        Form("<tool_call>$name($arguments)</tool_call>", values="python"),
        coated=True,
    ),
    Dialect(
        "minimax_m3",
        "MiniMax-M3",
        TagBody(
            call=tag(_M3_RE + "<invoke", "name", "name"),
            param=_M3_RE + r"<(?P<key>[\w.-]+)>",
            param_end=_M3_RE + r"</KEY>",
            call_end=_M3_RE + r"</invoke>",
            exact=True,
            lead="]",
            nested=_M3,
        ),
        Form(
            f'{_M3}<invoke name="$name">$arguments{_M3}</invoke>',
            f"{_M3}<tool_call>\n$calls\n{_M3}</tool_call>",
            values="raw",
            param=f"{_M3}<$key>$value{_M3}</$key>",
            keeps=True,
        ),
        coated=True,
        opens=(_M3 + "<tool_call>",),
        closes=rf"{_M3_RE}</tool_call>",
    ),
    Dialect(
        "kimi_k3_xtml",
        "Kimi K3",
        TagBody(
            call=tag(r"<\|open\|>call", "tool", "name", _SEP),
            param=tag(r"<\|open\|>argument", "key", "key", _SEP, type=r"\w+"),
            param_end=r"<\|close\|>argument<\|sep\|>",
            call_end=r"(?:<\|close\|>json<\|sep\|>)?<\|close\|>call<\|sep\|>",
            wrapper=r"<\|open\|>json[^<]*<\|sep\|>",
            json=True,
        ),
        Form(
            '<|open|>call tool="$name" index="$number"<|sep|>$arguments<|close|>call<|sep|>',
            "<|open|>tools<|sep|>$calls<|close|>tools<|sep|>",
            "",
            values="exact",
            param='<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>',
        ),
        coated=True,
        opens=("<|open|>tools<|sep|>",),
        closes=r"<\|close\|>tools<\|sep\|>",
    ),
    Dialect(
        "cwm",
        "CWM",
        NamedBody(
            rf"<tool:\s*[\w.-]{{1,40}}\s*>\s*(?P<name>{IDENT})(?=\s)", required_close=False, until=r"\s*</tool>"
        ),
        Form("<tool: function>\n$name $arguments\n</tool>"),
        coated=True,
    ),
    Dialect(
        "harmony",
        "GPT-OSS",
        NamedBody(
            r"(?:<\|start\|>\s*assistant)?(?:<\|channel\|>\s*(?!analysis(?!\s+to=functions\.))\w+)?"
            r"\s*to=(?!(?:assistant|user|self|commentary|all|developer)\b)(?P<name>[^\s<]++)\s*+(?:<\|channel\|>)?+[^<]*+"
            r"(?:<\|constrain\|>[^<]*+)?+<\|message\|>(?=\s*(?:[^\s<]|<\|))",
            bare_names=True,
        ),
        Form(
            "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$arguments<|call|>",
            between="<|start|>assistant",
        ),
        begins=("<|channel|>", "<|start|>", "to=functions."),
        closes=r"<\|(?:call|end|return)\|>",
    ),
    Dialect(
        "roo_xml",
        "any model prompted by Roo, Kilo or Cline, and by prompts that copy them",
        TagBody(
            call=r"<(?P<name>NAMES)\s*/?>",
            wrapper="<args>",
            param=(
                r"<(?=(?:KEYS)>|(?P<other>[\w.-]+)>[^<]{0,300}</(?P=other)>\s*"
                r"(?:<[\w.-]+>[^<]{0,100}</[\w.-]+>\s*){0,4}(?:</args>\s*)?(?:</NAME>|<(?:KEYS)>))(?P<key>[\w.-]+)>"
            ),
            param_end=r"</KEY>",
            call_end=r"(?:</args>\s*)?</NAME>",
            trim=True,
            empty=r"<[^>]*/>",
        ),
        Form("<$name>\n$arguments</$name>", between="\n\n", values="raw", param="<$key>$value</$key>\n", trims=True),
    ),
    Dialect(
        "react",
        "ReAct and LangChain prompts, Qwen 1",
        NamedBody(
            rf"{ACTION}[ \t]*`?(?P<name>{IDENT})`?[ \t]*\r?\n\s*{ACTION_INPUT}(?=\s*\S)",
            until=rf"\n\s*{label('Observation', 'Thought', 'Action', 'Final Answer')}",
            required_close=False,
        ),
        Form("Action: $name\nAction Input: $arguments"),
    ),
    Dialect("smol_action", "smolagents", JsonBody(), Form("Action:\n" + CALL), closes="<end_(?:action|code)>"),
    Dialect(
        "functionary_v32",
        "Functionary v3.2",
        NamedBody(r"(?:>>>)?(?P<name>NAMES)[ \t]*\r?\n(?=\s*\S)", until=r"\n>>>", required_close=False),
        Form(">>>$name\n$arguments"),
    ),
    Dialect(
        "pythonic_list",
        "Llama 3.2 and 4, ToolACE, xLAM, prompts of the Berkeley leaderboard",
        PythonBody(listed=True),
        Form("$name($arguments)", "[$calls]", ", ", values="python"),
    ),
    Dialect(
        "fenced_json",
        "Qwen2.5-Coder, Gemma, Phi",
        JsonBody(),
        Form("```json\n" + CALL + "\n```", between="\n\n"),
    ),
    Dialect("bare_json_lines", "any small model prompted with a schema", JsonBody(), Form(CALL)),
)

ROWS: dict[str, Dialect] = {row.name: row for row in DIALECTS}
COATED: tuple[Dialect, ...] = tuple(row for row in DIALECTS if row.coated)


def _bars(name: str) -> str:
    return f"<｜{name.replace(' ', '▁')}｜>"


def _invoke(prefix: str, around: str, **form: str) -> Form:
    """The form of calls in `invoke` tags that all bear a prefix."""
    return Form(
        f'<{prefix}invoke name="$name">\n$arguments</{prefix}invoke>',
        f"<{prefix}{around}>\n$calls\n</{prefix}{around}>",
        values="exact" if "string" in form else "raw",
        param=f'<{prefix}parameter name="$key"{form.get("string", "")}>$value</{prefix}parameter>\n',
        keeps="string" not in form,
    )


_STRING = ' string="$string"'
_DEEPSEEK = f"{_bars('tool calls begin')}$calls{_bars('tool calls end')}"
_SEED = "<parameter=$key>\n$value\n</parameter>\n"
_SOLAR = "<|tool_arg:start|>$key<|tool_arg:value|>$value<|tool_arg:end|>\n"
_HY = "<arg_key:opensource>$key</arg_key:opensource>\n<arg_value:opensource>$value</arg_value:opensource>\n"
_IFM = "<ifm|arg_key>$key</ifm|arg_key>\n<ifm|arg_value>$value</ifm|arg_value>\n"
_PLAMO = (
    "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>$name<|plamo:end_tool_name:plamo|>"
    "<|plamo:begin_tool_arguments:plamo|>$arguments<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
)
_COMMAND = '{"tool_name": "$name", "parameters": $arguments}'
_GIVEN = '{"id": "call_$index", "type": "function", "function": {"name": "$name", "arguments": $arguments}}'

_COATS: tuple[tuple[str, str, str, Form], ...] = (
    ("longcat", "hermes_json", "LongCat", Form("<longcat_tool_call>\n" + CALL + "\n</longcat_tool_call>")),
    ("nemotron_toolcall", "hermes_json", "Nemotron Nano v2", Form(CALL, "<TOOLCALL>[$calls]</TOOLCALL>", ", ")),
    ("jamba_hunyuan_array", "hermes_json", "Jamba, Hunyuan-A13B, Apriel", Form(CALL, "<tool_calls>[$calls]</tool_calls>", ", ")),
    ("minimax_m1", "hermes_json", "MiniMax-M1", Form(CALL, "<tool_calls>\n$calls\n</tool_calls>")),
    ("k2_horizon_json", "hermes_json", "K2 Horizon, told to write JSON", Form(f"<ifm|tool_call>{CALL}</ifm|tool_call>", "<ifm|tool_calls>\n$calls\n</ifm|tool_calls>")),
    ("qwen25_coder_json", "hermes_json", "Qwen2.5-Coder, which mistakes the tag of the definitions", Form(f"<tools>\n{CALL}\n</tools>")),
    ("granite20b_fc", "hermes_json", "Granite-20b-FC", Form("<function_call> " + CALL)),
    ("mistral_json", "hermes_json", "Mistral 7B v0.3, Nemo, Small 2409 and 2501, Large 2407", Form(CALL, "[TOOL_CALLS][$calls]", ", ")),
    ("pangu", "hermes_json", "openPangu", Form(CALL, "[unused11][$calls][unused12]", ", ")),
    ("granite3", "hermes_json", "Granite 3", Form(CALL, "<|tool_call|>[$calls]", ", ")),
    ("gigachat3", "hermes_json", "GigaChat 3", Form("<|function_call|>" + CALL, between="")),
    ("internlm2", "hermes_json", "InternLM 2 and 3", Form("<|action_start|><|plugin|>\n" + PARAMETERS + "<|action_end|>")),
    ("phi4mini_functools", "hermes_json", "Phi-4-mini, Firefunction v2", Form(CALL, "functools[$calls]", ", ")),
    ("command_a_action", "hermes_json", "Command R7B, Command A, North", Form('    {"tool_call_id": "$index", ' + _COMMAND[1:], "<|START_ACTION|>[\n$calls\n]<|END_ACTION|>", ",\n")),
    ("apertus", "hermes_json", "Apertus", Form('{"$name": $arguments}', "<|tools_prefix|>[$calls]<|tools_suffix|>", ", ")),
    ("llama3_python_tag", "hermes_json", "Llama 3", Form(PARAMETERS, "<|python_tag|>$calls<|eom_id|>", "; ")),
    ("lfm2_json", "hermes_json", "LFM2, told to write JSON", Form(CALL, "<|tool_call_start|>[$calls]<|tool_call_end|>", ", ")),
    ("functionary_v31", "qwen3_coder_xml", "Functionary v3.1, Llama 3.1 with custom tags", Form("<function=$name>$arguments</function>", between="")),
    ("seed_oss", "qwen3_coder_xml", "Seed-OSS", Form("<seed:tool_call>\n<function=$name>\n$arguments</function>\n</seed:tool_call>", values="raw", param=_SEED)),
    ("anthropic_invoke", "qwen3_coder_xml", "prompts in the style of early Claude, many agents, Dots", Form(_INVOKE, "<function_calls>\n$calls\n</function_calls>", values="raw", param=_INVOKED)),
    ("minimax_m2", "qwen3_coder_xml", "MiniMax-M2", Form(_INVOKE, "<minimax:tool_call>\n$calls\n</minimax:tool_call>", values="raw", param=_INVOKED, keeps=True)),
    ("muse", "qwen3_coder_xml", "Muse Spark and Glimmer", _invoke("atem:", "function_calls")),
    ("deepseek_v32_dsml", "qwen3_coder_xml", "DeepSeek V3.2", _invoke("｜DSML｜", "function_calls", string=_STRING)),
    ("deepseek_v4_dsml", "qwen3_coder_xml", "DeepSeek V4", _invoke("｜DSML｜", "tool_calls", string=_STRING)),
    ("deepseek_v41_dsml", "qwen3_coder_xml", "DeepSeek V4.1", _invoke("｜DSML｜ ", "calls", string=_STRING)),
    ("gigachat35", "qwen3_coder_xml", "GigaChat 3.5", _invoke("｜GCML｜", "tool_calls", string=_STRING)),
    ("step3_steptml", "qwen3_coder_xml", "Step-3", Form('<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="$name">\n$arguments</steptml:invoke><｜tool_call_end｜>', "<｜tool_calls_begin｜>$calls<｜tool_calls_end｜>", values="raw", param='<steptml:parameter name="$key">$value</steptml:parameter>\n', keeps=True)),
    ("minicpm5_param", "qwen3_coder_xml", "MiniCPM5", Form('<function name="$name">$arguments</function>', values="raw", param='<param name="$key">$value</param>', keeps=True)),
    ("claude2_invoke", "hermes_xml", "prompts in the style of Claude 2", Form("<invoke>\n<tool_name>$name</tool_name>\n<parameters>\n$arguments</parameters>\n</invoke>", "<function_calls>\n$calls\n</function_calls>", values="raw", param="<$key>$value</$key>\n")),
    ("mcp_tag", "hermes_xml", "prompts of Cline for tools of servers", Form("<use_mcp_tool>\n<tool_name>$name</tool_name>\n<arguments>\n$arguments\n</arguments>\n</use_mcp_tool>")),
    ("hunyuan_v3", "glm45", "Hunyuan 3 and 4", Form("<tool_call:opensource>$name<tool_sep:opensource>\n$arguments</tool_call:opensource>", "<tool_calls:opensource>\n$calls\n</tool_calls:opensource>", values="raw", param=_HY, keeps=True)),
    ("iquest_coder", "glm45", "iQuest Coder", Form("<iquestcoder_tool_call>$name\n$arguments</iquestcoder_tool_call>", values="raw", param=_GLM, keeps=True)),
    ("iquest_q1", "glm45", "iQuest Q1", Form("<iquest_tool_call>$name\n$arguments</iquest_tool_call>", values="raw", param=_GLM, keeps=True)),
    ("solar_open2", "glm45", "Solar Open 2", Form("<|tool_call:start|>$name\n$arguments<|tool_call:end|>", values="raw", param=_SOLAR, keeps=True)),
    ("k2_horizon", "glm45", "K2 Horizon", Form("<ifm|tool_call>$name\n$arguments</ifm|tool_call>", "<ifm|tool_calls>\n$calls\n</ifm|tool_calls>", values="raw", param=_IFM, keeps=True)),
    ("functiongemma", "gemma4", "FunctionGemma", Form("<start_function_call>call:$name{$arguments}<end_function_call>", between="", values="quoted", quote="<escape>")),
    ("deepseek_v3", "hermes_named", "DeepSeek V3-0324, R1-0528 and models distilled from them", Form(f"{_bars('tool call begin')}function{_bars('tool sep')}$name\n```json\n$arguments\n```{_bars('tool call end')}", _DEEPSEEK)),
    ("deepseek_v31", "hermes_named", "DeepSeek V3.1", Form(f"{_bars('tool call begin')}$name{_bars('tool sep')}$arguments{_bars('tool call end')}", _DEEPSEEK, "")),
    ("kimi_k2", "hermes_named", "Kimi K2 and K2.5", Form("<|tool_call_begin|>functions.$name:$index<|tool_call_argument_begin|>$arguments<|tool_call_end|>", "<|tool_calls_section_begin|>$calls<|tool_calls_section_end|>", "")),
    ("mistral_v11", "hermes_named", "Mistral Small 3.1 and later, Magistral, Devstral, Ministral 3", Form("[TOOL_CALLS]$name[ARGS]$arguments", between="")),
    ("solar_open", "hermes_named", "Solar Open", Form("<|tool_call:begin|>call$index<|tool_call:name|>$name<|tool_call:args|>$arguments<|tool_call:end|>", "<|tool_calls|>$calls<|calls|>", "")),
    ("plamo3", "hermes_named", "PLaMo 3", Form(_PLAMO, "<|plamo:begin_tool_requests:plamo|>$calls<|plamo:end_tool_requests:plamo|>", "")),
    ("olmo3", "hermes_python", "OLMo 3", Form("$name($arguments)", "<function_calls>\n$calls\n</function_calls>", values="python")),
    ("llama4_pythonic", "hermes_python", "Llama 4", Form("$name($arguments)", "<|python_start|>[$calls]<|python_end|>", ", ", values="python")),
    ("llama3_builtin", "hermes_python", "Llama 3, for its built-in tools", Form("$name.call($arguments)", "<|python_tag|>$calls<|eom_id|>", "; ", values="python")),
    ("lfm2", "hermes_python", "LFM2 and 2.5", Form("$name($arguments)", "<|tool_call_start|>[$calls]<|tool_call_end|>", ", ", values="python")),
    ("harmony_recipient", "harmony", "GPT-OSS, where the endpoint keeps the first token of the answer", Form(" to=functions.$name<|channel|>commentary json<|message|>$arguments<|call|>", between="<|start|>assistant")),
    ("command_r", "smol_action", "Command R and R+", Form(f"    {_COMMAND}", "Action: ```json\n[\n$calls\n]\n```", ",\n")),
    ("langchain_action_fence", "smol_action", "LangChain's structured chat", Form('Action:\n```json\n{"action": "$name", "action_input": $arguments}\n```')),
    ("gemma_tool_code", "pythonic_list", "Gemma 2 and 3, Gemini's style", Form("$name($arguments)", "```tool_code\n$calls\n```", values="python")),
    ("llama3_json", "bare_json_lines", "Llama 3.1 to 3.3", Form(PARAMETERS, between="; ")),
    ("openai_shape", "bare_json_lines", "llama.cpp's generic template, Firefunction", Form(_GIVEN, '{"tool_calls": [$calls]}', ", ", values="json_text")),
    ("nested_function", "bare_json_lines", "many", Form(_ITEM, "[$calls]", ", ")),
    ("bare_json_array", "bare_json_lines", "xLAM, Hammer, small models", Form(CALL, "[$calls]", ", ")),
)  # fmt: skip
"""Who writes which row's calls in a coat of their own, and how: this is read by no one but who writes calls."""

FAMILIES: dict[str, Family] = {
    **{row.name: Family(row.name, row, row.models, row.form) for row in DIALECTS},
    **{name: Family(name, ROWS[row], models, form) for name, row, models, form in _COATS},
}
"""All ways to write calls, by name."""



@cache
def _by_mark() -> dict[tuple[str, str], str]:
    """The families by their rows and by the markers with which what they write begins."""
    known: dict[tuple[str, str], str] = {}
    mark = re.compile(rf"{MARK}|{BEGIN}|{any_of(OTHER_OPENS)}")
    for family in FAMILIES.values():
        for text in (family.form.around.partition("$")[0], family.form.call.replace("$name", "x")):
            if found := mark.match(text.strip()):
                known.setdefault((family.row.name, found.group()), family.name)
    return known


def is_marked_family(family: Family) -> bool:
    """Whether nobody writes by accident how the calls of a family open."""
    opening = family.form.around.replace("$calls", family.form.call).strip()
    return family.row.marked and not opening.startswith((*PLAIN_OPENS, "<function name"))


def family_of(row: Dialect, *marks: str) -> str:
    """Return the name of the family whose calls one of the marks opens, or of the row where none is known by it."""
    known = _by_mark()
    return next((name for mark in marks if (name := known.get((row.name, mark)))), row.name)
