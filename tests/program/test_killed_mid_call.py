"""A run that is killed while a call runs goes on as if it had not been: what the endpoint gave goes back to it byte for
byte, and the strict judge of its wire takes the next request."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import Any

import pytest

from tests.program.process import Fanout
from tests.providers import strict_wire
from tests.providers.strict_wire import ChatRules
from tests.wire_bytes import APIS, Answer, Api, Call, Reasoning, Text, chat_call, chat_chunk
from tests.wire_server import Hang, Reply, WireServer

THOUGHT, SIGNATURE = "Two things at once.", "c2lnbmVkIGJ5IG1l"
IDS = {
    "openai-chat": ("functions.demo_long_task:0", "functions.demo_long_task:1"),
    "openai-responses": ("call_" + "0aZ_" * 14, "call_" + "1aZ_" * 14),
    "anthropic": ("toolu_" + "0aZ-" * 20, "toolu_" + "1aZ-" * 20),
}
KIMI_AND_GEMINI = ChatRules(
    re.compile(r"functions\.[\w-]+:\d+"), frozenset({"reasoning_content"}), frozenset({"extra_content"})
)
SIGNED = {"google": {"thought_signature": SIGNATURE}}


def answer_events(api: Api) -> list[bytes]:
    """Thought, text and two calls; on the chat wire the first call is signed."""
    slow = [json.dumps({"task": id[-1], "duration_seconds": 600}) for id in ("one", "two")]
    calls = [Call("demo_long_task", text, id, size=20) for text, id in zip(slow, IDS[api], strict=True)]
    events = Answer(Reasoning(THOUGHT, SIGNATURE), Text("Both."), *calls).events(api)
    if api == "openai-chat":
        opening = chat_call(0, id=IDS[api][0], name="demo_long_task", arguments="")
        signed: dict[str, Any] = {"index": 0, "id": IDS[api][0], "type": "function", "extra_content": SIGNED}
        signed["function"] = {"name": "demo_long_task", "arguments": ""}
        events[events.index(opening)] = chat_chunk({"tool_calls": [signed]})
    return events


def killed_and_resumed(fanout: Fanout, server: WireServer, api: Api, reply: Reply, started: int) -> dict[str, Any]:
    """Kills a run once so many calls have started and something of the second was shown; the body that the resumed
    session sends."""
    server.script(reply, Answer(Text("I see.")))
    fanout.write("home/config.toml", f'[providers.lab]\napi = "{api}"\nbase_url = "{server.base_url(api)}"\n')
    flags = ("-m", "lab/m", "--mcp", "demo", "--output-format", "stream-json", "--approval-mode", "yolo")
    with fanout.start("run", *flags, "go", stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        running, second, begun = 0, "", False
        while running < started or not begun:
            event = json.loads(process.stdout.readline())
            running += event["type"] == "call.started"
            if event["type"] == "call.announced" and event["index"] == 1:
                second = event["call_id"]
            begun = begun or (event["type"] == "call.arguments" and event["call_id"] == second)
        process.send_signal(signal.SIGKILL)
    done = fanout.run("run", *flags, "-c", "go on")
    assert done.code == 0, done.err
    return server.requests[-1].body


def judged(api: Api, body: dict[str, Any]) -> None:
    """Passes what the endpoint would take; the ids were its own, so their shape is its rule."""
    if api == "openai-chat":
        strict_wire.check_chat(body, KIMI_AND_GEMINI)
    else:
        strict_wire.check(api, body)


def given_back(api: Api, body: dict[str, Any]) -> tuple[Any, list[str], list[str]]:
    """The first thing of the answer that was cut off, the ids of its calls and those of their results."""
    if api == "openai-chat":
        answer = body["messages"][-4]
        results = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
        return answer["reasoning_content"], [call["id"] for call in answer["tool_calls"]], results
    if api == "openai-responses":
        kept = next(item for item in body["input"] if item.get("type") == "reasoning")
        ids = [[one["call_id"] for one in body["input"] if one.get("type") == kind] for kind in RESPONSES_KINDS]
        return kept["encrypted_content"], *ids
    first, *rest = body["messages"][1]["content"]
    uses = [block["id"] for block in rest if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in body["messages"][2]["content"] if block["type"] == "tool_result"]
    return first["signature"], uses, results


RESPONSES_KINDS = ("function_call", "function_call_output")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("streams", [False, True], ids=["its calls run", "it still streams"])
def test_what_the_endpoint_gave_goes_back_to_it(fanout: Fanout, server: WireServer, api: Api, streams: bool) -> None:
    events = answer_events(api)
    if streams:
        second = next(place for place, event in enumerate(events) if IDS[api][1].encode() in event)
        reply = Reply([*events[: second + 3], Hang()])
    else:
        reply = Reply(events)
    body = killed_and_resumed(fanout, server, api, reply, 1 if streams else 2)
    judged(api, body)
    kept, calls, results = given_back(api, body)
    assert kept == (THOUGHT if api == "openai-chat" else SIGNATURE)
    assert calls == results == list(IDS[api])
    if api == "openai-chat":
        signed = [call.get("extra_content") for call in body["messages"][-4]["tool_calls"]]
        assert signed == [SIGNED, None]
