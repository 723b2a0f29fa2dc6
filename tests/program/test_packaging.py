"""The wheel is the whole program: installed elsewhere it runs, with its themes and its servers."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from console_app.command_line import SCRIPTS
from hatch_build import COMPLETIONS
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
QUESTION = "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has the wheel, and of this one only the dependencies."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True, timeout=PATIENCE)
    # A path file is not read for the path files inside what it names, so the checkout itself stays out of sight.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_the_wheel_carries_themes_and_servers_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "console_app/_bundled/mcp.json" in names
    assert sum(name.startswith("console_app/_bundled/themes/") for name in names) >= 8
    assert any(name.endswith(".tcss") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_the_wheel_brings_manual_pages_and_completion_to_where_a_system_looks(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shared = {name.partition(".data/data/")[2]: name for name in archive.namelist() if ".data/data/" in name}
        assert {"share/man/man1/fanout.1", "share/man/man1/fanout-mcp.1"} <= set(shared)
        for shell, target in COMPLETIONS.items():
            assert archive.read(shared[target]).decode() == SCRIPTS[shell]
    assert [one for one in ROOT.glob("build/*") if one.name != "site"] == []  # the docs are made there


@pytest.mark.timeout(180)
def test_the_wheel_does_the_main_job_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FANOUT_HOME": str(tmp_path / "fanout"), "LANG": "C.UTF-8"}
    command = [str(installed / "python"), "-m", "console_app", "run", "--output-format", "json", QUESTION]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)["calls"]
    assert [call["content"] for call in calls] == ["3.1415929203539825", "1.4142135623730951", "23.140692632779263"]
    where = [str(installed / "python"), "-c", "import console_app; print(console_app.__file__)"]
    shown = subprocess.run(where, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert str(ROOT) not in shown
