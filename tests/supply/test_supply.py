"""Every dependency of the wheel has a reason, and the bill of materials tells all of them."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.each import each
from tests.supply.audit import ending
from tests.supply.lock import LOCK, OURS, ROOT, names, of_the_wheel
from tests.supply.sbom import document


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_no_dependency_without_a_reason() -> None:
    """It stands behind it, on its line of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    asked = list(project()["project"]["dependencies"])
    for group in (*project()["dependency-groups"].values(), *project()["project"]["optional-dependencies"].values()):
        asked += [one for one in group if isinstance(one, str) and names([one]) != [OURS]]  # `all` names the others
    for one in asked:
        assert re.search(rf'"{re.escape(one)}"\]?,?  # \S+ \S', text), one


def test_the_bill_has_what_the_wheel_needs_and_no_more(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"bytes")
    pins = of_the_wheel()
    bill = document(pins, wheel)
    listed = {one["name"] for one in bill["components"]}
    assert set(names(project()["project"]["dependencies"])) <= listed
    assert not {"hatchling", "editables", "pytest", OURS} & listed
    refs = {one["bom-ref"] for one in (*bill["components"], bill["metadata"]["component"])}
    assert {one["ref"] for one in bill["dependencies"]} == refs
    assert all(set(one["dependsOn"]) <= refs for one in bill["dependencies"])
    reached = {ref for one in bill["dependencies"] for ref in one["dependsOn"]}
    assert reached == refs - {bill["metadata"]["component"]["bom-ref"]}, "nothing is there that nothing needs"
    assert bill["metadata"]["component"]["hashes"][0]["alg"] == "SHA-256"
    assert document(pins, wheel) == bill


def test_every_pinned_package_is_in_the_bill_or_only_builds_the_wheel() -> None:
    pinned = re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {(pin.name, pin.version) for pin in of_the_wheel()}
    assert listed <= set(pinned)
    building = {"hatchling", "editables"}
    for name in ("hatchling", "editables"):
        building |= set(names(metadata.requires(name) or []))
    assert {name for name, _ in set(pinned) - listed} <= building


def test_the_bill_is_cyclonedx_as_its_schema_has_it(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"bytes")
    bill = json.loads(json.dumps(document(of_the_wheel(), wheel)))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", bill["serialNumber"])
    components = [bill["metadata"]["component"], *bill["components"]]
    assert len({one["bom-ref"] for one in components}) == len(components)
    for one in components:
        assert one["type"] in {"application", "library"}
        assert one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        for licence in one.get("licenses", ()):
            assert licence.get("expression") or licence["license"]["name"]
        assert len(one.get("licenses", ())) == 1 or not any("expression" in said for said in one.get("licenses", ()))


def test_the_licence_of_all_that_always_goes_along_is_known_and_not_of_the_gpl_family(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"bytes")
    bill = document(of_the_wheel(), wheel)
    for one in bill["components"]:
        assert one.get("licenses") or one["scope"] == "optional", one["name"]
        said = str(one.get("licenses", "")).replace("LGPL", "GPL").replace("AGPL", "GPL")
        assert "GPL" not in said, one


@each(
    ("code", "said", "ends", "says"),
    [
        (0, "No known vulnerabilities found", 0, "No known vulnerability"),
        (
            0,
            "No known vulnerabilities found\nName Skip Reason\nidna Dependency could not be audited: idna",
            0,
            "nothing was checked of them: 1 ",
        ),
        (1, "Found 2 known vulnerabilities in 1 package\nidna 3.6 …", 1, "has a known vulnerability"),
        (1, "requests.exceptions.ConnectionError: HTTPSConnectionPool", 0, "nothing was checked"),
        (1, "ERROR: No matching distribution found for pip-audit<3", 0, "nothing was checked"),
        (2, "Traceback: a fault of its own", 1, "pip-audit failed"),
    ],
)
def test_how_an_audit_ends(code: int, said: str, ends: int, says: str) -> None:
    found, line = ending(code, said)
    assert found == ends
    assert says in line
