"""A prompt from a fresh start that needs a server which is off: you say yes, and the turn goes on with its tools."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.program.process import Fanout
from tests.program.terminal import Terminal

PROMPT = "I need two things at once: calculate 2^64 and create a one-slide PowerPoint about parallel computing"


def console(fanout: Fanout, *more: str) -> Terminal:
    argv = fanout.argv("-m", "offline/rehearsal", *more)
    return Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd, rows=40, columns=120)


def test_a_server_is_switched_on_for_the_prompt_and_for_the_folder(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    with console(fanout, PROMPT) as terminal:
        terminal.expect(r"▸ changes +enable_server(.|\n)*server +│ pptx_generator")
        terminal.expect(r"it runs │ .*python -m console_app\.servers\.pptx_generator")
        terminal.expect("y run it")
        terminal.decide("y", "y run it")
        terminal.expect(r"1 needs you(.|\n)*changes +markdown_to_pptx")
        terminal.expect("y run it")
        terminal.decide("y", "y run it")
        terminal.expect("Saved .*parallel_computing.pptx")
    assert zipfile.is_zipfile(fanout.cwd / "parallel_computing.pptx")
    with console(
        fanout, 'pptx_generator.markdown_to_pptx {"markdown_content": "# Two", "file_name": "two.pptx"}'
    ) as again:
        again.expect(r"1 needs you(.|\n)*changes +markdown_to_pptx")


def test_a_no_leaves_it_off_and_the_turn_ends_in_words(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    with console(fanout, PROMPT) as terminal:
        terminal.expect(r"▸ changes +enable_server")
        terminal.expect("y run it   a and what it only reads, for this session")
        terminal.decide("n", "n no")
        terminal.expect("I can't make a presentation")
    assert list(fanout.cwd.iterdir()) == []


def test_headless_it_is_denied_with_words_unless_a_rule_allows_it(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    denied = fanout.run("run", "-m", "offline/rehearsal", PROMPT)
    assert denied.code == 3
    assert "--allow-tool fanout.enable_server" in denied.err
    assert "--mcp NAME" in denied.err
    assert "18446744073709551616" in denied.out
    allowed = fanout.run(
        *("run", "-m", "offline/rehearsal", "--output-format", "stream-json"),
        *("--allow-tool", "fanout.enable_server(server=pptx_generator)", "--allow-tool", "pptx_generator.*", PROMPT),
    )
    assert allowed.code == 0, allowed.err
    finished = [event for event in map(json.loads, allowed.out.splitlines()) if event["type"] == "call.finished"]
    assert [event["outcome"] for event in finished] == ["succeeded"] * 3
    assert (fanout.cwd / "parallel_computing.pptx").exists()


def test_in_the_line_console_it_is_switched_on_by_number(tmp_path: Path) -> None:
    with console(Fanout(tmp_path), "--screen-reader") as terminal:
        terminal.expect("Fanout, as lines")
        terminal.expect(r"^rehearsal, a scripted offline model, answers\. /connect connects another\.")
        terminal.type("Look up all orders for customer 'Acme Corp'\r")
        terminal.expect(r"Call 1 needs approval: fanout\.enable_server\. Changes, by Fanout itself")
        terminal.expect(r"it runs: .*python -m console_app\.servers\.order_database")
        terminal.expect(r"/approve 1, /deny 1")
        terminal.type("/approve 1 for this one\r")
        terminal.expect(r"Call 2 runs: customer Acme Corp")
        terminal.expect("Rocket skates")
