"""A tool that a model knows from elsewhere is answered with the one that does it here, where one does."""

from __future__ import annotations

from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, play, spec, tool_texts
from tests.engine.virtual_time import run

HERE = [
    *(spec(name, "files") for name in ("read", "list", "search", "write", "edit", "apply_patch")),
    *(spec(name, "shell") for name in ("run", "output", "stop")),
    spec("fetch", "fetch"),
]
MEANT = {
    **dict.fromkeys(("bash", "Bash", "shell", "run_terminal_cmd", "execute_command", "run_shell_command"), "shell_run"),
    **dict.fromkeys(("read_file", "Read", "ReadFile", "view_file", "cat"), "files_read"),
    **dict.fromkeys(("str_replace_editor", "Edit", "MultiEdit", "str_replace_based_edit_tool"), "files_edit"),
    **dict.fromkeys(("write_file", "Write", "create_file"), "files_write"),
    **dict.fromkeys(("Grep", "grep_search", "search_files"), "files_search"),
    **dict.fromkeys(("LS", "list_dir", "Glob", "list_files"), "files_list"),
    **dict.fromkeys(("WebFetch", "web_fetch", "fetch_url"), "fetch_fetch"),
    **dict.fromkeys(("ApplyPatch", "apply_patch"), "files_apply_patch"),
}


@each("name", MEANT)
def test_a_name_from_elsewhere_is_answered_with_the_tool_that_does_it(name: str) -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"x": "y"}, name=name)), Tools(HERE))
        await play(engine)
        assert f"{MEANT[name]} does its work" in tool_texts(engine)[0]

    run(scene)


@each("name", ["Task", "frobnicate", "", "x" * 9_000, "\n", "basher"])
def test_a_name_that_nothing_here_does_is_only_unknown(name: str) -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"x": "y"}, name=name)), Tools(HERE))
        await play(engine)
        assert "does its work" not in tool_texts(engine)[0]
        assert tool_texts(engine)[0].startswith("Unknown tool")

    run(scene)
