"""A draft that is not sent stays with its session: over a switch of sessions, a restart, and a deletion."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from console_app.sessions import Library, Opened, PromptDraft, PromptDrafts
from console_app.sessions.drafts import MOST
from tests.each import each
from tests.tui.parts import WrittenModel, chat, say, see, until
from tests.tui.stored import library
from tests.tui.test_sessions_on_screen import console

pytestmark = pytest.mark.usefixtures("closed_libraries")

LONG = "\n".join(f"line {n}" for n in range(40))


def kept(home: Path) -> list[str]:
    """The texts of all drafts on disk; one may go while they are read."""
    found: list[str] = []
    for path in home.rglob("drafts/*.json"):
        with contextlib.suppress(FileNotFoundError):
            found.append(json.loads(path.read_text())["text"])
    return sorted(found)


async def talk(pilot: Pilot[Any], answer: str) -> str:
    """Sends what stands in the prompt; the session's id."""
    await pilot.press("enter")
    await see(pilot, answer)
    await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
    kept_in = chat(pilot.app).services.library
    assert kept_in is not None
    return kept_in.session_id


async def test_a_draft_stays_with_its_session_and_its_cursor(tmp_path: Path) -> None:
    async with console(tmp_path, WrittenModel(say("First."), say("Second."))).run_test(size=(90, 30)) as pilot:
        prompt, sessions, kept_in = (
            chat(pilot.app).prompt,
            chat(pilot.app).console.sessions,
            chat(pilot.app).services.library,
        )
        assert kept_in is not None
        await pilot.press(*"one")
        first = await talk(pilot, "First.")
        await pilot.press(*"/new", "enter")
        await until(pilot, lambda: not chat(pilot.app).ui.talking)
        await pilot.press(*"two")
        second = await talk(pilot, "Second.")
        await pilot.press(*"half of", "left", "left")
        await sessions.open(first)
        await until(pilot, lambda: prompt.text == "")
        await pilot.press(*"other")
        await sessions.open(second)
        await until(pilot, lambda: prompt.text == "half of")
        assert prompt.cursor_location == (0, 5)
        await sessions.open(first)
        await until(pilot, lambda: prompt.text == "other")
        await until(pilot, lambda: kept(tmp_path) == ["half of", "other"])
        await kept_in.delete(second)
        assert kept(tmp_path) == ["other"]


async def test_what_is_written_goes_along_into_a_new_session(tmp_path: Path) -> None:
    async with console(tmp_path, WrittenModel(say("First."))).run_test(size=(90, 30)) as pilot:
        await pilot.press(*"one")
        await talk(pilot, "First.")
        await pilot.press(*"half")
        await until(pilot, lambda: kept(tmp_path) == ["half"])
        chat(pilot.app).console.sessions.begin()
        assert chat(pilot.app).prompt.text == "half"
        await until(pilot, lambda: [path.name[:4] for path in (tmp_path / "data/drafts").glob("*.json")] == ["new-"])


async def test_a_draft_with_a_long_paste_outlives_the_console_and_ends_when_it_is_sent(tmp_path: Path) -> None:
    async with console(tmp_path).run_test(size=(90, 30)) as pilot:
        await pilot.press(*"see ")
        chat(pilot.app).prompt.post_message(events.Paste(LONG))
        await until(pilot, lambda: chat(pilot.app).prompt.text == "see [Pasted 40 lines]")
    stored = library(tmp_path)
    async with console(tmp_path, WrittenModel(say("Read.")), stored).run_test(size=(90, 30)) as pilot:
        prompt = chat(pilot.app).prompt
        await until(pilot, lambda: prompt.text == "see [Pasted 40 lines]")
        assert prompt.expanded() == f"see {LONG}"
        session = await talk(pilot, "Read.")
        await until(pilot, lambda: kept(tmp_path) == [])
        await pilot.press(*"more")
    await stored.close()
    async with console(tmp_path).run_test(size=(90, 30)) as pilot:
        assert chat(pilot.app).prompt.text == ""  # that was another session's
    async with console(tmp_path, resume=session).run_test(size=(90, 30)) as pilot:
        await see(pilot, "Read.")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "more")


@each("why", ["gone", "open elsewhere"])
async def test_a_draft_is_kept_as_it_is_written_where_the_session_that_was_asked_for_cant_be_opened(
    tmp_path: Path, why: str
) -> None:
    async with console(tmp_path, WrittenModel(say("First."))).run_test(size=(90, 30)) as pilot:
        await pilot.press(*"one")
        session = await talk(pilot, "First.")
        await pilot.press(*"/new", "enter")
        await until(pilot, lambda: not chat(pilot.app).ui.talking)
        await pilot.press(*"before")
        await until(pilot, lambda: kept(tmp_path) == ["before"])
    elsewhere = library(tmp_path)
    await elsewhere.open(session)
    asked = "nowhere" if why == "gone" else session
    async with console(tmp_path, resume=asked).run_test(size=(90, 30)) as pilot:
        if why == "open elsewhere":
            await see(pilot, "is open in another console")
            await pilot.press("escape")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "before")
        await pilot.press(*" and after")
        await until(pilot, lambda: kept(tmp_path) == ["before and after"])
    await elsewhere.close()


class Awaited(Library):
    """A library in which a session opens when `go` is set, as on a slow disk."""

    def __init__(self, of: Library) -> None:
        super().__init__(of.store, of._locks)  # pyright: ignore[reportPrivateUsage]
        self.go = asyncio.Event()

    async def open(self, session_id: str, *, read_only: bool = False) -> Opened:
        await self.go.wait()
        return await super().open(session_id, read_only=read_only)


async def test_what_is_written_and_sent_while_a_session_opens_is_for_that_one(tmp_path: Path) -> None:
    kept_in, model = Awaited(library(tmp_path)), WrittenModel(say("First."), say("Second."), say("Third."))
    async with console(tmp_path, model, kept_in).run_test(size=(90, 30)) as pilot:
        prompt, sessions = chat(pilot.app).prompt, chat(pilot.app).console.sessions
        await pilot.press(*"one")
        first = await talk(pilot, "First.")
        await pilot.press(*"/new", "enter", *"two")
        second = await talk(pilot, "Second.")
        await pilot.press(*f"/resume {first}", "enter", *"three", "enter", *"half")
        kept_in.go.set()
        await see(pilot, "Third.")
        await until(pilot, lambda: prompt.text == "half" and not chat(pilot.app).console.conversation.busy)
        assert kept_in.session_id == first
        assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["one", "three"]
        await sessions.open(second)
        await until(pilot, lambda: prompt.text == "" and kept(tmp_path) == ["half"])


async def test_who_only_reads_a_session_leaves_its_draft_to_the_console_that_writes_in_it(tmp_path: Path) -> None:
    writing, reading = library(tmp_path), library(tmp_path)
    async with console(tmp_path, WrittenModel(say("First.")), writing).run_test(size=(90, 30)) as pilot:
        await pilot.press(*"one")
        session = await talk(pilot, "First.")
        await pilot.press(*"half of it")
        await until(pilot, lambda: kept(tmp_path) == ["half of it"])
        async with console(tmp_path, WrittenModel(), reading, resume=session).run_test(size=(90, 30)) as second:
            await see(second, "open in another console")
            await second.press(*"read", "enter")
            await see(second, "First.")
            assert chat(second.app).console.sessions.read_only
            assert chat(second.app).prompt.text == ""
            await second.press(*"mine")
            await until(second, lambda: kept(tmp_path) == ["half of it", "mine"])
            await second.press("ctrl+c")
            await until(second, lambda: kept(tmp_path) == ["half of it"])
        assert kept(tmp_path) == ["half of it"]
        assert chat(pilot.app).prompt.text == "half of it"


async def test_what_is_written_while_a_copy_is_made_is_for_the_copy(tmp_path: Path) -> None:
    kept_in = Awaited(library(tmp_path))
    async with console(tmp_path, WrittenModel(say("First."), say("Second.")), kept_in).run_test(size=(90, 30)) as pilot:
        await pilot.press(*"one")
        first = await talk(pilot, "First.")
        await pilot.press(*"/fork", "enter")
        await see(pilot, "after everything")
        await pilot.press("enter", *"two", "enter", *"half")
        kept_in.go.set()
        await see(pilot, "Second.")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "half")
        assert kept_in.session_id != first
        assert [event.type for event in await kept_in.store.load(first)].count("turn.started") == 1


async def test_what_is_written_while_a_session_does_not_open_stands_behind_what_stood_there(tmp_path: Path) -> None:
    kept_in = Awaited(library(tmp_path))
    async with console(tmp_path, WrittenModel(say("First.")), kept_in).run_test(size=(90, 30)) as pilot:
        prompt = chat(pilot.app).prompt
        await pilot.press(*"one")
        await talk(pilot, "First.")
        await pilot.press(*"before")
        opening = asyncio.create_task(chat(pilot.app).console.sessions.resume("nowhere"))
        await see(pilot, "nowhere")
        await pilot.press(*" after")
        await opening
        assert prompt.text == "before after"
        await until(pilot, lambda: kept(tmp_path) == ["before after"])


async def test_the_prompt_takes_keys_while_a_slow_disk_is_written_to(tmp_path: Path) -> None:
    async with console(tmp_path).run_test(size=(90, 30)) as pilot:
        drafts, prompt = chat(pilot.app).prompt_area.drafts, chat(pilot.app).prompt
        with drafts._writing:  # pyright: ignore[reportPrivateUsage]  (no write gets past it)
            prompt.post_message(events.Key("a", "a"))
            await until(pilot, lambda: any(worker.group == "draft" for worker in prompt.workers))
            prompt.post_message(events.Key("b", "b"))
            await until(pilot, lambda: prompt.text == "ab")
        await until(pilot, lambda: kept(tmp_path) == ["ab"])


GONE = 2**22 + 1  # no process has such a number


def test_a_new_sessions_draft_is_the_running_consoles_own_and_the_folder_stays_small(tmp_path: Path) -> None:
    new, folder = PromptDrafts.of_new(tmp_path), tmp_path / "drafts"
    PromptDrafts(folder).keep(new, PromptDraft("mine", (0, 2)))
    path = folder / f"{new}-{os.getpid()}.json"
    record = json.loads(path.read_text())
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()
    (folder / f"{new}-{os.getppid()}.json").write_text(json.dumps(record))
    assert PromptDrafts(folder).read(new) is None, "another console writes it"
    (folder / f"{new}-{GONE}.json").write_text(json.dumps(record | {"cursor": "nowhere"}))
    assert PromptDrafts(folder).read(new) == PromptDraft("mine")
    path.write_text("[")
    assert PromptDrafts(folder).read(new) is None
    for number in range(MOST + 5):
        PromptDrafts(folder).keep(f"s{number}", PromptDraft("x"))
    assert len(list(folder.glob("*.json"))) == MOST


def test_a_second_console_in_the_folder_takes_nothing_from_the_first(tmp_path: Path) -> None:
    new, folder = PromptDrafts.of_new(tmp_path), tmp_path / "drafts"
    folder.mkdir()
    first = folder / f"{new}-{os.getppid()}.json"
    first.write_text(json.dumps({"text": "the first's", "cursor": [0, 3], "pastes": {}, "pid": os.getppid()}))
    second = PromptDrafts(folder)
    assert second.read(new) is None
    second.keep(new, PromptDraft(""))
    second.keep(new, PromptDraft("the second's"))
    assert kept(tmp_path) == ["the first's", "the second's"]
    second.forget(new)
    assert kept(tmp_path) == ["the first's"]


def test_each_draft_that_a_killed_console_left_comes_back_the_newest_first(tmp_path: Path) -> None:
    new, folder = PromptDrafts.of_new(tmp_path), tmp_path / "drafts"
    folder.mkdir()
    # The oldest is of a version that kept one file a folder.
    names = {f"{new}.json": "oldest", f"{new}-{GONE}.json": "older", f"{new}-{GONE + 1}.json": "newest"}
    for age, (name, text) in enumerate(names.items()):
        (folder / name).write_text(json.dumps({"text": text, "pid": GONE}))
        os.utime(folder / name, (age, age))
    for text in ("newest", "older", "oldest"):
        drafts = PromptDrafts(folder)
        assert drafts.read(new) == PromptDraft(text)
        assert PromptDrafts(folder).read(new) == PromptDraft(text), "not yet sent, it is this console's"
        drafts.forget(new)
    assert PromptDrafts(folder).read(new) is None
    assert kept(tmp_path) == []


def test_a_command_that_holds_a_key_is_kept_in_no_file(tmp_path: Path) -> None:
    folder, key = tmp_path / "drafts", "sk-proj-0123456789abcdefghij"
    drafts = PromptDrafts(folder)
    drafts.keep("s", PromptDraft("/connect openai sk-proj"))
    assert (folder / "s.json").exists()
    for draft in (PromptDraft(f"/connect openai {key}"), PromptDraft("/connect [paste]", pastes={"[paste]": key})):
        drafts.keep("s", draft)
        assert not (folder / "s.json").exists()
        assert drafts.read("s") == draft, "as long as this console runs"
    drafts.keep("s", PromptDraft("what is sk-learn?"))
    assert (folder / "s.json").exists()
