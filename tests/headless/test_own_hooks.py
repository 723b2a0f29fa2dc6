"""Hooks of the user's own settings: asked in every folder, and never taken away by a project's settings."""

from __future__ import annotations

from tests.headless.inside import Inside

HOOKS = """
[[hooks.PreToolUse]]
matcher = "mcp__calculator__.*"
hooks = [{ type = "command", command = "echo no sums >&2; exit 2" }]
"""
RUN = ("run", "-m", "offline/rehearsal", "Calculate 355/113 and sqrt(2)")


def test_a_hook_of_yours_denies_and_a_project_does_not_take_it_away(fanout: Inside) -> None:
    assert "3.14159" in fanout.run(*RUN).out
    fanout.write("home/config.toml", HOOKS)
    fanout.write(".fanout/config.toml", "[hooks]\nPreToolUse = []\n")
    done = fanout.run(*RUN)
    assert "denied: a hook denied it: no sums" in done.err
    assert "3.14159" not in done.out
    trusted = fanout.run("trust", "--yes")
    assert trusted.code == 2
    assert "a project file can't set hooks" in trusted.err
    done = fanout.run(*RUN)
    assert "denied: a hook denied it: no sums" in done.err
    assert "3.14159" not in done.out


def test_hooks_that_can_not_be_read_end_the_run(fanout: Inside) -> None:
    fanout.write("home/config.toml", HOOKS.replace("PreToolUse", "PreToolUze"))
    done = fanout.run(*RUN)
    assert done.code == 2
    assert "PreToolUze" in done.err
    assert len(done.err.splitlines()) == 1
