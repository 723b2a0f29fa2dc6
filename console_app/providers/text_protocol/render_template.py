"""Renders a chat template of an endpoint, in a process of its own that ends after seconds and has little memory.

A template is a program that somebody else wrote. Standard input is `{"template", "conversations"}` as JSON, standard
output the list of their texts, null for one that the template refuses. Only jinja2 is imported.
"""

import json
import resource
import sys
from typing import Any

SECONDS = 2
MEMORY = 512 * 2**20
LARGEST = 200_000  # characters of one text


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from jinja2 import TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    def refuse(message: str = "") -> None:
        raise TemplateError(message)

    def as_json(value: object, indent: int | None = None, **_: object) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    asked = json.load(sys.stdin)
    environment = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = as_json

    def today(_form: str) -> str:
        return "1 Jan 2026"

    functions: dict[str, Any] = {"raise_exception": refuse, "strftime_now": today}
    environment.globals.update(functions)
    texts: list[str | None] = []
    for messages in asked["conversations"]:
        try:
            template = environment.from_string(asked["template"])
            text = template.render(messages=messages, add_generation_prompt=False, bos_token="", eos_token="")
            texts.append(text[:LARGEST])
        except Exception:  # whatever the template does wrong
            texts.append(None)
    json.dump(texts, sys.stdout)


if __name__ == "__main__":
    main()
