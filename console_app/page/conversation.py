"""A conversation as a page: what was said, drawn as it was meant, and every batch of calls with all that is known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from console_app.config.secrets import Redactor
from console_app.domain import events as ev
from console_app.domain import plural
from console_app.domain.transcript import Transcript, TurnView
from console_app.page.calls import CallEvents, CallsOnPage, usage_in_words
from console_app.page.document import PageBlock, document, facts, written
from console_app.page.texts import Texts
from console_app.sessions import export


def of_conversation(
    events: Sequence[ev.Event], title: str, redactor: Redactor | None = None, pictures: Path | None = None
) -> str:
    """Write a session as one page, without the secrets that `redactor` knows. Pictures are taken from `pictures`."""
    redactor = redactor or Redactor()
    texts = Texts(redactor.without_known, pictures)
    transcript, told = Transcript(), CallEvents()
    for event in events:
        clean = _without_secrets(event, redactor)
        transcript.apply(clean)
        told.take(clean)
    calls = CallsOnPage(texts, told, events[-1].at if events else 0.0)
    body = _body(transcript, title, texts, calls, told)
    return redactor.without_known("".join(document(redactor.without_known(title), body)))


def _without_secrets(event: ev.Event, redactor: Redactor) -> ev.Event:
    """The event before anything of it is cut: half a secret is found by nobody."""
    data = event.model_dump(mode="json")
    cleaned = redactor.without_known_in(data)
    return event if cleaned is data else ev.EVENT.validate_json(json.dumps(cleaned))


def _body(transcript: Transcript, title: str, texts: Texts, calls: CallsOnPage, told: CallEvents) -> Iterator[str]:
    yield f"<h1>{texts.line(title) or 'Conversation'}</h1>"
    yield facts(_facts(transcript, texts, told))
    for turn in transcript.turns:
        yield from written(blocks_of(turn, transcript, texts, calls))


def blocks_of(turn: TurnView, transcript: Transcript, texts: Texts, calls: CallsOnPage) -> Iterator[PageBlock]:
    """Yield what a page shows of a turn, in order. An id is of the same block each time, however far the turn is."""
    name = f"t{turn.number}"
    yield PageBlock(name, "talk", f'<section class="turn" aria-label="Turn {turn.number}">', "</section>\n")
    yield PageBlock(f"{name}-when", name, f"<h2>{export.when(turn.started_at)}</h2>")
    yield PageBlock(f"{name}-you", name, _you(turn.prompt, texts))
    yield from _folded(f"{name}-read", name, export.read_for(turn), texts)
    for place, step in enumerate(turn.steps):
        own = f"{name}-{place}"
        yield from _folded(f"{own}-thought", name, export.thoughts(step), texts)
        said = {
            one.calls[0].id if one.calls else "": (
                f"{own}-said{one.begin}",
                f"<div data-unit>{texts.markdown(one.text + export.cut(step))}</div>",
            )
            for one in step.parts
            if one.text
        }
        yield from calls.batch(step.batch, f"{own}-calls", name, said)
        if "" in said:
            yield PageBlock(said[""][0], name, said[""][1])
        for number, message in enumerate(step.steered):
            yield PageBlock(f"{own}-you{number}", name, _you(message.whole, texts))
    yield from _folded(f"{name}-summary", name, export.summaries(transcript, turn), texts)
    for number, line in enumerate(export.ending(turn) if turn.outcome is not None or not calls.live else ()):
        yield PageBlock(f"{name}-end{number}", name, f'<p class="error" data-unit><em>{texts.line(line)}</em></p>')


def _you(text: str, texts: Texts) -> str:
    return f'<div class="you" data-unit><span class="aloud">You: </span>{texts.plain(text)}</div>'


def _folded(own: str, parent: str, passages: Sequence[tuple[str, str]], texts: Texts) -> Iterator[PageBlock]:
    for number, (what, text) in enumerate(passages):
        head = f"<summary class='note'>{texts.line(what)}</summary>"
        yield PageBlock(f"{own}{number}", parent, f"<details data-unit>{head}{texts.markdown(text)}</details>")


def _facts(transcript: Transcript, texts: Texts, told: CallEvents) -> Iterator[tuple[str, str]]:
    if (session := transcript.session) is not None:
        yield "Model", texts.line(f"{session.provider}/{session.model}")
    count = sum(len(turn.calls) for turn in transcript.turns)
    yield "Turns", f"{plural(len(transcript.turns), 'turn')}, {plural(count, 'call')}"
    if own := told.used.get(""):
        yield "Cost of the conversation", usage_in_words(own)
    for call_id, used in told.used.items():
        if (call := transcript.calls.get(call_id)) is not None:
            yield f"Cost of {texts.line(call.label)}", usage_in_words(used)
    for agent, used in told.by_agents.items():
        yield f"Cost of the agent {texts.line(agent)}", usage_in_words(used)
