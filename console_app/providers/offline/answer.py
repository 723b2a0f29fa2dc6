"""Decides what the offline model says to a request: calls to make, a report of their results, or what it can do."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from console_app.domain import (
    AssistantMessage,
    Message,
    Outcome,
    ToolCall,
    ToolMessage,
    UserMessage,
    one_line,
    ports,
    safe_text,
    visible,
)
from console_app.domain import chunks as ch
from console_app.domain.tools import FAILED
from console_app.domain.transcript import results, verdicts
from console_app.providers.offline.planner import RULES, Plan, plan
from console_app.providers.offline.rule import BRIEF, ENABLE, NUMBERS, AskedPrompt, OfflineTools, PlannedCall, code
from console_app.providers.playback import Beat, playing, request_words, words
from console_app.records import dataclass

MOST_TOLD = 6  # calls of which each is told
_LINES, _BLOCK = 12, 1_500  # lines and characters of a result shown as a block

_FAILED: dict[Outcome, tuple[str, str]] = {
    Outcome.FAILED: ("failed", "On the panel of a failed call, `r` runs it again and `e` edits its arguments."),
    Outcome.TIMED_OUT: (
        "ran out of time",
        "`r` on its panel runs it again; mcp.json can give its server a longer `timeout`.",
    ),
    Outcome.INVALID: ("was not run", "Arguments that could not be read can be edited with `e` on the panel."),
    Outcome.INTERRUPTED: ("was interrupted", "What was interrupted can be asked for again."),
    Outcome.CANCELLED: ("was stopped by you", ""),
    Outcome.DENIED: ("was denied by you", ""),
    Outcome.BLOCKED: ("was held back", ""),
    Outcome.SKIPPED: ("was put off", "What was put off can be asked for again."),
}
_NOT_RUN = "This call was not run:"


def report(called: Sequence[Called], tools: OfflineTools) -> str:
    """Return the answer to a turn whose calls are all done, as Markdown."""
    good = [one for one in called if one.result.outcome is Outcome.SUCCEEDED]
    bad = [one for one in called if one.result.outcome is not Outcome.SUCCEEDED]
    parts: list[str] = []
    if len(called) > MOST_TOLD:
        return _in_brief(called, bad, tools)
    if len(good) > 1 and all(_expression(one) is not None for one in good):
        rows = "\n".join(f"| {_cell(_expression(one) or '')} | {_cell(one.content)} |" for one in good)
        parts.append(f"Here are the results:\n\n| Expression | Result |\n| :-- | :-- |\n{rows}")
    elif good:
        parts.append("\n".join(_good(one, tools) for one in good))
    if bad:
        parts.append("\n".join(_bad(one, tools) for one in bad))
        closing = [f"{len(good)} of {len(called)} calls succeeded."] if good else []
        closing += [_FAILED[outcome][1] for outcome in dict.fromkeys(one.result.outcome for one in bad)]
        parts.append(" ".join(filter(None, closing)))
    return "\n\n".join(filter(None, parts))


def _in_brief(called: Sequence[Called], bad: Sequence[Called], tools: OfflineTools) -> str:
    told: list[str] = []
    for one in called:
        verdict = verdicts.verdict_of(one.result.outcome, arguments_of(one), one.result.content, None)
        if verdict.word is verdicts.VerdictWord.SAID_NO:
            first = one.result.content.strip().partition("\n")[0]
            told.append(f"- **{_title(one, tools)}** said no: {code(one_line(first, BRIEF))}.")
    told += [_bad(one, tools) for one in bad]
    head = f"{len(called) - len(told)} of {len(called)} calls did what they were for."
    advice = " ".join(dict.fromkeys(filter(None, (_FAILED[one.result.outcome][1] for one in bad))))
    return "\n\n".join(filter(None, (head, "\n".join(told), advice)))


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _good(one: Called, tools: OfflineTools) -> str:
    content = one.content.strip()
    expression = _expression(one)
    if expression is not None:
        return f"- {code(expression)} = {code(content)}"
    head = f"- **{_title(one, tools)}**"
    if not content:
        return f"{head}: done, with nothing to show."
    if "\n" not in content and len(content) <= BRIEF:
        return f"{head}: {code(content)}"
    return f"{head}:\n\n{_block(content)}\n"


def _block(content: str) -> str:
    shown = visible("\n".join(line[:300] for line in content[: _BLOCK * 4].split("\n")[:_LINES])[:_BLOCK])
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    block = f"{fence}\n{shown}\n{fence}"
    if len(shown) < len(content):
        block += "\n\nThat is its beginning; the panel has the whole."
    return block


def _bad(one: Called, tools: OfflineTools) -> str:
    why = one_line(one.result.content, BRIEF).removeprefix(FAILED).rstrip(".")
    what = _FAILED[one.result.outcome][0]
    if why.startswith(_NOT_RUN):  # it asked, and nobody answered
        what, why = "was not run", why.removeprefix(_NOT_RUN).lstrip()
    expression = _expression(one)
    name = code(expression) if expression is not None else f"**{_title(one, tools)}**"
    return f"- {name} {what}" + (f": {code(why)}." if why else ".")


def _title(one: Called, tools: OfflineTools) -> str:
    label = one_line(tools.label(one.call.name), 80).replace("*", "")
    values = [value for value in arguments_of(one).values() if isinstance(value, str) and 0 < len(value) <= 60]
    return f"{label} ({code(values[0], 60)})" if values else label


def _expression(one: Called) -> str | None:
    arguments = arguments_of(one)
    only = next(iter(arguments.items()), None) if len(arguments) == 1 else None
    return only[1] if only and only[0] in ("expression", "expr") and isinstance(only[1], str) else None


def arguments_of(one: Called) -> dict[str, Any]:
    """Return the arguments of a call; none where they can't be read."""
    return safe_text.object_in(one.call.arguments)


CONNECT = (
    "To connect a real model, on this machine, by its address or with a key, type `/connect` in the console; "
    "or set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start again."
)
_COMPLETE = re.compile(
    r"\b(?:just\s+)?(?:complete|finish)\s+(?:it\s+|this\s+)?(?:anyway|now)\b|^\W*(?:finish|complete)\W*$", re.I
)
_GREETING = re.compile(r"^\W*(?:hi|hello|hey|good (?:morning|evening|day)|thanks?|thank you)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OfflineAnswer:
    """The text that the model says, then the calls it asks for, all in one answer."""

    text: str
    calls: tuple[PlannedCall, ...] = ()


def answer(request: ports.ModelRequest) -> OfflineAnswer:
    """Return the answer to `request`. It depends on nothing but the request."""
    tools = OfflineTools(request.tools)
    turn = open_turn(request.messages)
    called = tuple(one for one in turn.called if not one.call.name.endswith(FINISHED))
    if turn.blocked:
        return OfflineAnswer(_blocked(called, tools))
    prompts = [AskedPrompt(text, earlier) for text, earlier in turn.prompts]
    asked_for = [one for one in called if one.enables and one.ran]  # whatever came of it
    planned = plan(prompts, tools, frozenset(str(arguments_of(one).get("server")) for one in asked_for))
    remaining = _remaining(planned, turn, called)
    if remaining and request.tool_choice == "none":
        left = "\n".join(f"- {code(call.spec.label, 80)} {code(call.arguments)}" for call in remaining)
        only = f"I may not call tools in this answer. I would call:\n\n{left}"
        return OfflineAnswer("\n\n".join(filter(None, (report(called, tools), only))))
    if remaining:
        return _calls(planned, remaining if request.parallel else remaining[:1], continued=bool(called))
    return _last(request, turn, called, planned, tools)


def capabilities(tools: OfflineTools) -> str:
    """Return what the offline model is, what it can do with these tools, and how to get a real model."""
    lines = "\n".join(f"- {rule.can}" for rule in RULES if rule.able(tools))
    can = f"With the tools that are on now I can:\n\n{lines}"
    can = can if lines else "No tool that I know how to use is on right now."
    if tools.off:
        can += f"\n\nOff, and asked for where a prompt needs them: {', '.join(code(name, 60) for name in tools.off)}."
    return (
        "I am the offline rehearsal model: I only follow rules, and I understand nothing beyond them. "
        f"No key or network is involved.\n\n{can}\n\n{CONNECT}"
    )


def _remaining(planned: Plan, turn: OpenTurn, called: tuple[Called, ...]) -> tuple[PlannedCall, ...]:
    """Return the planned calls that are still to run: those that no call of the turn equals, in the order of the plan.

    A server that was switched on meanwhile changes the plan, so the order alone says nothing.
    """
    if called and not turn.progressed:
        return ()  # everything was put off: asking again would go on for ever
    ran = [_key(one.call.name, one.call.arguments) for one in called if one.ran]
    remaining: list[PlannedCall] = []
    for call in planned.calls:
        if (key := _key(call.spec.name, call.arguments)) in ran:
            ran.remove(key)
        else:
            remaining.append(call)
    return tuple(remaining)


def _key(name: str, arguments: str) -> tuple[str, str]:
    try:
        return name, json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return name, arguments


def _calls(planned: Plan, calls: tuple[PlannedCall, ...], *, continued: bool) -> OfflineAnswer:
    arithmetic = all("expression" in call.arguments for call in calls)
    count = NUMBERS[len(calls)] if len(calls) < len(NUMBERS) else str(len(calls))
    wanted = [str(json.loads(call.arguments)["server"]) for call in calls if call.spec.tool == ENABLE]
    if wanted:
        names = ", ".join(code(name, 60) for name in wanted)
        rest = " The rest starts meanwhile." if len(calls) > len(wanted) else ""
        text = f"This needs {names}, {'which is' if len(wanted) == 1 else 'which are'} off: I ask for it.{rest}"
    elif continued:
        text = "Next, what is left."
    elif len(calls) == 1:
        text = "I'll work that out." if arithmetic else f"I'll call {code(calls[0].spec.label, 80)}."
    elif arithmetic:
        text = f"I'll work these {count} out together – none depends on another."
    else:
        text = f"I'll start these {count} calls together – none depends on another."
    if planned.problems and not continued:
        text = "\n\n".join((*planned.problems, text))
    return OfflineAnswer(text, calls)


def _last(
    request: ports.ModelRequest, turn: OpenTurn, called: tuple[Called, ...], planned: Plan, tools: OfflineTools
) -> OfflineAnswer:
    """Return the answer that ends the turn, by the completion tool where there is one."""
    prompt = turn.prompts[-1][0] if turn.prompts else ""
    if called:
        told = [one for one in called if not one.enables or one.result.outcome is not Outcome.SUCCEEDED]
        text = "\n\n".join(filter(None, (report(told, tools), *planned.unmet)))
    elif planned.problems:
        text = "\n\n".join((*planned.problems, capabilities(tools)))
    elif _COMPLETE.search(prompt[:200]):
        text = "Completed, as you asked." + (" Not every call before it succeeded." if turn.failed_before else "")
    else:
        hello = "Hello! " if _GREETING.match(prompt[:40]) else ""
        text = hello + capabilities(tools)
    finish = tools.find((FINISHED,), text=("final_answer", "answer", "result", "message"))
    if finish and request.tool_choice != "none":
        return OfflineAnswer("", (finish.call(text=text),))
    return OfflineAnswer(text)


def _blocked(called: tuple[Called, ...], tools: OfflineTools) -> str:
    bad = sum(one.result.outcome.is_error for one in called)
    advice = (
        f"I can't complete this: {'a call' if bad == 1 else f'{bad} calls'} failed. Fix the cause and ask again, "
        'or say "just complete anyway".'
    )
    return "\n\n".join(filter(None, (report(called, tools), advice)))


WORDS_PER_SECOND = 80.0  # about as fast as people see hosted models write
_THINKING = 0.15  # seconds before the first word, as a round trip would take
_PIECE = 8  # characters of arguments a delta
_WORD = re.compile(r"\S+\s*|\s+")


class OfflineProvider(ports.Provider):
    """A model without key or network, labelled as what it is. `pace` is words a second, 0 for at once.

    `max_tokens`, `temperature` and `stop` mean nothing to it. Tokens in its usage are counted in words.
    """

    name, model, protocol = "offline", "rehearsal", "offline"

    def __init__(self, pace: float = WORDS_PER_SECOND) -> None:
        self._pace = pace

    @property
    def no_pictures(self) -> str:
        return "it goes by words"

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        """Stream the answer to `request`; it fails in no way."""
        return playing(self._beats(request))

    def _beats(self, request: ports.ModelRequest) -> Iterator[Beat]:
        reply = answer(request)
        pause = 1 / self._pace if self._pace > 0 else 0.0
        yield Beat(None, _THINKING if pause else 0.0)
        for word in _WORD.findall(reply.text):
            yield Beat(ch.TextChunk(word), pause)
        before = sum(len(one.tool_calls) for one in request.messages if isinstance(one, AssistantMessage))
        # all are announced before the first is complete: an instant tool would else be done before the next has a panel
        for index, call in enumerate(reply.calls):
            yield Beat(ch.CallOpened(index, f"offline_{before + index + 1}", call.spec.name), pause)
        for index, call in enumerate(reply.calls):
            for at in range(0, len(call.arguments), _PIECE):
                yield Beat(ch.CallDelta(index, call.arguments[at : at + _PIECE]), pause)
            yield Beat(ch.CallClosed(index, call.arguments))
        written = words(reply.text) + sum(1 + words(call.arguments) for call in reply.calls)
        yield Beat(ch.UsageChunk(request_words(request), written))
        yield Beat(ch.FinishChunk("tool_calls" if reply.calls else "stop"))


History = Sequence[Message]
FINISHED = "finished"  # the completion tool of the strategies that end a turn by a call

_AGAIN = re.compile(
    r"[\s\W]*(?:(?:please|and|ok(?:ay)?)[\s,]+)*(?:(?:once|one more)\s+)?(?:(?:do|run|try)\s+(?:it|that|this|them)\s+)?"
    r"(?:again|once more|repeat(?:\s+(?:it|that))?|retry|same again)[\s\W]*(?:please)?[\s\W]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Called:
    """A call of the open turn with its one result, by call id."""

    call: ToolCall
    result: ToolMessage

    @property
    def content(self) -> str:
        """Its result without what is said to a model before it."""
        return results.without_remarks(self.result.content)

    @property
    def enables(self) -> bool:
        return self.call.name.endswith(ENABLE)

    @property
    def ran(self) -> bool:
        """Tell whether the call was dealt with, for good or ill; one that was put off is to be asked for again."""
        return self.result.outcome is not Outcome.SKIPPED


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """The open part of a conversation: `prompts` (the text, and what came before it) and `called`, in call order.

    `progressed` says that the newest answer ran at least one call; `blocked` that its completion was refused.
    """

    prompts: tuple[tuple[str, tuple[Message, ...]], ...] = ()
    called: tuple[Called, ...] = ()
    progressed: bool = False
    blocked: bool = False
    failed_before: bool = False  # a call of an earlier answer of the conversation failed


def open_turn(messages: History) -> OpenTurn:
    """Return the part of the conversation after the last answer that ended a turn."""
    messages = [  # what Fanout notes before the next prompt is taken apart: it is not what the user asks for
        one
        for message in messages
        for one in (message.parts if isinstance(message, UserMessage) and message.parts else (message,))
    ]
    start = _start(messages)
    earlier = tuple(messages[:start])
    spoken = [message for message in messages[start:] if isinstance(message, UserMessage) and message.origin == "user"]
    if not any(isinstance(message, AssistantMessage) for message in messages[start:]):
        spoken = spoken[-1:]  # what was said before was taken back by a stop, not answered
    prompts = [(_meant(message.content, earlier), earlier) for message in spoken]
    given = {message.tool_call_id: message for message in messages[start:] if isinstance(message, ToolMessage)}
    answers = [one for one in messages[start:] if isinstance(one, AssistantMessage) and one.label is None]
    newest = [given[call.id] for call in answers[-1].tool_calls if call.id in given] if answers else []
    called = [Called(call, given[call.id]) for one in answers for call in one.tool_calls if call.id in given]
    return OpenTurn(
        prompts=tuple(prompts),
        called=tuple(called),
        progressed=any(result.outcome is not Outcome.SKIPPED for result in newest),
        blocked=any(result.outcome is Outcome.BLOCKED for result in newest),
        failed_before=any(isinstance(message, ToolMessage) and message.outcome.is_error for message in earlier),
    )


def _start(messages: History) -> int:
    """Tell where the open turn starts: after the last answer without calls, after a completed one, or after a stop."""
    finished = {
        message.tool_call_id
        for message in messages
        if isinstance(message, ToolMessage) and message.outcome is Outcome.SUCCEEDED
    }
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, AssistantMessage) and message.label is not None and not message.interrupted:
            continue  # a thought ends nothing
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        ended = isinstance(message, AssistantMessage) and (not calls or message.interrupted)
        if ended or any(call.name.endswith(FINISHED) and call.id in finished for call in calls):
            behind = enumerate(messages[at + 1 :], at + 1)
            return next((place for place, one in behind if not isinstance(one, ToolMessage)), len(messages))
        follower = messages[at + 1] if at + 1 < len(messages) else None
        stopped = isinstance(message, UserMessage) and message.origin == "fanout"
        if stopped and isinstance(follower, UserMessage) and follower.origin == "user":
            return at + 1
    return 0


def _meant(prompt: str, earlier: History) -> str:
    """Return the prompt, or for `again` the newest earlier one that said what to do."""
    if not _AGAIN.fullmatch(prompt[:200]):
        return prompt
    prompts = [one.content for one in earlier if isinstance(one, UserMessage) and one.origin == "user"]
    return next((text for text in reversed(prompts) if not _AGAIN.fullmatch(text[:200])), prompt)
