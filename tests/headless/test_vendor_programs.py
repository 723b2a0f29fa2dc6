"""`fanout run` with programs that the endpoint runs: a line for each call below its program, in exports too."""

from __future__ import annotations

import re

import pytest

from tests.end_to_end.test_vendor_programs import CODE, NATIVE, begun, call, ended
from tests.headless.inside import Inside
from tests.wire_bytes import Api
from tests.wire_server import WireServer

CONFIG = """
programs = "auto"
[providers.here]
api = "{api}"
base_url = "{url}"
runs_programs = true
"""


@pytest.mark.parametrize("api", NATIVE)
def test_calls_stand_below_their_program_in_lines_and_exports(fanout: Inside, server: WireServer, api: Api) -> None:
    fanout.write("home/config.toml", CONFIG.format(api=api, url=server.base_url(api)))
    server.script(begun(api, call(1, tool="calculator_evaluate", expression="6*7")), ended(api))
    done = fanout.run("run", "-m", "here/test-model", "go")
    assert (done.code, done.out) == (0, "Done.\n")
    name = "code_execution" if api == "anthropic" else "program"
    assert re.search(rf"^  ✓ calculator\.evaluate .*→ 42.*\n(.*\n)*✓ here\.{name}", done.err, re.MULTILINE)
    (session,) = (line.split()[0] for line in fanout.run("sessions", "list").out.splitlines())
    text = fanout.run("sessions", "export", session, "--format", "md").out
    assert CODE[api] in text.replace('\\"', '"')
    assert "> **calculator" in text
    shown = fanout.run("sessions", "show", session).out
    assert re.search(rf"^✓ here\.{name}.*\n  ✓ calculator\.evaluate", shown, re.MULTILINE)
