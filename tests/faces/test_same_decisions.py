"""Whoever shows a waiting call offers the same decisions about it, and says the same reason."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import Decision
from console_app.domain.ports import Licence
from console_app.domain.tools import ServerIdentity, ToolAnnotations, ToolSpec
from console_app.engine import ApprovalGate, Rule, RuleBindings, RuleKey
from console_app.providers import TextProtocol
from tests.each import each
from tests.examples import turns
from tests.faces.faces import FACES, Answered, EditorFace, OneTool, answer
from tests.tui.parts import WrittenModel, say

TRAITS = ("must ask", "changed tool", "other server", "misfit", "require_approval")
CASES = [frozenset(some) for n in range(3) for some in combinations(TRAITS, n)] + [frozenset(TRAITS)]
ALWAYS = frozenset(("must ask", "changed tool", "require_approval"))
NOT_APPROVED = "not pre-approved"
REASONS = (  # of a call with several traits the first is why it asks
    ("must ask", "it stands in a page"),
    ("changed tool", "its definition changed since you trusted it"),
    ("require_approval", "it always needs an approval"),
    ("other server", "allow lab.* is for another lab"),
    ("", NOT_APPROVED),
)
BESIDES = {"changed tool": "you trusted", "misfit": "does not fit the tool", "other server": "/old/program"}


@dataclass(frozen=True)
class Case:
    """A waiting call with these traits."""

    traits: frozenset[str]

    @property
    def rules(self) -> bool:
        return not self.traits & ALWAYS

    @property
    def reads(self) -> bool:
        return self.rules and "other server" not in self.traits

    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="lab_look",
            server="lab",
            tool="look",
            input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            annotations=ToolAnnotations(read_only=True, title="runs" if self.reads else "waits"),
            identity=ServerIdentity(digest="new", text="/new/program"),
            require_approval=bool(self.traits & {"changed tool", "require_approval"}),
            changed="--- trusted\n+++ now\n@@ -1 +1 @@\n-looks\n+looks and sends"
            if "changed tool" in self.traits
            else "",
        )

    def gate(self) -> ApprovalGate:
        if "other server" not in self.traits:
            return ApprovalGate(ApprovalMode.ASK)
        bound = {RuleKey("", "lab.*", "lab"): (ServerIdentity(digest="old", text="/old/program"),)}
        return ApprovalGate(ApprovalMode.ASK, [Rule("allow", "lab.*")], bindings=RuleBindings(bound))


# Why a call asks is the gate's, so that each case is shown by one face, and all traits at once by every face.
@each(
    ("traits", "face"),
    [*turns(CASES, FACES), *((frozenset(TRAITS), face) for face in FACES)],
    ids=lambda one: one if isinstance(one, str) else "+".join(sorted(one)) or "plain",
)
async def test_every_face_offers_the_same_for_the_same_call(face: str, traits: frozenset[str], tmp_path: Path) -> None:
    case = Case(traits)
    tool = OneTool(case.spec())
    arguments = '{"word": "x"}' if "misfit" in traits else '{"text": "x"}'
    calls = answer(tool.spec, arguments, must_ask="it stands in a page" if "must ask" in traits else "")
    async with FACES[face](tmp_path, tool, calls, case.gate()) as shown:
        why = next(words for trait, words in REASONS if not trait or trait in traits)
        if why != NOT_APPROVED or face != "screen":  # whose board says what is out of the ordinary
            assert why.casefold() in shown.shown.casefold()
        for trait in traits & BESIDES.keys():
            assert BESIDES[trait] in shown.shown
        assert await shown.rules() == case.rules
        if shown.reads is not None:
            await shown.reads()
            assert bool(tool.ran) == case.reads


@each("trait", ["must ask", "changed tool", "require_approval"])
async def test_an_answer_that_makes_a_rule_is_refused_for_a_call_that_always_asks(trait: str, tmp_path: Path) -> None:
    case = Case(frozenset((trait,)))
    tool, gate = OneTool(case.spec()), case.gate()
    calls = answer(tool.spec, '{"text": "x"}', must_ask="it stands in a page" if trait == "must ask" else "")
    editor = EditorFace(tmp_path, tool, calls, gate)
    await editor.run("session")  # which was not offered: whoever answers so has made it up
    assert gate.rules == []
    assert tool.ran == []
    resolved = [one for one in editor.events if one.type == "approval.resolved"]
    assert [one.decision for one in resolved] == [Decision.DENY]


@each("face", [*FACES])
@each("answered", ["once", "form", "deny"])
async def test_every_face_has_the_three_answers_to_a_call_in_a_form_that_is_not_known(
    face: str, answered: Answered, tmp_path: Path
) -> None:
    tool, gate = OneTool(Case(frozenset()).spec()), ApprovalGate(ApprovalMode.YOLO)
    text = '<tool_call>\n{"name": "lab_look", "arguments": {"text": "x"}}\n</tool_call>'
    heard = WrittenModel(say(text), say("Over."))
    model = TextProtocol(heard)
    if face == "editor":
        editor = EditorFace(tmp_path, tool, [], gate, model)
        await editor.run({"once": "once", "form": "form", "deny": "reject"}[answered])
        shown = editor.text + " ".join(option.name for option in editor.asked[0][1])
    else:
        async with FACES[face](tmp_path, tool, [], gate, model=model) as one:
            shown = one.shown
            assert one.decide is not None
            await one.decide(answered)
    words = ("run it", "run it, the model writes so", "it is a quotation")
    assert all(said.casefold() in " ".join(shown.split()).casefold() for said in words), shown
    assert "ritten as hermes_json on line 1: does " in " ".join(shown.split())
    assert tool.ran == ([] if answered == "deny" else [{"text": "x"}])
    assert model.licence == (Licence("hermes_json", "as you said") if answered == "form" else None)
    assert any("It is a quotation" in message.content for message in heard.requests[1].messages) == (answered == "deny")
