"""Opens a file or a link with the desktop's own program for it, because somebody pressed a key for that very one.

In a browser (`fanout serve`) a link opens there, and a file is downloaded.

What a server sent is only handed over as a saved file (never executable) or as a web address that was shown. Where the
desktop has no such program, as over ssh, the path goes to the clipboard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.machine import BrowserPage, page_in_use
from console_app.console import files
from console_app.domain import Artifact, amounts, one_line
from console_app.tui.lineview import is_web_link
from console_app.tui.widgets.pick_list import Choice, PickList

if TYPE_CHECKING:
    from textual.app import App

Tell = Callable[[str], None]
Read = Callable[[str], Awaitable[object]]


async def choose_and_open(app: App[int], files: Sequence[Artifact], tell: Tell, read: Read | None = None) -> None:
    """Open the only one of `files`, or the one that is picked; `read` shows what can only be read at its server."""
    table = {one.path or one.uri: one for one in files if one.path or one.uri}
    if not table:
        tell("Nothing of it was saved.")
        return
    picked: str | None = next(iter(table))
    if len(table) > 1 or not table[picked].path:  # an address is shown before it is opened
        choices = [Choice(where, _facts(one)) for where, one in table.items()]
        picked = await app.push_screen_wait(PickList("Open", choices))
    if picked is None:
        return
    if read is not None and not table[picked].path and not is_web_link(picked):
        await read(picked)
    else:
        await open_one(app, table[picked], tell)


def _facts(one: Artifact) -> str:
    return " · ".join(part for part in (one.name, one.mime, amounts.size(one.size) if one.size else "") if part)


async def open_one(app: App[int], one: Artifact, tell: Tell) -> None:
    """Open a file or a web address; say why where that can't be, and put it on the clipboard."""
    if not one.path and is_web_link(one.uri):
        app.open_url(one.uri)
        tell(f"Opened {one_line(one.uri, 100)}")
        return
    if one.path and (page := page_in_use()) is not None:
        tell(_download(page, one.path))
        return
    problem = "it is no web address" if not one.path else await asyncio.to_thread(files.open_file, one.path)
    if problem:
        app.copy_to_clipboard(one.path or one.uri)
        tell(f"Not opened: {problem}. Copied instead: {one_line(one.path or one.uri, 200)}")
    else:
        tell(f"Opened {one_line(one.path, 160)}")


def _download(page: BrowserPage, path: str) -> str:
    """Hand a file to the browser that shows this console, and return a message about it."""
    shown = one_line(path, 160)
    if not Path(path).is_file():
        return f"Not downloaded: {shown} is gone"
    try:
        page.save_file(path)
    except OSError as error:
        return f"Not downloaded: {one_line(str(error), 100)}"
    return f"Downloading {shown}"
