"""Text from models, tools, servers and files is shown as text, in every widget of the console."""

from __future__ import annotations

import re
from pathlib import Path

from console_app.tui.app import FanoutApp
from tests.tui.parts import Server, Tools, WrittenModel, app, calls, chat, echo, say, see, seen, until

MARKUP = "[/red][@click=app.quit]x[/]"
CONTROL = "\x1b]52;c;eA==\x07\u202e"
HOSTILE = MARKUP + CONTROL
SHOWN = "[/red][@click=app.quit]x[/]␛]52;c;eA==␇<U+202E>"


def console(folder: Path) -> FanoutApp:
    """A console in which everything foreign is hostile."""
    model = WrittenModel(
        calls(("files_write", f'{{"path": {quoted(HOSTILE)}}}'), text=HOSTILE), say("Done."), model=HOSTILE
    )
    tools = Tools({("files", "write"): echo}, read_only=False)
    (folder / "fanout.log").write_text(HOSTILE)
    (folder / "history").write_text(f"{quoted(HOSTILE)}\n")
    (folder / f"file{MARKUP.replace('/', '')}").write_text("x")
    servers = [Server("files", "failed", HOSTILE)]
    return app(
        folder,
        model,
        tools,
        server_statuses=lambda: servers,
        known_models=[f"lab/{HOSTILE}"],
        problems=[HOSTILE],
    )


def quoted(text: str) -> str:
    import json

    return json.dumps(text)


def clean(app: FanoutApp) -> None:
    """Nothing on screen could move a cursor or act on a click."""
    assert not any(c in seen(app) for c in "\x1b\x07\u202e\x9b")
    for y in range(app.size.height):
        for x in range(0, app.size.width, 3):
            assert "@click" not in app.screen.get_style_at(x, y).meta


async def test_the_opening_page(tmp_path: Path) -> None:
    async with console(tmp_path).run_test(size=(160, 40)) as pilot:
        await see(pilot, SHOWN)
        clean(pilot.app)


async def test_a_turn_its_approval_and_its_queue(tmp_path: Path) -> None:
    gate_console = console(tmp_path)
    async with gate_console.run_test(size=(160, 50)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "1 needs you")
        chat(gate_console).prompt_area.send(HOSTILE)
        await see(pilot, f"▸ {SHOWN}")
        assert re.search(rf"path\s+│ {re.escape(SHOWN)}", seen(gate_console))
        clean(gate_console)


async def test_dialogs_lists_and_a_toast(tmp_path: Path) -> None:
    hostile = console(tmp_path)
    async with hostile.run_test(size=(160, 40), notifications=True) as pilot:
        for key, shown in (("ctrl+l", "failed"), ("ctrl+r", SHOWN), ("/log", SHOWN), ("/model", f"lab/{SHOWN}")):
            if key.startswith("/"):
                chat(hostile).prompt_area.take(key)
            else:
                await pilot.press(key)
            await until(pilot, lambda: len(hostile.screen_stack) > 1)
            await see(pilot, shown)
            await see(pilot, SHOWN)
            clean(hostile)
            while len(hostile.screen_stack) > 1:
                await pilot.press("escape")
        for keys, shown in (("@file", "[@click=app.quit]"), (["up"], SHOWN)):
            await pilot.press(*keys)
            await see(pilot, shown)
            clean(hostile)
            await pilot.press("escape")
            chat(hostile).prompt.put("")
        chat(hostile).ui.toast(MARKUP)
        await see(pilot, MARKUP)
        clean(hostile)


async def test_a_server_that_fails_later(tmp_path: Path) -> None:
    listeners = []
    servers = [Server("files")]
    later = app(tmp_path, server_statuses=lambda: servers, on_servers_changed=listeners.append)
    async with later.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: bool(listeners))
        servers[0] = Server("files", "failed", HOSTILE)
        listeners[0]()
        await see(pilot, f"Server files failed: {SHOWN}")
        clean(later)


async def test_a_server_that_wants_a_sign_in_says_how_once(tmp_path: Path) -> None:
    listeners = []
    servers = [Server("files", "starting")]
    later = app(tmp_path, server_statuses=lambda: servers, on_servers_changed=listeners.append)
    async with later.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: bool(listeners))
        for state in ("needs sign-in", "needs sign-in", "ready", "needs sign-in"):
            servers[0] = Server("files", state)
            listeners[0]()
        await see(pilot, "Server files needs you to sign in, in /mcp or with fanout mcp auth f")
        assert seen(later).count("needs you to sign in") == 1  # that it was there meanwhile took the first back
