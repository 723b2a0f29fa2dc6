"""An agent that does what its scenario says: `python scripted_agent.py SCENARIO`.

It has the standard library alone, so that it starts at once and can write what no SDK would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import deque
from typing import Any

scenario = sys.argv[1]
SIGNED_OUT = {("session/new", "sign_in"), ("session/prompt", "sign_in_late")}
waiting: deque[dict[str, Any]] = deque()  # messages that were read while an answer was waited for
numbers = iter(range(100, 100_000))


def write(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    if scenario != "asks_later":  # which has its answer and what comes behind it in one piece
        sys.stdout.flush()


def read() -> dict[str, Any]:
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def told(**update: Any) -> None:
    write({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}})


def say(text: str) -> None:
    told(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def call(number: str, **more: Any) -> None:
    told(sessionUpdate="tool_call", toolCallId=number, **{"title": f"Do {number}", "kind": "execute", **more})


def change(number: str, **more: Any) -> None:
    told(sessionUpdate="tool_call_update", toolCallId=number, **more)


def send(method: str, **params: Any) -> int:
    number = next(numbers)
    write({"jsonrpc": "2.0", "id": number, "method": method, "params": {"sessionId": "s1", **params}})
    return number


def answer_to(number: int) -> dict[str, Any]:
    """The answer to a request; what else comes meanwhile waits."""
    for message in list(waiting):
        if message.get("id") == number and "method" not in message:
            waiting.remove(message)
            return message
    while True:
        message = read()
        if message.get("method") == "session/cancel":
            write({"jsonrpc": "2.0", "id": prompt_id, "result": {"stopReason": "cancelled"}})
            sys.exit(0)
        if message.get("id") == number and "method" not in message:
            return message
        waiting.append(message)


def permission(number: str, options: Any = None, **tool: Any) -> int:
    options = options or [
        {"optionId": "yes", "name": "Yes, once", "kind": "allow_once"},
        {"optionId": "ever", "name": "Yes, for ever", "kind": "allow_always"},
        {"optionId": "no", "name": "Rather not", "kind": "reject_once"},
    ]
    return send("session/request_permission", toolCall={"toolCallId": number, **tool}, options=options)


def picked(number: int) -> str:
    outcome = answer_to(number)["result"]["outcome"]
    return outcome.get("optionId", outcome["outcome"])


def text(words: str) -> list[Any]:
    return [{"type": "content", "content": {"type": "text", "text": words}}]


def run(words: str) -> str:
    """Answer a prompt, and return the reason of its end."""
    match scenario:
        case "words":
            told(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "Hm."})
            say("Hello ")
            say("there.")
        case "three":
            for number in "abc":
                call(number, rawInput={"command": f"do {number}"}, status="pending")
            asked = {number: permission(number) for number in "abc"}
            answers = {number: picked(one) for number, one in asked.items()}
            for number, answer in answers.items():
                change(number, status="in_progress" if answer == "yes" else "failed")
            for number, answer in answers.items():
                if answer == "yes":
                    change(number, status="in_progress", content=text("one\n"))
                    change(number, status="in_progress", content=text("one\ntwo\n"))
                    change(number, status="completed", content=text("one\ntwo\n"))
            say(" ".join(f"{number}={answer}" for number, answer in answers.items()))
        case "permission_first":
            say(picked(permission("late", title="Write a file", kind="edit", rawInput={"path": "x"})))
            change("late", status="completed")
        case "only_an_id":
            call("v", rawInput={"command": "ls"}, status="in_progress")
            say(picked(permission("v")))
            change("v", status="completed", rawOutput="listed")
        case "shapes":
            plan = [
                {"content": "First", "status": "completed", "priority": "high"},
                {"content": "Then", "status": "new"},
            ]
            told(sessionUpdate="plan", entries=plan)
            diff = {"type": "diff", "path": "/w/a.py", "oldText": "a = 1\n", "newText": "a = 2\n"}
            call("d", kind="edit", rawInput={}, status="pending", _meta={"claudeCode": {"toolName": "Edit"}})
            change("d", rawInput={"path": "a.py"})
            change("d", status="completed", content=[diff])
            call("f", kind="read")
            change("f", status="completed", content=text("```console\nplain\n```"))
            told(sessionUpdate="usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
            told(sessionUpdate="nothing_known", what=[1])
            say("done")
        case "served":
            call("t", rawInput={"command": "echo hi"}, status="in_progress")
            named = [{"name": "A", "value": "1"}, {"value": "nameless"}, "odd"]
            made = answer_to(send("terminal/create", command="echo", args=["hi there"], env=named))
            terminal = made["result"]["terminalId"]
            change("t", content=[{"type": "terminal", "terminalId": terminal}])
            status = answer_to(send("terminal/wait_for_exit", terminalId=terminal))["result"]
            output = answer_to(send("terminal/output", terminalId=terminal))["result"]["output"]
            answer_to(send("terminal/release", terminalId=terminal))
            change("t", status="completed")
            wrote = answer_to(send("fs/write_text_file", path="note.txt", content="one\ntwo\nthree\n"))
            lines = answer_to(send("fs/read_text_file", path="note.txt", line=2, limit=1))
            gone = answer_to(send("fs/read_text_file", path="/etc/hostname"))
            say(json.dumps([status, output, "error" in wrote, lines.get("result"), "error" in gone]))
        case "served_and_killed":
            made = answer_to(send("terminal/create", command="sleep", args=["600"], cwd="/srv"))["result"]
            asked = (
                ("terminal/output", made),
                ("terminal/kill", made),
                ("terminal/wait_for_exit", made),
                ("fs/write_text_file", {"path": "note.txt", "content": "one"}),
                ("fs/read_text_file", {"path": "gone.txt"}),
                ("fs/read_text_file", {"path": ""}),
                ("terminal/output", {"terminalId": "terminal-9"}),
                ("fs/list_files", {}),
            )
            heard = (answer_to(send(method, **given)) for method, given in asked)
            say(json.dumps([one["result"] if "result" in one else one["error"]["message"] for one in heard]))
        case "lies":
            change("nobody", status="completed", content=text("made up"))
            call("a", status="pending")
            call("a", title="Again", status="pending")
            change("a", status="completed", content=text("first"))
            change("a", status="failed", content=text("second"))
            other = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "of another"}}
            write({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "other", "update": other}})
            write({"jsonrpc": "2.0", "id": 99, "result": {"stopReason": "end_turn"}})
            write(
                {
                    "jsonrpc": "2.0",
                    "method": "session/update",
                    "params": {"sessionId": "s1", "_meta": {"session_id": 1}},
                }
            )
            write([1, "two", None])
            say("truth")
        case "denied_and_done":
            call("a", status="pending")
            picked(permission("a"))
            change("a", status="completed", content=text("did it"))
            say("ok")
        case "open":
            call("a", status="in_progress")
            say("never ended")
        case "dies":
            call("a", status="in_progress")
            sys.stderr.write("out of cheese\n")
            sys.stderr.flush()
            os._exit(3)
        case "hangs":
            call("a", status="in_progress")
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            say(f"{os.getpid()} {child.pid}")
            while True:
                time.sleep(60)
        case "asks_and_hangs":
            call("a", status="pending")
            permission("a")
            while True:
                read()
        case "flood":
            piece = "x" * 10_000
            for _ in range(2_000):
                say(piece)
        case "floods_calls":
            for number in range(5_000):
                call(f"n{number}", status="completed")
        case "garbage":
            for _ in range(500):
                sys.stdout.write("Loading, please wait ...\n")
            sys.stdout.flush()
        case "stray":
            sys.stdout.write("a line that is no message\n\n")
            say("still here")
        case "stderr":
            sys.stderr.write("e" * 2_000_000)
            sys.stderr.flush()
            say("said")
        case "long_line":
            sys.stdout.write("{" + "x" * (40 * 2**20) + "\n")
            sys.stdout.flush()
        case "empty":
            pass
        case "refuses":
            return "refusal"
        case "tired":
            say("so far")
            return "max_turn_requests"
        case "no_such_option":
            call("a", status="pending")
            options = [{"optionId": "ever", "name": "Always", "kind": "allow_always"}]
            say(picked(permission("a", options)))
        case "echo":
            say(f"<{words}>")
        case "talk":  # does what its prompt ends with
            match [one for one in words.split("\n\n") if not one.startswith("[Fanout")][-1].split()[-1]:
                case "wait":
                    call("w", status="in_progress")
                    say("waiting")
                    while read().get("method") != "session/cancel":
                        pass
                    say("behind the stop")
                    return "cancelled"
                case "sulk":  # a no ends the whole answer
                    call("a", status="pending")
                    call("b", status="in_progress")
                    picked(permission("a"))
                    return "cancelled"
                case "hang":
                    say(str(os.getpid()))
                    while True:
                        read()
                case "die":
                    call("d", status="in_progress")
                    os._exit(3)
                case "insist":  # asks, and goes on only once it has its answer, stopped or not
                    call("a", status="pending")
                    number = permission("a")
                    while (answer := read()).get("id") != number:
                        pass
                    say(answer["result"]["outcome"]["outcome"])
                    return "cancelled"
                case "ask":
                    call("a", status="pending")
                    say(picked(permission("a")))
                    change("a", status="completed")
                case _:
                    say(f"<{words}>")
        case "asks_later":
            call("a", status="completed")
            say("done")
        case "spends":
            for cents in (25, 50, 75):
                told(sessionUpdate="usage_update", used=10, size=100, cost={"amount": cents / 100, "currency": "USD"})
            say("spent")
            while read().get("method") != "session/cancel":
                pass
            return "cancelled"
        case "given":
            say(json.dumps(servers))
        case "loads" | "forgets":
            say(f"{opened_by} <{words}>")
        case "env":
            say(json.dumps(sorted(os.environ)))
        case _:
            raise SystemExit(f"no scenario {scenario}")
    return "end_turn"


prompt_id: Any = None
opened_by, servers = "", []
if scenario == "exits":
    sys.stderr.write("no such module\n")
    sys.exit(1)
while True:
    message = waiting.popleft() if waiting else read()
    if "method" not in message or "id" not in message:
        continue
    result: Any = {}
    error: Any = None
    match message["method"]:
        case "initialize":
            if scenario == "deaf":
                time.sleep(600)
            version = 7 if scenario == "version" else 1
            ways = [{"id": "login", "name": "Log in", "description": "Run scripted login"}]
            able = {"loadSession": scenario in ("loads", "forgets"), "mcpCapabilities": {"http": True}}
            result = {"protocolVersion": version, "agentCapabilities": able, "authMethods": ways}
        case "session/new" | "session/prompt" if (message["method"], scenario) in SIGNED_OUT:
            error = {"code": -32000, "message": "Authentication required"}
        case "session/load" if scenario == "loads":
            opened_by = message["method"]
            told(sessionUpdate="user_message_chunk", content={"type": "text", "text": "what was asked before"})
            say("what was said before")
        case "session/new":
            opened_by, servers = message["method"], message["params"]["mcpServers"]
            say("before the session")
            modes = {
                "currentModeId": "ask",
                "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
            }
            options = [{"value": "big", "name": "Big"}, {"value": "small", "name": "Small"}]
            model = {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "big"}
            result = {"sessionId": "s1", "modes": modes, "configOptions": [{**model, "options": options}]}
        case "session/set_mode" | "session/set_config_option":
            sys.stderr.write(json.dumps(message["params"]) + "\n")
            sys.stderr.flush()
        case "session/prompt":
            prompt_id = message["id"]
            words = message["params"]["prompt"][0]["text"]
            result = {"stopReason": run(words), "usage": {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}}
        case _:
            error = {"code": -32601, "message": "no"}
    if error is not None:
        write({"jsonrpc": "2.0", "id": message["id"], "error": error})
    else:
        write({"jsonrpc": "2.0", "id": message["id"], "result": result})
    if scenario == "asks_later" and message["method"] == "session/prompt":
        permission("a")
        call("z")
