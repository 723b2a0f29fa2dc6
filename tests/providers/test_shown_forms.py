"""How a model writes calls as text is known from the template that its endpoint shows, or from its name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallOpened
from console_app.domain.events import Decision
from console_app.domain.ports import Licence
from console_app.domain.settings import ProviderConfig
from console_app.engine import ApprovalGate, Engine
from console_app.providers import TextProtocol, open_provider
from console_app.providers.text_protocol import shown_form
from console_app.providers.text_protocol.forms import FORMS, form_of_model
from console_app.providers.text_protocol.render_template import SECONDS
from console_app.providers.text_protocol.shown_form import LARGEST, form_of_template, form_of_text
from console_app.textcalls import FAMILIES
from tests.each import each
from tests.faces.faces import OneTool
from tests.providers.reading import provider_at, read, request_with
from tests.providers.test_text_turns import PING
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Hang, Reply, WireServer

CALLS = Path(__file__).with_name("template_calls.jsonl")
NAMED = "message.tool_calls[0].function"
JINJA = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% if message.tool_calls %}<tool_call>\n"
    f'{{"name": "{{{{ {NAMED}.name }}}}", "arguments": {{{{ {NAMED}.arguments | tojson }}}}}}\n</tool_call>'
    "{% else %}{{ message.content }}{% endif %}<|im_end|>\n{% endfor %}"
)
TAGS = JINJA.replace("<tool_call>\n{", "[TOOL_CALLS][{").replace("}\n</tool_call>", "}]")
GO = (
    '{{- range .Messages }}{{- if eq .Role "assistant" }}<|im_start|>assistant\n{{ if .Content }}{{ .Content }}'
    "{{- else if .ToolCalls }}<tool_call>\n{{ range .ToolCalls }}"
    '{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}\n{{ end }}</tool_call>{{ end }}'
    "<|im_end|>\n{{ end }}{{ end }}"
)
GO_LIST = (
    "{{ if .Content }}{{ .Content }}{{ else if .ToolCalls }}[TOOL_CALLS] [{{ range .ToolCalls }}"
    '{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}{{ end }}]</s>{{ end }}'
)
PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
SHOWN = {
    "llama.cpp": ("/props", "chat_template", JINJA),
    "llama.cpp, with one for tools": ("/props", "chat_template_tool_use", JINJA),
    "vLLM": ("/tokenizer_info", "chat_template", JINJA),
    "Ollama": ("/api/show", "template", GO),
}
MARKED = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
DONE = Answer(Text("Done."))


def engine_of(server: WireServer, model: str = "m", **more: Any) -> Engine:
    config = ProviderConfig(
        name="lab", api="openai-chat", model=model, base_url=server.base_url("openai-chat"), api_key="k", max_tries=1
    )
    provider = TextProtocol(open_provider(config), **more)
    return Engine(provider=provider, toolset=OneTool(PING), gate=ApprovalGate(ApprovalMode.YOLO))


async def play(engine: Engine) -> list[ev.Event]:
    events: list[ev.Event] = []
    async with engine.start("Go.") as turn:
        async for event in turn:
            events.append(event)
            if isinstance(event, ev.ApprovalRequested):
                turn.resolve(event.call_id, Decision.DENY)
    return events


def test_the_table_of_names_is_made_of_what_templates_write() -> None:
    kept = {model: form for form, models in FORMS.items() for model in models.split(", ")}
    made: set[str] = set()
    for line in CALLS.read_text("utf-8").splitlines():
        case = json.loads(line)
        form = form_of_text(case["written"])
        assert form is not None, case["model"]
        assert FAMILIES[form].row is FAMILIES[kept[case["model"]]].row, "any coat of a row is that form"
        made.add(case["model"])
    assert made == set(kept)
    assert all(models.split(", ") == sorted(models.split(", "), key=str.lower) for models in FORMS.values())


@each(
    ("model", "form"),
    [
        ("qwen3:8b", "hermes_json"), ("Qwen/Qwen3-Coder-30B-A3B", "qwen3_coder_xml"), ("qwen3.5:4b", "qwen3_coder_xml"),
        ("llama3.1:70b", "llama3_json"), ("meta-llama/Llama-3.1-8B", "llama3_json"), ("glm-4.6", "glm45"),
        ("gpt-4o", None), ("qwen", None), ("m", None), ("", None), ("llama", None),
    ],
)  # fmt: skip
def test_a_name_tells_the_form_by_its_longest_known_beginning(model: str, form: str | None) -> None:
    assert form_of_model(model) == form


@each(
    ("template", "form"),
    [
        (JINJA, "hermes_json"), (TAGS, "mistral_json"), (GO, "hermes_json"), (GO_LIST, "mistral_json"), (PLAIN, None),
        ("", None), ("{% broken", None), ("{{ broken", None), (JINJA + " " * LARGEST, None),
        ("{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}", None),
        ("{% set x = 'x' * 999999999 %}{{ x }}", None), ("{{ messages.__class__.__mro__ }}{% if 1 %}{% endif %}", None),
    ],
)  # fmt: skip
async def test_a_template_tells_the_form_and_a_hostile_one_nothing(template: str, form: str | None) -> None:
    assert SECONDS < 5
    assert await form_of_template(template) == form


@each(("path", "key", "template"), SHOWN.values(), ids=SHOWN.keys())
async def test_what_the_endpoint_shows_licenses_the_first_call_of_a_model(path: str, key: str, template: str) -> None:
    with WireServer() as server:
        server.shows[path] = {key: template}
        server.script(Answer(Text("Hello.")), Answer(Text(MARKED)), DONE)
        engine = engine_of(server)
        await play(engine)
        assert not server.looked, "nothing is asked for before a text may be a call"
        events = await play(engine)
        await engine.provider.close()
    assert [event.text for event in events if isinstance(event, ev.Notice)] == [
        "lab/m writes calls as hermes_json: from the endpoint's template."
    ]
    assert not [event for event in events if isinstance(event, ev.ApprovalRequested)]
    assert [event.outcome for event in events if isinstance(event, ev.CallFinished)] == ["succeeded"]
    assert engine.provider.licence == Licence("hermes_json", "from the endpoint's template")
    assert all(request.headers["authorization"] == "Bearer k" for request in server.looked)


async def test_that_a_form_is_known_by_the_models_name_is_said_once() -> None:
    with WireServer() as server:
        server.script(Answer(Text(MARKED)), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, model="qwen3:8b")
        events = [*await play(engine), *await play(engine)]
        await engine.provider.close()
        assert not server.looked
    assert [event.text for event in events if isinstance(event, ev.Notice)] == [
        "lab/qwen3:8b writes calls as hermes_json: by the model's name."
    ]
    assert [event.outcome for event in events if isinstance(event, ev.CallFinished)] == ["succeeded", "succeeded"]


async def test_another_form_than_that_of_the_template_asks() -> None:
    with WireServer() as server:
        server.shows["/props"] = {"chat_template": TAGS}
        server.script(Answer(Text(MARKED)), DONE)
        engine = engine_of(server)
        events = await play(engine)
        await engine.provider.close()
    assert [event.form for event in events if isinstance(event, ev.ApprovalRequested)] == ["hermes_json"]


async def test_an_endpoint_that_never_shows_its_template_is_asked_for_it_no_longer_than_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shown_form, "PATIENCE", 0.05)
    with WireServer() as server:
        server.shows["/props"] = Reply(before_headers=[Hang()])
        server.script(Answer(Text(MARKED)), DONE)
        engine = engine_of(server)
        events = await play(engine)
        await engine.provider.close()
    assert [event.form for event in events if isinstance(event, ev.ApprovalRequested)] == ["hermes_json"]


async def test_a_model_that_calls_natively_may_write_calls_in_another_conversation() -> None:
    with WireServer() as server:
        server.script(Answer(Call("ping", "{}")), Answer(Text(MARKED)), Answer(Text(MARKED)))
        provider = TextProtocol(provider_at(server, "openai-chat", model="qwen3:8b"))
        request = request_with([PING])
        called = [
            [
                chunk
                for chunk in (await read(provider, replace(request, conversation=one)))[0]
                if isinstance(chunk, CallOpened)
            ]
            for one in ("a", "a", "b")
        ]
        await provider.close()
    assert [len(calls) for calls in called] == [1, 0, 1]


async def test_a_model_that_takes_no_tools_is_asked_to_write_its_own_form() -> None:
    refusal = Reply.json({"error": {"message": "this model does not support tools", "type": "invalid"}}, 400)
    with WireServer() as server:
        server.shows["/props"] = {"chat_template": TAGS}
        server.script(refusal, Answer(Text('[TOOL_CALLS][{"name": "ping", "arguments": {}}]')), DONE)
        engine = engine_of(server)
        events = await play(engine)
        sent = server.requests[1].body["messages"][0]["content"]
        await engine.provider.close()
    assert "[TOOL_CALLS]" in sent
    assert engine.provider.dialect == "mistral_json"
    assert not [event for event in events if isinstance(event, ev.ApprovalRequested)]


@each("more", [{"official": True}, {"mode": "native"}, {"dialect": "hermes_json"}])
async def test_no_template_is_asked_for_where_none_is_needed(more: dict[str, Any]) -> None:
    with WireServer() as server:
        server.script(Answer(Text(MARKED)), DONE)
        engine = engine_of(server, **more)
        await play(engine)
        assert not server.looked
        assert engine.provider.dialect is None, "tools are called natively"
        await engine.provider.close()


async def test_a_name_that_is_known_asks_neither_you_nor_the_endpoint() -> None:
    with WireServer() as server:
        server.script(Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "qwen3:8b")
        events = await play(engine)
        assert not server.looked
        await engine.provider.close()
    assert not [event for event in events if isinstance(event, ev.ApprovalRequested)]
    assert engine.provider.licence == Licence("hermes_json", "by the model's name")
    engine.provider.choose_protocol("native")
    assert engine.provider.licence is None, "no text is read"
