"""The patterns: none is compiled when the package is imported, all of them ahead of the first answer; the quick one
finds all that the exact ones do.
"""

import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import ToolSignature, parse
from console_app.textcalls.openings.openers import HELD, KIND_OF, LABELS, LEAD, PLAIN, TOKEN
from console_app.textcalls.patterns import any_of
from tests.each import each

COUNTED = """
import re

compiled, compile_now = [], re.compile


def counted(pattern, flags=0):
    if isinstance(pattern, str):
        compiled.append(pattern)
    return compile_now(pattern, flags)


re.compile = counted
import console_app.textcalls.scanner
at_import = len(compiled)
console_app.textcalls.patterns.prepare()
print(at_import, len(compiled))
"""


def test_importing_the_dialects_compiles_next_to_nothing() -> None:
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    at_import, prepared = map(int, run.stdout.split())
    assert at_import < 20, "the standard library and safe text have a few"
    assert prepared > at_import + 100


PARTS = [*KIND_OF, *LABELS, *"{}[]<>`~ \n\"'/|:(_a1", "read_file", '"name"', "functions."]


@given(text=st.lists(st.sampled_from(PARTS), max_size=8).map("".join), cut=st.integers(0, 12))
def test_where_something_opens_or_may_open_the_quick_search_stops(text: str, cut: int) -> None:
    text = text[: len(text) - cut]
    for at in range(len(text)):
        if TOKEN.match(text, at):
            assert LEAD.match(text, at), text[at:]
        if TOKEN.match(text, at) or HELD.match(text, at):
            assert PLAIN.match(text, at), text[at:]


@each(
    "text",
    [
        "<read><path>a</path></read>",
        '[read(path="a")]',
        "<function=read>\n<parameter=path>\na\n</parameter>\n</function>",
    ],
)
def test_a_server_names_its_parameters_as_long_as_it_likes(text: str) -> None:
    properties = {"path": {"type": "string"}, **{"x" * length: {"type": "string"} for length in (99, 100, 101, 5000)}}
    tools = [ToolSignature("read", {"type": "object", "properties": properties})]
    assert [call.arguments for call in parse(text, tools).calls] == [{"path": "a"}]
    longest = re.compile(any_of(properties))
    assert all((found := longest.match(name)) and found.group() == name for name in properties)
