"""`make packages`: sdist and wheel on every supported Python of this machine, with the oldest and the newest libraries.

Each environment is a new one in a temporary folder, filled by uv from the package index; the program then does its main
job there, away from the checkout. Each extra is installed alone, and all together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from email import message_from_string
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")
PROMPT = "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi"
RESULTS = ["3.1415929203539825", "1.4142135623730951", "23.140692632779263"]


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Standard output. Ends the check with what the command said when it fails."""
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def uv_in(folder: Path) -> Path:
    """uv, in an environment of its own."""
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv")
    return folder / "bin" / "uv"


def pythons(uv: Path) -> Iterator[tuple[str, str]]:
    """Each supported version that is here, with its program."""
    for version in PYTHONS:
        found = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", version], capture_output=True, text=True, check=False
        )
        kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))  # not on PATH unless chosen
        program = found.stdout.strip() or next(map(str, reversed(kept)), "")
        if program:
            yield version, program
        else:
            print(f"SKIPPED: there is no Python {version} here")


def extras_of(wheel: Path) -> list[str]:
    """The extras of the package: none, each alone, and all together."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        extras: Sequence[str] = message_from_string(archive.read(name).decode()).get_all("Provides-Extra") or []
    return ["", *(f"[{extra}]" for extra in extras), *([f"[{','.join(extras)}]"] if len(extras) > 1 else [])]


def checked(environment: Path, home: Path) -> None:
    """The installed program says what is there, finds what it brought along, and does its main job."""
    env = {
        "PATH": f"{environment / 'bin'}:/usr/bin:/bin",
        "HOME": str(home),
        "FANOUT_HOME": str(home),
        "LANG": "C.UTF-8",
    }
    program = environment / "bin" / "fanout"
    versions = dict(line.split(maxsplit=1) for line in run(program, "--version", "-v", env=env, cwd=home).splitlines())
    print("    " + ", ".join(f"{name} {version}" for name, version in versions.items() if name != "fanout"))
    told = run(program, "run", "--output-format", "json", PROMPT, env=env, cwd=home)
    assert [call["content"] for call in json.loads(told)["calls"]] == RESULTS, told
    run(program, "themes", "--json", env=env, cwd=home)
    for file in ("man/man1/fanout-mcp.1", "bash-completion/completions/fanout", "zsh/site-functions/_fanout"):
        assert (environment / "share" / file).is_file(), f"{file} is not installed"


def main() -> None:
    """Every combination."""
    with tempfile.TemporaryDirectory(prefix="fanout-packages-") as name:
        folder = Path(name)
        sdist, wheel = built(folder / "dist")
        with tarfile.open(sdist) as archive:
            assert any(one.endswith("/hatch_build.py") for one in archive.getnames())
        uv = uv_in(folder / "uv")
        for version, program in pythons(uv):
            for package in (wheel, sdist):
                for resolution in ("lowest-direct", "highest") if package is wheel else ("highest",):
                    for extra in extras_of(wheel) if package is wheel else ("",):
                        environment = folder / f"{version}-{package.suffix[1:]}-{resolution}{extra.replace(',', '-')}"
                        home = environment / "home"
                        run(uv, "venv", "--quiet", "--python", program, environment)
                        home.mkdir()
                        where = {**os.environ, "VIRTUAL_ENV": str(environment)}
                        install = (uv, "pip", "install", "--quiet", "--resolution", resolution)
                        named = [f"--extra={one}" for one in extra.strip("[]").split(",") if one]
                        # From pyproject.toml: behind a wheel they would not be the direct ones.
                        run(*install, *named, "--requirements", ROOT / "pyproject.toml", env=where)
                        run(*install, f"fanout-console{extra} @ {package.as_uri()}", env=where)
                        print(f"Python {version}, {package.name}{extra}, {resolution}", flush=True)
                        checked(environment, home)


if __name__ == "__main__":
    main()
