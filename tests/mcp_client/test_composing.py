"""A typed prompt has prompts of servers filled in, resources read and attached, or ends in an error that says why."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console_app.config.servers import ServerConfig
from console_app.domain.errors import FanoutError, ServerError, UsageError
from console_app.domain.messages import UserMessage
from console_app.mcp_client import (
    Composer,
    PromptArgument,
    ResourceTemplate,
    ServerPrompt,
)
from console_app.mcp_client.offering.typed_names import Mention, mentions, typed_names, written_arguments, written_uri
from tests.each import each
from tests.mcp_client.conftest import Bench, StartHub, faulty, program

NAMES = st.text(min_size=1, max_size=30)
VALUES = st.text(max_size=60)


async def offering(start_hub: StartHub, *more: str, **fields: object) -> Bench:
    config = program("offering_server.py", name="notes", **fields)
    bench = await start_hub(config.model_copy(update={"args": (*config.args, *more)}))
    await bench.until(lambda: bool(bench.hub.prompts()))
    return bench


@pytest.fixture
async def notes(start_hub: StartHub) -> Bench:
    """The same server for all cases of a test."""
    return await offering(start_hub)


async def test_a_text_that_names_nothing_is_itself(start_hub: StartHub) -> None:
    bench = await offering(start_hub)
    for text in ("hello", "mail bob@notes:x", "@nobody:note://1", "/etc/hosts:1 what is it?", "@notes:", "/help me"):
        assert not Composer(bench.hub).names_something(text)
        assert await Composer(bench.hub).compose(text) == UserMessage(content=text)


async def test_resources_are_read_and_attached_once_each(start_hub: StartHub) -> None:
    bench = await offering(start_hub)
    text = "Compare @notes:note://1 with @notes:note://2, (@notes:note://1) please."
    assert Composer(bench.hub).names_something(text)
    message = await Composer(bench.hub).compose(text)
    assert message.content == text
    assert [(one.uri, one.mime, one.size, one.text) for one in message.attachments] == [
        ("note://1", "text/plain", 10, "the note 1"),
        ("note://2", "text/plain", 10, "the note 2"),
    ]


async def test_bytes_are_a_file_that_the_text_names(start_hub: StartHub) -> None:
    bench = await offering(start_hub)
    (picture,) = (await Composer(bench.hub).compose("What is on @notes:note://picture ?")).attachments
    assert (picture.mime, picture.size) == ("image/png", 8)
    assert picture.path.endswith(".png")
    assert picture.path in picture.text


@each(
    ("text", "why"),
    [
        ("read @notes:note://nowhere", "notes: Resource not found"),
        ("read @notes:note://large", "note://large is too large to send: 500,000 characters"),
        (" ".join(f"@notes:note://{n}" for n in range(21)), "can carry 20 resources, and this names 21"),
        ("/notes:nothing", "notes has no prompt nothing now"),
        ("/notes:review style=short", "the prompt review needs language"),
        ("/notes:plain words", "takes no arguments; nothing takes words"),
        ("/notes:silent", "the prompt silent came back empty"),
        ("/notes:broken", "notes: It broke"),
    ],
)
async def test_what_can_not_be_sent_says_why(notes: Bench, text: str, why: str) -> None:
    with pytest.raises(FanoutError) as raised:
        await Composer(notes.hub).compose(text)
    assert why in raised.value.line


async def test_a_resource_that_is_switched_off_is_not_read(start_hub: StartHub) -> None:
    bench = await offering(start_hub)
    bench.hub.select({("notes", "resource", "note://1")})
    with pytest.raises(ServerError, match="note://1 is switched off"):
        await Composer(bench.hub).compose("@notes:note://1")


async def test_a_server_that_has_gone_says_so(start_hub: StartHub) -> None:
    bench = await offering(start_hub)
    await bench.hub.set_enabled("notes", False)
    with pytest.raises(ServerError, match="The server notes is disabled"):
        await Composer(bench.hub).compose("@notes:note://1")
    with pytest.raises(ServerError, match="notes has no prompt review now"):
        await Composer(bench.hub).compose("/notes:review python")


async def test_a_prompt_of_a_server_is_the_message_with_what_is_embedded_attached(start_hub: StartHub) -> None:
    bench = await offering(start_hub)
    message = await Composer(bench.hub).compose('/notes:review python style="short and kind"')
    assert message.source == '/notes:review python style="short and kind"'
    assert message.content == "User: Review this python, short and kind.\n\nAssistant: Which part?"
    text, picture = message.attachments
    assert (text.uri, text.text) == ("note://embedded", "what is embedded")
    assert (picture.uri, picture.mime) == ("", "image/png")
    assert picture.path in picture.text


async def test_hostile_names_can_be_typed(start_hub: StartHub) -> None:
    bench = await offering(start_hub, "hostile")
    (typed,) = (name for name in bench.hub.typed_prompts() if "red" in name)
    assert typed == "notes:red_click_app.quit_x_/_52_c_eA"
    assert (await Composer(bench.hub).compose(f"/{typed}")).content == "a hostile prompt"
    uri = next(one.uri for one in bench.hub.resources() if "\x1b" in one.uri)
    (read,) = (await Composer(bench.hub).compose(f"look at {bench.hub.mention('notes', uri)} now")).attachments
    assert read.uri == uri


async def test_a_server_without_any_of_it_is_no_trouble(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("plain", name="odd"), ServerConfig(name="off", command="x", disabled=True))
    with pytest.raises(ServerError, match="odd: Method not found"):
        await Composer(bench.hub).compose("@odd:note://1")
    with pytest.raises(ServerError, match="The server off is disabled"):
        await Composer(bench.hub).compose("@off:note://1")


@given(st.lists(NAMES, unique=True, max_size=8))
@example(["a b", "a_b", "a:b", "\x1b[2J", "", " "])
def test_every_name_has_one_that_can_be_typed(names: list[str]) -> None:
    table = typed_names(names)
    assert list(table.values()) == names
    for typed in table:
        assert typed
        assert not any(c.isspace() or c in ':"@' for c in typed)


@given(NAMES)
@example("note://a,")
@example('say "hi" \x1b[2J\u202e')
def test_every_uri_can_be_written_into_a_text_and_is_read_back(uri: str) -> None:
    text = f"Look at @notes:{written_uri(uri)} and go on."
    assert mentions(text, {"notes": "Notes"}, ()) == [Mention("Notes", uri)]
    assert written_uri(uri).isprintable()


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES))
@example({"a": 'two "words"', "b": "", "c": "x=y \x1b"})
def test_arguments_are_read_as_they_were_written(values: dict[str, str]) -> None:
    prompt = ServerPrompt("s", "p", arguments=tuple(PromptArgument(name) for name in ("a", "b", "c")))
    assert prompt.arguments_of(written_arguments(values)) == values


def test_words_fill_the_arguments_in_order_and_the_last_takes_the_rest() -> None:
    prompt = ServerPrompt("s", "p", arguments=(PromptArgument("city"), PromptArgument("what")))
    assert prompt.arguments_of("Oslo the weather of today") == {"city": "Oslo", "what": "the weather of today"}
    assert prompt.arguments_of('what=rain "New York"') == {"what": "rain", "city": "New York"}
    assert prompt.arguments_of("Oslo x=1 y") == {"city": "Oslo", "what": "x=1 y"}
    assert prompt.arguments_of("") == {}
    with pytest.raises(UsageError, match="takes no arguments"):
        ServerPrompt("s", "p").arguments_of("something")


def test_a_template_is_followed_while_a_uri_is_typed() -> None:
    template = ResourceTemplate("s", "repo://{owner}/{name}/file/{+path}", "file")
    start = template.place_in("rep")
    assert start is not None
    assert (start.variable, start.with_value("")) == ("", "repo://")
    owner = template.place_in("repo://ada")
    assert owner is not None
    assert (owner.variable, owner.value, owner.with_value("ada b")) == ("owner", "ada", "repo://ada%20b/")
    name = template.place_in("repo://ada/eng")
    assert name is not None
    assert (name.variable, name.value, name.others) == ("name", "eng", {"owner": "ada"})
    assert name.with_value("engine") == "repo://ada/engine/file/"
    path = template.place_in("repo://ada/engine/file/src/a")
    assert path is not None
    assert (path.variable, path.value, path.with_value("src/a.py")) == (
        *("path", "src/a"),
        "repo://ada/engine/file/src/a.py",
    )
    assert template.place_in("other://x") is None
    assert ResourceTemplate("s", "find://{?q,page}", "find").place_in("find://x") is None


def test_a_template_is_filled_in() -> None:
    template = ResourceTemplate("s", "find://{kind}{?q,page}", "find", variables=("kind", "q", "page"))
    assert template.expand({"kind": "a b", "q": "x", "page": ""}) == "find://a%20b?q=x"
    with pytest.raises(ServerError, match="can't be filled in"):
        ResourceTemplate("s", "find://{", "find").expand({})
