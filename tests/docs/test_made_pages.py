"""Pages that are made from the code are what the code says now, and nothing in them is left unsaid."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
from pydantic import BaseModel

from console_app.command_line.json_outputs import OUTPUTS
from console_app.config.settings import MEANINGS, AgentSettings, ModelSettings, ProviderSettings, Settings
from tests.docs.made import FOLDER
from tests.each import each


def test_the_pages_in_the_repository_are_up_to_date() -> None:
    """In a process of its own, as `make docs` makes them: `typing` keeps one `Literal` of those with the same values,
    so the order of ours depends on which libraries were imported before."""
    write = "import json; from tests.docs.made import pages; print(json.dumps(pages()))"
    made = subprocess.run([sys.executable, "-c", write], stdout=subprocess.PIPE, cwd=FOLDER.parent, check=True)
    for name, text in json.loads(made.stdout).items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"docs/{name}: run make docs"


def test_the_schema_files_are_schemas_under_their_own_name_and_version() -> None:
    files = sorted((FOLDER / "schemas").iterdir())
    assert len(files) >= len(OUTPUTS)
    for file in files:
        kept = json.loads(file.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(kept)
        assert kept["$id"] == f"urn:fanout:output:{file.stem.replace('-', ':')}"


@each("model", [Settings, ProviderSettings, ModelSettings, AgentSettings])
def test_every_setting_says_what_it_means(model: type[BaseModel]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description and name not in MEANINGS] == []
