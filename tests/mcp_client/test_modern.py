"""The same features with a server of 2026-07-28, over stdio: questions ride in results, changes on a stream."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console_app.domain.questions import Elicitation, ElicitationAnswer
from console_app.domain.tools import Outcome
from console_app.mcp_client import Asking
from console_app.mcp_client.connecting.asking import ProviderSampler
from tests.examples import spread
from tests.mcp_client.conftest import Bench, Reports, StartHub, faulty, program
from tests.mcp_client.people import OneAnswer, Person
from tests.patience import PATIENCE

SERVER = program("modern_server.py", name="modern")


async def test_questions_are_asked_for_the_calls_that_need_them_and_changes_are_told(
    start_hub: StartHub, tmp_path: Path
) -> None:
    person = Person(ElicitationAnswer("accept", {"size": 7}))
    asking = Asking(person, ProviderSampler(OneAnswer), roots=(tmp_path,))
    bench = await start_hub(SERVER, asking=asking)
    assert bench.status().protocol_version == "2026-07-28"
    reports = Reports()
    form, model, where = await asyncio.gather(bench.call("form"), bench.call("model", reports), bench.call("where"))
    assert (form.content, model.content, where.content) == ("size 7", "Paris", tmp_path.as_uri())
    questions = [asked for asked in person.asked if isinstance(asked, Elicitation)]
    assert [(question.message, question.call_id) for question in questions] == [("Which size?", "call1")]
    assert reports.held_ever
    assert reports.usage[0].output_tokens == 2
    before = bench.hub.traffic("modern").revision
    assert 0 < await bench.hub.ping("modern") < PATIENCE
    sent = [message.method for message in bench.hub.traffic("modern").after(before) if message.sent]
    assert "server/discover" in sent
    await _changes_are_told_on_a_stream_that_is_kept_open(bench)
    person.answer = ElicitationAnswer("decline")
    await _a_declined_question_is_a_failed_call_and_a_cancelled_call_withdraws_it(bench, person)


async def _a_declined_question_is_a_failed_call_and_a_cancelled_call_withdraws_it(bench: Bench, person: Person) -> None:
    assert (await bench.call("form")).outcome is Outcome.FAILED
    person.free.clear()
    person.news.clear()
    call = asyncio.create_task(bench.call("form"))
    await person.news.wait()
    person.news.clear()
    call.cancel()
    await person.news.wait()
    assert person.withdrawn == 1


async def _changes_are_told_on_a_stream_that_is_kept_open(bench: Bench) -> None:
    await bench.until(lambda: len(bench.hub.prompts()) == 1)
    told: list[tuple[str, str]] = []
    seen = asyncio.Event()

    def on_update(server: str, uri: str) -> None:
        told.append((server, uri))
        seen.set()

    bench.hub.on_update = on_update
    await bench.hub.connection("modern").catalogue.subscribe("note://a")
    async with asyncio.timeout(PATIENCE):
        while not seen.is_set():  # the stream is opened anew in the background
            await bench.call("touch", uri="note://a")
    assert told[0] == ("modern", "note://a")
    await bench.call("grow")
    await bench.until(lambda: [prompt.name for prompt in bench.hub.prompts()] == ["early", "late"])


async def test_a_question_inside_a_call_says_how_to_pin_the_older_protocol_and_the_pin_works(
    start_hub: StartHub,
) -> None:
    person = Person(ElicitationAnswer("accept", {"size": 7}))
    pinned = program("modern_server.py", name="pinned", protocol="2025-11-25")
    modern = program("modern_server.py", name="modern", protocol="2026-07-28")
    bench = await start_hub(modern, pinned, asking=Asking(person))
    refused = await bench.call("ask_inside", server="modern")
    way = 'Protocol 2026-07-28 has no questions inside a call: "protocol": "2025-11-25" in mcp.json has.'
    assert refused.outcome is Outcome.FAILED
    assert refused.content.endswith(way)
    assert (refused.error or "").endswith(way)
    assert [status.protocol_version for status in bench.hub.statuses()] == ["2026-07-28", "2025-11-25"]
    assert (await bench.call("ask_inside", server="pinned")).content == "accept"


async def test_each_version_can_be_pinned_and_a_server_without_it_says_so(start_hub: StartHub) -> None:
    for version in spread(["2024-11-05", "2025-03-26", "2025-06-18"], 1):  # the test above has the others
        bench = await start_hub(program("modern_server.py", name="modern", protocol=version))
        assert bench.status().protocol_version == version
    bench = await start_hub(faulty("plain", protocol="2026-07-28"))
    assert bench.status().reason == 'mcp.json has "protocol": "2026-07-28" for it, and it speaks 2025-11-25'
