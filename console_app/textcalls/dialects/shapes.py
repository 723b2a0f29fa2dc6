"""The table of dialects without markers: labels, fences, the names of tools, and bare shapes."""

from console_app.textcalls.bodies.named_body import NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.dialect import CALL, JSON, PARAMETERS, Dialect
from console_app.textcalls.dialects.form import Form
from console_app.textcalls.patterns import ACTION, ACTION_INPUT, IDENT, label

SHAPED: tuple[Dialect, ...] = (
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
        form=Form(
            "<$name>\n$arguments</$name>", between="\n\n", values="raw", param="<$key>$value</$key>\n", trims=True
        ),
        marked=False,
    ),
    Dialect(
        "react",
        "ReAct and LangChain prompts, Qwen 1",
        NamedBody(
            rf"{ACTION}[ \t]*`?(?P<name>{IDENT})`?[ \t]*\r?\n\s*{ACTION_INPUT}(?=\s*\S)",
            until=rf"\n\s*{label('Observation', 'Thought', 'Action', 'Final Answer')}",
            required_close=False,
        ),
        form=Form("Action: $name\nAction Input: $arguments"),
        marked=False,
    ),
    Dialect(
        "smol_action",
        "smolagents",
        JSON,
        closes=("<end_action>", "<end_code>"),
        form=Form("Action:\n" + CALL),
        marked=False,
    ),
    Dialect(
        "command_r",
        "Command R and R+",
        JSON,
        form=Form('    {"tool_name": "$name", "parameters": $arguments}', "Action: ```json\n[\n$calls\n]\n```", ",\n"),
        marked=False,
    ),
    Dialect(
        "langchain_action_fence",
        "LangChain's structured chat",
        JSON,
        form=Form('Action:\n```json\n{"action": "$name", "action_input": $arguments}\n```'),
        marked=False,
    ),
    Dialect(
        "functionary_v32",
        "Functionary v3.2",
        NamedBody(
            r"(?:>>>)?(?P<name>NAMES)[ \t]*\r?\n(?=\s*\S)",
            until=r"\n>>>",
            required_close=False,
        ),
        form=Form(">>>$name\n$arguments"),
        marked=False,
    ),
    Dialect(
        "gemma_tool_code",
        "Gemma 2 and 3, Gemini's style",
        PythonBody(),
        form=Form("$name($arguments)", "```tool_code\n$calls\n```", values="python"),
        marked=False,
    ),
    Dialect(
        "pythonic_list",
        "Llama 3.2 and 4, ToolACE, xLAM, prompts of the Berkeley leaderboard",
        PythonBody(listed=True),
        form=Form("$name($arguments)", "[$calls]", ", ", values="python"),
        marked=False,
    ),
    Dialect(
        "fenced_json",
        "Qwen2.5-Coder, Gemma, Phi",
        JSON,
        form=Form("```json\n" + CALL + "\n```", between="\n\n"),
        marked=False,
    ),
    Dialect(
        "llama3_json",
        "Llama 3.1 to 3.3",
        JSON,
        form=Form(PARAMETERS, between="; "),
        marked=False,
    ),
    Dialect(
        "openai_shape",
        "llama.cpp's generic template, Firefunction",
        JSON,
        form=Form(
            '{"id": "call_$index", "type": "function", "function": {"name": "$name", "arguments": $arguments}}',
            '{"tool_calls": [$calls]}',
            ", ",
            values="json_text",
        ),
        marked=False,
    ),
    Dialect(
        "nested_function",
        "many",
        JSON,
        form=Form('{"type": "function", "function": {"name": "$name", "arguments": $arguments}}', "[$calls]", ", "),
        marked=False,
    ),
    Dialect(
        "bare_json_array",
        "xLAM, Hammer, small models",
        JSON,
        form=Form(CALL, "[$calls]", ", "),
        marked=False,
    ),
    Dialect(
        "bare_json_lines",
        "any small model prompted with a schema",
        JSON,
        form=Form(CALL),
        marked=False,
    ),
)
