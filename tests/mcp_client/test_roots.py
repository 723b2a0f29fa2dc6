"""Which folders servers are told of: what their owner wrote in mcp.json is never replaced unasked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from console_app.config.servers import ServerConfig
from console_app.mcp_client import Asking
from tests.each import each
from tests.mcp_client.conftest import FIXTURES, StartHub


def server(*folders: str, **fields: Any) -> ServerConfig:
    args = ("-S", str(FIXTURES / "roots_server.py"), *folders)
    return ServerConfig(name="folders", command=sys.executable, args=args, **fields)


async def allowed(start_hub: StartHub, config: ServerConfig, working: Path) -> tuple[list[str], str]:
    bench = await start_hub(config, asking=Asking(roots=(working,)))
    return json.loads((await bench.call("allowed")).content), bench.status().facts[0]


async def test_a_server_works_in_the_working_folder_where_nothing_is_said(start_hub: StartHub, tmp_path: Path) -> None:
    assert await allowed(start_hub, server(), tmp_path) == ([tmp_path.as_uri()], f"roots {tmp_path}")


async def test_folders_of_a_servers_own_arguments_are_not_replaced(start_hub: StartHub, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    assert await allowed(start_hub, server(str(mine)), tmp_path) == ([str(mine)], "roots none")


async def test_mcp_json_says_which_folders_a_server_is_told_of(start_hub: StartHub, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    assert (await allowed(start_hub, server(str(mine), roots="cwd"), tmp_path))[0] == [tmp_path.as_uri()]
    told = await allowed(start_hub, server(str(mine), roots=[str(other)]), tmp_path)
    assert told == ([other.as_uri()], f"roots {other}")
    assert (await allowed(start_hub, server(roots="none"), tmp_path)) == ([], "roots none")


@each(
    ("args", "named"),
    [
        (["-y", "server", "FOLDER"], True),
        (["--root=FOLDER"], True),
        (["."], True),
        (["run", "tests"], False),  # a word; it may be a folder by chance
        (["FOLDER/file.txt"], False),
        (["--directory", "FOLDER", "run", "server"], False),  # where a launcher finds the program
        (["-v", "FOLDER:/data"], False),
    ],
)
def test_what_counts_as_a_folder_of_the_arguments(tmp_path: Path, args: list[str], named: bool) -> None:
    (tmp_path / "file.txt").touch()
    words = tuple(word.replace("FOLDER", str(tmp_path)) for word in args)
    assert (ServerConfig(name="a", command="npx", args=words).root_plan == "none") is named
