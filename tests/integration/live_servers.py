"""Our client on servers that other people wrote: all their tools listed, several called at once, all features used."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from console_app.config.servers import ServerConfig
from console_app.domain.questions import Elicitation, ElicitationAnswer, SamplingRequest
from console_app.domain.schema import forms
from console_app.domain.tools import Outcome
from console_app.mcp_client import Asking, Hub, ServerState
from console_app.mcp_client.connecting.asking import ProviderSampler
from tests import npm_packages
from tests.mcp_client.conftest import Bench, Reports
from tests.mcp_client.people import OneAnswer, Person
from tests.patience import PATIENCE, until_told
from tests.wire_server import free_port

EVERYTHING = {
    *("echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference"),
    *("get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging"),
    *("toggle-subscriber-updates", "trigger-long-running-operation", "get-roots-list", "trigger-elicitation-request"),
    *("trigger-url-elicitation", "trigger-sampling-request", "simulate-research-query"),
}


def node_server(package: str) -> tuple[str, str]:
    """Command and program of a server from npm."""
    folder = Path(os.environ["FANOUT_TEST_NODE_MODULES"], "@modelcontextprotocol", f"server-{package}")
    programs: dict[str, str] = json.loads((folder / "package.json").read_text())["bin"]
    return str(npm_packages.node()), str(folder / next(iter(programs.values())))


def from_npm(package: str, *args: str, **fields: Any) -> ServerConfig:
    command, program = node_server(package)
    return ServerConfig(name=package, command=command, args=(program, *args), **fields)


def from_pypi(name: str, *args: str) -> ServerConfig:
    command = Path(os.environ["FANOUT_TEST_PYTHON_SERVERS"], "bin", f"mcp-server-{name}")
    return ServerConfig(name=name, command=str(command), args=args)


class Filling(Person):
    """A person who fills in every form: what it proposes, and something that fits for the rest."""

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        await super().ask(question)
        if question.mode == "url":
            return ElicitationAnswer("accept")
        values = {"text": "Ada", "number": 1, "integer": 1, "switch": True}
        fields = forms.fields_asked(question.schema)
        content: dict[str, Any] = {field.name: field.default for field in fields if field.default is not None}
        for field in fields:
            if field.required and field.name not in content:
                first = field.choices[0] if field.choices else None
                content[field.name] = [first] if field.kind == "choices" else values.get(field.kind, first)
        return ElicitationAnswer("accept", content)


Start = Callable[..., Awaitable[Bench]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    opened: list[Hub] = []

    async def begin(*servers: ServerConfig, asking: Asking | None = None) -> Bench:
        changed = asyncio.Event()
        hub = Hub(
            servers, log_dir=tmp_path / "logs", files_dir=tmp_path / "files", on_change=changed.set, asking=asking
        )
        opened.append(hub)
        await hub.start()
        await hub.ready(45)
        for status in hub.statuses():
            assert status.state is ServerState.READY, f"{status.name}: {status.reason}"
        return Bench(tmp_path, hub, changed)

    yield begin
    for hub in opened:
        await hub.close()


@pytest.fixture(params=["stdio", "streamableHttp", "sse"])
async def everything(request: pytest.FixtureRequest) -> AsyncIterator[ServerConfig]:
    """server-everything over each of its transports."""
    if request.param == "stdio":
        yield from_npm("everything")
        return
    command, program = node_server("everything")
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen(  # noqa: ASYNC220 -- waits for nothing
        [command, program, request.param], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await listening(port)
        path, transport = ("mcp", "http") if request.param == "streamableHttp" else ("sse", "sse")
        yield ServerConfig.model_validate(
            {"name": "everything", "url": f"http://127.0.0.1:{port}/{path}", "transport": transport}
        )
    finally:
        process.kill()
        process.wait()


async def listening(port: int) -> None:
    """Returns once something answers there: other people's servers have no other way to say so."""

    async def answers() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    await until_told(answers, f"port {port}")


async def test_everything_that_the_everything_server_has(
    everything: ServerConfig, start: Start, tmp_path: Path
) -> None:
    person, model, opened = Filling(), OneAnswer(), list[str]()

    async def open_url(url: str) -> None:
        opened.append(url)

    asking = Asking(person, ProviderSampler(lambda: model), roots=(tmp_path,), open_url=open_url)
    bench = await start(everything, asking=asking)
    await bench.until(lambda: {spec.tool for spec in bench.hub.tools()} >= EVERYTHING)  # some come once it is up
    await bench.until(lambda: bool(bench.hub.prompts() and bench.hub.templates()))

    long, asks, research = Reports(), Reports(), Reports()
    work = {"duration": 1, "steps": 4}
    echo, total, picture, structured, links, slow, roots, form, page, sampled, report = await asyncio.gather(
        bench.call("echo", message="hi"),
        bench.call("get-sum", a=2, b=3),
        bench.call("get-tiny-image"),
        bench.call("get-structured-content", location="Chicago"),
        bench.call("get-resource-links", count=2),
        bench.call("trigger-long-running-operation", long, **work),
        bench.call("get-roots-list"),
        bench.call("trigger-elicitation-request", asks),
        bench.call("trigger-url-elicitation", url="https://example.com/a", message="Look"),
        bench.call("trigger-sampling-request", prompt="Capital of France?", maxTokens=20),
        bench.call("simulate-research-query", research, topic="tea", ambiguous=True),
    )
    assert "hi" in echo.content
    assert "5" in total.content
    assert [artifact.mime for artifact in picture.artifacts] == ["image/png"]
    assert Path(picture.artifacts[0].path).read_bytes().startswith(b"\x89PNG")
    assert set(structured.structured or {}) == {"temperature", "conditions", "humidity"}
    assert len(links.artifacts) == 2
    assert [(progress, total) for progress, total, _ in long.progressed] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert slow.outcome is Outcome.SUCCEEDED
    assert tmp_path.as_uri() in roots.content
    assert "Ada" in form.content
    assert page.outcome is Outcome.SUCCEEDED
    assert opened == ["https://example.com/a"]
    assert "Paris" in sampled.content
    assert (report.outcome, "tea" in report.content) == (Outcome.SUCCEEDED, True)
    assert len({message for _, _, message in research.progressed}) > 2
    assert [type(asked) for asked in person.asked].count(SamplingRequest) == 1
    await prompts_and_resources(bench)
    await logging_on_and_off(bench)


async def prompts_and_resources(bench: Bench) -> None:
    hub = bench.hub
    prompts = {prompt.name: prompt for prompt in hub.prompts()}
    assert {"simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"} <= prompts.keys()
    (message,) = await hub.get_prompt(prompts["args-prompt"], {"city": "Rome"})
    assert "Rome" in message.text
    completed = await hub.complete(prompts["completable-prompt"], "department", "E")
    assert completed == ["Engineering"]
    assert len(hub.resources()) >= 7
    (document,) = await hub.read_resource("everything", hub.resources()[0].uri)
    assert document.text
    (blob,) = await hub.read_resource("everything", "demo://resource/dynamic/blob/1")
    assert blob.artifact is not None
    seen = asyncio.Event()
    hub.on_update = lambda server, uri: seen.set()
    await hub.connection("everything").catalogue.subscribe(hub.resources()[0].uri)
    await bench.call("toggle-subscriber-updates")
    async with asyncio.timeout(PATIENCE):
        await seen.wait()
    await bench.call("toggle-subscriber-updates")
    await hub.connection("everything").catalogue.subscribe(hub.resources()[0].uri, on=False)


async def logging_on_and_off(bench: Bench) -> None:
    await bench.hub.set_log_level("debug")
    assert (await bench.call("toggle-simulated-logging")).outcome is Outcome.SUCCEEDED
    await bench.until_logged("[", name="everything")
    await bench.call("toggle-simulated-logging")


async def test_files_are_written_and_read_side_by_side(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    # The folder of its arguments counts, whatever folder the console works in.
    bench = await start(from_npm("filesystem", str(folder)), asking=Asking(roots=(tmp_path / "elsewhere",)))
    assert len(bench.hub.tools()) >= 12
    names = [f"{number}.txt" for number in range(8)]
    written = await asyncio.gather(*(bench.call("write_file", path=str(folder / name), content=name) for name in names))
    assert {result.outcome for result in written} == {Outcome.SUCCEEDED}
    read = await asyncio.gather(*(bench.call("read_text_file", path=str(folder / name)) for name in names))
    assert [result.content for result in read] == names
    outside = await bench.call("read_text_file", path="/etc/hostname")
    assert outside.outcome is Outcome.FAILED
    assert bench.spec("read_text_file").annotations.read_only


async def test_a_memory_is_kept_and_found_again(start: Start, tmp_path: Path) -> None:
    memory = from_npm("memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")})
    bench = await start(memory, from_npm("sequential-thinking"))
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
    assert (await bench.call("create_entities", entities=[entity])).outcome is Outcome.SUCCEEDED
    thought = {"thought": "Well", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    graph, found, thinking = await asyncio.gather(
        bench.call("read_graph"),
        bench.call("search_nodes", query="programs"),
        bench.call("sequentialthinking", **thought),
    )
    assert "Ada" in graph.content
    assert "Ada" in found.content
    assert thinking.outcome is Outcome.SUCCEEDED


async def test_the_time_in_several_places_at_once_and_a_repository(start: Start, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)  # noqa: ASYNC221 -- a moment
    (repository / "a.txt").write_text("new")
    bench = await start(
        from_pypi("time", "--local-timezone", "UTC"),
        from_pypi("git", "--repository", str(repository)),
        asking=Asking(roots=(repository,)),
    )
    assert {"get_current_time", "convert_time", "git_status", "git_log"} <= {spec.tool for spec in bench.hub.tools()}
    rome, tokyo, status, wrong = await asyncio.gather(
        bench.call("get_current_time", timezone="Europe/Rome"),
        bench.call("convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
        bench.call("git_status", repo_path=str(repository)),
        bench.call("get_current_time", timezone="Nowhere/Else"),
    )
    assert "Europe/Rome" in rome.content
    assert "21:00" in tokyo.content
    assert "a.txt" in status.content
    assert wrong.outcome is Outcome.FAILED
