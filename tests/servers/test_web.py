"""The web server: one public page as text, from the host that was asked for."""

from __future__ import annotations

from console_app.console.permissions import helpful_rules
from console_app.domain.tools import Outcome, Risk
from console_app.engine import ApprovalGate
from tests.each import each
from tests.servers.conftest import Serve
from tests.servers.web_stand_in import HTML, web_stand_in


async def test_a_page_is_read_from_its_host_alone(serve: Serve) -> None:
    async with web_stand_in(lambda query: None) as web:
        web.pages["/page"] = (200, HTML, b"<h1>One</h1><p>" + b"word " * 100_000)
        web.pages["/moved"] = (302, HTML, b"/page")
        web.pages["/away"] = (302, HTML, b"http://elsewhere.example/page")
        bench = await serve("web", FANOUT_SEARCH_PRIVATE="1")
        for path in ("page", "moved"):
            text = (await bench.call("fetch", url=f"{web.url}/{path}")).content
            assert text.startswith("One\nword")
            assert len(text) == 30_001
        away = await bench.call("fetch", url=f"{web.url}/away")
        assert away.outcome is Outcome.FAILED
        assert "leads to another host: fetch http://elsewhere.example/page" in away.content


@each(
    "url",
    ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/", "file:///etc/passwd", "x"],
)
async def test_no_private_address_is_reached(serve: Serve, url: str) -> None:
    bench = await serve("web")
    result = await bench.call("fetch", url=url)
    assert result.outcome is Outcome.FAILED
    assert "The page can't be read: " in result.content


async def test_a_new_host_asks_and_a_rule_is_offered_for_it(serve: Serve) -> None:
    bench = await serve("web")
    spec, arguments = bench.spec("fetch"), {"url": "https://docs.example/a/b?c"}
    assert Risk.of(spec, arguments).word == "network"
    rule = helpful_rules(ApprovalGate(), spec, arguments)[0]
    assert rule == f"{spec.server}.fetch(url=https://docs.example/*)"
