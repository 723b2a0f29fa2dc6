"""Everything that a user can do, once, in the order of its use. A face gives an entry a way (`Slash`, `Key`, or
`Cannot` with its reason); without one, an entry that says what it does is a slash command there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console_app.console.calls import Calls
from console_app.console.intents import calls, reports, settings, talk
from console_app.console.intents.intent import Choices, Intent, Moment, Run, Slash, Ways, no_choices
from console_app.console.talk.sessions import EXPORTS_ABOUT

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
            settings.efforts,
            asks=True,
        ),
        Intent(
            "policy",
            "how the calls of one answer run",
            settings.policy,
            "[parallel|sequential|single]",
            settings.policies,
            asks=True,
        ),
        Intent(
            "protocol",
            "how the model is given tools; auto learns it anew",
            settings.protocol,
            "[auto|native|text|xml]",
            settings.protocols,
            asks=True,
        ),
        Intent("mcp", "servers and their tools, on and off", argument="[SERVER | add WORDS]", asks=True),
        Intent("tools", "servers and their tools, as /mcp", argument="[SERVER]", same_as="mcp", asks=True),
        Intent("reload", "read changed commands and mcp.json again", talk.reload, asks=True),
        Intent("trust", "trust what this project brings, all or one", talk.trust, "[NAME]", talk.untrusted, asks=True),
        Intent(
            "call", "call tools yourself, without a model", talk.call, "[SERVER.TOOL [JSON] ...]", talk.tools, asks=True
        ),
        Intent("run", "run a call an answer only showed; it asks first", calls.run_shown, "[SERVER.TOOL JSON]"),
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
        Intent("sessions", "resume, rename, fork, export, delete", argument="[WORDS]", asks=True),
        Intent("resume", "resume a session", talk.resume, "[ID]", asks=True),
        Intent("rename", "give this session a title", talk.rename, "[TITLE]", asks=True),
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
        Intent("mode", "which later calls run without asking", argument="[ask|auto|plan|yolo]", asks=True),
        Intent("plan", "plan mode on and off: only what reads runs"),
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
        Intent("stop", "stop what runs"),
        Intent("steer", "say something to the turn that runs", talk.steer, "WORDS"),
        Intent("go", "send what is queued; begin without servers that still connect"),
        Intent("unsend", "take the newest queued message back"),
        Intent("draft", "send the message that was given back"),
        Intent("read", "read a turn of the conversation again", argument="[TURN]"),
        Intent("results", "send the model the results that are there", calls.send_now),
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
