"""/connect: the form, with real endpoints behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from console_app.console.services import Services
from console_app.tui.app import FanoutApp
from console_app.tui.main_screen.over.connect_screen import ConnectScreen
from tests.console.local_endpoints import endpoint
from tests.console.test_connecting import KEY, Console
from tests.tui.parts import THEMES, chat, see, seen, until
from tests.wire_bytes import Answer, Text
from tests.wire_server import Gate, Hang, Reply, Request, WireServer, free_port


def console_of(folder: Path, ports: Mapping[int, str]) -> tuple[FanoutApp, Console]:
    """A console on the offline model, that looks at these ports."""
    behind = Console(folder, ports=ports)
    engine = behind.models._engine  # pyright: ignore[reportPrivateUsage]
    services = Services(
        engine=engine,
        models=behind.models,
        history_path=folder / "history",
        log_path=folder / "log",
        theme_dirs=[THEMES],
        working_folder=folder,
        connecting=behind.connecting,
    )
    return FanoutApp(services), behind


def port_of(server: WireServer) -> int:
    return int(server.url.rpartition(":")[2])


def field(pilot: Pilot[Any], name: str) -> Input:
    screen = pilot.app.screen
    assert isinstance(screen, ConnectScreen)
    return screen.query_one(f"#{name}", Input)


async def opened(pilot: Pilot[Any]) -> None:
    await pilot.press(*"/connect", "enter")
    await see(pilot, "Connect a model")


async def type_in(pilot: Pilot[Any], name: str, text: str) -> None:
    """Write the text as a paste, which takes a tenth of the time of keys."""
    field(pilot, name).focus()
    pilot.app.post_message(events.Paste(text))
    await until(pilot, lambda: field(pilot, name).value == text)


async def test_a_model_on_this_machine_is_two_times_enter(tmp_path: Path) -> None:
    with WireServer(endpoint("ollama")) as server:
        console, behind = console_of(tmp_path, {port_of(server): "ollama", free_port(): "vllm"})
        async with console.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            for name in ("Address", "Key", "Model"):
                await see(pilot, f"│  {name}  ")
            await see(pilot, "on this machine: ollama, 1 model")
            await pilot.press("enter")
            await see(pilot, "1 model. Enter tries the highlighted one.")
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(console.screen, ConnectScreen))
            await see(pilot, "· llama3.2:latest answered in")  # and not as a warning
            assert behind.models.name.endswith("/llama3.2:latest")
            assert behind.started().choose().name == behind.models.name
            await pilot.press(*"hello", "enter")
            await until(pilot, lambda: not chat(console).console.conversation.busy)
            await see(pilot, "ready")
            await chat(console).services.engine.provider.close()


async def test_a_key_is_never_seen_and_the_field_takes_another(tmp_path: Path) -> None:
    with WireServer(endpoint("vllm", key=KEY)) as server:
        console, behind = console_of(tmp_path, {})
        async with console.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await see(pilot, "Nothing answers at the usual ports")
            await type_in(pilot, "address", server.url)
            await pilot.press("enter")
            await see(pilot, "(401)")
            await see(pilot, "Type its key")
            assert field(pilot, "key").has_focus
            assert field(pilot, "address").value == server.url
            assert "--" not in seen(console)
            await type_in(pilot, "key", KEY)
            assert KEY not in seen(console)
            await pilot.press("enter")
            await see(pilot, "Qwen/Qwen2.5-1.5B-Instruct")
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(console.screen, ConnectScreen))
            await see(pilot, "the key is in")
            assert KEY not in seen(console)
            chosen = behind.started().choose().config
            assert chosen is not None
            assert chosen.api_key == KEY


async def test_a_key_that_went_to_one_host_is_taken_out_for_another(tmp_path: Path) -> None:
    with WireServer(endpoint("vllm", key=KEY)) as server, WireServer(endpoint("vllm")) as other:
        console, _ = console_of(tmp_path, {})
        async with console.run_test(size=(100, 30)) as pilot:
            await opened(pilot)
            await type_in(pilot, "address", server.url)
            await type_in(pilot, "key", KEY)
            await pilot.press("enter")
            await see(pilot, "Qwen/")
            field(pilot, "address").value = ""
            await type_in(pilot, "address", other.url)
            assert field(pilot, "key").value == ""
            await pilot.press("enter")
            await see(pilot, "1 model.")
            assert not any(KEY in str(request.headers) for request in other.requests)


async def test_a_refused_trial_leaves_everything_to_be_changed(tmp_path: Path) -> None:
    def no_such(request: Request) -> Reply | Answer:
        if request.path == "/v1/models":
            return Reply.json({"data": [{"id": "one"}, {"id": "two"}]})
        if request.body["model"] == "one":
            return Reply.json({"error": {"message": "model one is gone"}}, 404)
        return Answer(Text("ready"))

    with WireServer(no_such) as server:
        console, behind = console_of(tmp_path, {})
        async with console.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await type_in(pilot, "address", server.url)
            await pilot.press("enter")
            await see(pilot, "2 models.")
            await pilot.press("enter")
            await see(pilot, "model one is gone")
            assert behind.models.name == "offline/rehearsal"
            await type_in(pilot, "model", "three")
            await see(pilot, "None of 2 models is called that. Enter tries three.")
            await pilot.press(*["backspace"] * 5)
            await see(pilot, "2 models. Enter tries the highlighted one.")
            await pilot.press("down", "enter")
            await until(pilot, lambda: not isinstance(console.screen, ConnectScreen))
            assert behind.models.name.endswith("/two")


async def test_how_long_a_list_takes_is_seen_and_of_a_long_one_how_much_is_shown(tmp_path: Path) -> None:
    gate, names = Gate(), [f"model-{number:04}" for number in range(1000)]
    listed = Reply.json({"data": [{"id": name} for name in names]})
    with WireServer(lambda _: replace(listed, before_headers=[gate])) as server:
        console, _ = console_of(tmp_path, {})
        async with console.run_test(size=(80, 40)) as pilot:
            await opened(pilot)
            await see(pilot, "Model     listed once the address answers")
            await type_in(pilot, "address", server.url)
            await pilot.press("enter")
            await gate.reached()
            await see(pilot, "Asking for its models … 1 s")
            await until(pilot, lambda: seen(console).count("esc cancel") == 1 and "esc close" not in seen(console))
            gate.open()
            await see(pilot, "200 of 1,000 models: type a part of a name.")
            await see(pilot, "Model     a part of its name")
            await until(
                pilot, lambda: console.screen.query_one("#box").size.height < 24, "no blank rows below the list"
            )
            await pilot.press(*"0999")
            await see(pilot, "│  model-0999")
            await see(pilot, "│  1 of 1,000 models. Enter tries the highlighted one.")
            await pilot.press("escape")


async def test_an_address_that_changed_while_it_was_asked_is_asked_by_the_next_enter(tmp_path: Path) -> None:
    gate = Gate()
    listed = Reply.json({"data": [{"id": "one"}, {"id": "two"}]})
    with WireServer(lambda _: replace(listed, before_headers=[gate])) as server:
        console, _ = console_of(tmp_path, {})
        async with console.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await type_in(pilot, "address", server.url)
            await pilot.press("enter")
            await gate.reached()
            await pilot.press("end", "x")
            gate.open()
            await see(pilot, "The address or the key was changed meanwhile: enter asks again.")
            await pilot.press("backspace", "enter")
            await see(pilot, "2 models. Enter tries the highlighted one.")
            await pilot.press("escape")


async def test_escape_cancels_what_hangs_and_then_closes(tmp_path: Path) -> None:
    with WireServer(lambda _: Reply(before_headers=[Hang()])) as server:
        console, _ = console_of(tmp_path, {})
        async with console.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await type_in(pilot, "address", server.url)
            await pilot.press("enter")
            await server.arrived(1)
            await pilot.press("escape")
            await see(pilot, "Cancelled.")
            assert field(pilot, "address").value == server.url
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(console.screen, ConnectScreen))


async def test_a_vendor_asks_for_its_key_first(tmp_path: Path) -> None:
    console, _ = console_of(tmp_path, {})
    async with console.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await see(pilot, "Nothing answers")
        await pilot.press("down", "enter")
        await see(pilot, "Paste the key.")
        assert field(pilot, "address").value == "https://api.anthropic.com"
        assert field(pilot, "key").has_focus


async def test_after_a_wrong_one_was_taken_an_arrow_and_enter_take_another(tmp_path: Path) -> None:
    with WireServer(endpoint("ollama")) as server:
        console, _ = console_of(tmp_path, {port_of(server): "ollama"})
        async with console.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await see(pilot, "on this machine: ollama, 1 model")
            await pilot.press("down", "enter")
            await see(pilot, "Paste the key. It is sent to this address alone.")
            await pilot.press("up", "enter")
            await see(pilot, "1 model. Enter tries the highlighted one.")
            assert field(pilot, "address").value.startswith(server.url)


async def test_no_address_of_the_list_looks_chosen_while_another_is_typed(tmp_path: Path) -> None:
    console, _ = console_of(tmp_path, {})
    async with console.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await see(pilot, "Nothing answers at the usual ports")
        places = console.screen.query_one("#places", OptionList)
        assert places.highlighted == 0
        await type_in(pilot, "address", "localhost:8765")
        await until(pilot, lambda: places.highlighted is None)
        await pilot.press("down")
        await until(pilot, lambda: places.highlighted == 0)
        await pilot.press("x")
        await until(pilot, lambda: places.highlighted is None)
        await pilot.press(*["backspace"] * len("localhost:8765x"))
        await until(pilot, lambda: places.highlighted == 0)
