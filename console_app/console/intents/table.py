"""Everything that a user can do, once, in the order of its use: name, words, when it may be done and what it does. A
face gives an entry a way (`Slash`, `Key`, or `Cannot` with its reason); without one, an entry that says what it does is
a slash command there."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from console_app.console.calls import Calls
from console_app.console.intents import calls, reports, settings, talk
from console_app.console.permissions import Permissions
from console_app.console.talk.sessions import EXPORTS_ABOUT
from console_app.domain import one_line
from console_app.records import dataclass

if TYPE_CHECKING:
    from console_app.console.console import Console
    from console_app.mcp_client import ServerPrompt

LONGEST_ABOUT = 200  # characters of a description

_LINE = re.compile(r"/([a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)

Run = Callable[["Console", str], Awaitable[None] | None]
"""Does it, with the text that stands behind the name. Raises FanoutError, which every face shows as one line."""
Choices = Callable[["Console"], Sequence[str]]


class Moment(Enum):
    """The states in which an intent may be done. In any other the user is told why it may not."""

    ALWAYS = "always"
    SETTLED = "settled"  # once nothing is left of an activity that has told its end
    IDLE = "idle"  # settled, nothing runs, and the session is not open to read only


def no_choices(_console: Console) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Intent:
    """An entry of the table. Without `run` and `act`, each face does it in a way of its own. `act` is for one call, by
    its id."""

    name: str
    about: str
    run: Run | None = None
    argument: str = ""  # what may follow the name, as help shows it; without one nothing may
    choices: Choices = no_choices
    moment: Moment = Moment.ALWAYS
    asks: bool = False  # it may open a dialog, which takes the place of another
    same_as: str = ""  # the intent that this is another name of
    act: Callable[[Calls, str], None] | None = None

    @property
    def does(self) -> Run | None:
        """Return the way of every face that says nothing else; an act is for the call that the text names."""
        if (act := self.act) is None:
            return self.run
        return lambda console, rest: act(console.calls, console.ui.call(rest).id)


@dataclass(frozen=True, slots=True)
class Slash:
    """A face has the intent as a slash command; `run` and `choices` are the face's own, in place of the entry's."""

    run: Run | None = None
    choices: Choices | None = None


@dataclass(frozen=True, slots=True)
class Key:
    binding: str


@dataclass(frozen=True, slots=True)
class Cannot:
    why: str


Way = Slash | Key | Cannot
Ways = Mapping[str, Way]


_SETTLED, _IDLE = Moment.SETTLED, Moment.IDLE

# In the order of help and the palette: what is used most comes first, and what belongs together stands together.
INTENTS: Mapping[str, Intent] = {
    one.name: one
    for one in (
        Intent("help", "keys and commands", asks=True),
        Intent("keys", "keys and commands, as /help", same_as="help", asks=True),
        Intent("connect", "connect a model on this machine or by its address", argument="[ADDRESS]", asks=True),
        Intent("model", "choose the model that answers", settings.model, "[PROVIDER/MODEL]", asks=True),
        Intent("theme", "choose the colours", argument="[NAME]", asks=True),
        Intent(
            "effort",
            "how much the model thinks before it answers",
            settings.effort,
            "[LEVEL]",
            lambda _: list(settings.EFFORT_WORDS),
            asks=True,
        ),
        Intent(
            "policy",
            "how the calls of one answer run",
            settings.policy,
            "[parallel|sequential|single]",
            lambda _: list(settings.POLICIES),
            asks=True,
        ),
        Intent(
            "protocol",
            "how the model is given tools; auto learns it anew",
            settings.protocol,
            "[auto|native|text|xml]",
            lambda _: settings.PROTOCOLS,
            asks=True,
        ),
        Intent("mcp", "servers and their tools, on and off", argument="[SERVER | add WORDS]", asks=True),
        Intent("tools", "servers and their tools, as /mcp", argument="[SERVER]", same_as="mcp", asks=True),
        Intent("reload", "read changed commands and mcp.json again", talk.reload, asks=True),
        Intent("trust", "trust what this project brings, all or one", talk.trust, "[NAME]", talk.untrusted, asks=True),
        Intent(
            "call", "call tools yourself, without a model", talk.call, "[SERVER.TOOL [JSON] ...]", talk.tools, asks=True
        ),
        Intent("run", "run a call that was only shown; it asks", calls.run_shown, "[SERVER.TOOL JSON]"),
        Intent("retry", "run a call again; alone, what was cut off", calls.retry, "[CALL]"),
        Intent("agents", "the kinds of agents, and those that run", calls.kinds, asks=True),
        Intent("agent", "send an agent to do a task", calls.send, "KIND TASK", calls.names),
        Intent("tell", "say something to an agent that runs", calls.tell, "AGENT WORDS", calls.running),
        Intent("race", "several kinds or models do one task side by side", calls.race, "A,B,… TASK", calls.names),
        Intent("take", "take an agent's answer and changes", calls.take, "AGENT", calls.answered, moment=_IDLE),
        Intent(
            "choose",
            "a mode, a model and more of the agent that answers",
            calls.choose,
            "[WHAT VALUE]",
            calls.offers,
            asks=True,
        ),
        Intent("timeline", "the calls of a turn in time", argument="[TURN]", asks=True),
        Intent("new", "start a new session; the model forgets this one", talk.new, moment=_SETTLED),
        Intent("sessions", "resume, rename, fork, export, delete", talk.sessions, "[WORDS]", asks=True),
        Intent("resume", "resume a session", talk.resume, "[ID]", asks=True),
        Intent(
            "rename",
            "give this session a title",
            lambda console, rest: console.sessions.rename(rest),
            "[TITLE]",
            asks=True,
        ),
        Intent("fork", "go on with a copy of this session, from any turn", talk.fork, "[TURN]", asks=True),
        Intent("compare", "this conversation beside its fork", talk.compare, "[ID]", asks=True),
        Intent("rewind", "go back to a message of yours and change it", talk.rewind, "[TURN|WORDS]", asks=True),
        Intent("undo", "take the last turn back, or only its files", talk.undo, "[files]", asks=True),
        Intent("diff", "what this conversation changed in files", talk.diff, asks=True),
        Intent(
            "export",
            "write this session to a file",
            talk.export,
            "[md|html|jsonl|trace] [PATH]",
            lambda _: list(EXPORTS_ABOUT),
        ),
        Intent("find", "find in the conversation and results", argument="[WORDS]"),
        Intent("clear", "clear the screen; the model still knows it all", moment=_SETTLED),
        Intent("copy", "copy the answer, or code, a table, a result", argument="[WHAT]", asks=True),
        Intent(
            "mode",
            "which later calls run without asking",
            settings.mode,
            "[ask|auto|plan|yolo]",
            lambda _: list(Permissions.MODES),
            asks=True,
        ),
        Intent("plan", "plan mode on and off: only what reads runs", settings.plan),
        Intent("permissions", "the mode and the rules: what may run unasked", argument="[RULE]", asks=True),
        Intent("config", "every setting, who set it; change it here", argument="[NAME|WORDS]", asks=True),
        Intent("todo", "the to-do list: change, add and delete items", argument="[WORDS]"),
        Intent("editor", "write the prompt in $EDITOR", asks=True),
        Intent("context", "what the model reads, and how full its window is", reports.context, asks=True),
        Intent("request", "the messages of the next and the last request", reports.request, asks=True),
        Intent("cost", "tokens and money, in all and by turn", reports.cost, asks=True),
        Intent("compact", "summarise older turns for the model", talk.compact, "[undo]", moment=_IDLE),
        Intent("log", "the program's log", reports.log, asks=True),
        Intent("doctor", "what is wrong, and what to do about it", reports.doctor, asks=True),
        Intent("status", "the model, the mode, what runs and waits"),
        Intent("quit", "leave"),
        # The turn that runs, and what waits behind it
        Intent("stop", "stop what runs", talk.stop),
        Intent("steer", "say something to the turn that runs", talk.steer, "WORDS"),
        Intent("go", "send what is queued; begin without servers that still connect", talk.go),
        Intent("unsend", "take the newest queued message back", talk.unsend),
        Intent("draft", "send the message that was given back"),
        Intent("read", "read a turn of the conversation again", argument="[TURN]"),
        Intent("results", "send the model the results that are there", lambda console, _: console.calls.send_now()),
        # Calls that wait for you, and questions
        Intent("approve", "let calls run; alone, tells what waits", argument="[CALLS|reads|all [COMMENT]]"),
        Intent("deny", "don't let calls run, with words for the model", argument="[CALLS|all [COMMENT]]"),
        Intent("allow", "let a call run, and others like it without asking", argument="CALL"),
        Intent("answer", "answer what a server or the model asks"),
        Intent("decline", "don't answer it"),
        # One call
        Intent("calls", "the calls of the newest turn; with a state only those", argument="[STATE]"),
        Intent("show", "the whole result of a call, or all of one that waits", argument="CALL"),
        Intent("cancel", "end a call; the others go on", argument="CALL", act=Calls.cancel),
        Intent("edit", "run a call with other arguments", argument="CALL"),
        Intent("result", "change a call's result: a copy goes on from there", calls.result, "CALL [TEXT]"),
        Intent("extend", "give a running call its whole time again", argument="CALL", act=Calls.extend),
        Intent("background", "let a running call go on; the turn goes on too", argument="CALL", act=Calls.background),
        Intent("inspect", "everything known of a call, what was sent and got too", calls.inspect, "CALL"),
        Intent("files", "the files of a call's result, and opens one", argument="CALL"),
    )
}


@dataclass(frozen=True, slots=True)
class Bound:
    """An intent as a command of one face: `run` takes the text behind its name, and raises FanoutError."""

    intent: Intent
    run: Run
    choices: Choices = no_choices


def slash_commands(ways: Ways) -> Mapping[str, Bound]:
    """Return the slash commands of a face, in the table's order. Raises ValueError where face and table differ."""
    nowhere = [name for name, intent in INTENTS.items() if name not in ways and intent.does is None]
    if differ := [*nowhere, *(ways.keys() - INTENTS.keys())]:
        raise ValueError(f"these have no entry, or no way: {', '.join(sorted(differ))}")
    return {
        name: Bound(intent, run, way.choices or intent.choices)
        for name, intent in INTENTS.items()
        if isinstance(way := ways.get(name, Slash()), Slash) and (run := way.run or intent.does) is not None
    }


def intent_of(typed: str, prompt: ServerPrompt) -> Intent:
    parts = dict.fromkeys(part for part in (prompt.title, prompt.description) if part)
    about = one_line(": ".join(parts), LONGEST_ABOUT) or "a prompt of the server"
    words = ((one_line(one.name, 30), one.required) for one in prompt.arguments)
    return Intent(typed, about, argument=" ".join(word if needed else f"[{word}]" for word, needed in words))


def parse(text: str) -> tuple[str, str] | None:
    """Return (name, rest) of a prompt that is a command; None where it only starts with a slash, as a path does."""
    match = _LINE.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None
