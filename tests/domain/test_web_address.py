"""Where an address leads: the host in its place, warnings for what deceives, and nothing that reads in two ways."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from console_app.domain.web_address import WebAddress, is_web_page, read_address
from tests.each import each


@each(
    ("url", "host"),
    [
        ("https://example.com/pay?to=us#now", "example.com"),
        ("https://example.com:8443/a@b", "example.com"),
        ("HTTPS://Example.COM", "Example.COM"),
        ("https://bank.com@evil.example/login", "evil.example"),
        ("http://127.0.0.1:4000/x", "127.0.0.1"),
        ("http://[::1]:80/", "[::1]"),
        ("https://user:8080@host.example", "host.example"),
    ],
)
def test_the_host_is_found_and_nothing_is_left_out(url: str, host: str) -> None:
    address = read_address(url)
    assert address is not None
    assert address.host == host
    assert address.before + address.host + address.after == url


@each(
    "url",
    [
        *("", "example.com", "//example.com", "https:", "https://", "https:///path", "https:example.com"),
        *("file:///etc/passwd", "javascript:alert(1)", "vscode://run", "data:text/html,x", "-https://example.com"),
        *("https://good.example\\@evil.example", "https://good.example /", "https://exa\u200bmple.com", "http://[::1"),
        *("https://ex%61mple.com", "https://example.com:99999/", "https://a\nb.com", "https://example.com/\u202egnp"),
        *("https://example.com:port", "https://exa<b>mple.com"),
    ],
)
def test_what_can_be_read_in_two_ways_is_no_web_page(url: str) -> None:
    assert not is_web_page(url)
    assert read_address(url) is None


@each(
    ("url", "words"),
    [
        ("https://bank.com@evil.example/", "before the @ says nothing: the page is on evil.example"),
        ("https://b\u0430nk.example/", "may only look familiar: xn--"),
        ("https://xn--bnk-6cd.example/", "may only look familiar"),
        ("http://example.com", "not encrypted"),
        ("http://localhost:3000/", "served by this machine"),
        ("https://203.0.113.7/", "a bare number"),
    ],
)
def test_what_deceives_is_said(url: str, words: str) -> None:
    address = read_address(url)
    assert address is not None
    assert words in " ".join(address.warnings)


def test_an_ordinary_page_gives_no_warning() -> None:
    assert read_address("https://example.com/a?b=c") == WebAddress("https://", "example.com", "/a?b=c")


@given(st.text(alphabet=st.sampled_from("htps:/@[]\\. a1%\u0430\u200b-?#xn"), max_size=30).map("https://".__add__))
@example("https://@")
@example("https://[")
def test_any_text_is_taken_apart_whole_or_refused(url: str) -> None:
    address = read_address(url)
    assert (address is not None) == is_web_page(url)
    if address is not None:
        assert address.before + address.host + address.after == url
        assert address.host
