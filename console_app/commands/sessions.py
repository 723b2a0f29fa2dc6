"""`fanout sessions`: what was kept, on the command line. What is found is printed safe for a terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from console_app import wiring
from console_app.commands.asking import agreed
from console_app.config.secrets import Redactor
from console_app.domain import UsageError, call_description, one_line, safe_text, visible
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, Transcript, TurnView
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding, call_line
from console_app.records import asdict, replace
from console_app.sessions import ForkPoint, Hit, Library, Replay, SessionInfo, export
from console_app.wiring import Setup

_MOST_LISTED = 100_000


def moving_format(arguments: Namespace) -> str:
    asked: str = arguments.format or export.form_of(arguments.output or "")
    return asked if asked in export.MOVING else ""


def page_of(files: Path, redactor: Redactor, events: Sequence[ev.Event], title: str) -> str:
    from console_app import page  # with the words of the screen: only where a page is wanted

    return page.of_conversation(events, title, redactor, files)


async def sessions(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    library = wiring.stored_sessions(setup)
    try:
        await _SessionCommand(setup, library, output, interrupts).run()
    finally:
        await library.close()
        if (aside := library.store.set_aside) is not None:
            output.error_line(f"The session file was damaged. It was kept as {aside}.")
    return RunEnding(Exit.DONE)


class _SessionCommand:
    def __init__(self, setup: Setup, library: Library, output: OutputStreams, interrupts: Interrupts) -> None:
        self._arguments = setup.arguments
        self._words: list[str] = setup.arguments.words
        self._files = setup.paths.files
        self._library = library
        self._store = library.store
        self._output = output
        self._interrupts = interrupts

    async def run(self) -> None:
        await getattr(self, f"_{self._arguments.action}")()

    async def _list(self) -> None:
        infos = await self._store.sessions(self._arguments.limit or _MOST_LISTED)
        if self._as_json("sessions", infos):
            return
        if not infos:
            self._output.error_line("No saved sessions yet.")
        for info in infos:
            turns = f"{info.turns} turn{'' if info.turns == 1 else 's'}"
            size = f"{info.size / 1e6:.1f} MB" if info.size >= 1e6 else f"{info.size / 1e3:.1f} kB"
            model = one_line(f"{info.provider}/{info.model}", 30)
            title = one_line(info.title, 100)
            self._print(f"{info.short_id}  {_when(info.updated_at)}  {turns:>9}  {size:>8}  {model:<24}  {title}")

    def _as_json(self, name: str, found: Sequence[SessionInfo | Hit]) -> bool:
        """Print what was found as JSON, where that was asked for."""
        data = [asdict(one) for one in found]
        if self._arguments.json:
            self._print(safe_text.json_line({name: data}))
        elif self._arguments.jsonl:
            for one in data:
                self._print(safe_text.json_line(one))
        return self._arguments.json or self._arguments.jsonl

    async def _search(self) -> None:
        hits = await self._store.search(" ".join(self._words), self._arguments.limit or 100)
        unmarked = [replace(hit, snippet=hit.snippet.replace("\x01", "").replace("\x02", "")) for hit in hits]
        if self._as_json("hits", unmarked):
            return
        if not hits:
            self._output.error_line("Nothing was found.")
        for hit in hits:
            snippet = one_line(hit.snippet.replace("\x01", "[").replace("\x02", "]"), 200)
            self._print(f"{hit.short_id}  {_when(hit.updated_at)}  {hit.role:<9}  {snippet}")

    async def _show(self) -> None:
        info = await self._store.find(self._words[0])
        events = await self._store.load(info.id)
        if self._arguments.replay:
            replay = Replay(events, self._arguments.speed)

            async def play() -> None:
                async for event in replay.play():
                    self._print(safe_text.json_line(event.model_dump()))

            await self._interrupts.race(play())
        elif self._arguments.json:
            self._print(safe_text.json_line({"events": [event.model_dump() for event in events]}))
        elif self._arguments.jsonl:
            for event in events:
                self._print(safe_text.json_line(event.model_dump()))
        else:
            self._print("\n\n".join(conversation(events)))

    async def _export(self) -> None:
        info = await self._store.find(self._words[0])
        events = await self._store.load(info.id)
        target = Path(self._arguments.output).expanduser() if self._arguments.output else None
        asked: str = self._arguments.format or export.form_of(self._arguments.output or "")
        form = asked or ("md" if target is None or not target.suffix else "")
        if not form:
            endings = ", ".join(f".{'trace.json' if one == 'trace' else one}" for one in export.FORMATS + export.MOVING)
            raise UsageError(
                f"-o {self._arguments.output}: no form is known by the ending {target.suffix}" if target else "",
                f"There are {endings}; --format names one for any file.",
            )
        if form == "html":
            text = await asyncio.to_thread(page_of, self._files, self._library.redactor, events, info.title)
        else:
            text = await asyncio.to_thread(export.exported, events, form, info.title, self._library.redactor)
        if target is not None:
            self._print(str(await asyncio.to_thread(export.write_new, target, text)))
        elif form == "jsonl":
            for line in text.splitlines():
                self._print(safe_text.json_line(json.loads(line)))
        else:
            self._output.out(text)

    async def _import(self) -> None:
        name = self._words[0]
        try:
            data = await asyncio.to_thread(sys.stdin.buffer.read if name == "-" else Path(name).read_bytes)
        except OSError as error:
            raise UsageError(f"can't read {name}: {error.strerror or error}") from None
        lines = data.decode("utf-8-sig", "replace").split("\n")  # a line separator inside a text is no end of line
        events = export.imported(lines, name)
        await self._store.add(events)
        self._print(events[0].session_id)

    async def _rename(self) -> None:
        first, *title = self._words
        await self._store.rename((await self._store.find(first)).id, " ".join(title))

    async def _fork(self) -> None:
        info = await self._store.find(self._words[0])
        up_to: int | None = None
        if self._arguments.turn is not None:
            up_to = ForkPoint.end_of(await self._store.load(info.id), self._arguments.turn)
            if up_to is None:
                raise UsageError(f"{info.short_id} has no turn {self._arguments.turn}")
        self._print(await self._store.fork(info.id, up_to))

    async def _delete(self) -> None:
        infos = [await self._store.find(word) for word in self._words]
        if not self._arguments.yes:
            for info in infos:
                self._output.error_line(f"  {info.title}")
            flag = "fanout sessions delete ID --yes"
            if not await agreed("Delete permanently?", flag, self._output, self._interrupts):
                raise UsageError("nothing was deleted")
        for info in infos:
            await self._library.delete(info.id)

    def _print(self, line: str) -> None:
        self._output.out(line + "\n")


def conversation(events: Sequence[ev.Event]) -> Iterator[str]:
    transcript = Transcript.of(events)
    for turn in transcript.turns:
        yield from _turn(turn)
        yield from (f"[{one.line}]" for one in transcript.compactions if one.turn == turn.number)


def _turn(turn: TurnView) -> Iterator[str]:
    prompt = visible(turn.prompt).replace("\n", "\n> ")
    yield f"> {prompt}"
    for step in turn.steps:
        for thought in step.thoughts:
            yield f"({thought.label}) {visible(thought.text)}"
        for part in step.parts:
            if part.text:
                yield visible(part.text) + export.cut(step)
            if part.calls:
                yield "\n".join(call.indent + one_line(_call(call), 400) for call in part.calls)
        for message in step.steered:
            yield "> while it ran: " + visible(message.content).replace("\n", "\n> ")
    if turn.outcome not in (None, "completed"):
        reason = f": {one_line(turn.error)}" if turn.error else ""
        yield f"[{(turn.outcome or '').replace('_', ' ')}{reason}]"


def _call(call: CallView) -> str:
    return " · ".join((call_line(call), *call_description.acts_in_words(call)))


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
