"""A dialect as a row of a table: how its calls begin and end, which grammar reads what is between, who writes it."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import BracketBody, NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.form import Form

JSON = JsonBody()
SEP = r"<\|sep\|>"
CALL = '{"name": "$name", "arguments": $arguments}'
PARAMETERS = '{"name": "$name", "parameters": $arguments}'
Body: TypeAlias = JsonBody | NamedBody | TagBody | PythonBody | BracketBody


@dataclass(frozen=True)
class Dialect:
    """One way to write calls.

    `opens` are tokens before the body, `begins` tokens with which the body itself begins, `closes` those after it,
    `sections` those before and after a run of such calls. A row without `opens` and `begins` has no marker of its
    own: the scanner knows its calls by the tools' names and by shape. `weak` tokens are common in ordinary text,
    where they are no mistake. `marked`: nobody writes how its calls open by accident (special tokens, tags that are
    reserved for calls).
    `form` writes calls in the dialect, for prompts, examples and histories. `limits` says what it can't carry without
    loss.
    """

    name: str
    models: str
    body: Body
    opens: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    weak: bool = False
    form: Form | None = None
    limits: str = ""
    marked: bool = field(kw_only=True)

    def akin(self, other: "Dialect") -> bool:
        """Whether both are read by one grammar, whatever white space at the ends of values means in each."""
        mine, theirs = self.body, other.body
        if mine is not theirs and isinstance(mine, TagBody) and isinstance(theirs, TagBody):
            return replace(mine, exact=theirs.exact) == theirs
        return mine is theirs

    @property
    def sealed(self) -> bool:
        """Whether a special token ends its calls, behind which a template writes text without a blank."""
        return not isinstance(self.body, TagBody) and bool(self.closes) and not self.closes[0].startswith("</")
