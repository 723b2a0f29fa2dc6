"""A dialect as a row of a table: how its calls begin and end, which grammar reads what is between, who writes it."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from console_app.textcalls.bracket_body import BracketBody
from console_app.textcalls.form import Form
from console_app.textcalls.json_body import JsonBody
from console_app.textcalls.named_body import NamedBody
from console_app.textcalls.python_body import PythonBody
from console_app.textcalls.tag_body import TagBody

Body: TypeAlias = JsonBody | NamedBody | TagBody | PythonBody | BracketBody


@dataclass(frozen=True)
class Dialect:
    """One way to write calls.

    `opens` are tokens before the body, `begins` tokens with which the body itself begins, `closes` those after it,
    `sections` those before and after a run of such calls. A row without `opens` and `begins` has no marker of its
    own: the scanner knows its calls by the tools' names and by shape. `weak` tokens are common in ordinary text,
    where they are no mistake. `marked`: nobody writes how its calls open by accident (special tokens, tags that are
    reserved for calls). `opens_reasoning`: its models open their reasoning themselves, or write none. `form` writes
    calls in the dialect, for prompts, examples and histories. `limits` says what it can't carry without loss.
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
    opens_reasoning: bool = False
    marked: bool = field(kw_only=True)

    def akin(self, other: "Dialect") -> bool:
        """Whether both are read by one grammar, whatever white space at the ends of values means in each."""
        mine, theirs = self.body, other.body
        if mine is not theirs and isinstance(mine, TagBody) and isinstance(theirs, TagBody):
            return replace(mine, exact=theirs.exact) == theirs
        return mine is theirs

    @property
    def delimited(self) -> bool:
        """Whether the end of a call is sure when it is read: no value is raw text, which might go on after it."""
        return not isinstance(self.body, TagBody)

    @property
    def final_at_end(self) -> bool:
        """Whether nothing that comes later takes a call back once its end was read.

        Models of the other dialects may end reasoning that they never opened, which then all before it was; there a
        call is final at its end only in an answer whose reasoning is known to be over.
        """
        return self.marked and self.delimited and self.opens_reasoning
