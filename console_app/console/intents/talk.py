"""Intents for the conversation, its sessions and the project's files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from console_app.console import files
from console_app.console.intents.reports import report_once_read
from console_app.domain import UsageError, one_line, plural

if TYPE_CHECKING:
    from console_app.console.console import Console


def new(console: Console, _rest: str) -> None:
    console.sessions.begin()


async def sessions(console: Console, rest: str) -> None:
    if (library := console.sessions.stored()) is None:
        return
    hits, _ = await library.store.browse(rest)
    table = {f"{hit.info.id[:8]} {one_line(hit.info.title, 80)}": hit.info for hit in hits}
    picked = await console.ui.choose("Sessions", {name: plural(info.turns, "turn") for name, info in table.items()})
    acts = {"resume": "go on with it", "rename": "", "fork": "a copy", "export": "to a file", "delete": "permanently"}
    if picked is not None and (act := await console.ui.choose("What with it?", acts)) is not None:
        await console.sessions.act(act, table[picked])


async def resume(console: Console, rest: str) -> None:
    await (console.sessions.resume(rest) if rest else sessions(console, ""))


async def fork(console: Console, rest: str) -> None:
    await console.sessions.fork(rest)


async def compare(console: Console, rest: str) -> None:
    if (pair := await console.sessions.pair(rest)) is not None:
        text = pair.differences
        await console.ui.report("Differences", lambda: text)


async def undo(console: Console, rest: str) -> None:
    if rest == "files":
        turn, services = console.ui.transcript.turn, console.services
        if console.conversation.busy:
            raise UsageError("a turn still runs", "Files can go back once it has ended.")
        changed = files.histories([] if turn is None else turn.calls, services.working_folder)
        if not changed:
            console.ui.toast("No call of the last turn changed a file with the files server.")
            return
        said = await asyncio.to_thread(files.put_back, changed, services.replaced_files, services.working_folder)
        console.ui.tell("info", one_line("; ".join(said), 2000))
    elif rest:
        raise UsageError(f"/undo takes nothing, or files; not {one_line(rest, 40)}")
    else:
        await console.sessions.undo()


async def diff(console: Console, _rest: str) -> None:
    services, turns = console.services, console.ui.transcript.turns
    changed = files.histories([call for turn in turns for call in turn.calls], services.working_folder)
    kept, folder = services.replaced_files, services.working_folder
    await report_once_read(console, "Diff", lambda: asyncio.to_thread(files.diff_report, changed, kept, folder))


async def rewind(console: Console, rest: str) -> None:
    await (console.sessions.rewind(int(rest)) if rest.isdecimal() else console.sessions.rewind_to(rest))


async def export(console: Console, rest: str) -> None:
    await console.sessions.export(rest)


async def compact(console: Console, rest: str) -> None:
    if rest == "undo":
        if not await console.conversation.undo_compaction():
            console.ui.toast("There is no compaction to take back.")
        console.ui.changed()
    elif rest:
        raise UsageError(f"/compact takes nothing, or undo; not {one_line(rest, 40)}")
    else:
        console.conversation.compact()


def call(console: Console, rest: str) -> None:
    console.call_by_hand(rest)


def tools(console: Console) -> Sequence[str]:
    return [spec.label for spec in console.services.engine.toolset.tools()]


def stop(console: Console, _rest: str) -> None:
    if not console.stop():
        console.ui.toast("Nothing runs.")


def go(console: Console, _rest: str) -> None:
    if not console.go_on():
        console.ui.toast("Nothing waits to be sent.")


def unsend(console: Console, _rest: str) -> None:
    if (text := console.conversation.take_back()) is None:
        console.ui.toast("Nothing is queued.")
    elif not console.ui.give_back(text):
        console.ui.tell("info", f"Not sent: {text}")


async def steer(console: Console, rest: str) -> None:
    if not rest:
        raise UsageError("there is nothing to say", "Type it behind the name: /steer WORDS.")
    await console.conversation.steer(rest)


async def reload(console: Console, _rest: str) -> None:
    if said := await console.read_commands():
        console.ui.tell("info", said)
    if console.server_files is None:
        console.ui.toast("There is no mcp.json to read here.")
    else:
        await console.server_files.reload()
    await console.say_what_waits()  # behind what a yes was asked for


async def trust(console: Console, rest: str) -> None:
    ui, project = console.ui, console.services.project_trust
    names = [rest] if rest else []
    waiting = [] if project is None else await asyncio.to_thread(project.waiting, names)
    for problem in () if project is None else await asyncio.to_thread(project.problems):
        ui.tell("warning", problem)
    if project is None or not waiting:
        ui.toast("Nothing of this project waits for your trust.")
        return
    if not await ui.trusts(project.overview(waiting)):
        ui.toast("Not trusted; nothing was changed.")
        return
    waiting, refused = await asyncio.to_thread(project.trust_all, waiting, "/trust")
    for why in refused:
        ui.tell("error", why)
    if not waiting:
        return
    console.trusted()
    kinds = {file.kind for file in waiting}
    if len(waiting) == 1:
        what = "" if kinds == {"servers"} else f": {waiting[0].summary}"  # servers are told as they come
        ui.tell("info", one_line(f"{waiting[0].path} is trusted as it was shown{what}.", 600))
    else:  # they were all read a moment ago; what is wrong with one must not be pushed off the screen
        ui.tell("info", f"{len(waiting):,} files of this project are trusted as they were shown.")
    if "settings" in kinds:
        ui.tell("info", "What its settings say counts from the next start on.")
    await console.services.engine.look_around()
    if kinds & {"servers", "plugin"}:
        await reload(console, "")
    else:
        await console.read_commands()
        if rest:
            await console.say_what_waits()


def untrusted(console: Console) -> Sequence[str]:
    return console.untrusted
