"""/copy and /files: a part of an answer or of a call goes to the clipboard, a file of a result to its program."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from console_app.config.machine import start_browser
from console_app.console import files
from console_app.console.reports import copies
from console_app.domain import UsageError, one_line, plural, web_address
from console_app.line_console.wording import file_in_words

if TYPE_CHECKING:
    from console_app.console import Console
    from console_app.line_console.console import LineConsole


class ResultWays:
    """Carries out the commands that show results, on one console."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say

    async def copy(self, _console: Console, rest: str) -> None:
        """Copies the last answer, a part of it, or a call."""
        copies = self._copies(rest)
        if rest and not rest.isdecimal():
            words = rest.casefold().split()
            named = [one for one in copies if all(word in one.what.casefold() for word in words)]
            if copies and not named:
                there = ", ".join(one.what for one in copies)
                raise UsageError(f"there is no {one_line(rest, 40)} to copy", f"There are: {there}.")
            copies = named[:1]
        table = {f"{number}. {one.what}": one for number, one in enumerate(copies, 1)}
        picked = next(iter(table), None)
        if len(table) > 1:
            picked = await self._d.choose("Copy which?", {name: one.about for name, one in table.items()})
        if picked is not None:
            text = table[picked].text
            self._d.send_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
            await files.copy_in_tmux(text, os.environ)
            self._say(f"Copied {table[picked].what}: {plural(len(text), 'character')}.")
        elif not table:
            self._say("There is nothing of it to copy yet." if rest else "There is no answer to copy yet.")

    def _copies(self, rest: str) -> Sequence[copies.Copy]:
        if not rest.isdecimal():
            turns = reversed(self._c.numbers.transcript.turns)
            answer = next((step.text for turn in turns for step in reversed(turn.steps) if step.text), "")
            return copies.copies_of_answer(answer) if answer else []
        call = self._c.numbers.call(rest)
        result = [] if call.outcome is None else [copies.result_copy(call)]
        plain = call.arguments_text
        arguments = plain if call.arguments is None else json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)
        return [one for one in (*result, *copies.copies_of_texts(call, arguments)) if one.text]

    async def files(self, _console: Console, rest: str) -> None:
        """Tells the files of a call's result, and opens one."""
        call = self._c.numbers.call(rest)
        table = {one.path or one.uri: one for one in call.artifacts if one.path or one.uri}
        if not table:
            self._say(f"Call {rest} has no file.")
            return
        picked = await self._d.choose("Open which file?", {where: file_in_words(one) for where, one in table.items()})
        if picked is None:
            return
        if table[picked].path:
            problem = await asyncio.to_thread(files.open_file, picked)
        elif web_address.read_address(picked) is not None:
            problem = ""
            try:
                await asyncio.to_thread(start_browser, picked)
            except OSError as error:
                problem = error.strerror or str(error)
        else:
            await self._c.server_commands.examining.read(call.server, picked)
            return
        self._say(f"Not opened: {problem}. It is {picked}" if problem else f"Opened {picked}")
