"""Prompts on the offline model with the bundled servers, by the program itself: nothing but what ships with it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pptx import Presentation

from console_app.config.files import Paths
from console_app.config.servers import load_mcp_config
from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate, Engine
from console_app.providers import OfflineProvider
from tests.each import each
from tests.program.process import Fanout
from tests.servers.conftest import Serve
from tests.servers.stdio_client import StdioClient
from tests.servers.web_stand_in import Page, results_page, web_stand_in

ROOT = Path(__file__).parents[2]
SWITCHED_ON = ("calculator", "demo")
ALL = (*SWITCHED_ON, "files", "shell", "web", "order_database", "csv_reporter", "pptx_generator", "duckduckgo")


def run(
    folder: Path, prompt: str, *servers: str, environment: Mapping[str, str] | None = None
) -> Sequence[dict[str, Any]]:
    """The events of one prompt, run headless in `folder` with these servers of the bundled mcp.json."""
    options = [option for server in servers for option in ("--mcp", server)]
    words = ("run", "-m", "offline/rehearsal", "--approval-mode", "yolo", "--output-format", "stream-json")
    done = Fanout(folder.parent).run(*words, *options, prompt, env={**(environment or {}), "HOME": str(folder.parent)})
    assert done.code == 0, done.err
    return done.events


def results(events: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each call's `call.finished`, by `server.tool`."""
    names = {e["call_id"]: f"{e['server']}.{e['tool']}" for e in events if e["type"] == "call.announced"}
    return {names[e["call_id"]]: e for e in events if e["type"] == "call.finished"}


def test_a_power_and_a_presentation_at_once(work: Path) -> None:
    prompt = "I need two things at once: calculate 2^64 and create a one-slide PowerPoint about parallel computing"
    events = run(work, prompt, "calculator", "pptx_generator")
    found = results(events)
    assert {name: event["outcome"] for name, event in found.items()} == {
        "calculator.evaluate": "succeeded",
        "pptx_generator.markdown_to_pptx": "succeeded",
    }
    assert found["calculator.evaluate"]["content"] == "18446744073709551616"
    (artifact,) = found["pptx_generator.markdown_to_pptx"]["artifacts"]
    path = work / "parallel_computing.pptx"
    assert artifact["uri"] == path.as_uri()
    assert zipfile.is_zipfile(path)
    (slide,) = Presentation(str(path)).slides
    assert slide.shapes.title is not None
    assert slide.shapes.title.text_frame.text == "Parallel computing"
    order = [event["type"] for event in events]
    assert order.index("call.finished") > max(at for at, kind in enumerate(order) if kind == "call.announced")


@each(
    ("prompt", "server", "tool", "content"),
    [
        ("what is the status of order 1003?", "order_database", "get_order", "Label printer"),
        ("mark order 1009 as shipped", "order_database", "update_order_status", "pending → shipped"),
        ("read notes.txt", "files", "read_file", "remember the milk"),
        ("list the files in this folder", "files", "list_directory", "notes.txt"),
        ("search the files for 'milk'", "files", "search_files", "notes.txt:1: remember the milk"),
    ],
)
async def test_the_offline_model_finds_the_tools(
    serve: Serve, work: Path, prompt: str, server: str, tool: str, content: str
) -> None:
    (work / "notes.txt").write_text("remember the milk\n")
    bench = await serve(server, FANOUT_HOME=str(work.parent))
    gate = ApprovalGate(ApprovalMode.YOLO)
    async with Engine(provider=OfflineProvider(pace=0), toolset=bench.hub, gate=gate).start(prompt) as turn:
        found = results([event.model_dump(mode="json") async for event in turn])
    assert list(found) == [f"{server}.{tool}"]
    assert content in found[f"{server}.{tool}"]["content"]


FIVE: dict[str, dict[str, str]] = {
    "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi": {"calculator.evaluate": "23.14"},
    "I need two things at once: calculate 2^64 and create a one-slide PowerPoint about parallel computing": {
        "calculator.evaluate": "18446744073709551616",
        "pptx_generator.markdown_to_pptx": "parallel_computing.pptx",
    },
    "Look up all orders for customer 'Acme Corp' and also get the total revenue summary": {
        "order_database.find_orders": "Rocket skates",
        "order_database.revenue_summary": "Total revenue: $22,101.99",
    },
    "Search for Python 3.13 new features, Rust 2024 edition changes, and Go 1.22 release notes": {
        "duckduckgo.search_and_fetch": "the news of Go 1.22 release notes",
    },
    "Read the README.md file in this directory, and update the To Do list to add 'Check for coolness'": {
        "files.read_file": "# Cool",
        "fanout.update_todo_list": "Check for coolness",
    },
}


@pytest.mark.parametrize("prompt", FIVE)
async def test_every_prompt_works_from_a_fresh_start(work: Path, prompt: str) -> None:
    (work / "README.md").write_text("# Cool\n")

    def news(query: str) -> Page:
        return results_page((query, f"{web.url}/page", f"the news of {query}"))

    async with web_stand_in(news) as web:
        search = {"FANOUT_SEARCH_URL": f"{web.url}/html/"}
        events = await asyncio.to_thread(run, work, prompt, environment=search)
    found = results(events)
    assert set(found) - {"fanout.enable_server"} == set(FIVE[prompt])
    assert all(event["outcome"] == "succeeded" for event in found.values())
    said = [event["content"] for event in events if event["type"] == "call.finished"]  # a tool may be called thrice
    for content in FIVE[prompt].values():
        assert any(content in text for text in said)
    made = {path.name for path in work.iterdir()} - {"README.md"}
    assert made == {name for name in FIVE[prompt].values() if name.endswith(".pptx")}


def test_what_changes_things_or_needs_a_network_is_off_until_switched_on() -> None:
    config = load_mcp_config(Paths.bundled("mcp.json"))
    assert config.problems == ()
    assert tuple(server.name for server in config.servers) == ALL
    assert tuple(server.name for server in config.servers if not server.disabled) == SWITCHED_ON
    assert all(server.description for server in config.servers)


MORE = {"shell": "_version search_path servers", "order_database": "sqlite3 _version search_path servers"}


def test_a_bundled_server_loads_neither_the_console_nor_anything_heavy() -> None:
    """One after the other in one process, those last that load more."""
    heavy = "{'mcp', 'pydantic', 'openai', 'anthropic', 'textual', 'pptx', 'ddgs', 'httpx2', 'markdown_it', 'sqlite3'}"
    ours = "{m.split('.')[1] for m in sys.modules if m.startswith('console_app.')}"
    names = sorted(ALL, key=lambda name: [*MORE].index(name) if name in MORE else -1)
    code = (
        f"import importlib, sys\nfor name in {names}:\n    importlib.import_module(f'console_app.servers.{{name}}')\n"
        "    loaded = {m.split('.')[0] for m in sys.modules}\n"
        f"    print(name, *sorted(loaded & {heavy}), *sorted({ours}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} {MORE.get(name, '_version servers')}" for name in names]


WITH_A_MODEL = ("calculator", "files", "shell", "web")


@pytest.mark.parametrize("key", ["", "sk-no-key"])
def test_a_model_that_is_one_has_files_and_a_shell_and_the_rehearsal_has_the_demo(work: Path, key: str) -> None:
    variables = {"HOME": str(work.parent), **({"OPENAI_API_KEY": key} if key else {})}
    done = Fanout(work.parent).run("mcp", "list", "--json", env=variables)
    on = [server["name"] for server in json.loads(done.out)["servers"] if server["state"] != "disabled"]
    assert tuple(on) == (WITH_A_MODEL if key else SWITCHED_ON), done.err


def test_what_is_offered_by_itself_costs_few_tokens(work: Path) -> None:
    characters = 0
    for name in WITH_A_MODEL:
        with StdioClient(f"console_app.servers.{name}", cwd=work) as client:
            for tool in client.request("tools/list")["tools"]:
                schema = json.dumps(tool["inputSchema"])
                characters += len(f"{name}_{tool['name']}") + len(tool["description"]) + len(schema)
    assert characters / 4 < 2500  # as the report of the context counts before a request was answered
