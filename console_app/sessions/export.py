"""Writes a session as a file: Markdown for people, JSON lines (stored events, which can be imported) or a trace of its
calls. Foreign text is never markup: HTML is escaped, and fences are longer than any run of backticks they hold.

The trace is Trace Event JSON, for Perfetto and chrome://tracing: a process a turn, a line a call, a bar a phase, `ts`
and `dur` in microseconds from the first call."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.domain import FanoutError, call_description, one_line, plural, visible
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, StepView, Transcript, TurnView, times
from console_app.sessions.store import new_session_id

FORMATS = ("md", "html", "jsonl", "trace")  # a page of HTML is made by `console_app.page`
UNFINISHED = "Not finished when this was exported."
NO_TEXT = " What the model was writing is not in it."
_LONG = 2_000  # characters of a line, beyond which to look for its code could take minutes
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_ACTS = re.compile(r"\\.|<|!(?=\[)|(?<=\])(?::|\((?!\s*https?://))")
_CODE_OR_ACTS = re.compile(f"{_CODE.pattern}|{_ACTS.pattern}")
MOVING = ("svg", "cast")  # of a session as it plays: recordings, which the command line makes


class ExportError(FanoutError):
    title = "Export"


class ImportFailed(FanoutError):
    """A file that is no session of ours."""

    title = "Import"


def form_of(name: str) -> str:
    ending = "trace" if name.lower().endswith(".trace.json") else Path(name).suffix.lower().removeprefix(".")
    return ending if ending in FORMATS + MOVING else ""


def form_and_path(words: str) -> tuple[str, str]:
    form, _, path = words.strip().partition(" ")
    return (form, path.strip()) if form in FORMATS + MOVING else (form_of(words.strip()), words.strip())


def exported(events: Sequence[ev.Event], form: str, title: str, redactor: Redactor | None = None) -> str:
    redactor = redactor or Redactor()
    transcript = Transcript.of(events)
    if form == "jsonl":
        last = [_told(events[-1], words) for turn in transcript.turns[-1:] if (words := _unfinished(turn))]
        return as_json_lines([*events, *last], redactor)
    if form == "trace":
        return as_trace(transcript.turns, events[-1].at if events else 0.0, redactor)
    return redactor.without_known(_markdown(transcript, title, redactor.without_known))  # and before a text is escaped


def as_json_lines(events: Iterable[ev.Event], redactor: Redactor | None = None) -> str:
    redactor = redactor or Redactor()
    return "".join(_json_line(event, redactor) + "\n" for event in events)


def _told(last: ev.Event, words: str) -> ev.Event:
    told = ev.Notice(level="warning", text=words)
    place = {"session_id": last.session_id, "turn": last.turn, "step": last.step, "seq": last.seq + 1, "at": last.at}
    return told.model_copy(update=place)


def _json_line(event: ev.Event, redactor: Redactor) -> str:
    data = event.model_dump(mode="json")
    cleaned = redactor.without_known_in(data)
    return event.model_dump_json() if cleaned is data else json.dumps(cleaned, ensure_ascii=False)


def write_new(path: Path, text: str) -> Path:
    suffix = ".trace.json" if path.name.endswith(".trace.json") else path.suffix
    for number in range(1, 1000):
        target = path if number == 1 else path.with_name(f"{path.name.removesuffix(suffix)}-{number}{suffix}")
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, disk.PRIVATE_FILE)
        except FileExistsError:
            continue
        except OSError as error:
            raise ExportError(f"can't write {target}: {error.strerror or error}.") from None
        with open(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        return target
    raise ExportError(f"there are a thousand files like {path} already.")


def imported(lines: Iterable[str], source: str, session_id: str = "") -> list[ev.Event]:
    """Read an exported session's events, under a new id by default. Raises ImportFailed with the line that is wrong."""
    session_id = session_id or new_session_id()
    events: list[ev.Event] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = ev.EVENT.validate_json(line)
        except ValidationError as error:
            reason = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise ImportFailed(
                f"{source}, line {number}: not an event ({one_line(reason, 120)}).",
                "Import what `fanout sessions export --format jsonl` wrote.",
            ) from error
        events.append(event.model_copy(update={"session_id": session_id, "seq": len(events) + 1}))
    if not events:
        raise ImportFailed(f"{source} holds no events.", "Import what `fanout sessions export --format jsonl` wrote.")
    return events


def when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _summary(call: CallView) -> str:
    took = f", {call.duration_ms / 1000:.1f} s" if call.duration_ms else ""
    return f"{call.label}: {call_description.in_words(call)}{took}"


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _arguments(call: CallView) -> str:
    return (
        json.dumps(call.arguments, ensure_ascii=False, indent=2) if call.arguments is not None else call.arguments_text
    )


def read_for(turn: TurnView) -> list[tuple[str, str]]:
    message = turn.message
    if message is None:
        return []
    written = [("the prompt that the server wrote", message.content)] if message.source and message.content else []
    return written + [
        (f"attached: {one.label}{f', {one.part}' if one.part else ''}", one.text) for one in message.attachments
    ]


def _inert(text: str) -> str:
    """Return Markdown that fetches and runs nothing: without pictures, HTML and links but to the web. Blocks of code
    are closed."""
    from markdown_it import MarkdownIt

    lines, told, at = text.strip().split("\n"), list[str](), 0
    parser = MarkdownIt("commonmark", {"html": False}).disable(["reference", "inline"])
    for token in parser.parse("\n".join(lines)):
        if token.type == "fence" and token.map is not None:
            begin, end = token.map
            told += _without_acts(lines[at:begin])
            language = re.match(r"[\w+#.-]*", token.info.strip())
            whole = _fenced(token.content.removesuffix("\n"), language[0] if language else "")
            told += lines[begin:end] if token.level else [whole]
            at = end
    return "\n".join([*told, *_without_acts(lines[at:])])


def _without_acts(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with a backslash before pictures, HTML and links, but in spans of code. A span counts where each line
    has both its ends, and no table column parts it."""
    for _, group in groupby(lines, lambda line: not line.strip(" \t")):
        paragraph = list(group)
        unsure = any(
            len(line) > _LONG or "`" in _CODE.sub("", line) or "|" in line or "\\`" in line for line in paragraph
        )
        pattern = _ACTS if unsure else _CODE_OR_ACTS
        for line in paragraph:
            yield pattern.sub(lambda found: found[0] if len(found[0]) > 1 else f"\\{found[0]}", line)


def _markdown(transcript: Transcript, title: str, clean: Callable[[str], str]) -> str:
    def label(text: str) -> str:
        return next(_without_acts([one_line(clean(text)) or "-"]))

    def quoted(passages: list[tuple[str, str]]) -> list[str]:
        return [
            f"**{label(what)}**\n\n> " + _inert(visible(clean(text))).replace("\n", "\n> ") for what, text in passages
        ]

    parts = [f"# {label(title)}"]
    for turn in transcript.turns:
        parts += [f"## You, {when(turn.started_at)}", _inert(visible(clean(turn.prompt)))]
        for what, text in read_for(turn):
            parts += [f"**{label(what)}**", _fenced(visible(text))]
        for step in turn.steps:
            parts += quoted(thoughts(step))
            for part in step.parts:
                if part.text:
                    parts.append(_inert(visible(clean(part.text)) + cut(step)))
                for call in part.calls:
                    block = [
                        f"**{label(_summary(call))}**",
                        *(f"*{label(words)}*" for words in call_description.acts_in_words(call)),
                        _fenced(visible(_arguments(call)), "json"),
                        _fenced(visible(call.content)),
                    ]
                    made = "> " * call.depth  # a quotation is how a block stands below another
                    lines = "\n\n".join(block).split("\n")
                    parts += ["\n".join(f"{made}{line}".rstrip() for line in lines)] if made else block
            parts += quoted([("You, while it ran", message.whole) for message in step.steered])
        parts += [*quoted(summaries(transcript, turn)), *(f"*{label(line)}*" for line in ending(turn))]
    return "\n\n".join(parts) + "\n"


def thoughts(step: StepView) -> list[tuple[str, str]]:
    reasoning = [("reasoning", step.reasoning)] if step.reasoning else []
    return reasoning + [(thought.label, thought.text) for thought in step.thoughts]


def summaries(transcript: Transcript, turn: TurnView) -> list[tuple[str, str]]:
    return [
        (
            f"Compacted: from here on the model reads this in place of the oldest {plural(one.covers, 'message')}",
            one.summary,
        )
        for one in transcript.compactions
        if one.turn == turn.number
    ]


def cut(step: StepView) -> str:
    return " [cut off here]" if step.interrupted and not step.batch.calls else ""


def _unfinished(turn: TurnView) -> str:
    if turn.outcome is not None:
        return ""
    return UNFINISHED + NO_TEXT * any(not step.done and not step.batch.calls for step in turn.steps[-1:])


def ending(turn: TurnView) -> list[str]:
    if words := _unfinished(turn):
        return [words]
    if turn.outcome == "completed":
        return []
    if turn.outcome == "cancelled" and turn.error:  # why it ended is said whole: a fork was not cancelled
        return [one_line(turn.error)]
    reason = f": {one_line(turn.error)}" if turn.error else ""
    return [f"{(turn.outcome or '').replace('_', ' ').capitalize()}{reason}"]


MOST_TEXT = 500  # characters of arguments and errors that go along


def as_trace(turns: Sequence[TurnView], now: float, redactor: Redactor | None = None) -> str:
    calls = [call for turn in turns for call in turn.calls]
    begin = min((call.announced_at for call in calls), default=0.0)
    events = list(_events(turns, begin, now))
    began = datetime.fromtimestamp(begin, UTC).isoformat(timespec="milliseconds")
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"producer": "fanout", "began": began}}
    # Perfetto shows an escaped letter as it is written; no text here has what UTF-8 can't hold.
    return json.dumps((redactor or Redactor()).without_known_in(document), indent=1, ensure_ascii=False) + "\n"


def _events(turns: Sequence[TurnView], begin: float, now: float) -> Iterator[dict[str, Any]]:
    for turn in turns:
        steps = turn.steps_with_calls
        if not steps:
            continue
        ended = "" if turn.outcome is not None else " (not finished)"
        yield _named("process_name", turn.number, 0, f"turn {turn.number}{ended}: {one_line(turn.prompt, 100)}")
        line = 0
        for answer, step in enumerate(steps, 1):
            for call in step.batch.calls:
                line += 1
                yield _named("thread_name", turn.number, line, f"{answer}.{call.index + 1} {one_line(call.label, 80)}")
                yield {**_named("thread_sort_index", turn.number, line), "args": {"sort_index": line}}
                yield from (_bar(span, call, turn.number, line, begin) for span in times.spans_of(call, now))


def _named(what: str, turn: int, line: int, name: str = "") -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": turn, "tid": line, "args": {"name": name}}


def _bar(span: times.Span, call: CallView, turn: int, line: int, begin: float) -> dict[str, Any]:
    """Write a phase of a call. Both ends are rounded, not its length: Perfetto drops bars that reach a microsecond into
    the next."""
    start, stop = (max(round((at - begin) * 1e6), 0) for at in (span.begin, span.end))
    running = span.phase == "run"
    facts: dict[str, Any] = {"call": one_line(call.id, 80)}
    if running:
        facts |= {
            "arguments": one_line(json.dumps(call.arguments, ensure_ascii=False, default=str), MOST_TEXT),
            "outcome": call_description.in_words(call),
        }
        if span.superseded:
            facts["outcome"] = "superseded"
        elif call.error:
            facts["error"] = one_line(call.error, MOST_TEXT)
    return {
        "ph": "X",
        "name": one_line(call.label, 80) if running else times.PHASES[span.phase],
        "cat": span.phase,
        "ts": start,
        "dur": stop - start,
        "pid": turn,
        "tid": line,
        "args": facts,
    }
