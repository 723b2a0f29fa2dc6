"""Connecting a model by its address, against servers that answer as the usual ones do, or wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.models import choose_model
from console_app.config.models.model_choice import checked_url
from console_app.config.secrets import Redactor, StoredKeys, with_key
from console_app.config.settings import LayeredSettings, Settings
from console_app.console.connecting import Connecting
from console_app.console.models import ConfiguredModels, Models
from console_app.domain.approvals import ApprovalMode
from console_app.domain.errors import ConfigError, FanoutError
from console_app.engine import ApprovalGate, Engine
from tests.console.local_endpoints import MODELS, endpoint
from tests.each import each
from tests.tui.parts import Tools
from tests.wire_bytes import Answer, Text
from tests.wire_server import Cut, Hang, Reply, Request, WireServer, free_port

KEY = "sk-connect-canary-0123456789"


class Console:
    """A console's models under a home of its own, and what is connected to it."""

    def __init__(self, home: Path, environ: Mapping[str, str] | None = None, ports: Mapping[int, str] | None = None):
        self.paths = Paths.find({"FANOUT_HOME": str(home)})
        self.environ = dict(environ or {})
        self.redactor = Redactor()
        source = self.started()
        choice = source.choose()
        engine = Engine(provider=source.open(choice), toolset=Tools(), gate=ApprovalGate(ApprovalMode.ASK))
        self.models = Models(engine, source, choice)
        self.connecting = Connecting(self.paths, source, self.models, self.redactor, ports=ports or {})

    def started(self) -> ConfiguredModels:
        """The models as a start finds them in the files."""
        environ = StoredKeys(self.paths).over(self.environ, self.redactor)
        layered = LayeredSettings.load(self.paths, cwd=self.paths.data, flags={}, environ=environ)
        return ConfiguredModels(layered.settings, environ)

    async def connect(self, address: str, model: str = "", key: str = "") -> str:
        """All three steps, with the first model that is listed unless one is named."""
        listing = await self.connecting.listing(address, key)
        model = model or listing.models[0]
        await self.connecting.try_out(listing.connection, model)
        return await self.connecting.keep(listing.connection, model)


async def test_what_answers_on_this_machine_is_found_and_nothing_else(tmp_path: Path) -> None:
    def web_page(request: Request) -> Reply:
        return Reply.html("<title>A page</title>")

    with (
        WireServer(endpoint("ollama")) as ollama,
        WireServer(endpoint("vllm", key=KEY)) as vllm,
        WireServer(endpoint("llama-cpp")) as llama,
        WireServer(web_page) as page,
    ):
        servers = {"ollama": ollama, "vllm": vllm, "llama-cpp": llama, "page": page}
        ports = {int(server.url.rpartition(":")[2]): name for name, server in servers.items()} | {free_port(): "gone"}
        found = await Console(tmp_path, {"OPENAI_API_KEY": KEY}, ports).connecting.local()
        assert [(one.name, one.url, one.models) for one in found] == [
            ("ollama", f"{ollama.url}/v1", ("llama3.2:latest",)),
            ("vllm", f"{vllm.url}/v1", None),
            ("llama-cpp", f"{llama.url}/v1", ("tiny.gguf",)),
        ]
        for server in servers.values():
            assert not any(KEY in str(request.headers) for request in server.requests)


@each("kind", MODELS)
@each("path", ["", "/", "/v1", "/v1/"])
async def test_each_is_connected_with_and_without_the_path_of_the_api(tmp_path: Path, kind: str, path: str) -> None:
    with WireServer(endpoint(kind)) as server:
        console = Console(tmp_path)
        listing = await console.connecting.listing(f"{server.url}{path}", "")
        assert not listing.models[0].startswith("text-embedding")
        kept = await console.connect(f"{server.url}{path}")
        assert console.models.name.endswith(f"/{listing.models[0]}")
        assert console.models.name in kept
        again = console.started().choose()
        assert again.name == console.models.name
        assert again.config is not None
        assert again.config.url == f"{server.url}/v1"
        assert server.requests[-1].body["model"] == listing.models[0]


async def test_a_key_is_kept_for_its_host_alone_and_stands_in_no_file_of_settings(tmp_path: Path) -> None:
    with WireServer(endpoint("vllm", key=KEY)) as server, WireServer(endpoint("vllm")) as other:
        console = Console(tmp_path)
        kept = await console.connect(server.url, key=KEY)
        assert KEY not in kept
        assert KEY not in console.paths.settings.read_text()
        assert KEY not in console.redactor.clean(f"a line with {KEY}")
        again = console.started().choose().config
        assert again is not None
        assert again.api_key == KEY
        text = console.paths.settings.read_text().replace(server.url, other.url)
        console.paths.settings.write_text(text)  # the address of the provider is changed by hand
        source = console.started()
        moved = source.choose().config
        assert moved is not None
        assert moved.url == f"{other.url}/v1"
        assert moved.api_key is None


async def test_a_key_of_another_host_is_asked_for_again_in_words(tmp_path: Path) -> None:
    environ = with_key({}, "LAB_API_KEY", KEY, "https://lab.example/v1")
    table = {"api": "openai-chat", "base_url": "https://elsewhere.example/v1", "api_key_env": "LAB_API_KEY"}
    settings = Settings.model_validate({"model": "lab/big", "providers": {"lab": table}})
    with pytest.raises(ConfigError, match=r"lab needs a key, and the one that is kept was given for lab\.example"):
        choose_model(settings, environ)


async def test_the_environments_own_key_is_neither_replaced_nor_sent(tmp_path: Path) -> None:
    with WireServer(endpoint("vllm", key=KEY)) as server:
        port = server.url.rpartition(":")[2]
        console = Console(tmp_path, {f"LOCAL_{port}_API_KEY": "sk-of-the-environment"})
        await console.connect(server.url, key=KEY)
        assert not any("sk-of-the-environment" in str(request.headers) for request in server.requests)
        again = console.started().choose().config
        assert again is not None
        assert again.api_key == KEY


async def test_connected_again_it_is_the_same_provider(tmp_path: Path) -> None:
    with WireServer(endpoint("lm-studio")) as server:
        console = Console(tmp_path)
        await console.connect(server.url)
        before = console.models.name
        await console.connect(server.url)
        assert console.models.name == before
        again = Console(tmp_path)
        await again.connect(server.url, key=KEY)  # now with a key: the settings name a variable for it
        tables = tomllib.loads(again.paths.settings.read_text())["providers"]
        assert len(tables) == 2
        await again.connect(server.url, key=f"{KEY}-new")
        assert len(tomllib.loads(again.paths.settings.read_text())["providers"]) == 2
        chosen = again.started().choose().config
        assert chosen is not None
        assert chosen.api_key == f"{KEY}-new"


async def test_what_stands_in_the_settings_stays_there(tmp_path: Path) -> None:
    console = Console(tmp_path)
    console.paths.settings.write_text(
        '# mine\nmodel = "openai/x"  # for now\nbase_url = "http://127.0.0.1:1/v1"\n\n[keys]\n"chat.stop" = "f9"\n'
    )
    with WireServer(endpoint("llama-cpp")) as server:
        await Console(tmp_path).connect(server.url)
        text = console.paths.settings.read_text()
        assert "# mine" in text
        assert tomllib.loads(text)["keys"] == {"chat.stop": "f9"}
        chosen = console.started().choose()
        assert chosen.model == "tiny.gguf"
        assert chosen.config is not None
        assert chosen.config.url == f"{server.url}/v1"


async def test_an_endpoint_that_lists_nothing_takes_a_name(tmp_path: Path) -> None:
    def only_answers(request: Request) -> Reply | Answer:
        if request.path == "/v1/chat/completions":
            return Answer(Text("ready"))
        return Reply.json({"detail": "Not Found"}, 404)

    with WireServer(only_answers) as server:
        console = Console(tmp_path)
        assert (await console.connecting.listing(server.url, "")).models == ()
        await console.connect(server.url, "a/model:7b")
        assert console.started().choose().model == "a/model:7b"


async def test_anthropics_format_is_known_by_its_address(tmp_path: Path) -> None:
    def anthropic(request: Request) -> Reply | Answer:
        if request.headers.get("x-api-key") != KEY:
            return Reply.json({"type": "error", "error": {"type": "authentication_error", "message": "no"}}, 401)
        if request.path.startswith("/anthropic/v1/models"):
            return Reply.json({"data": [{"type": "model", "id": "claude-small"}], "has_more": False})
        return Answer(Text("ready"))

    with WireServer(anthropic) as server:
        console = Console(tmp_path)
        await console.connect(f"{server.url}/anthropic/v1", key=KEY)
        assert server.requests[-1].path.startswith("/anthropic/v1/messages")
        assert console.started().choose().model == "claude-small"


@each(
    ("reply", "words"),
    [
        (Reply.json({"error": {"message": "bad key"}}, 401), ("(401)", "Type its key")),
        (Reply.html("<title>Sign in</title>"), ("a web page (Sign in)",)),
        (Reply.json({"error": {"message": "boom"}}, 500), ("failed (HTTP 500)",)),
        (Reply([], 301, {"Location": "https://elsewhere.example/"}, None, "length"), ("redirects to",)),
        (Reply(before_headers=[Cut()]), ("connection was lost",)),
    ],
)
async def test_a_wrong_answer_is_one_line(tmp_path: Path, reply: Reply, words: tuple[str, ...]) -> None:
    with WireServer(lambda _: reply) as server:
        await refused(Console(tmp_path), server.url, *words)


async def test_what_can_not_be_reached_is_one_line(tmp_path: Path) -> None:
    await refused(Console(tmp_path), f"http://127.0.0.1:{free_port()}", "connection was refused")
    with WireServer(endpoint("vllm")) as server:
        await refused(Console(tmp_path), server.url.replace("http:", "https:"), "no secure connection", "http://")


async def test_where_the_list_does_not_come_a_model_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console_app.console.connecting.LISTING", 0.3)
    silent = Reply(before_headers=[Hang()])
    with WireServer(lambda request: silent if request.method == "GET" else Answer(Text("ready"))) as server:
        console = Console(tmp_path)
        listing = await console.connecting.listing(server.url, "")
        assert (listing.models, listing.why) == ((), "No list came within 0.3 s.")
        await console.connecting.try_out(listing.connection, "slow-to-list")
        await console.connecting.keep(listing.connection, "slow-to-list")
        assert console.models.name.endswith("/slow-to-list")
        await console.models._engine.provider.close()  # pyright: ignore[reportPrivateUsage]


async def test_an_endpoint_that_has_no_name_yet_is_not_called_by_one(tmp_path: Path) -> None:
    """A guess from `https://lab.invalid` would have been `Model: invalid at …`."""
    await refused(
        Console(tmp_path), "http://nobody.invalid/v1", "Model: endpoint at http://nobody.invalid/v1: no such host"
    )


@each(
    ("address", "words"),
    [
        ("", "no address is given"),
        ("http://a b/v1", "a space"),
        ("ftp://host/", "is no URL"),
        ("http://name:word@host/v1", "A key belongs into the field"),
        ("http://host/v1/chat/completions", "is one endpoint of the API"),
    ],
)
async def test_an_address_that_is_none_is_one_line(tmp_path: Path, address: str, words: str) -> None:
    await refused(Console(tmp_path), address, words)


async def test_a_key_that_is_none_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(FanoutError) as caught:
        await Console(tmp_path).connecting.listing("http://127.0.0.1:9/v1", "sk-ärger und mehr")
    assert "ärger" not in caught.value.line


def test_a_host_alone_gets_a_scheme() -> None:
    assert checked_url("localhost:1234/v1") == "http://localhost:1234/v1"
    assert checked_url("10.0.0.7:8000") == "http://10.0.0.7:8000"
    assert checked_url("api.example.com/v1") == "https://api.example.com/v1"


async def test_a_model_that_says_nothing_is_not_kept(tmp_path: Path) -> None:
    with WireServer(endpoint("ollama", word=" ")) as server:
        console = Console(tmp_path)
        with pytest.raises(FanoutError, match="answered with nothing"):
            await console.connect(server.url)
        assert not console.paths.settings.exists()
        assert console.models.name == "offline/rehearsal"


async def refused(console: Console, address: str, *words: str) -> None:
    with pytest.raises(FanoutError) as caught:
        await console.connecting.listing(address, KEY if "(401)" in words else "")
    line = caught.value.line
    assert "\n" not in line
    assert "--" not in line
    assert KEY not in line
    for word in words:
        assert word in line
