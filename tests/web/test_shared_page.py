"""The page that all devices share, over real sockets: what one does, the others see, and nobody else gets in."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from console_app.command_line import parse_arguments
from console_app.commands import open_services
from console_app.console import Services
from console_app.domain import ApprovalMode, FanoutError, ToolSpec
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.questions import Elicitation, SamplingMessage, SamplingRequest
from console_app.domain.settings import Sampling
from console_app.engine import ApprovalGate
from console_app.mcp_client import Hub
from console_app.page import LivePage
from console_app.web.server import WebServer
from tests.mcp_client.oauth_site import running_site
from tests.page.parts import HOSTILE, Page
from tests.patience import PATIENCE
from tests.tui.parts import Tools, WrittenModel, calls, echo, say, services
from tests.web.parts import PATIENT, TOKEN, browsing, serving


class Device:
    """A device as its script has the page: blocks by id, in their places."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.blocks: dict[str, str] = {}
        self.said: list[str] = []
        self.told: list[dict[str, Any]] = []
        self.run, self.version, self.messages = "", 0, 0

    def html(self, prefix: str = "") -> str:
        return "\n".join(one for name, one in self.blocks.items() if name.startswith(prefix))

    @property
    def text(self) -> str:
        return Page(self.html()).text

    async def until(self, fact: Callable[[Device], Any]) -> Any:
        try:
            async with asyncio.timeout(PATIENCE):
                while not (found := fact(self)):
                    self._take(json.loads(await self.socket.recv()))
                return found
        except (TimeoutError, ConnectionClosed) as error:
            raise AssertionError(f"it did not come: {self.said} {self.told}\n{self.html()}") from error

    def _take(self, message: dict[str, Any]) -> None:
        self.messages += 1
        self.told.append(message)
        self.run, self.version = message.get("run", self.run), message.get("version", self.version)
        self.said += [message["say"]] if "say" in message else []
        for name, parent, html, *_ in message.get("blocks", ()):
            if html:
                assert parent in ("talk", "board", "lines", "now", "queue", "said") or parent in self.blocks
                self.blocks[name] = html
            else:
                self.blocks.pop(name, None)

    async def see(self, *texts: str) -> None:
        await self.until(lambda device: all(text in device.text for text in texts))

    async def do(self, what: str, **more: Any) -> None:
        await self.socket.send(json.dumps({"do": what, **more}))

    async def asks(self, number: int = 1) -> list[dict[str, str]]:
        """The buttons of so many waiting calls that can be allowed."""

        def found(device: Device) -> list[dict[str, str]]:
            buttons = [dict(one) for one in Page(device.html("c")).all("button") if one.get("data-how") == "once"]
            once = [one for one in buttons if "disabled" not in one]
            return once if len(once) == number else []  # type: ignore[return-value]

        return await self.until(found)

    async def decide(self, button: dict[str, str], how: str = "once", **more: Any) -> None:
        await self.do("answer", of=button["data-of"], how=how, stamp=button["data-stamp"], **more)


@asynccontextmanager
async def device_of(server: WebServer, **shows: Any) -> AsyncIterator[Device]:
    headers = {"Origin": f"http://127.0.0.1:{server.port}", **shows.pop("headers", {})}
    async with connect(
        f"ws://127.0.0.1:{server.port}/page-socket",
        origin=Origin(headers["Origin"]) if headers["Origin"] else None,
        max_size=None,
        proxy=None,
        **PATIENT,
    ) as socket:
        await socket.send(json.dumps({"ticket": server.door.ticket, **shows}))
        yield Device(socket)


@asynccontextmanager
async def shared(
    tmp_path: Path, *answers: Any, tools: Tools | None = None, mode: ApprovalMode = ApprovalMode.ASK, **more: Any
) -> AsyncIterator[tuple[WebServer, WrittenModel, list[Services]]]:
    """A server whose page has this model behind it."""
    model, made, hub = WrittenModel(*answers), list[Services](), more.pop("hub", None)

    def opened() -> Services:
        made.append(services(tmp_path, model, tools or Tools({("lab", "do"): echo}), gate=ApprovalGate(mode), hub=hub))
        return made[0]

    async with serving(tmp_path, shared=LivePage(opened), **more) as server:
        yield server, model, made


class Changing(Tools):
    """A toolset whose tool can become another one."""

    definition = "first"

    def tools(self) -> Sequence[ToolSpec]:
        return [one.model_copy(update={"definition": self.definition}) for one in super().tools()]


def ask(*texts: str) -> Any:
    return calls(*(("lab_do", json.dumps({"text": one})) for one in texts))


async def test_two_devices_see_one_conversation_and_a_third_all_of_it(tmp_path: Path) -> None:
    async with shared(tmp_path, say("Hello **there**."), say("Again.")) as (server, model, _):
        async with device_of(server) as phone, device_of(server) as desk:
            await phone.do("send", words="Good morning")
            for device in (phone, desk):
                await device.see("Good morning", "Hello there.", "Turn 1 is over.")
            await desk.do("send", words="And now?")
            for device in (phone, desk):
                await device.see("And now?", "Again.")
        async with device_of(server) as late:
            await late.see("Good morning", "Hello there.", "And now?", "Again.")
            assert len(model.requests) == 2
        async with device_of(server, run=desk.run, version=desk.version) as again:
            await again.do("send", words="/nothing")
            await again.until(lambda device: device.said)
            assert "Good morning" not in again.text, "who has it all is sent only what is new"


async def test_allow_on_one_device_and_the_other_sees_it_decided(tmp_path: Path) -> None:
    async with (
        shared(tmp_path, ask("one", "two"), say("Both.")) as (server, _, made),
        device_of(server) as phone,
        device_of(server) as desk,
    ):
        await phone.do("send", words="Do both.")
        first, second = await desk.asks(2)
        await phone.asks(2)
        assert "2 things need you" in desk.text
        await desk.decide(first)
        assert await phone.asks(1) == [second]
        await phone.decide(second, "deny", words="not that one")
        for device in (phone, desk):
            await device.see("Both.", "denied")
            assert not device.html("q")
        decided = made[0].engine.transcript.turns[0].calls
        assert len(decided[0].decided[0].displayed) == 64, "the hash of what was displayed"
        assert decided[1].decided[0].feedback == "not that one"


async def test_a_decision_on_another_display_is_refused(tmp_path: Path) -> None:
    tools = Changing({("lab", "do"): echo})
    async with (
        shared(tmp_path, ask("one"), say("Over."), tools=tools) as (server, _, made),
        device_of(server) as phone,
    ):
        await phone.do("send", words="Do it.")
        (button,) = await phone.asks()
        for wrong in ("", "x", button["data-stamp"][:-1], None):
            await phone.decide({**button, "data-stamp": wrong})  # type: ignore[dict-item]
            await phone.until(lambda device: device.said)
            assert "Nothing was decided" in phone.said.pop()
        tools.definition = "second"
        await phone.decide(button)
        await phone.until(lambda device: device.said)
        assert "Nothing was decided" in phone.said.pop()
        (now,) = await phone.until(lambda device: [
            one for one in Page(device.html("c")).all("button")
            if one.get("data-how") == "once" and one["data-stamp"] != button["data-stamp"]
        ])  # fmt: skip
        await phone.decide(now)
        await phone.see("Over.")
        await phone.decide(now)
        await phone.until(lambda device: device.said)
        assert "waits no more" in phone.said.pop()
        assert len(made[0].engine.transcript.turns[0].calls) == 1


async def test_one_call_is_stopped_its_siblings_go_on_and_it_runs_again(tmp_path: Path) -> None:
    ends, runs = asyncio.Event(), list[str]()

    async def work(invocation: Invocation, _reporter: CallReporter) -> str:
        runs.append(str(invocation.arguments["text"]))
        await ends.wait()
        return f"done {runs[-1]}"

    tools = Tools({("lab", "do"): work})
    async with (
        shared(tmp_path, ask("one", "two"), say("Over."), tools=tools, mode=ApprovalMode.YOLO) as (server, _, made),
        device_of(server) as phone,
        device_of(server) as desk,
    ):
        await phone.do("send", words="Go.")

        def stops(device: Device) -> list[Any]:
            return [one for one in Page(device.html("c")).all("button") if one.get("data-do") == "cancel"]

        await phone.until(lambda device: len(runs) == 2 and len(stops(device)) == 2)
        await phone.do("cancel", of=stops(phone)[0]["data-of"])
        await desk.until(lambda device: len(stops(device)) == 1 and "stopped by you" in device.text)
        ends.set()
        await desk.see("Over.", "Turn 1 is over.")
        retry = [one for one in Page(desk.html("c")).all("button") if one.get("data-do") == "retry"]
        assert [one["data-of"] for one in retry] == ["c0"], "the other came out well"
        await desk.do("open", of="c1")
        await desk.until(lambda device: 'data-do="retry" data-of="c1"' in device.html("c1"))
        await desk.do("retry", of="c0")
        await phone.until(lambda _: len(runs) == 3 and made[0].engine.transcript.turns[0].calls[0].attempt == 2)
        await phone.until(lambda device: "stopped" not in Page(device.html("c0-line")).text)


async def test_stop_ends_all_that_runs(tmp_path: Path) -> None:
    async def work(_invocation: Invocation, _reporter: CallReporter) -> str:
        await asyncio.Event().wait()
        return ""

    tools = Tools({("lab", "do"): work})
    async with (
        shared(tmp_path, ask("one", "two"), tools=tools, mode=ApprovalMode.YOLO) as (server, _, _made),
        device_of(server) as phone,
    ):
        await phone.do("send", words="Go.")
        await phone.until(lambda device: device.text.count("Stop") >= 2)
        await phone.do("stop")
        await phone.see("Cancelled")


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_foreign_is_markup(tmp_path: Path, text: str) -> None:
    """A model, its calls and their results say it; all that a device is sent is whole elements, and none acts."""

    async def work(_invocation: Invocation, _reporter: CallReporter) -> str:
        return text

    async with (
        shared(tmp_path, ask(text), say(text), tools=Tools({("lab", "do"): work})) as (server, _, _made),
        device_of(server) as phone,
    ):
        await phone.do("send", words=f"Say {text}")
        (button,) = await phone.asks()
        await phone.do("open", of="c0")
        await phone.until(lambda device: Page(device.html("c0-known")).text)
        shown = list(phone.blocks.values())
        await phone.decide(button)
        await phone.see("Turn 1 is over.")
        for html in (*shown, *phone.blocks.values()):
            page = Page(html)
            assert (page.torn, page.open) == ([], []), html
            assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "style", "link", "object"}
            for tag, attrs in page.tags:
                assert not any(name.startswith("on") or name in ("style", "srcset") for name in attrs), (tag, attrs)
                assert str(attrs.get("href", "https://")).startswith(("http://", "https://"))


async def test_who_has_no_token_gets_nothing_and_does_nothing(tmp_path: Path) -> None:
    async with shared(tmp_path, say("Hello."), token=TOKEN) as (server, model, made):
        for proof in (
            {"ticket": "x"},
            {"ticket": ""},
            {"ticket": "", "token": "a-token-that-is-wrong"},
            {"ticket": None},
        ):
            async with device_of(server, **proof) as other:
                await other.do("send", words="Hello")
                await other.until(lambda device: any("closed" in one for one in device.told))
                with pytest.raises(ConnectionClosed):
                    await other.socket.recv()
                assert other.blocks == {}
        for origin in ("http://evil.example", "null", ""):
            with pytest.raises(InvalidStatus):
                async with device_of(server, headers={"Origin": origin}):
                    pass
        assert (made, model.requests) == ([], []), "nothing was even opened"
        async with device_of(server, ticket="", token=TOKEN) as owner:
            await owner.until(lambda device: any("ticket" in one for one in device.told))
            await owner.do("send", words="Hello")
            await owner.see("Hello.")
        async with browsing(server) as client:
            page = await client.get("/page")
            for secret in ("Hello", TOKEN, server.door.ticket):
                assert secret not in page.text
            policy = page.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert policy.startswith(Page(page.text).all("meta")[1]["content"] or "no policy")


async def test_what_is_no_message_of_a_device_changes_nothing(tmp_path: Path) -> None:
    async with shared(tmp_path, ask("one"), say("Over.")) as (server, _, _made), device_of(server) as phone:
        await phone.do("send", words="Go.")
        (button,) = await phone.asks()
        odd: tuple[Any, ...] = (None, 5, [], {}, "", "c", "c99", "q0", "x" * 10_000, "\ud800")
        for what in ("send", "open", "cancel", "retry", "answer", "nothing", None, [], {}):
            for one in odd:
                await phone.socket.send(json.dumps({"do": what, "of": one, "how": one, "stamp": one, "words": one}))
        for text in ("{", "[]", "[" * 1000, '"do"', "{}"):
            await phone.socket.send(text)
        await phone.decide(button)
        await phone.see("Over.")


async def test_what_servers_and_commands_ask_is_answered_on_any_device(tmp_path: Path) -> None:
    async with shared(tmp_path) as (server, _, made), device_of(server) as phone, device_of(server) as desk:
        await phone.until(lambda _: made and made[0].human._changed)  # type: ignore[reportPrivateUsage]
        human = made[0].human
        schema = {
            "type": "object",
            "required": ["age"],
            "properties": {"age": {"type": "integer", "title": "Your age"}},
        }

        def question(device: Device, title: str) -> str | None:
            return next((n for n, one in device.blocks.items() if n.startswith("q") and title in one), None)

        form = asyncio.create_task(human.ask(Elicitation("lab", "Who are you?", schema=schema)))
        name = await phone.until(lambda device: question(device, "Who are you?"))
        await phone.do("answer", of=name, how="accept")
        for title, typed in (("Your age, required", "x"), ("must be a number. Again", "7")):
            name = await desk.until(lambda device, title=title: question(device, title))
            await desk.do("answer", of=name, how="ok", words=typed)
        assert (await form).content == {"age": 7}
        await phone.until(lambda device: not question(device, "Who are you?"))

        request = SamplingRequest("lab", (SamplingMessage("user", "Say hello."),), Sampling(max_tokens=9))
        asked = asyncio.create_task(human.allow_sampling(request))
        name = await desk.until(lambda device: question(device, "Say hello."))
        await desk.do("answer", of=name, how="deny")
        assert await asked is False

        await phone.do("send", words="/mode")
        name = await desk.until(lambda device: question(device, "Mode"))
        await desk.do("answer", of=name, how="plan")
        await phone.see("mode plan")
        await phone.do("send", words="/theme")
        await phone.until(lambda device: any("the terminal beside this page has it" in one for one in device.said))


async def test_a_console_that_can_not_be_opened_says_why_and_is_opened_by_the_next_device(tmp_path: Path) -> None:
    made = [services(tmp_path, WrittenModel(say("Hello.")))]

    def opened() -> Services:
        if len(tries) < 2:
            tries.append(1)
            raise FanoutError("config.toml is broken", "Mend it.")
        return made[0]

    tries = [1]
    async with serving(tmp_path, shared=LivePage(opened)) as server:
        async with device_of(server) as phone:
            await phone.see("config.toml is broken")
        async with device_of(server) as phone:
            await phone.do("send", words="Good morning")
            await phone.until(lambda device: "Hello." in device.text or device.said)


async def test_a_sign_in_opens_on_the_device_and_comes_back_from_it(tmp_path: Path) -> None:
    """A server wants a sign-in, and nobody sits at the machine that serves: a link on the board, and the way back."""
    async with running_site() as site:
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"web": {"type": "http", "url": site.mcp}}}))
        environ = {"HOME": str(tmp_path), "FANOUT_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        arguments = parse_arguments(["-m", "offline/rehearsal"])
        async with (
            serving(tmp_path, shared=LivePage(partial(open_services, arguments, environ))) as server,
            device_of(server) as phone,
            httpx2.AsyncClient(follow_redirects=True, timeout=PATIENCE) as browser,
        ):

            def card(title: str) -> str:
                return next((n for n, one in phone.blocks.items() if n.startswith("q") and title in one), "")

            name = await phone.until(lambda _: card("web needs you to sign in"))
            await phone.do("answer", of=name, how="sign in")
            name = await phone.until(lambda _: card("A page to open"))
            (link,) = [one["href"] for one in Page(phone.blocks[name]).all("a")]
            assert link
            assert link.startswith(f"{site.url}/authorize?")
            ended = await browser.get(link, follow_redirects=False)
            for wrong, said in (("http://[", "This is no answer"), ("http://127.0.0.1/callback?code=1", "no answer")):
                await phone.do("answer", of=name, how="back", words=wrong)
                await phone.until(lambda device, said=said: any(said in one for one in device.said))
                phone.said.clear()
            await phone.do("answer", of=name, how="back", words=f" {ended.headers['location']} ")
            await phone.until(lambda device: "Signed in." in device.said)
            await phone.until(lambda _: not card("A page to open") and not card("needs you to sign in"))
            assert site.valid, "the token was fetched"


async def test_a_page_that_a_server_asks_for_is_a_link_on_every_device(tmp_path: Path) -> None:
    hub = Hub((), log_dir=tmp_path / "logs", files_dir=tmp_path / "files")

    async with shared(tmp_path, hub=hub) as (server, _, made), device_of(server) as phone, device_of(server) as desk:
        await phone.until(lambda _: made and made[0].human._changed)  # type: ignore[reportPrivateUsage]
        await hub.asking.open_url("https://pages.example/?a=b&c=d")
        for device in (phone, desk):
            await device.until(lambda device: any("A page to open" in one for one in device.blocks.values()))
            assert Page(device.html("q")).all("a")[0]["href"] == "https://pages.example/?a=b&c=d"
        with pytest.raises(ValueError, match="no web page"):
            await hub.asking.open_url("javascript:alert(1)")
        await desk.do("answer", of=next(one for one in desk.blocks if one.startswith("q")), how="")
        await phone.until(lambda device: not any("A page to open" in one for one in device.blocks.values()))
