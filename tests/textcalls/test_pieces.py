"""An answer reads the same in any pieces, whatever it is a mixture of."""

import random
import re
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import FAMILIES, ParsedCall, ReadingLevel, Scanner, parse, render_calls
from console_app.textcalls.bodies.framing import DEPTH_CAP
from console_app.textcalls.model import ScanResult
from console_app.textcalls.openings.openers import KIND_OF
from tests.each import each
from tests.examples import EXPLORING, examples
from tests.textcalls.answers import CORPUS, TOOLS, tools_of
from tests.textcalls.quotations import MACHINES
from tests.textcalls.test_quotations import CALLS, LEVELS

ENDS = "</parameter>\n</function>\n</tool_call>"
GLUE = [
    "\n",
    "\n\n",
    "",
    " ",
    "\nI wait.\n",
    "</think>",
    " and so on.",
    "\n(END)\n",
    "\n---\n",
    "```\n",
    "\n> ",
    '"',
    ENDS,
]


def read(text: str, size: int, level: ReadingLevel, tools: Any = TOOLS) -> ScanResult:
    """The result of reading in pieces of `size`."""
    scanner = Scanner(tools, level=level)
    for start in range(0, len(text), size):
        scanner.feed(text[start : start + size])
    return scanner.finish()


def check(text: str, size: int, level: ReadingLevel, tools: Any = TOOLS) -> None:
    assert read(text, size, level, tools) == read(text, len(text) + 1, level, tools)


@st.composite
def mixtures(draw: st.DrawFn) -> str:
    """Calls of some dialects one after the other: quoted, cut, with other marks between them or in them."""
    dialects = draw(st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=2))
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        call = CALLS[draw(st.sampled_from(dialects))]
        at = draw(st.integers(0, len(call)))
        match draw(st.sampled_from(["whole", "whole", "whole", "cut", "rest", "quoted", "with a mark", "mark"])):
            case "cut":
                call = call[:at]
            case "rest":
                call = call[at:]
            case "quoted":
                call = MACHINES[draw(st.sampled_from(sorted(MACHINES)))](call)
            case "with a mark":
                call = call[:at] + draw(st.sampled_from(sorted(KIND_OF) + GLUE)) + call[at:]
            case "mark":
                call = draw(st.sampled_from(sorted(KIND_OF)))
            case _:
                pass
        parts += [draw(st.sampled_from(GLUE)), call]
    return "".join((*parts[draw(st.integers(0, 1)) :], draw(st.sampled_from(GLUE))))


@examples(800, 100)
@given(text=mixtures(), size=st.integers(1, 40), level=st.sampled_from(LEVELS))
def test_a_mixture_of_calls_reads_the_same_in_any_pieces(text: str, size: int, level: ReadingLevel) -> None:
    check(text, size, level)


@examples(800, 100)
@given(
    case=st.sampled_from(CORPUS),
    at=st.floats(0, 1),
    cut=st.integers(0, 12),
    put=st.sampled_from([*sorted(KIND_OF), *GLUE, ""]),
    size=st.integers(1, 40),
    level=st.sampled_from(LEVELS),
)
def test_a_damaged_case_reads_the_same_in_any_pieces(
    case: dict[str, Any], at: float, cut: int, put: str, size: int, level: ReadingLevel
) -> None:
    place = int(at * len(case["text"]))
    text = case["text"][:place] + put + case["text"][place + cut :]
    check(text, size, level, tools_of(case))


BITS = [
    "<", "</", ">", "|", "<|", "|>", "\n", "  ", "{", "}", "[", "]", '"', "'", ",", ":", "`", "```", "&lt;", "=", "x",
    "7", "/", "\\", "(", ")", "_", "-", " " * 70, "\n" * 600,
]  # fmt: skip
WRITTEN = {
    name: render_calls(name, [ParsedCall(0, *one, "", "", 0, 0) for one in calls], TOOLS)
    for name in FAMILIES
    for calls in [[("write_file", {"path": "a.py", "content": "x = 1\n"}), ("ping", {}), ("get_weather", {"days": 3})]]
}


def marred(text: str, chance: random.Random) -> str:
    """Drop, double, swap or insert something in a text, or cut it off, up to three times."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        at = chance.randint(0, len(text))
        upto = at + chance.choice([1, 1, 2, 5, 20])
        text = chance.choice([
            text[:at] + text[upto:], text[:upto] + text[at:],
            text[:at] + text[at + 1 : upto] + text[at:at + 1] + text[upto:],
            text[:at] + chance.choice(BITS) + text[at:], text[:at] + chance.choice(BITS) + text[upto:], text[:at],
        ])  # fmt: skip
    return text


def differing(seed: int, answers: int) -> list[tuple[str, int, str, str | None]]:
    """Marred answers of the families in turn, that read otherwise in pieces than whole."""
    chance, found = random.Random(seed), []
    for number in range(answers):
        family = sorted(WRITTEN)[number % len(WRITTEN)]
        text, licensed = marred(WRITTEN[family], chance), chance.choice([None, None, family])
        whole = parse(text, TOOLS, licensed=licensed)
        found += [(text, n, family, licensed) for n in (1, 4, 7) if parse(text, TOOLS, n, licensed=licensed) != whole]
    return found


def test_a_marred_answer_of_any_family_reads_the_same_in_any_pieces() -> None:
    assert differing(1, (3 if EXPLORING else 2) * len(WRITTEN)) == []


def test_a_call_with_a_wide_gap_at_any_place_reads_the_same_in_any_pieces() -> None:
    """Line breaks and letters take turns: from place to place, and from family to family."""
    differ: list[tuple[str, int]] = []
    for number, (family, text) in enumerate(WRITTEN.items()):
        places = sorted({found.end() for found in re.finditer(r"\w+|\W", text[:120])})
        some = slice(None) if EXPLORING else slice(number % 8, None, 8)  # each family has its turn at other places
        for turn, at in list(enumerate(places, number))[some]:
            wide = text[:at] + "\nx"[turn % 2] * 600 + text[at:]
            if parse(wide, TOOLS, 50) != parse(wide, TOOLS):
                differ.append((family, at))
    assert differ == []


P = '{"name": "read_file", "arguments": {"path": "a b"}}'
QWEN = CALLS["qwen3_coder_xml"].strip()
KIMI = CALLS["kimi_k3_xtml"]
TOLD = {
    "a quotation mark behind a call that is part of a sentence": CALLS["claude2_invoke"].strip() + '"',
    "a value that goes on between bars": f"{KIMI}\nl{KIMI[20:]}Then.",
    "a value that goes on in brackets": CALLS["minimax_m3"] + CALLS["minimax_m3"][-60:],
    "a call that waited for being alone": f"{P} {{% raw %}}\n<tool_call>{P}</tool_call>\n{{% endraw %}}\n(END)\n",
    "a call of a tool without parameters in a value": "<invoke><tool_name>e</tool_name><s>a\n<invoke>\n<tool_name>"
    "read_file</tool_name>\n<parameteh></parameter></invoke>",
    "a mark in the first key of an object": '{"nafunctoolsme": "ping", "parameters": {"city<|eot_id|>>',
    "an object under an empty key": '<tool_call>{"": {"a": 1}, "b": 2}</tool_call>',
    "a header that names nobody": "to=|<|channel|>",
    "half of a tag that begins a call": "]<]minimax[>[<invoke",
    "a bracket too many and a line behind a call": '{"name": "ping", ""}]\nb',
    "a bracket too many and a line behind a call in a sentence": ':{"name": "ping", "": ""}]\nb',
    "a mark that is damaged before a tag that begins a call": "]<]minimax[>[<-5tool_call>\n"
    ']<]minimax[>[<invoke name="ping">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
    "a longer value and another call": f"\n{QWEN}\n/function>\n</tool_call>{ENDS}{QWEN}\n- ",
}


@each("text", TOLD.values(), ids=TOLD.keys())
@each("level", LEVELS)
@each("size", [1, 2, 3, 7, 40])
def test_what_was_once_read_otherwise_in_pieces(text: str, size: int, level: ReadingLevel) -> None:
    check(text, size, level)


LISTS = [
    "nemotron_toolcall",
    "jamba_hunyuan_array",
    "olmo3",
    "mistral_json",
    "pangu",
    "granite3",
    "command_a_action",
    "apertus",
    "llama4_pythonic",
    "lfm2",
]
LISTED = [ParsedCall(0, "list_dir", {"path": path}, "", "", 0, 0) for path in ("a", "b", "c")]


def paths(calls: Iterable[ParsedCall]) -> list[str]:
    return [call.arguments["path"] for call in calls]


@each("size", [1, 5, 1000])
@each("level", LEVELS)
@each("dialect", LISTS)
def test_a_call_of_a_list_that_began_stays_whatever_comes_of_the_list(
    dialect: str, level: ReadingLevel, size: int
) -> None:
    text = render_calls(dialect, LISTED, TOOLS)
    cut, broken = text[: text.rindex('"c"') + 1], text.replace('"c"', '"c" ?')
    for whole in (cut, broken):
        result = read(whole, size, level)
        assert paths(result.calls) == ["a", "b"]
        assert result.error in ("truncated", "invalid")
    said = read(f"{text} is how it is written.", size, level)
    assert (paths(said.calls), [bool(one.asks) for one in said.calls]) == (["a", "b", "c"], [True] * 3)


CORES = ['"b"', "[1]", '{"c": [2, "d"]}', '{"c": {"d": {"e": [{"f": 1}]}}}']


@each(("core", "levels"), zip(CORES, (0, 1, 2, 5), strict=True), ids=CORES)
def test_a_value_nests_as_deep_as_may_be_and_no_deeper_whatever_is_passed_over_at_once(core: str, levels: int) -> None:
    for more in (0, 1):
        deep = DEPTH_CAP - len("{{") - levels + more
        value = '{"a":' * deep + core + "}" * deep
        text = f'<tool_call>{{"name": "ping", "arguments": {{"a": {value}}}}}</tool_call>'
        result = read(text, len(text), "all")
        assert (result.error, len(result.calls)) == (("invalid", 0) if more else (None, 1))
        assert result == read(text, 1, "all")
