"""Conversations to make pages of, and a page as its parser reads it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from console_app.domain import displayed
from console_app.domain import events as ev
from console_app.domain.messages import UserMessage
from console_app.domain.tools import Artifact, Outcome
from tests.sessions.test_store import numbered

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</pre></details></main><script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "[x](javascript:alert(4))",
    "[x]( java\nscript:alert(5))",
    "![x](http://127.0.0.1:9/p.png)",
    "[x]: javascript:alert(6)\n\n[x]",
    "<javascript:alert(7)>",
    "```html\n<script>alert(8)</script>\n```",
    '```"><script>alert(9)</script>\nx\n```',
    "| a |\n|---|\n| <img src=x onerror=alert(10)> |",
    "| a | b | c |\n|:-|:-:|-:|\n| 1 | 2 | 3 |",
    "[x](data:text/html,<script>alert(11)</script>)",
    '[{"a": "<script>alert(12)</script>", "b": 1}, {"a": "2", "b": 2}]',
    '{"a": {"</pre><script>alert(13)</script>": 1}}',
    "--- a\n+++ b\n@@ -1 +1 @@\n-<script>alert(14)</script>\n+<b>",
    "def f():\n    return '</pre><script>alert(15)</script>'\n",
    "--></style></title></script><script>alert(16)</script>",
    "&lt;script&gt;alert(17)&lt;/script&gt;",
    "\x1b]52;c;aGk=\x07 \u202e \x00 \ud800",
)


def saying(text: str) -> list[ev.Event]:
    """A turn in which everybody says `text`."""
    artifacts = (Artifact(name=text, mime="image/png", path=f"/nowhere/{text[:20]}".replace("\0", "")),)
    return numbered(
        ev.SessionStarted(model=text, provider=text, protocol="", strategy="", policy=""),
        ev.TurnStarted(prompt=text, turn=1),
        ev.MessageAdded.of(UserMessage(content=text)),
        ev.StepStarted(turn=1),
        ev.ReasoningDelta(text=text),
        ev.Thought(label="think", text=text),
        ev.TextDelta(text=text),
        ev.CallAnnounced(call_id="a", index=0, name=text, server=text, tool=text, at=1.0, origin="text", dialect=text),
        ev.CallReady(call_id="a", arguments={"path": text, text: text, "old": text, "new": "x"}, raw=text, at=2.0),
        ev.ApprovalRequested(call_id="a", why=text, passage=text, at=2.1),
        ev.ApprovalResolved(
            call_id="a", decision=ev.Decision.ALLOW, by=ev.DecidedBy.RULE, rule=text, feedback=text, displayed=text
        ),
        ev.CallStarted(call_id="a", at=3.0),
        ev.CallLog(call_id="a", text=text),
        ev.CallOutput(call_id="a", stream="stdout", text=text, offset=0),
        ev.CallFinished(
            call_id="a", outcome=Outcome.SUCCEEDED, content=text, artifacts=artifacts, structured={text: text}, at=5.0
        ),
        ev.CallAnnounced(call_id="b", index=1, name=text, at=1.0),
        ev.CallFinished(call_id="b", outcome=Outcome.FAILED, content=text, error=text, at=6.0),
        ev.CallAnnounced(call_id="c", index=0, name=text, parent="a", at=3.5),
        ev.CallFinished(call_id="c", outcome=Outcome.FAILED, content=text, error=text, at=4.0),
        ev.UsageReported(call_id="a", input_tokens=1, output_tokens=2),
        ev.HistoryCompacted(summary=text, covers=1, turn=1),
        ev.TurnFinished(outcome="failed", error=text, turn=1),
    )


def in_order(*events: ev.Event) -> list[ev.Event]:
    """The events with their numbers and the times that they have."""
    return [event.model_copy(update={"seq": number}) for number, event in enumerate(events, 1)]


def approved(content: str = "fine") -> list[ev.Event]:
    """A call that a person allowed after its lines were displayed, and what it made of two others."""
    arguments = {"command": "ls -l", "why": "to look"}
    digest = displayed.digest(displayed.argument_lines(arguments))
    return in_order(
        ev.TurnStarted(prompt="Look.", turn=1, at=0.5),
        ev.StepStarted(turn=1),
        ev.CallAnnounced(call_id="a", index=0, name="sh_run", server="sh", tool="run", at=1.0),
        ev.CallAnnounced(call_id="b", index=1, name="sh_run", server="sh", tool="run", at=1.0),
        ev.CallReady(call_id="a", arguments=arguments, at=1.5),
        ev.CallReady(call_id="b", arguments={"command": "false"}, at=1.5),
        ev.ApprovalRequested(call_id="a", why="runs a command", at=1.5),
        ev.CallStarted(call_id="b", at=1.6),
        ev.ApprovalResolved(
            call_id="a",
            decision=ev.Decision.ALLOW,
            by=ev.DecidedBy.USER,
            displayed=digest,
            at=3.0,
            feedback="Be quick.",
        ),
        ev.CallStarted(call_id="a", at=3.0),
        ev.CallAnnounced(call_id="c", index=0, name="sh_part", server="sh", tool="part", parent="a", at=3.5),
        ev.CallReady(call_id="c", arguments={"n": 1}, at=3.5),
        ev.CallStarted(call_id="c", at=3.5),
        ev.CallFinished(call_id="c", outcome=Outcome.SUCCEEDED, content="part", duration_ms=500, at=4.0),
        ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content=content, duration_ms=2000, at=5.0),
        ev.CallFinished(call_id="b", outcome=Outcome.SUCCEEDED, content="exit code: 1", duration_ms=400, at=2.0),
        ev.TurnFinished(outcome="completed", turn=1, at=5.1),
    )


class Page(HTMLParser):
    """A page as a browser's parser finds it: its tags with their attributes, and all its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.torn: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "img", "br", "hr", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.torn.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["script"], ["style"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def faults(text: str) -> list[str]:
    """Return the faults of a page: whatever runs or is fetched, beside the one script of its own."""
    page, found = Page(text), list[str]()
    if page.torn or page.open:
        found.append(f"torn: {page.torn} {page.open}")
    if len(page.all("script")) != 1 or len(page.all("style")) != 1:
        found.append("scripts")
    if names := {tag for tag, _ in page.tags} & {"iframe", "object", "embed", "link", "base", "form", "audio", "video"}:
        found.append(str(names))
    for tag, attrs in page.tags:
        found += [f"{tag} {name}" for name in attrs if name.startswith("on") or name in ("style", "srcset", "action")]
        for name in ("src", "href", "xlink:href"):
            value = attrs.get(name)
            allowed = ("http://", "https://") if tag == "a" else ("data:image/",)
            if value is not None and not value.startswith(allowed):
                found.append(f"{tag} {name}={value[:40]}")
    policy = next((str(one["content"]) for one in page.all("meta") if "http-equiv" in one), "")
    for kind in ("script", "style"):
        inside = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        hashed = base64.b64encode(hashlib.sha256(inside[-1 if kind == "script" else 0].encode()).digest()).decode()
        if f"{kind}-src 'sha256-{hashed}'" not in policy:
            found.append(f"the hash of the {kind}")
    if "default-src 'none'" not in policy or "unsafe" in policy:
        found.append(policy)
    return found
