"""`make sbom`: builds the wheel and writes beside it what it is made of, as CycloneDX 1.6 JSON.

Versions are those of requirements.lock, licences those that the installed packages state. The same wheel gives the same
file: there is no time in it. https://cyclonedx.org/docs/1.6/json/
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.supply.lock import LOCK, OURS, ROOT, Pin, of_the_wheel

DIST = ROOT / "dist"
_LONGEST = 60  # characters: a longer `License` is the text of one


def licences(name: str) -> list[dict[str, Any]]:
    """Return the licences that an installed package names; nothing of one that is not installed here."""
    try:
        said = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    if expression := said.get("License-Expression"):
        return [{"expression": expression}]
    classified = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or [] if one.startswith("License ::")]
    plain = (said.get("License") or "").strip()
    names = [plain] if plain and len(plain) <= _LONGEST and "\n" not in plain else classified
    return [{"license": {"name": one}} for one in names]


def document(pins: list[Pin], wheel: Path) -> dict[str, Any]:
    """The bill of materials of `wheel`."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = _component("application", OURS, metadata.version(OURS))
    own["hashes"] = [{"alg": "SHA-256", "content": digest}]
    refs = {pin.name: _ref(pin.name, pin.version) for pin in pins} | {OURS: own["bom-ref"]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest + LOCK.read_text())}",
        "version": 1,
        "metadata": {"component": own},
        "components": [
            _component("library", pin.name, pin.version) | {"scope": "optional" if pin.only_sometimes else "required"}
            for pin in pins
        ],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(refs[pin.name] for pin in pins if name in pin.parents)}
            for name, ref in refs.items()
        ],
    }


def _ref(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    ref = _ref(name, version)
    return {"type": kind, "bom-ref": ref, "name": name, "version": version, "purl": ref} | (
        {"licenses": found} if (found := licences(name)) else {}
    )


def main() -> int:
    """Writes `dist/WHEEL.cdx.json`."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(DIST), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    wheel = max(DIST.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    target = wheel.with_name(f"{wheel.name}.cdx.json")
    bill = document(of_the_wheel(), wheel)
    target.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {len(bill['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
