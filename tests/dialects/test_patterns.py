"""The patterns: none is compiled when the package is imported, all of them ahead of the first answer."""

import subprocess
import sys

COUNTED = """
import re

compiled, compile_now = [], re.compile


def counted(pattern, flags=0):
    if isinstance(pattern, str):
        compiled.append(pattern)
    return compile_now(pattern, flags)


re.compile = counted
import console_app.dialects.scanner
at_import = len(compiled)
console_app.dialects.scanner.prepare()
print(at_import, len(compiled))
"""


def test_importing_the_dialects_compiles_next_to_nothing() -> None:
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    at_import, prepared = map(int, run.stdout.split())
    assert at_import < 20, "the standard library and safe text have a few"
    assert prepared > at_import + 100
