"""The table of dialects that write the whole call between tags: as JSON, as code, or after its name."""

from console_app.textcalls.dialect import Dialect
from console_app.textcalls.form import Form
from console_app.textcalls.json_body import JsonBody
from console_app.textcalls.named_body import NamedBody
from console_app.textcalls.python_body import PythonBody
from console_app.textcalls.table_parts import CALL, IDENT, JSON

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
)
