"""Tokens of servers: in the keyring where one answers, else in a file that only the user can read."""

from __future__ import annotations

import json
import stat
import sys
import types
from pathlib import Path

import pytest

from console_app.config.secrets import FileCredentials, UserCredentials
from console_app.domain.errors import ConfigError
from tests.each import each


def test_a_secret_is_kept_in_a_file_only_the_user_can_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "credentials.json"
    FileCredentials(path).write("a", "secret")
    FileCredentials(path).write("b", "other")
    assert FileCredentials(path).read("a") == "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    FileCredentials(path).delete("a")
    FileCredentials(path).delete("a")
    assert (FileCredentials(path).read("a"), FileCredentials(path).read("b")) == (None, "other")


@each("text", ["", "no json", "[1]", '{"a": 1}', "\xff"])
def test_a_broken_file_holds_nothing_and_can_be_written_again(tmp_path: Path, text: str) -> None:
    path = tmp_path / "credentials.json"
    path.write_bytes(text.encode("latin-1"))
    kept = FileCredentials(path)
    assert kept.read("a") is None
    kept.write("a", "secret")
    assert kept.read("a") == "secret"


class Keyring(types.ModuleType):
    """A keyring of memory, in place of the package."""

    def __init__(self, priority: float = 5) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False
        self._priority = priority

    def get_keyring(self) -> types.SimpleNamespace:
        return types.SimpleNamespace(priority=self._priority, name="memory")

    def get_password(self, service: str, key: str) -> str | None:
        self._check()
        return self.kept.get((service, key))

    def set_password(self, service: str, key: str, text: str) -> None:
        self._check()
        self.kept[service, key] = text

    def delete_password(self, service: str, key: str) -> None:
        self._check()
        del self.kept[service, key]

    def _check(self) -> None:
        if self.locked:
            raise RuntimeError("locked")


def test_a_keyring_is_used_where_one_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    kept = UserCredentials(tmp_path / "credentials.json")
    kept.write("a", "secret")
    assert (kept.read("a"), kept.place) == ("secret", "the keyring (memory)")
    assert keyring.kept == {("fanout", "a"): "secret"}
    assert json.loads((tmp_path / "credentials.json").read_text()) == {"a": ""}, "the name alone: a keyring has no list"
    assert list(UserCredentials(tmp_path / "credentials.json").all()) == ["secret"]
    kept.delete("a")
    kept.delete("a")
    assert list(kept.all()) == []
    assert kept.read("a") is None
    keyring.locked = True
    assert kept.read("a") is None
    with pytest.raises(ConfigError, match="refused to keep a secret"):
        kept.write("a", "secret")


@pytest.mark.parametrize("keyring", [None, Keyring(priority=0)])
def test_without_a_keyring_of_use_it_is_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyring: Keyring | None
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    kept = UserCredentials(tmp_path / "credentials.json")
    kept.write("a", "secret")
    assert kept.place == str(tmp_path / "credentials.json")
    assert kept.read("a") == "secret"
    assert list(kept.all()) == ["secret"]


def test_no_keyring_is_woken_where_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = Keyring()
    keyring.locked = True
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setattr(keyring, "get_keyring", lambda: pytest.fail("it was woken"))
    assert list(UserCredentials(tmp_path / "credentials.json").all()) == []
