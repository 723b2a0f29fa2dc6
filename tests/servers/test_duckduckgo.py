"""The search server against a stand-in for the web, alone and as three searches of one answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.messages import ToolMessage
from console_app.domain.tools import Outcome
from console_app.engine import ApprovalGate, Engine
from console_app.servers.parts.web_pages import PageError, PageFetcher, plain_text
from tests.each import each
from tests.engine.peers import Model, calls
from tests.mcp_client.conftest import Bench, Reports
from tests.patience import PATIENCE
from tests.servers.conftest import Serve
from tests.servers.web_stand_in import HTML, Page, WebStandIn, results_page, web_stand_in

ARTICLE = b"""<html><head><title>T</title><style>p {}</style></head><body><nav>Menu</nav>
<h1>Nurseries</h1><p>Tasks start &amp; end
together.</p><script>alert(1)</script><ul><li>one</li><li>two</li></ul></body></html>"""


async def test_a_search_gives_the_text_of_the_pages_found(serve: Serve) -> None:
    async with web_stand_in(lambda query: None) as web:
        web.pages["/article"] = (200, HTML, ARTICLE)
        web.pages["/moved"] = (302, HTML, b"/article")
        web.pages["/image"] = (200, "image/png", b"\x89PNG")
        web.pages["/large"] = (200, HTML, b"<p>" + b"word " * 1_000_000)
        web.search = lambda query: results_page(
            ("Article", f"{web.url}/article", "about nurseries"),
            ("Again", f"{web.url}/article", "the same page"),
            ("Moved", f"//duckduckgo.com/l/?uddg={web.url}/moved&rut=1", "gone elsewhere"),
            ("Picture", f"{web.url}/image", "a picture"),
            ("Missing", f"{web.url}/nowhere", "was here"),
            ("Large", f"{web.url}/large", "very long"),
        )
        bench = await serve("duckduckgo", FANOUT_SEARCH_URL=f"{web.url}/html/")
        reports = Reports()
        result = await bench.call("search_and_fetch", reports, query="structured concurrency", max_results=10)
        assert result.structured is not None
        pages = {page["title"]: (page["text"], page["problem"]) for page in result.structured["results"]}
        assert list(pages) == ["Article", "Moved", "Picture", "Missing", "Large"]
        assert pages["Article"] == ("Nurseries\nTasks start & end together.\none\ntwo", "")
        assert pages["Moved"] == pages["Article"]
        assert pages["Picture"] == ("", "not text (image/png)")
        assert pages["Missing"] == ("", "HTTP 404")
        assert len(pages["Large"][0]) == 4001
        assert "4. Missing" in result.content
        assert "was here\n[the page could not be read: HTTP 404]" in result.content
        assert [message for _, _, message in reports.progressed] == [
            "searching for structured concurrency",
            "reading 5 pages",
        ]
        fewer = await bench.call("search_and_fetch", query="structured concurrency", max_results=1)
        assert fewer.structured is not None
        assert len(fewer.structured["results"]) == 1


async def test_a_search_without_results_or_refused_says_so(serve: Serve) -> None:
    answers: dict[str, Page | None] = {"nothing": results_page(), "too often": (202, HTML, b"wait"), "cut": None}
    async with web_stand_in(answers.__getitem__) as web:
        bench = await serve("duckduckgo", FANOUT_SEARCH_URL=web.url)
        result = await bench.call("search_and_fetch", query="nothing")
        assert (result.outcome, result.content) == (Outcome.SUCCEEDED, "Nothing found for “nothing”.")
        result = await bench.call("search_and_fetch", query="too often")
        assert (result.outcome, result.error) == (
            Outcome.FAILED,
            f"The search for “too often” failed at {web.url[7:]}: HTTP 202.",
        )
        assert (await bench.call("search_and_fetch", query="cut")).outcome is Outcome.FAILED
        assert "1 to 500 characters" in (await bench.call("search_and_fetch", query=" ")).content


async def test_without_a_network_the_error_says_so_in_one_line(serve: Serve) -> None:
    bench = await serve("duckduckgo", FANOUT_SEARCH_URL="http://127.0.0.1:9/")
    result = await bench.call("search_and_fetch", query="anything")
    assert result.outcome is Outcome.FAILED
    assert result.error == "The search for “anything” failed at 127.0.0.1:9: connection refused."


@each(
    ("url", "why"),
    [
        ("http://127.0.0.1:9/", "private network"),
        ("http://localhost/", "private network"),
        ("http://[::1]/", "private network"),
        ("http://169.254.169.254/latest/meta-data", "private network"),
        ("http://10.0.0.1/", "private network"),
        ("file:///etc/passwd", "not a web address"),
        ("javascript:alert(1)", "not a web address"),
        ("http://[", "Invalid"),
        ("", "not a web address"),
    ],
)
async def test_a_result_never_leads_into_a_private_network(url: str, why: str) -> None:
    with pytest.raises(PageError, match=f"(?i){why}"):
        await PageFetcher().text(url)


@each(
    ("html", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<script>x</script>y", "y"),
        ("<nav><nav>x</nav>x</nav>y", "y"),
        ("<p>never closed <b>bold", "never closed bold"),
        ("</p></nav>stray", "stray"),
        ("<!-- c --><p>&lt;b&gt;</p>", "<b>"),
        ("", ""),
    ],
)
def test_plain_text_is_what_a_reader_would_see(html: str, text: str) -> None:
    assert plain_text(html) == text


async def _three_searches(bench: Bench, web: WebStandIn, order: list[str]) -> tuple[Engine, list[str], list[str]]:
    """Runs the searches 1, 2 and 3 of one answer; each of `order` is let go on once the one before has finished."""
    model = Model(calls(*({"query": number} for number in "123"), name="duckduckgo_search_and_fetch"))
    engine = Engine(provider=model, toolset=bench.hub, gate=ApprovalGate(ApprovalMode.YOLO))
    queries: dict[str, str] = {}
    finished: list[str] = []
    notices: list[str] = []

    async def first() -> None:
        await asyncio.gather(*(web.asked[number].wait() for number in "123"))  # all three are under way at once
        web.gates[order[0]].set()

    opening = asyncio.create_task(first())
    async with engine.start("search for three things at once") as turn:
        async for event in turn:
            match event:
                case ev.CallReady():
                    queries[event.call_id] = event.arguments["query"]
                case ev.CallFinished():
                    finished.append(queries[event.call_id])
                    if len(finished) < len(order):
                        web.gates[order[len(finished)]].set()
                case ev.Notice():
                    notices.append(event.text)
                case _:
                    pass
    await opening
    return engine, finished, notices


def _tool_messages(engine: Engine) -> list[Any]:
    return [message for message in engine.history if isinstance(message, ToolMessage)]


async def test_three_searches_finish_in_any_order_and_are_read_in_the_order_of_the_calls(serve: Serve) -> None:
    async with web_stand_in(lambda query: None) as web:
        web.pages |= {f"/{number}": (200, HTML, f"<p>page {number}</p>".encode()) for number in "123"}
        web.search = lambda query: results_page((f"Title {query}", f"{web.url}/{query}", ""))
        web.open_gates = False
        bench = await serve("duckduckgo", FANOUT_SEARCH_URL=web.url)
        engine, finished, _ = await _three_searches(bench, web, ["2", "3", "1"])
        assert finished == ["2", "3", "1"]
        contents = [message.content for message in _tool_messages(engine)]
        assert [f"page {number}" in content for number, content in zip("123", contents, strict=True)] == [True] * 3


async def test_a_search_that_fails_leaves_the_other_two(serve: Serve) -> None:
    async with web_stand_in(lambda query: None) as web:
        web.search = lambda query: (
            None if query == "2" else results_page((f"T{query}", f"{web.url}/x", f"about {query}"))
        )
        web.open_gates = False
        bench = await serve("duckduckgo", FANOUT_SEARCH_URL=web.url)
        engine, finished, _ = await _three_searches(bench, web, ["2", "3", "1"])
        assert finished == ["2", "3", "1"]
        messages = _tool_messages(engine)
        assert [message.outcome for message in messages] == [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.SUCCEEDED]
        assert "about 1" in messages[0].content
        assert messages[1].content.startswith("Tool execution failed: The search for “2” failed")


async def test_forty_searches_are_under_way_at_once(serve: Serve) -> None:
    async with web_stand_in(lambda query: results_page()) as web:
        web.open_gates = False
        bench = await serve("duckduckgo", FANOUT_SEARCH_URL=web.url)
        queries = [f"query {number}" for number in range(40)]
        searches = asyncio.gather(*(bench.call("search_and_fetch", query=query) for query in queries))
        await asyncio.wait_for(asyncio.gather(*(web.asked[query].wait() for query in queries)), PATIENCE)
        for query in queries:
            web.gates[query].set()
        assert {result.outcome for result in await searches} == {Outcome.SUCCEEDED}
