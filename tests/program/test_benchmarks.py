"""The benchmarks run: their figures are for people to compare, but a renamed part must not break them unseen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench_conversation import SCENES, main

ROOT = Path(__file__).parents[2]
MODULES = ["benchmarks", "benchmarks.soak", *(f"benchmarks.{p.stem}" for p in (ROOT / "benchmarks").glob("bench_*.py"))]


# One program for all of them: what each imports is loaded once.
ASK = """
import contextlib, io, runpy, sys
for module in sys.argv[1:]:
    sys.argv = [module, "--help"]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        print(module, ended.code, said.getvalue().partition(" ")[0])
"""


def test_a_benchmark_that_is_asked_for_help_prints_it_and_measures_nothing(tmp_path: Path) -> None:
    modules = sorted(MODULES)
    env = {"PYTHONPATH": str(ROOT), "FANOUT_HOME": str(tmp_path), "PATH": "", "COLUMNS": "80"}
    command = [sys.executable, "-W", "ignore::RuntimeWarning:runpy", "-c", ASK, *modules]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{module} 0 usage:" for module in modules]


async def test_a_scene_of_the_conversation_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    name = "2,000 lines of code"
    assert name in SCENES
    await main([name])
    assert capsys.readouterr().out.splitlines()[-1].startswith(name)
