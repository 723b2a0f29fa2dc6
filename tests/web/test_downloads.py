"""Files that are on their way to the browser."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from console_app.config.machine import BrowserPage
from console_app.web.server import DOWNLOAD_LASTS, MOST_DOWNLOADS, Downloads


def test_an_address_works_once_and_for_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a")
    downloads = Downloads()
    key = downloads.offer(file, 0.0)
    assert downloads.take("x", 1.0) is None
    assert downloads.take(key, 1.0) == file
    assert downloads.take(key, 1.0) is None
    assert downloads.take(downloads.offer(file, 0.0), DOWNLOAD_LASTS + 1) is None
    kept = downloads.offer(file, 100.0)
    file.unlink()
    assert downloads.take(kept, 101.0) is None


def test_no_folder_is_handed_out_and_only_so_many_wait(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a")
    downloads = Downloads()
    assert downloads.take(downloads.offer(tmp_path, 0.0), 1.0) is None
    keys = [downloads.offer(file, 0.0) for _ in range(MOST_DOWNLOADS + 1)]
    assert [downloads.take(key, 1.0) is not None for key in keys] == [False] + [True] * MOST_DOWNLOADS


def test_what_the_console_asks_of_its_page_is_a_line_and_never_waits() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        page = BrowserPage(theirs)
        page.open_url("https://example.org/?a=\n")
        page.save_file("/tmp/é.txt")
        lines = ours.recv(4096).splitlines()
        assert [json.loads(line) for line in lines] == [{"open": "https://example.org/?a=\n"}, {"file": "/tmp/é.txt"}]
        with pytest.raises(OSError, match=r".*"):
            fill(page)


def fill(page: BrowserPage) -> None:
    """Sends more than any socket holds."""
    for _ in range(100_000):
        page.open_url("https://example.org/" + "a" * 1000)
