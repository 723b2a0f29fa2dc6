"""The calls of an answer on a page: their report, their lanes on a slider of time, and everything known of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from console_app.domain import CallState, amounts, call_description, displayed, plural
from console_app.domain import events as ev
from console_app.domain.transcript import BatchView, CallView, times, verdicts
from console_app.page.document import PageBlock, facts
from console_app.page.texts import Texts
from console_app.records import dataclass, field
from console_app.tui.lineview import TellingCalls

WIDTH = 1_000  # units of a lane
_NARROWEST = 2.0  # units of a phase that took no time


@dataclass(slots=True)
class CallEvents:
    """The events of calls that their state doesn't keep: what each was asked, in order, and the tokens and money of the
    model that its server asked."""

    asked: dict[str, list[ev.ApprovalRequested]] = field(default_factory=dict[str, list[ev.ApprovalRequested]])
    used: dict[str, list[ev.UsageReported]] = field(default_factory=dict[str, list[ev.UsageReported]])
    by_agents: dict[str, list[ev.UsageReported]] = field(default_factory=dict[str, list[ev.UsageReported]])
    drawn: dict[str, tuple[object, list[PageBlock]]] = field(default_factory=dict[str, tuple[object, list[PageBlock]]])
    # Numbers of calls, which name their blocks: ids are foreign.
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def name(self, call_id: str) -> str:
        return f"c{self.numbers.setdefault(call_id, len(self.numbers))}"

    def take(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalRequested():
                self.asked.setdefault(event.call_id, []).append(event)
            case ev.UsageReported():
                used, key = (self.by_agents, event.agent) if event.agent else (self.used, event.call_id)
                used.setdefault(key, []).append(event)
            case _:
                pass


class CallsOnPage:
    """Writes the calls of a conversation as they stood at `now`. On a page that is `live`, calls have the acts that may
    be done with them, and show what is known of them where they were `opened`."""

    def __init__(
        self, texts: Texts, told: CallEvents, now: float, *, live: bool = False, opened: Collection[str] = ()
    ) -> None:
        self._texts, self._told, self._now, self.live, self._opened = texts, told, now, live, opened

    def batch(
        self, batch: BatchView, name: str, parent: str, said: Mapping[str, tuple[str, str]]
    ) -> Iterator[PageBlock]:
        """Yield the section of the calls of one answer. `said` is the id and HTML of the text right before each."""
        if not batch.calls:
            return
        now = self._now
        begin = min(call.announced_at for call in batch.calls)
        end = max(now if call.finished_at is None else call.finished_at for call in batch.calls)
        if self.live and batch.is_open:
            end = begin  # lanes that move with each second would be sent anew with each
        within: dict[str, list[CallView]] = {}
        known = {call.id for call in batch.calls}
        for call in batch.calls:
            within.setdefault(call.parent if call.parent in known else "", []).append(call)
        self._within, self._reach = within, (begin, end)
        self._keep_drawn(batch)
        self._words = words = TellingCalls.of(
            batch, now, [call for call in batch.calls if call.id not in self._told.drawn]
        )
        if (first := batch.calls[0].id) in said:
            yield PageBlock(said[first][0], parent, said[first][1])
        label = "".join(text for text, _ in words.header) or plural(len(batch.calls), "call")
        yield PageBlock(name, parent, f'<section class="batch" aria-label="{self._texts.line(label)}">', "</section>\n")
        if words.header:
            yield PageBlock(f"{name}-line", name, f'<div class="line">{self._line(words.header)}</div>')
        if end > begin and len(batch.calls) > 1:
            yield PageBlock(
                f"{name}-time",
                name,
                '<div class="time"><button type="button" class="play" aria-label="Play these calls">Play</button>'
                f'<input type="range" min="0" max="{WIDTH}" value="{WIDTH}" data-seconds="{end - begin:.3f}" '
                'aria-label="Time, from the first call to the last"><output></output></div>',
            )
        for call in within.get("", []):
            if call.id in said and call.id != first:
                yield PageBlock(said[call.id][0], name, said[call.id][1])
            yield from self._call(call, name)

    def _keep_drawn(self, batch: BatchView) -> None:
        """Forget how calls were drawn that look another way now: on a page that is live, few of a thousand do."""
        self._states = {
            call.id: (
                *(self._reach, call.state, call.news_at, call.attempt),
                *(call.id in self._opened, len(self._within.get(call.id, ()))),
            )
            for call in batch.calls
            if self.live and call.state is not CallState.RUNNING
        }
        for call in batch.calls:
            if call.id in self._told.drawn and self._told.drawn[call.id][0] != self._states.get(call.id):
                del self._told.drawn[call.id]

    def _line(self, pieces: Iterable[tuple[str, str]]) -> str:
        return "".join(
            self._texts.plain(text) if ink == "base" else f'<span class="{ink}">{self._texts.plain(text)}</span>'
            for text, ink in pieces
        )

    def _call(self, call: CallView, parent: str) -> Iterator[PageBlock]:
        if call.id in self._told.drawn:
            yield from self._told.drawn[call.id][1]
        elif call.id in self._states:
            self._told.drawn[call.id] = self._states[call.id], list(self._own(call, parent))
            yield from self._told.drawn[call.id][1]
        else:
            yield from self._own(call, parent)
        for one in self._within.get(call.id, ()):
            yield from self._call(one, f"{self._told.name(call.id)}-in")

    def _own(self, call: CallView, parent: str) -> Iterator[PageBlock]:
        told, made, name = self._words.calls[call.id], self._within.get(call.id, []), self._told.name(call.id)
        verdict = call.verdict
        mood = "" if verdict is None else " good" if verdict.is_good else " bad" if call.went_wrong else ""
        mood += " doubt" if told.line[0][1] == "warning" and mood == " bad" else ""  # its sign, and so its bar
        act, state = self._act(call, name) if self.live else "", call_description.in_words(call)
        more = f' <span class="muted">· {plural(len(made), "call")} of its own</span>' if made else ""
        if self.live:  # one that came out well has its button within
            yield PageBlock(f"{name}-row", parent, '<div class="row">', "</div>")
            parent = f"{name}-row"
            yield PageBlock(f"{name}-acts", parent, f'<div class="acts">{"" if mood == " good" else act}</div>')
        yield PageBlock(name, parent, f'<details class="call{mood}" data-unit>', "</details>\n")
        yield PageBlock(
            f"{name}-line",
            name,
            f'<summary><span class="line"><span class="aloud">{state}: </span>'
            f'<span class="came">{self._line(told.line)}</span>{more}</span>'
            f'<span class="took">{told.took}</span>{self._lanes(call)}</summary>',
        )
        yield PageBlock(f"{name}-in", name, '<div class="inside">', "</div>")
        known = "".join((act, *self._inside(call))) if not self.live or call.id in self._opened else ""
        yield PageBlock(f"{name}-known", f"{name}-in", f"<div>{known}</div>")
        if made:
            yield PageBlock(f"{name}-made", f"{name}-in", "<h3>Calls that it made</h3>")

    def _act(self, call: CallView, name: str) -> str:
        ended = call.state is CallState.FINISHED
        able, word = (call_description.Act.RETRY, "Retry") if ended else (call_description.Act.CANCEL, "Stop")
        if call_description.refusal(call, able):
            return ""
        label = f"{word} {self._texts.line(call.label)}"
        return f'<button type="button" data-do="{able}" data-of="{name}" aria-label="{label}">{word}</button>'

    def _lanes(self, call: CallView) -> str:
        begin, end = self._reach
        if end <= begin:
            return ""
        scale = WIDTH / (end - begin)
        bars = "".join(
            f'<rect class="{span.phase}{" over" if span.superseded else ""}" x="{(span.begin - begin) * scale:.1f}" '
            f'width="{max(span.seconds * scale, _NARROWEST):.1f}" height="8"/>'
            for span in times.spans_of(call, self._now)
        )
        return (
            f'<span class="lanes" aria-hidden="true"><svg viewBox="0 0 {WIDTH} 8" preserveAspectRatio="none">'
            f"{bars}</svg></span>"
        )

    def _inside(self, call: CallView) -> Iterator[str]:
        texts, told = self._texts, self._words.calls[call.id]
        if call.arguments is not None:
            yield f"<h3>Arguments{', as you edited them' if call.edited else ''}</h3>"
            yield argument_block(self._texts, displayed.argument_lines(call.arguments))
            edits, _ = displayed.edits_of(call.arguments)
            for old, new in edits:
                changed, _ = displayed.diff_lines(old.split("\n"), new.split("\n"))
                yield f"<h4>What it changes</h4>{argument_block(self._texts, changed)}"
        elif call.arguments_text:
            yield f"<h3>Arguments, as far as they came</h3>{texts.block(call.arguments_text)}"
        yield from self._decisions(call)
        for number, run in enumerate(call.superseded, 1):
            ended = "did not end"
            if run.outcome is not None:
                verdict = verdicts.verdict_of(run.outcome, run.arguments, run.content, None)
                ended = f"{verdict.word} ({verdict.why})".removesuffix(" ()")
            yield f"<h3>Run {number}, superseded: {texts.line(ended)}</h3>"
            yield texts.json(run.arguments) + texts.block(run.content)
        if call.log:
            yield f"<h3>Log</h3>{texts.block(chr(10).join(f'{one.level}: {one.text}' for one in call.log))}"
        if call.output is not None and (lines := call.output.plain_lines(10_000)):
            yield f"<h3>Output</h3>{texts.block(chr(10).join(lines))}"
        if call.error and call.error not in call.content:
            yield f"<h3>Error</h3>{texts.block(call.error)}"
        if call.outcome is not None:
            yield f"<h3>{'Error' if call.outcome.is_error else 'Result'}</h3>"
            for title, one in (("", told.result), ("<h3>Structured</h3>", told.beside)):
                if one is not None:
                    yield title + texts.result(one.kind, one.text, one.language, one.value)
        yield from self._files(call)
        yield facts(self._facts(call))

    def _decisions(self, call: CallView) -> Iterator[str]:
        asked = self._told.asked.get(call.id, [])
        for one in asked:
            yield f"<h3>Why it asked</h3><p>{self._texts.line(one.why)}</p>"
            if one.passage:
                yield f"<p>What the model was given says this call:</p>{self._texts.block(one.passage)}"
        arguments = call.written or call.arguments or {}
        for one in call.decided:
            words = call_description.decided_in_words(one)
            yield f"<h3>Who decided</h3><p>{self._texts.line(f'{words[:1].upper()}{words[1:]}.')}</p>"
            if one.feedback:
                yield f"<p>With these words:</p>{self._texts.block(one.feedback)}"
            if one.displayed is not None:
                yield from self._displayed(one.displayed, arguments, asked)
            arguments = one.arguments or arguments
        for words in call_description.acts_in_words(call)[len(call.decided) :]:
            yield f"<p>{words}</p>"

    def _displayed(
        self, digest: str, arguments: Mapping[str, object], asked: Sequence[ev.ApprovalRequested]
    ) -> Iterator[str]:
        """Yield what was shown to the one who decided, where its hash proves that; else the hash."""
        lines = displayed.argument_lines(arguments)
        passages = [displayed.named_lines("passage", one.passage) + lines for one in asked if one.passage]
        shown = next((one for one in (lines, *passages) if displayed.digest(one) == digest), None)
        if shown is not None:
            yield f"<p>Before that, these lines were displayed to their end:</p>{argument_block(self._texts, shown)}"
        else:
            yield "<p>More than the arguments was displayed before that, as the change in a file.</p>"
        yield facts([("SHA-256", f"<code>{digest[:64]}</code>" if digest.isalnum() else "")])

    def _files(self, call: CallView) -> Iterator[str]:
        for one in call.artifacts:
            about = " · ".join(filter(None, (one.mime, amounts.size(one.size) if one.size else "")))
            where = f"{one.name}   {about}   {one.path or one.uri}"
            yield f"<h3>{'Picture' if one.is_picture else 'File'}</h3><p>{self._texts.line(where)}</p>"
            if one.is_picture:
                yield self._texts.picture(one)

    def _facts(self, call: CallView) -> Iterator[tuple[str, str]]:
        yield "tool", self._texts.line(f"{call.label} ({call.name} on the wire)")
        yield "id", self._texts.line(call.id)
        if call.origin != "native":
            yield "origin", self._texts.line(f"{call.origin} {call.dialect}")
        spans = [
            f"{times.PHASES[span.phase]} {amounts.measured(span.seconds)}" for span in times.spans_of(call, self._now)
        ]
        if spans:
            yield "time", ", ".join(spans)
        if call.raw:
            yield "as the model wrote it", self._texts.block(call.raw)
        if call.work is not None:
            yield "agent", self._texts.line(f"{call.runs}: {call_description.agent_work(call) or 'nothing yet'}")
        if used := self._told.used.get(call.id):
            yield "asked the model", usage_in_words(used)


def argument_block(texts: Texts, lines: Sequence[displayed.ArgumentLine]) -> str:
    inks = {"+": "success", "-": "error"}
    told: list[str] = []
    for line in lines:
        name = f'<span class="primary">{texts.plain(line.name)}</span>  ' if line.name else "  "
        text = texts.plain(f"{line.mark} {line.text}" if line.mark != " " else line.text)
        told.append(name + (f'<span class="{inks[line.mark]}">{text}</span>' if line.mark in inks else text))
    return f"<pre>{chr(10).join(told)}</pre>"


def usage_in_words(used: Iterable[ev.UsageReported]) -> str:
    """`12.4k tokens in, 900 out, $0.0123`."""
    reports = list(used)
    read, written = sum(one.input_tokens for one in reports), sum(one.output_tokens for one in reports)
    prices = [one.cost for one in reports if one.cost is not None]
    price = f", ${sum(prices):.4f}" if prices else ", price not known"
    return f"{amounts.tokens(read)} tokens in, {amounts.tokens(written)} out{price}"
