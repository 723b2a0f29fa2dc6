"""Intents for one call, which the text behind the name stands for, and for agents, which are calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from console_app.console.reports import call_text
from console_app.domain import Outcome, UsageError, call_description, one_line
from console_app.domain import agents as ag

if TYPE_CHECKING:
    from console_app.console.console import Console


def run_shown(console: Console, rest: str) -> None:
    console.calls.run_shown(rest)


def retry(console: Console, rest: str) -> None:
    if rest:
        console.calls.run_again(console.ui.call(rest).id)
    else:
        console.calls.run_cut_off_again()


async def result(console: Console, rest: str) -> None:
    name, _, text = rest.partition(" ")
    call = console.ui.call(name)
    if why := call_description.refusal(call, call_description.Act.RESULT):
        raise UsageError(why)
    if content := text.strip() or await console.ui.ask(f"Result of {one_line(call.label, 60)}", "in place of its own"):
        await console.sessions.go_on_from(call.id, content)


async def inspect(console: Console, rest: str) -> None:
    call = console.ui.call(rest)
    exchange = console.services.exchange
    await console.ui.report(one_line(call.label, 60), lambda: call_text(call, exchange(call.id)), every=0.5)


def _agents(console: Console):
    if (agents := console.services.engine.agents) is None:
        raise UsageError("no agents can be sent here")
    return agents


def _no_kind(console: Console, kind: str, more: str = "") -> UsageError:
    there = f"There are {', '.join(names(console))}{more}."
    return UsageError(f"there is no kind of agent {one_line(kind, 40) or 'without a name'}", there)


async def kinds(console: Console, _rest: str) -> None:
    agents = _agents(console)

    def report() -> str:
        lines = ["Running"] if agents.running else []
        for path, call_id in agents.running.items():
            call = console.ui.transcript.calls.get(call_id)
            state = call_description.in_words(call) if call is not None else "begins"
            did = call_description.agent_work(call) if call is not None else ""
            waits = call_description.agent_state(call, console.services.clock())[0] if call is not None else ""
            lines.append(f"  {one_line(path, 60)}: {' · '.join(filter(None, (state, waits, did)))}")
        lines += ["", "Kinds"] if lines else ["Kinds"]
        for name, kind in sorted(agents.kinds.items()):
            lines.append(f"  {one_line(name, 40)}: {one_line(kind.description, 300)}")
            lines += [f"    {fact}" for fact in ag.described(kind)]
        return "\n".join(lines)

    await console.ui.report("Agents", report, every=1.0)


def send(console: Console, rest: str) -> None:
    kind, _, task = rest.partition(" ")
    if kind not in _agents(console).kinds:
        raise _no_kind(console, kind)
    if not task.strip():
        raise UsageError(f"the agent has no task: /agent {kind} TASK")
    asked = json.dumps({"task": task.strip(), "kind": kind}, ensure_ascii=False)
    console.call_by_hand(f"fanout.agent {asked}", f"/agent {rest}")


def race(console: Console, rest: str) -> None:
    """Has several kinds or models do the same task side by side; those that may change files, in git worktrees of their
    own."""
    named, _, task = rest.partition(" ")
    agents = _agents(console)
    runners = list(dict.fromkeys(filter(None, named.split(","))))
    if len(runners) < 2 or not task.strip():
        raise UsageError("a race has two runners or more, and a task", "/race KIND,PROVIDER/MODEL TASK")
    folder = console.services.working_folder
    checkout = any((one / ".git").exists() for one in (folder, *folder.parents))
    calls: list[str] = []
    for runner in runners:
        kind = agents.kinds.get(runner if "/" not in runner else ag.GENERAL)
        if kind is None:
            raise _no_kind(console, runner, "; or PROVIDER/MODEL")
        asked: dict[str, str | bool] = {"task": task.strip(), "name": runner.rpartition("/")[2], "kind": kind.name}
        asked |= {"model": runner} if "/" in runner else {}
        asked |= {"worktree": True} if checkout and not kind.reads_only and kind.opens is None else {}
        calls.append(f"fanout.agent {json.dumps(asked, ensure_ascii=False)}")
    console.call_by_hand(" ".join(calls), f"/race {rest}")


async def take(console: Console, rest: str) -> None:
    """Take the answer of an agent: the model is told that it counts, and changes of its worktree are made in the files
    here."""
    from console_app.workplace import Worktree

    calls = console.ui.transcript.calls.values()
    call = next((one for one in reversed(calls) if one.runs and one.runs == rest.strip()), None)
    if call is None or call.outcome is not Outcome.SUCCEEDED:
        there = ", ".join(one_line(name, 60) for name in answered(console)) or "none yet"
        raise UsageError(
            f"no agent {one_line(rest, 40) or 'without a name'} has answered", f"Those that have: {there}."
        )
    back, name = call.structured or {}, one_line(call.runs, 60)
    if branch := str(back.get("branch", "")):
        folder = console.services.working_folder
        await asyncio.to_thread(Worktree.apply, folder, str(back.get("base", "")), branch)
    changes = f" Its changes, of the branch {branch}, are in the files of the working folder now." if branch else ""
    others = "Answers of others to the same task count for nothing."
    await console.conversation.note(f"[Fanout: the user takes the answer of the agent {name}. {others}{changes}]")
    made = f" What it changed is in your files; the branch {one_line(branch, 80)} stays." if branch else ""
    console.ui.toast(f"Taken: the answer of {name}. The model is told with your next message.{made}")


def tell(console: Console, rest: str) -> None:
    name, _, words = rest.partition(" ")
    agents = _agents(console)
    if (call_id := agents.running.get(name)) is None:
        named = ", ".join(agents.running) or "none"
        raise UsageError(f"no agent {one_line(name, 40)} runs", f"Those that run: {named}.")
    if not words.strip():
        raise UsageError(f"there is nothing to say: /tell {name} WORDS")
    if agents.steer(call_id, words.strip()):
        console.ui.toast(f"Queued: {one_line(name, 40)} reads it before its next answer.")
    else:
        console.ui.toast(f"{one_line(name, 40)} takes no words now.")


async def choose(console: Console, rest: str) -> None:
    agent = console.services.engine.provider.agent
    if agent is None:
        raise UsageError("no agent answers here", "/model acp/NAME has one of [agents.NAME] answer.")
    what, _, value = rest.partition(" ")
    if value.strip():
        offer = await agent.choose(what, value.strip())
        console.ui.toast(f"{one_line(offer.id, 40)}: {one_line(offer.choices.get(offer.value) or offer.value, 60)}")
        return
    lines: list[str] = []
    for offer in agent.offers:
        lines.append(one_line(offer.id, 40))
        for one, label in offer.choices.items():
            lines.append(f"  {'●' if one == offer.value else '○'} {one_line(one, 60)}: {one_line(label, 80)}")
    text = "\n".join(lines) or "The agent lets nothing be chosen, or has not been started: your first prompt does that."
    await console.ui.report("The agent that answers", lambda: text)


def offers(console: Console) -> Sequence[str]:
    agent = console.services.engine.provider.agent
    there = agent.offers if agent is not None else ()
    return [f"{offer.id} {value}" for offer in there for value in offer.choices]


def names(console: Console) -> Sequence[str]:
    agents = console.services.engine.agents
    return sorted(agents.kinds) if agents is not None else ()


def answered(console: Console) -> Sequence[str]:
    calls = console.ui.transcript.calls.values()
    return [call.runs for call in calls if call.runs and call.outcome is Outcome.SUCCEEDED]


def running(console: Console) -> Sequence[str]:
    agents = console.services.engine.agents
    return list(agents.running) if agents is not None else ()
