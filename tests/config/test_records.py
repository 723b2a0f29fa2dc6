"""Fanout's own records are whole, or set aside."""

from __future__ import annotations

import stat
from pathlib import Path

from console_app.config.files.disk import read_record, texts, write_record
from tests.each import each


def test_what_is_written_is_read_again_and_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kept.json"
    write_record(path, {"é": "1", "n": [1]})
    assert read_record(path) == {"é": "1", "n": [1]}
    assert texts(read_record(path)) == {"é": "1"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_record(tmp_path / "none.json") == {}


@each("damaged", [b"", b"{", b"[]", b'{"a": "\xff"}', b"[" * 100_000])
def test_a_damaged_record_is_set_aside_and_not_overwritten(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(damaged)
    assert read_record(path) == {}
    write_record(path, {"new": "1"})
    assert path.with_name("kept.json.damaged").read_bytes() == damaged
    assert read_record(path) == {"new": "1"}
