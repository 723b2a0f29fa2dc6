"""Base URLs: the forms that are taken and what is said of the others."""

from __future__ import annotations

import re

import pytest

from console_app.config.settings import check_base_url
from console_app.domain.web_address import is_loopback
from tests.each import each


@each("url", ["http://localhost:8000/v1", "https://models.example", "http://[::1]:80/v1"])
def test_a_base_url_is_kept_as_it_is(url: str) -> None:
    assert check_base_url(url) == url
    assert check_base_url(url + "/") == url


@each(
    ("url", "says"),
    [
        ("localhost:8000", "is no URL"),
        ("htp:/x", "is no URL"),
        ("http://", "is no URL"),
        ("http://h:99999/", "is no URL"),
        ("http://h:/v1", "is no URL"),
        ("http://[::1]:", "is no URL"),
        ("http://h/v1 ", "has a space"),
        ("http://h/\x1b[31m", "has a space or another character"),
        ("http://h/v1?key=1", "may not have a query"),
        ("http://h/v1/chat/completions", "is one endpoint of the API, not its base: write http://h/v1"),
        ("http://h/v1/responses/", "is one endpoint of the API, not its base: write http://h/v1"),
        ("http://h/v1/models", "is one endpoint of the API, not its base: write http://h/v1"),
        ("http://h/v1/messages", "is one endpoint of the API, not its base: write http://h"),
    ],
)
def test_another_is_refused_with_the_reason(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        check_base_url(url)


def test_this_machine_is_known_by_any_of_its_names() -> None:
    assert is_loopback("http://127.0.0.2:80")
    assert is_loopback("http://localhost")
    assert is_loopback("http://[::1]/v1")
    assert not is_loopback("http://127.example.com")
