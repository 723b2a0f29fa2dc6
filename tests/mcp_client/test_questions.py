"""Servers ask while a call runs: forms, pages, the model, the folders; each question belongs to its call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.questions import Elicitation, ElicitationAnswer, SamplingRequest
from console_app.domain.tools import Outcome
from console_app.mcp_client import Asking
from console_app.mcp_client.connecting.asking import ProviderSampler, open_in_browser
from tests.mcp_client.conftest import Bench, Reports, StartHub, program
from tests.mcp_client.people import OneAnswer, Person
from tests.patience import PATIENCE

SERVER = program("asking_server.py", name="asking")


class Browser:
    """Remembers the pages that were opened."""

    def __init__(self, *, broken: bool = False) -> None:
        self.opened: list[str] = []
        self.broken = broken

    async def __call__(self, url: str) -> None:
        if self.broken:
            raise OSError("no browser")
        self.opened.append(url)


async def said(bench: Bench, tool: str, reports: Reports | None = None, **arguments: Any) -> Any:
    result = await bench.call(tool, reports, **arguments)
    assert result.outcome is Outcome.SUCCEEDED, result.content
    return json.loads(result.content)


async def test_a_form_is_answered_and_belongs_to_the_call_that_asked(start_hub: StartHub) -> None:
    person = Person(ElicitationAnswer("accept", {"name": "Grace", "age": 30.0, "more": 1, "size": ""}))
    bench = await start_hub(SERVER, asking=Asking(person))
    reports = Reports()
    assert await said(bench, "form", reports) == {"action": "accept", "content": {"name": "Grace", "age": 30}}
    (question,) = person.asked
    assert isinstance(question, Elicitation)
    assert (question.server, question.call_id, question.mode, question.message) == (
        *("asking", "call1", "form", "Who are you?"),
    )
    assert list(question.schema["properties"]) == ["name", "age", "size"]
    assert reports.held_ever
    assert reports.holds == 0
    assert reports.logged == [
        ("notice", "the server asks: Who are you?"),
        ("notice", "the question was accepted"),
    ]
    assert (reports.questions, reports.answers) == (["Who are you?"], ["accepted"])


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_can_be_declined_and_cancelled(start_hub: StartHub, action: Any) -> None:
    bench = await start_hub(SERVER, asking=Asking(Person(ElicitationAnswer(action, {"name": "never sent"}))))
    assert await said(bench, "form") == {"action": action}


async def test_values_that_do_not_fit_the_form_are_never_sent(start_hub: StartHub) -> None:
    bench = await start_hub(SERVER, asking=Asking(Person(ElicitationAnswer("accept", {"name": "Bo", "age": 7}))))
    assert await said(bench, "form") == {"action": "cancel"}


async def test_where_nobody_is_everything_is_declined(start_hub: StartHub) -> None:
    bench = await start_hub(SERVER)
    bench.hub.asking.sampler = ProviderSampler(OneAnswer)
    reports = Reports()
    assert await said(bench, "form", reports) == {"action": "decline"}
    assert await said(bench, "page", reports) == {"action": "decline"}
    assert (await said(bench, "ask_model", reports))["message"] == "User rejected sampling request"
    assert reports.questions == ["Who are you?", "to open https://example.com/pay?to=us", "to use the model"]
    assert reports.answers == [f"{how}, nobody is here to answer" for how in ("declined", "declined", "denied")]


async def test_calls_side_by_side_ask_at_once_and_each_gets_its_answer(start_hub: StartHub) -> None:
    person = Person(ElicitationAnswer("accept", {"name": "Ada"}))
    person.free.clear()
    bench = await start_hub(SERVER, asking=Asking(person))
    calls = [asyncio.create_task(said(bench, "form")) for _ in range(3)]
    async with asyncio.timeout(PATIENCE):
        while len(person.asked) < 3:
            await person.news.wait()
            person.news.clear()
    person.free.set()
    assert [answer["action"] for answer in await asyncio.gather(*calls)] == ["accept"] * 3


async def test_where_either_of_two_calls_may_ask_each_question_stands_once_in_the_log_of_its_server(
    start_hub: StartHub,
) -> None:
    person = Person(ElicitationAnswer("decline"))
    person.free.clear()
    bench = await start_hub(SERVER, asking=Asking(person))
    reports = [Reports(), Reports()]
    calls = [
        asyncio.create_task(bench.call("form", report, message=message))
        for report, message in zip(reports, ("Red?", "Blue?"), strict=True)
    ]
    async with asyncio.timeout(PATIENCE):
        while len(person.asked) < 2:
            await person.news.wait()
            person.news.clear()
    assert [(one.call_id, one.candidates) for one in person.asked] == [("", ("call1", "call2"))] * 2
    assert [report.questions for report in reports] == [
        [f"one of 2 calls asks: {word}?" for word in ("Red", "Blue")]
    ] * 2
    assert [(report.unsure, report.logged) for report in reports] == [(2, [])] * 2
    await bench.until_logged("one of 2 calls asks: Blue?", "asking")
    person.free.set()
    await asyncio.gather(*calls)
    assert [report.answers for report in reports] == [["declined"] * 2] * 2


async def test_a_question_whose_server_dies_is_withdrawn(start_hub: StartHub) -> None:
    person, reports = Person(), Reports()
    person.free.clear()
    bench = await start_hub(SERVER, asking=Asking(person))
    call = asyncio.create_task(bench.call("form", reports))
    await person.news.wait()
    person.news.clear()
    await bench.hub.connection("asking").reconnect()
    await person.news.wait()
    assert person.withdrawn == 1
    assert (await call).outcome is Outcome.FAILED
    assert (reports.holds, reports.answers) == (0, ["withdrawn"])


async def test_a_server_that_asks_the_model_for_no_call_is_refused(start_hub: StartHub) -> None:
    person, model = Person(), OneAnswer()
    bench = await start_hub(SERVER, asking=Asking(person, ProviderSampler(lambda: model)))
    assert (await bench.call("ask_later")).content == "asked with the next subscription"
    await bench.hub.connection("asking").catalogue.subscribe("note://1/0")
    await bench.until_logged("only for a tool call", "asking")
    assert (person.asked, model.requests) == ([], [])


async def test_the_question_of_a_call_that_is_cancelled_is_withdrawn(start_hub: StartHub) -> None:
    person = Person()
    person.free.clear()
    bench = await start_hub(SERVER, asking=Asking(person))
    call = asyncio.create_task(bench.call("form"))
    await person.news.wait()
    person.news.clear()
    call.cancel()
    await person.news.wait()
    assert person.withdrawn == 1
    person.free.set()
    person.answer = ElicitationAnswer("decline")
    assert await said(bench, "form") == {"action": "decline"}


async def test_a_question_that_may_be_of_several_calls_is_withdrawn_with_the_last_of_them(start_hub: StartHub) -> None:
    person, reports = Person(), Reports()
    person.free.clear()
    bench = await start_hub(SERVER, asking=Asking(person))
    calls = [asyncio.create_task(bench.call(tool, reports)) for tool in ("form", "form")]
    async with asyncio.timeout(PATIENCE):
        while len(person.asked) < 2:
            await person.news.wait()
            person.news.clear()
    calls[0].cancel()
    await asyncio.wait([calls[0]])
    assert person.withdrawn == 0
    calls[1].cancel()
    async with asyncio.timeout(PATIENCE):
        while person.withdrawn < 2:
            await person.news.wait()
            person.news.clear()


async def test_a_page_is_opened_only_after_a_yes(start_hub: StartHub) -> None:
    person, browser = Person(), Browser()
    bench = await start_hub(SERVER, asking=Asking(person, open_url=browser))
    assert await said(bench, "page") == {"action": "accept"}
    assert browser.opened == ["https://example.com/pay?to=us"]
    question = person.asked[0]
    assert isinstance(question, Elicitation)
    assert (question.mode, question.url) == ("url", "https://example.com/pay?to=us")
    person.answer = ElicitationAnswer("decline")
    assert await said(bench, "page") == {"action": "decline"}
    assert len(browser.opened) == 1


async def test_only_web_pages_can_be_asked_for(start_hub: StartHub) -> None:
    person, browser = Person(), Browser()
    bench = await start_hub(SERVER, asking=Asking(person, open_url=browser))
    odd = ("file:///etc/passwd", "javascript:alert(1)", "vscode://run", "http://[::1", "https://good.example\\@bad")
    for url in odd:
        assert await said(bench, "page", url=url) == {"action": "cancel"}, url
        assert (person.asked, browser.opened) == ([], []), url
        with pytest.raises(ValueError, match="no web page"):
            await open_in_browser(url)


async def test_a_page_that_cannot_be_opened_is_a_cancel(start_hub: StartHub) -> None:
    bench = await start_hub(SERVER, asking=Asking(Person(), open_url=Browser(broken=True)))
    assert await said(bench, "page") == {"action": "cancel"}


async def test_a_call_that_needs_a_page_first_runs_once_the_user_was_there(start_hub: StartHub) -> None:
    person, browser = Person(), Browser()
    bench = await start_hub(SERVER, asking=Asking(person, open_url=browser))
    result = await bench.call("needs_page")
    assert result.content == "connected"
    assert browser.opened == ["https://example.com/connect"]


async def test_a_call_whose_page_was_declined_fails_in_the_servers_words(start_hub: StartHub) -> None:
    bench = await start_hub(SERVER)
    result = await bench.call("needs_page")
    assert (result.outcome, result.error) == (
        Outcome.FAILED,
        "A page is needed: open https://example.com/connect, then call again.",
    )


async def test_a_server_asks_the_current_model_once_it_was_allowed(start_hub: StartHub) -> None:
    person, model = Person(), OneAnswer()
    bench = await start_hub(SERVER, asking=Asking(person, ProviderSampler(lambda: model)))
    reports = Reports()
    assert await said(bench, "ask_model", reports) == {
        "role": "assistant",
        "content": {"type": "text", "text": "Paris"},
        "model": "one-answer",
        "stopReason": "endTurn",
    }
    (asked,) = person.asked
    assert isinstance(asked, SamplingRequest)
    assert (asked.server, asked.call_id, asked.sampling.max_tokens, asked.system) == (
        "asking",
        "call1",
        50,
        "Be brief.",
    )
    (request,) = model.requests
    assert [message.content for message in request.messages] == ["Capital of France?\n\n[image]"]
    assert (request.system, request.sampling.max_tokens, request.tools) == ("Be brief.", 50, ())
    assert [(usage.input_tokens, usage.cost) for usage in reports.usage] == [(12, 0.5)]


async def test_sampling_that_is_refused_costs_nothing(start_hub: StartHub) -> None:
    model = OneAnswer()
    bench = await start_hub(SERVER, asking=Asking(Person(allows=False), ProviderSampler(lambda: model)))
    reports = Reports()
    assert (await said(bench, "ask_model", reports))["message"] == "User rejected sampling request"
    assert (model.requests, reports.usage) == ([], [])


async def test_a_model_that_fails_is_told_to_the_server(start_hub: StartHub) -> None:
    model = OneAnswer(broken=True)
    bench = await start_hub(SERVER, asking=Asking(Person(), ProviderSampler(lambda: model)))
    assert "no such model" in (await said(bench, "ask_model"))["message"]
    model.broken, model.chunks = False, (TextChunk("Par"),)
    assert "cut off" in (await said(bench, "ask_model"))["message"]
    model.chunks = (TextChunk("Par"), FinishChunk("length"))
    assert (await said(bench, "ask_model"))["stopReason"] == "maxTokens"


async def test_sampling_with_tools_of_the_servers_own_is_refused(start_hub: StartHub) -> None:
    bench = await start_hub(SERVER, asking=Asking(Person(), ProviderSampler(OneAnswer)))
    tools = [{"name": "rm", "inputSchema": {"type": "object"}}]
    assert "not supported" in (await said(bench, "ask_model", tools=tools))["message"]


async def test_the_working_folder_is_the_servers_root(start_hub: StartHub, tmp_path: Path) -> None:
    bench = await start_hub(SERVER, asking=Asking(roots=(tmp_path / "a b",)))
    assert await said(bench, "where") == {"roots": [{"uri": f"{tmp_path.as_uri()}/a%20b", "name": "a b"}]}


async def test_the_client_says_what_it_can_do(start_hub: StartHub) -> None:
    bench = await start_hub(SERVER)
    capabilities = json.loads((await said(bench, "seen"))[0])
    assert capabilities == {"elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}, "sampling": {}}


async def test_a_secret_that_was_typed_comes_back_hidden_and_no_other_value(start_hub: StartHub) -> None:
    fields = {
        "user": {"type": "string"},
        "issue_key": {"type": "string"},
        "api_key": {"type": "string"},
        "code": {"type": "string", "title": "Your passphrase"},
        "kind": {"type": "string", "enum": ["token-based", "password-based"], "title": "Secret kind"},
    }
    typed = {"user": "someone-else", "issue_key": "PROJ-1234", "api_key": "typed-canary", "code": "another-canary"}
    typed["kind"] = "token-based"
    person = Person(ElicitationAnswer("accept", typed))
    bench = await start_hub(SERVER, asking=Asking(person))
    answer = await said(bench, "form", requestedSchema={"type": "object", "properties": fields})
    assert answer["content"] == typed | {"api_key": "(hidden)", "code": "(hidden)"}
    kept = [bytes(message.raw) for message in bench.hub.traffic("asking").after(0)]
    assert sum(b"typed-canary" in raw for raw in kept) == 1, "as it was sent, and not in what came back"
