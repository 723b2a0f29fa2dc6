"""Commands that people write, in the console: listed, completed, sent, and what they set for their turn alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from console_app.config.files import Paths
from console_app.config.trust import CustomCommands, ProjectTrust
from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from console_app.tui.app import FanoutApp
from tests.tui.parts import Run, Tools, WrittenModel, app, calls, chat, decide, echo, say, see, seen, until

WRITES: dict[tuple[str, str], Run] = {("files", "write"): echo, ("files", "keep"): echo}


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def console_in(folder: Path, model: WrittenModel | None = None, tools: Tools | None = None) -> FanoutApp:
    paths = Paths.find({"FANOUT_HOME": str(folder / "home")})
    return app(
        folder,
        model,
        tools,
        gate=ApprovalGate(ApprovalMode.ASK),
        custom_commands=partial(CustomCommands.find, paths, folder),
        project_trust=ProjectTrust(paths, folder, {}),
    )


async def test_a_command_is_completed_and_sent_as_its_text(tmp_path: Path) -> None:
    write(tmp_path / "home/commands/fix2.md", "---\ndescription: Fixes an issue\n---\nFix issue $1 in $2.")
    model = WrittenModel(say("Fixed it."))
    async with console_in(tmp_path, model).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: chat(pilot.app).commands.get("fix2") is not None)
        await pilot.press(*"/fix2")
        await see(pilot, "Fixes an issue")
        await pilot.press(*" 12 'the parser'", "enter")
        await see(pilot, "Fixed it.")
        assert str(model.requests[0].messages[-1].content) == "Fix issue 12 in the parser."


async def test_a_name_with_a_colon_is_a_command(tmp_path: Path) -> None:
    write(tmp_path / "home/commands/git:tidy.md", "Tidy $1.")
    model = WrittenModel(say("Tidied."))
    async with console_in(tmp_path, model).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: chat(pilot.app).commands.get("git:tidy") is not None)
        await pilot.press(*"/git:tidy main", "enter")
        await see(pilot, "Tidied.")
        assert str(model.requests[0].messages[-1].content) == "Tidy main."


async def test_what_it_allows_and_its_model_hold_for_its_turn_alone(tmp_path: Path) -> None:
    text = "---\nallowed-tools: files.write\nmodel: other/m2\n---\nWrite."
    write(tmp_path / "home/commands/put.md", text)
    tools = Tools(WRITES, read_only=False)
    console = console_in(tmp_path, WrittenModel(calls(("files_write", '{"n": 1}')), say("No.")), tools)
    async with console.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: chat(pilot.app).commands.get("put") is not None)
        engine = chat(pilot.app).services.engine
        await pilot.press(*"/put", "enter")
        await see(pilot, "That is all.")  # the other model's only answer
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        assert (engine.provider.name, engine.gate.rules) == ("lab", [])


async def test_a_call_that_it_allows_runs_and_the_same_call_of_the_next_turn_asks(tmp_path: Path) -> None:
    write(tmp_path / "home/commands/put.md", "---\nallowed-tools: files.write\n---\nWrite.")
    one, other = ("files_write", '{"n": 1}'), ("files_keep", '{"n": 2}')
    model = WrittenModel(calls(one, other), say("Both."), calls(one), say("Done."))
    async with console_in(tmp_path, model, Tools(WRITES, read_only=False)).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: chat(pilot.app).commands.get("put") is not None)
        await pilot.press(*"/put", "enter")
        await see(pilot, "1 needs you")
        await pilot.press("tab")
        await decide(pilot, "y")
        await see(pilot, "Both.")
        await pilot.press(*"again", "enter")
        await see(pilot, "1 needs you")


async def test_a_projects_command_is_there_once_trusted_and_none_takes_the_place_of_ours(tmp_path: Path) -> None:
    write(tmp_path / ".fanout/commands/theirs.md", "Do as they say.")
    write(tmp_path / ".agents/plugins/torn/plugin.json", "{")
    write(tmp_path / "home/commands/help.md", "Not the help.")
    async with console_in(tmp_path, WrittenModel(say("Done."))).run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "Rename the file.")
        await see(pilot, "it is no JSON")
        await see(pilot, "a command of this project waits for your trust: alt+t shows it all, and asks.")
        assert chat(pilot.app).commands.get("theirs") is None
        await pilot.press(*"/theirs", "enter")
        await see(pilot, "/theirs is a command of this project that waits for your trust")
        await pilot.press("ctrl+u", "alt+t")
        await see(pilot, "Do as they say.")
        await decide(pilot, "y")
        await until(pilot, lambda: chat(pilot.app).commands.get("theirs") is not None)
        command = chat(pilot.app).commands.get("help")
        assert command is not None
        assert command.intent.about == "keys and commands"
        await pilot.press(*"/reload", "enter")
        await see(pilot, "Your own commands: ")
        assert seen(pilot.app).count("it is no JSON") == 2, "at the start, and as /trust was asked for"


async def test_reading_again_says_what_came_of_the_commands(tmp_path: Path) -> None:
    for name, text in {"fix2": "Fix it.", "help": "Not the help.", "broken": "---\ndescription: no end"}.items():
        write(tmp_path / f"home/commands/{name}.md", text)
    async with console_in(tmp_path).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: chat(pilot.app).commands.get("fix2") is not None)
        write(tmp_path / "home/commands/new3.md", "A new one.")
        write(tmp_path / ".fanout/commands/theirs.md", "Do as they say.")
        await pilot.press(*"/reload", "enter")
        await see(pilot, "Your own commands: 2 read (/fix2, /new3), 2 with a problem, 1 waits for your trust.")


async def test_trusting_many_commands_is_one_line_and_what_is_wrong_with_one_is_seen(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / f".fanout/commands/theirs{number}.md", "Do as they say.")
    write(tmp_path / ".fanout/commands/broken.md", "---\ndescription: no end")
    async with console_in(tmp_path).run_test(size=(100, 30)) as pilot:
        await see(pilot, "alt+t shows it all, and asks.")
        await pilot.press("alt+t")
        await see(pilot, "Do as they say.")
        await decide(pilot, "y", "y")  # the first goes to the end, which was out of sight
        await see(pilot, "7 files of this project are trusted as they were shown.")
        await until(pilot, lambda: "its front matter has no end" in " ".join(seen(pilot.app).split()))
        assert "shows it all, and asks" not in seen(pilot.app), "nothing waits any more"


async def test_a_command_whose_model_can_not_answer_is_one_line_and_gives_the_prompt_back(tmp_path: Path) -> None:
    write(tmp_path / "home/commands/ask.md", "---\nmodel: nobody/x\n---\nAsk.")
    async with console_in(tmp_path).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: chat(pilot.app).commands.get("ask") is not None)
        await pilot.press(*"/ask", "enter")
        await see(pilot, "/ask: there is no provider nobody")
        assert chat(pilot.app).prompt.text == "Ask."
