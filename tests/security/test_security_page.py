"""The numbers and names of docs/security.md are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

from console_app.config.machine.log_setup import MOST_REPORTS
from console_app.config.secrets.child_environment import for_consoles
from console_app.config.secrets.secret_sources import SHORTEST
from console_app.config.settings.layers import _HARMLESS  # pyright: ignore[reportPrivateUsage]
from console_app.servers.parts.web_pages import LARGEST_PAGE, PAGE_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs" / "security.md").read_text(encoding="utf-8").split())
NUMBERS = {6: "six", 10: "ten"}


def test_its_numbers_are_those_of_the_program() -> None:
    for sentence in (
        f"A page has {PAGE_SECONDS:g} seconds and {LARGEST_PAGE // 10**6} MB, unpacked",
        f"values under {NUMBERS[SHORTEST]} characters",
        f"the newest {NUMBERS[MOST_REPORTS]} are kept",
    ):
        assert sentence in PAGE


def test_it_names_every_setting_that_a_project_may_tighten_at_once() -> None:
    paragraph = PAGE.partition("**A project's `.fanout/config.toml`** counts at once")[2].partition("All else waits")[0]
    named = {name.partition(" ")[0] for name in re.findall(r"`([^`]+)`", paragraph)}
    assert named - {"plan"} == {*_HARMLESS, "rules.ask", "rules.deny"}


def test_every_test_that_it_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE)) | {
        f"tests/security/{name}" for name in re.findall(r"`(test_\w+\.py)`", PAGE)
    }
    assert len(named) > 30
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_a_console_in_a_browser_gets_no_secret_but_what_is_named() -> None:
    given = {"PATH": "/bin", "OPENAI_API_KEY": "canary", "GITHUB_TOKEN": "canary", "HTTPS_PROXY": "http://u:canary@h:1"}
    given |= {"EDITOR": "vim", "FANOUT_MODEL": "a/b", "MY_TOKEN": "meant", "SSH_AUTH_SOCK": "/run/agent"}
    found = for_consoles(given, ["MY_TOKEN", "NOT_THERE"])
    assert "canary" not in str(found)
    assert {"PATH", "EDITOR", "FANOUT_MODEL", "MY_TOKEN"} <= set(found)
    assert "SSH_AUTH_SOCK" not in found
