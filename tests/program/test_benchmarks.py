"""The benchmarks run: their figures are for people to compare, but a renamed part must not break them unseen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench_conversation import SCENES, main

ROOT = Path(__file__).parents[2]
MODULES = ["benchmarks", "benchmarks.soak", *(f"benchmarks.{p.stem}" for p in (ROOT / "benchmarks").glob("bench_*.py"))]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_benchmark_that_is_asked_for_help_prints_it_and_measures_nothing(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", module, "--help"]
    env = {"PYTHONPATH": str(ROOT), "FANOUT_HOME": str(tmp_path), "PATH": "", "COLUMNS": "80"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")


async def test_a_scene_of_the_conversation_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    name = "2,000 lines of code"
    assert name in SCENES
    await main([name])
    assert capsys.readouterr().out.splitlines()[-1].startswith(name)
