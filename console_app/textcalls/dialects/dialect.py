"""A dialect as a row of a table: which grammar reads its calls, how they begin and end, who writes it."""

from dataclasses import dataclass
from typing import TypeAlias

from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import BracketBody, NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.coats import PLAIN_OPENS
from console_app.textcalls.dialects.form import Form

CALL = '{"name": "$name", "arguments": $arguments}'
PARAMETERS = '{"name": "$name", "parameters": $arguments}'
Body: TypeAlias = JsonBody | NamedBody | TagBody | PythonBody | BracketBody


@dataclass(frozen=True)
class Dialect:
    """One way to write calls: a row stands for all families whose calls have the same body.

    `coated`: a marker in any coat stands before the body, or the body begins with a tag in any coat. `opens` are tokens
    before the body that are no such marker, `begins` those with which the body itself begins, `closes` patterns of what
    ends it beside a closing marker. A row with none of them has no marker: the scanner knows its calls by the tools'
    names and by shape. `form` writes calls, for prompts, examples and histories.
    """

    name: str
    models: str
    body: Body
    form: Form
    coated: bool = False
    opens: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    closes: str = ""

    @property
    def marked(self) -> bool:
        """Tell whether nobody writes by accident how its calls open."""
        return self.coated or bool(self.opens or self.begins)


@dataclass(frozen=True)
class Family:
    """A family of models, whose calls `row` reads and `form` writes."""

    name: str
    row: Dialect
    models: str
    form: Form

    @property
    def marked(self) -> bool:
        """Tell whether nobody writes by accident how the calls of the family open."""
        opening = self.form.around.replace("$calls", self.form.call).strip()
        return self.row.marked and not opening.startswith((*PLAIN_OPENS, "<function name"))
