"""The table of dialects that write calls between tags: whole, as JSON or code or after a name, or each value raw."""

from dataclasses import replace

from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.dialect import CALL, JSON, Dialect
from console_app.textcalls.dialects.form import Form
from console_app.textcalls.patterns import IDENT, tag

_HY = r"(?::[\w-]+)?"
_GLM_PARAM = r"<arg_key>(?P<key>[^<]+)</arg_key>\s*<arg_value>"
_M3 = "]<]minimax[>["
_M3_RE = r"\]<\]minimax\[>\["
_INVOKE = TagBody(
    call=tag(r"<(?:[\w-]+:)?invoke", "name", "name"),
    param=tag(r"<(?:[\w-]+:)?parameter", "name", "key", string="true|false"),
    param_end=r"</(?:[\w-]+:)?parameter>",
    call_end=r"</(?:[\w-]+:)?invoke>",
    json=True,
)
_FUNCTION = TagBody(
    call=r"<function=\s*[\"']?(?P<name>[^\s<>=\"']+)[\"']?\s*>",
    param=r"<parameter=\s*[\"']?(?P<key>[^<>\n\"']+?)[\"']?\s*>",
    param_end=r"</parameter>",
    call_end=r"</function>",
)
_GLM = TagBody(
    call=rf"(?P<name>{IDENT})\s*(?=<arg_key>|</tool_call>)",
    inner=rf"<tool_call>\s*{IDENT}",
    param=_GLM_PARAM,
    param_end=r"</arg_value>",
    call_end=r"</tool_call>",
    exact=True,
)
_SEED = replace(_FUNCTION, exact=None)
_INVOKE_EXACT = replace(_INVOKE, exact=True)
_AROUND = "(?:args|arguments|parameters|params|input)"
_WITHIN = TagBody(
    call=tag("<(?:tool_call|function_call)", "name", "name", "/?>"),
    wrapper=rf"<{_AROUND}>",
    param=r"<(?:(?:parameter|param|argument|arg)\s+name\s*=\s*[\"'])?(?P<key>[\w.-]+)[\"']?>",
    param_end=r"</(?:parameter|param|argument|arg|KEY)>",
    call_end=rf"(?:</{_AROUND}>\s*)?</(?:tool_call|function_call)>",
    empty=r"<[^>]*/>",
    json=True,
)
_QWEN_VALUE = "<parameter=$key>\n$value\n</parameter>\n"
_GLM_VALUE = "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"
_INVOKED = '<invoke name="$name">\n$arguments</invoke>'
_INVOKED_VALUE = '<parameter name="$key">$value</parameter>\n'

TAGGED: tuple[Dialect, ...] = (
    Dialect(
        "hermes_json",
        "Qwen 2, 2.5 and 3, QwQ, Hermes 2 to 4, Granite 4, Ernie 4.5, many fine-tunes",
        JSON,
        opens=("<tool_call>",),
        closes=("</tool_call>",),
        sections=(("<tool_call>", "</tool_call>"),),
        form=Form("<tool_call>\n" + CALL + "\n</tool_call>"),
        marked=True,
    ),
    Dialect(
        "hermes_named",
        "fine-tunes that put the name before the object",
        NamedBody(rf"\s*(?P<name>{IDENT})\s*(?=\{{)"),
        opens=("<tool_call>",),
        closes=("</tool_call>",),
        form=Form("<tool_call>$name\n$arguments\n</tool_call>"),
        marked=True,
    ),
    Dialect(
        "hermes_python",
        "fine-tunes that write the call as code",
        PythonBody(),
        opens=("<tool_call>",),
        closes=("</tool_call>",),
        form=Form("<tool_call>$name($arguments)</tool_call>", values="python"),
        marked=True,
    ),
    Dialect(
        "mcp_tag",
        "prompts of Cline for tools of servers",
        NamedBody(
            r"<use_mcp_tool>\s*(?:<server_name>\s*(?P<server>[^<>]*?)\s*</server_name>\s*)?"
            r"<tool_name>\s*(?P<name>[^<>]+?)\s*</tool_name>\s*<arguments>\s*(?=\{)",
        ),
        begins=("<use_mcp_tool>",),
        closes=("</arguments>", "</use_mcp_tool>"),
        form=Form(
            "<use_mcp_tool>\n<tool_name>$name</tool_name>\n<arguments>\n$arguments\n</arguments>\n</use_mcp_tool>"
        ),
        marked=True,
    ),
    Dialect(
        "qwen25_coder_json",
        "Qwen2.5-Coder, which mistakes the tag of the definitions for that of the calls",
        JSON,
        opens=("<tools>", "<tool>"),
        closes=("</tools>", "</tool>"),
        weak=True,
        form=Form("<tools>\n" + CALL + "\n</tools>"),
        marked=False,
    ),
    Dialect(
        "granite20b_fc",
        "Granite-20b-FC",
        JSON,
        opens=("<function_call>",),
        closes=("</function_call>",),
        weak=True,
        form=Form("<function_call> " + CALL),
        marked=False,
    ),
    Dialect(
        "longcat",
        "LongCat",
        JSON,
        opens=("<longcat_tool_call>",),
        closes=("</longcat_tool_call>",),
        form=Form("<longcat_tool_call>\n" + CALL + "\n</longcat_tool_call>"),
        marked=True,
    ),
    Dialect(
        "nemotron_toolcall",
        "Nemotron Nano v2",
        JSON,
        opens=("<TOOLCALL>",),
        closes=("</TOOLCALL>",),
        form=Form(CALL, "<TOOLCALL>[$calls]</TOOLCALL>", ", "),
        marked=True,
    ),
    Dialect(
        "jamba_hunyuan_array",
        "Jamba, Hunyuan-A13B, Apriel",
        JsonBody(arrays_only=True),
        opens=("<tool_calls>",),
        closes=("</tool_calls>",),
        form=Form(CALL, "<tool_calls>[$calls]</tool_calls>", ", "),
        marked=True,
    ),
    Dialect(
        "minimax_m1",
        "MiniMax-M1",
        JSON,
        opens=("<tool_calls>",),
        closes=("</tool_calls>",),
        form=Form(CALL, "<tool_calls>\n$calls\n</tool_calls>"),
        marked=True,
    ),
    Dialect(
        "k2_horizon_json",
        "K2 Horizon, told to write JSON",
        JSON,
        opens=("<ifm|tool_call>",),
        closes=("</ifm|tool_call>",),
        form=Form("<ifm|tool_call>" + CALL + "</ifm|tool_call>", "<ifm|tool_calls>\n$calls\n</ifm|tool_calls>"),
        marked=True,
    ),
    Dialect(
        "olmo3",
        "OLMo 3",
        PythonBody(),
        opens=("<function_calls>",),
        closes=("</function_calls>",),
        form=Form("$name($arguments)", "<function_calls>\n$calls\n</function_calls>", values="python"),
        marked=True,
    ),
    Dialect(
        "functionary_v31",
        "Functionary v3.1, Llama 3.1 with custom tags",
        NamedBody(r"<function=\s*[\"']?(?P<name>[^\s<>=\"']+)[\"']?\s*>\s*(?=\{)"),
        begins=("<function=",),
        closes=("</function>",),
        form=Form("<function=$name>$arguments</function>", between=""),
        marked=True,
    ),
    Dialect(
        "qwen3_coder_xml",
        "Qwen3-Coder, Qwen3.5, MiMo, Nemotron 3 Nano, Step-3.5, Nanbeige",
        _FUNCTION,
        opens=("<tool_call>",),
        begins=("<function=",),
        closes=("</tool_call>",),
        form=Form(
            "<tool_call>\n<function=$name>\n$arguments</function>\n</tool_call>", values="raw", param=_QWEN_VALUE
        ),
        marked=True,
    ),
    Dialect(
        "glm45",
        "GLM 4.5 to 5, Poolside Laguna",
        _GLM,
        opens=("<tool_call>",),
        closes=("</tool_call>",),
        form=Form("<tool_call>$name\n$arguments</tool_call>", values="raw", param=_GLM_VALUE, keeps=True),
        marked=True,
    ),
    Dialect(
        "named_tag",
        "fine-tunes that name the tool in the tag of the call",
        _WITHIN,
        begins=("<tool_call name", "<function_call name"),
        form=Form('<tool_call name="$name">\n$arguments\n</tool_call>'),
        marked=True,
    ),
    Dialect(
        "hermes_xml",
        "fine-tunes that write name and arguments as tags",
        replace(
            _WITHIN,
            call=r"<(?:tool_)?name>\s*(?P<name>[^<>]+?)\s*</(?:tool_)?name>",
            inner=r"<tool_call>\s*<(?:tool_)?name>",
            empty=r"(?!)",
        ),
        opens=("<tool_call>",),
        closes=("</tool_call>",),
        form=Form("<tool_call>\n<name>$name</name>\n<arguments>$arguments</arguments>\n</tool_call>"),
        marked=True,
    ),
    Dialect(
        "hunyuan_v3",
        "Hunyuan 3",
        TagBody(
            call=rf"(?:<tool_call{_HY}>\s*)?(?P<name>{IDENT})\s*<tool_sep{_HY}>",
            inner=rf"<tool_call{_HY}>\s*{IDENT}\s*<tool_sep{_HY}>",
            param=rf"<arg_key{_HY}>(?P<key>[^<]+)</arg_key{_HY}>\s*<arg_value{_HY}>",
            param_end=rf"</arg_value{_HY}>",
            call_end=rf"</tool_call{_HY}>",
            exact=True,
        ),
        opens=("<tool_calls>", "<tool_call>", "<tool_calls:opensource>", "<tool_call:opensource>"),
        closes=("</tool_calls>", "</tool_calls:opensource>"),
        sections=(("<tool_calls>", "</tool_calls>"), ("<tool_calls:opensource>", "</tool_calls:opensource>")),
        form=Form(
            "<tool_call:opensource>$name<tool_sep:opensource>\n$arguments</tool_call:opensource>",
            "<tool_calls:opensource>\n$calls\n</tool_calls:opensource>",
            values="raw",
            param=(
                "<arg_key:opensource>$key</arg_key:opensource>\n<arg_value:opensource>$value</arg_value:opensource>\n"
            ),
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "iquest_coder",
        "iQuest Coder",
        replace(
            _GLM,
            call=rf"(?P<name>{IDENT})\s*(?=<arg_key>|</iquestcoder_tool_call>)",
            inner=rf"<iquestcoder_tool_call>\s*{IDENT}",
            call_end=r"</iquestcoder_tool_call>",
        ),
        opens=("<iquestcoder_tool_call>",),
        closes=("</iquestcoder_tool_call>",),
        form=Form(
            "<iquestcoder_tool_call>$name\n$arguments</iquestcoder_tool_call>",
            values="raw",
            param=_GLM_VALUE,
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "solar_open2",
        "Solar Open 2",
        TagBody(
            call=rf"(?P<name>{IDENT})\s*(?=<\|tool_arg:start\|>|<\|tool_call:end\|>)",
            inner=rf"<\|tool_call:start\|>\s*{IDENT}",
            param=r"<\|tool_arg:start\|>(?P<key>[^<]+)<\|tool_arg:value\|>",
            param_end=r"<\|tool_arg:end\|>",
            call_end=r"<\|tool_call:end\|>",
            exact=True,
        ),
        opens=("<|tool_call:start|>",),
        closes=("<|tool_call:end|>",),
        form=Form(
            "<|tool_call:start|>$name\n$arguments<|tool_call:end|>",
            values="raw",
            param="<|tool_arg:start|>$key<|tool_arg:value|>$value<|tool_arg:end|>\n",
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "seed_oss",
        "Seed-OSS",
        _SEED,
        opens=("<seed:tool_call>",),
        closes=("</seed:tool_call>",),
        form=Form(
            "<seed:tool_call>\n<function=$name>\n$arguments</function>\n</seed:tool_call>",
            values="raw",
            param=_QWEN_VALUE,
        ),
        marked=True,
    ),
    Dialect(
        "minimax_m2",
        "MiniMax-M2",
        _INVOKE_EXACT,
        opens=("<minimax:tool_call>",),
        closes=("</minimax:tool_call>",),
        form=Form(
            _INVOKED,
            "<minimax:tool_call>\n$calls\n</minimax:tool_call>",
            values="raw",
            param=_INVOKED_VALUE,
            keeps=True,
        ),
        marked=True,
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
        opens=(_M3 + "<tool_call>",),
        begins=(_M3 + "<invoke",),
        closes=(_M3 + "</tool_call>",),
        form=Form(
            f'{_M3}<invoke name="$name">$arguments{_M3}</invoke>',
            f"{_M3}<tool_call>\n$calls\n{_M3}</tool_call>",
            values="raw",
            param=f"{_M3}<$key>$value{_M3}</$key>",
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "anthropic_invoke",
        "prompts in the style of early Claude, many agents, Dots",
        _INVOKE,
        opens=("<function_calls>", "<dots_function_call>"),
        begins=("<invoke",),
        closes=("</function_calls>", "</dots_function_call>"),
        sections=(("<function_calls>", "</function_calls>"),),
        form=Form(_INVOKED, "<function_calls>\n$calls\n</function_calls>", values="raw", param=_INVOKED_VALUE),
        marked=True,
    ),
    Dialect(
        "muse",
        "Muse Spark and Glimmer",
        _INVOKE_EXACT,
        opens=("<atem:function_calls>",),
        closes=("</atem:function_calls>",),
        form=Form(
            '<atem:invoke name="$name">\n$arguments</atem:invoke>',
            "<atem:function_calls>\n$calls\n</atem:function_calls>",
            values="raw",
            param='<atem:parameter name="$key">$value</atem:parameter>\n',
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "claude2_invoke",
        "prompts in the style of Claude 2",
        replace(
            _WITHIN,
            call=r"<invoke>\s*<tool_name>\s*(?P<name>[^<>]+?)\s*</tool_name>",
            call_end=rf"(?:</{_AROUND}>\s*)?</invoke>",
            empty=r"(?!)",
        ),
        opens=("<function_calls>",),
        begins=("<invoke>",),
        closes=("</function_calls>",),
        form=Form(
            "<invoke>\n<tool_name>$name</tool_name>\n<parameters>\n$arguments</parameters>\n</invoke>",
            "<function_calls>\n$calls\n</function_calls>",
            values="raw",
            param="<$key>$value</$key>\n",
        ),
        marked=True,
    ),
    Dialect(
        "k2_horizon",
        "K2 Horizon",
        TagBody(
            call=rf"(?P<name>{IDENT})\s*(?=<ifm\|arg_key>|</ifm\|tool_call>)",
            inner=rf"<ifm\|tool_call>\s*{IDENT}",
            param=(
                r"<ifm\|arg_key>(?P<key>[^<]+)</ifm\|arg_key>\s*"
                r"(?:<ifm\|arg_type>(?P<type>[^<]*)</ifm\|arg_type>\s*)?<ifm\|arg_value>"
            ),
            param_end=r"</ifm\|arg_value>",
            call_end=r"</ifm\|tool_call>",
            exact=True,
        ),
        opens=("<ifm|tool_call>",),
        closes=("</ifm|tool_call>",),
        sections=(("<ifm|tool_calls>", "</ifm|tool_calls>"),),
        form=Form(
            "<ifm|tool_call>$name\n$arguments</ifm|tool_call>",
            "<ifm|tool_calls>\n$calls\n</ifm|tool_calls>",
            values="raw",
            param="<ifm|arg_key>$key</ifm|arg_key>\n<ifm|arg_value>$value</ifm|arg_value>\n",
            keeps=True,
        ),
        marked=True,
    ),
    Dialect(
        "minicpm5_param",
        "MiniCPM5",
        TagBody(
            call=tag("<function", "name", "name"),
            param=tag("<param", "name", "key"),
            param_end=r"</param>",
            call_end=r"</function>",
            exact=True,
        ),
        begins=("<function name",),
        form=Form(
            '<function name="$name">$arguments</function>',
            values="raw",
            param='<param name="$key">$value</param>',
            keeps=True,
        ),
        marked=False,
    ),
)
