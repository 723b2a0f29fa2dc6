"""`fanout run` with what servers offer: `@server:uri` attached, `/server:prompt` filled in, errors told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.headless.inside import Inside
from tests.program.process import Done

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "offering_server.py"


def run(fanout: Inside, *words: str, stdin: bytes = b"") -> Done:
    fanout.home.mkdir(exist_ok=True)
    servers = {"notes": {"command": sys.executable, "args": ["-S", str(SERVER)]}}
    (fanout.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return fanout.run("run", "-m", "offline/rehearsal", "--output-format", "stream-json", *words, stdin=stdin)


def asked(done: Done) -> dict[str, Any]:
    """The message of the user."""
    assert done.code == 0, done.err
    return next(one for one in done.events if one["type"] == "message.added" and one["role"] == "user")


def test_a_resource_is_attached(fanout: Inside) -> None:
    message = asked(run(fanout, "what is in @notes:note://1?"))
    assert message["content"] == "what is in @notes:note://1?"
    assert [(one["uri"], one["text"]) for one in message["attachments"]] == [("note://1", "the note 1")]


def test_a_prompt_is_filled_in_before_what_is_piped(fanout: Inside) -> None:
    message = asked(run(fanout, "/notes:review python", stdin=b"print(1)"))
    assert message["source"] == "/notes:review python"
    assert message["content"].startswith("User: Review this python, as you like.")
    assert message["content"].endswith("print(1)")


def test_what_is_piped_names_nothing(fanout: Inside) -> None:
    message = asked(run(fanout, "sum up", stdin=b"mail from @notes:note://1"))
    assert message["attachments"] == []
    assert asked(run(fanout, stdin=b"/notes:plain"))["content"] == "/notes:plain"


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ("read @notes:note://nowhere", 1, "notes: Resource not found"),
        ("/notes:nothing", 1, "notes has no prompt nothing now"),
        ("/notes:review", 2, "the prompt review needs language"),
    ],
)
def test_what_can_not_be_had_is_an_error(fanout: Inside, words: str, code: int, why: str) -> None:
    done = run(fanout, words)
    assert (done.code, done.out) == (code, "")
    assert why in done.err
