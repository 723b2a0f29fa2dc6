"""Every command and action: what it is for, what it takes, and an example. The one table that all else is made from."""

from __future__ import annotations

from collections.abc import Iterator

from console_app.command_line import flags as of
from console_app.command_line.flags import (
    Completes,
    Flag,
    count,
    flag,
    minutes,
    one_of,
    port,
    screen_size,
    speed,
    switch,
)
from console_app.records import dataclass

SHELLS = ("bash", "zsh", "fish")
EXIT_CODES = (
    (0, "done"),
    (1, "failed"),
    (2, "usage or configuration"),
    (3, "nobody could approve a call"),
    (124, "time limit"),
    (130, "interrupted"),
)


@dataclass(frozen=True, slots=True)
class Words:
    """The words that a command takes beside options: put into `dest` as a list, or alone where there is at most one."""

    metavar: str
    dest: str = "words"
    help: str = ""
    least: int = 0
    most: int | None = None
    completes: Completes = ""
    choices: tuple[str, ...] = ()
    listed: bool = True  # whether `dest` is a list


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command, or an action of one. `name` is what is typed behind `fanout`, or behind the command."""

    name: str
    about: str
    words: Words | None = None
    flags: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()
    actions: tuple[CommandSpec, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()  # options that still have their old name too, for a release

    def action(self, name: str) -> CommandSpec | None:
        return next((one for one in self.actions if one.name == name), None)

    def all_flags(self) -> Iterator[Flag]:
        """Yield the command's own options and those of its actions."""
        yield from self.flags
        for action in self.actions:
            yield from action.flags


def _command(
    name: str,
    about: str,
    words: Words | None = None,
    flags: tuple[Flag, ...] = (),
    notes: tuple[str, ...] = (),
    *,
    renamed: tuple[tuple[str, str], ...] = (),
) -> CommandSpec:
    """Make a command that works in a folder, and so takes the general options beside its own."""
    return CommandSpec(name, about, words, (*flags, *of.GENERAL), notes, renamed=renamed)


_ID = Words("ID", help="a session; the beginning of its ID will do", least=1, most=1, completes="session")
_FILE_OUT = flag("-o", "--output", metavar="FILE", completes="file", help="a new file, not standard output")
_CALLS_FROM = flag("--from", metavar="FILE", completes="file", dest="from_file", help="calls in bulk, one a line")
_JUNIT = flag("--junit", metavar="FILE", completes="file", help="a JUnit report too, as CI reads it")
_SERVER = Words("NAME", completes="server", help="the server", least=1, most=1)
_ONLY = Words("NAME", completes="server", help="only these servers")

_MCP = CommandSpec(
    "mcp",
    "list, test, add, remove, import and sign in to MCP servers",
    actions=(
        _command(
            "list",
            "connect to the servers and say how each does",
            _ONLY,
            (switch("--check", help="exit 1 when a server failed"), of.JSON, _JUNIT, *of.SERVERS),
        ),
        _command("get", "what mcp.json says of a server", _SERVER, (of.JSON, of.MCP_CONFIG)),
        _command(
            "test",
            "connect, list what each server offers, and exit 1 when one fails",
            _ONLY,
            (of.JSON, _JUNIT, *of.SERVERS),
        ),
        _command(
            "add",
            "write a server to mcp.json",
            Words("NAME", help="its name, then a URL, -- COMMAND [ARG ...], or JSON", completes="file"),
            (
                flag("-e", "--env", metavar="NAME=VALUE", action="append", help="a variable for its program"),
                flag("-H", "--header", metavar="'NAME: VALUE'", action="append", help="a header for its URL"),
                one_of("--transport", "HOW", ("stdio", "http", "sse"), help="stdio, http or sse"),
                of.MCP_CONFIG,
            ),
            ("fanout mcp add time -- uvx mcp-server-time", "fanout mcp add search https://search.example/mcp"),
        ),
        _command(
            "find",
            "look for servers in the registry that mcp_registry names; writes nothing",
            Words("WORD", help="what a server's name has in it", least=1),
            (of.JSON,),
            ("fanout mcp find github",),
        ),
        _command(
            "remove",
            "take servers out of mcp.json",
            Words("NAME", completes="server", help="the servers", least=1),
            (of.MCP_CONFIG,),
        ),
        _command(
            "auth",
            "sign in to a server through the browser",
            _SERVER,
            (switch("--sign-out", help="forget the sign-in"), of.MCP_CONFIG),
        ),
        _command(
            "import",
            "take servers over from other clients; without words, list what is found",
            Words("CLIENT|FILE [NAME]", completes="file", help="from where, and which servers"),
            (of.JSON, of.MCP_CONFIG),
        ),
        _command(
            "trust",
            "use the project's mcp.json and settings, shown first, or a server's changed tools",
            Words("FILE|NAME", completes="server", help="a file of the project, or a server"),
            (of.YES, of.MCP_CONFIG),
        ),
    ),
)
_ENDPOINT = CommandSpec(
    "endpoint",
    "test what a model's endpoint does, and keep it",
    notes=("It sends 8 requests of about 4,000 tokens together, says so first, and asks.",),
    actions=(
        _command(
            "test",
            "play a fixed set of requests; exit 1 when something doesn't work there",
            Words("URL", help="the endpoint; without one, that of the model in use", most=1),
            (of.YES, of.JSON, _JUNIT, *of.MODEL),
            ("fanout endpoint test http://localhost:8000/v1 --yes",),
        ),
    ),
)
_SESSIONS = CommandSpec(
    "sessions",
    "list, search, show, export, fork and delete saved sessions",
    actions=(
        _command("list", "the newest first", None, (of.JSON, of.JSON_LINES, of.LIMIT)),
        _command(
            "search",
            "where words were said",
            Words("WORD", help="each of them was said there", least=1),
            (of.JSON, of.JSON_LINES, of.LIMIT),
        ),
        _command(
            "show",
            "a conversation as text, as events, or as it happened",
            _ID,
            (
                of.JSON,
                switch("--jsonl", help="every event a line of JSON"),
                switch("--replay", help="play it with its real timing"),
                flag("--speed", metavar="N", type=speed, default=1.0, help="--replay: N times as fast"),
                of.THEME,
            ),
        ),
        _command(
            "export",
            "a session as a file for people, for programs, or as a moving picture",
            _ID,
            (
                one_of(
                    "--format",
                    "FORM",
                    ("md", "html", "jsonl", "trace", "svg", "cast"),
                    help="md, html, jsonl, trace, svg (moving) or cast",
                ),
                _FILE_OUT,
                flag("--size", metavar="COLSxROWS", type=screen_size, help="svg, cast: of the screen (100x30)"),
                flag("--speed", metavar="N", type=speed, default=1.0, help="svg, cast: N times as fast"),
                of.THEME,
            ),
            ("fanout sessions export 3f9a -o talk.html", "fanout sessions export 3f9a -o talk.svg --size 90x24"),
        ),
        _command(
            "import",
            "store an exported session, under a new ID",
            Words(
                "FILE",
                completes="file",
                help="what export --format jsonl wrote, or - for standard input",
                least=1,
                most=1,
            ),
        ),
        _command(
            "rename",
            "give a session a title",
            Words("ID TITLE", completes="session", help="a session and its title", least=2),
        ),
        _command(
            "fork",
            "a copy to go on with",
            _ID,
            (flag("--turn", metavar="N", type=count, help="up to the end of this turn"),),
        ),
        _command("delete", "for good", Words("ID", completes="session", help="the sessions", least=1), (of.YES,)),
    ),
)
_KIND = Words("NAME", help="a kind of agent", least=1, most=1)
_AGENTS = CommandSpec(
    "agents",
    "the kinds of agents that a model may send",
    actions=(
        _command("list", "every kind, with what it is for", None),
        _command("show", "all of one kind: its tools, its model, its prompt", _KIND),
        _command("make", "begin a file for a kind of your own", _KIND),
        _command(
            "add",
            "write an agent of others to your settings, shown first; alone, list what is known",
            Words("NAME", help="as it is listed, or any name and -- COMMAND [ARG ...]", completes="file"),
            (
                flag("--from", metavar="FILE|URL", dest="registry", help="a registry, in place of agent_registry"),
                of.YES,
            ),
            ("fanout agents add codex", "fanout agents add mine -- ./agent --acp"),
        ),
    ),
)
_PROVIDER = Words("PROVIDER", "provider", help="as openai or anthropic", most=1, listed=False)
_AUTH = CommandSpec(
    "auth",
    "keep a provider's key, or forget it",
    notes=("A key is typed unseen or read from standard input: never an argument, which others could see.",),
    actions=(
        _command("set", "keep a key in the keyring or a private file", _PROVIDER),
        _command("remove", "forget a key", _PROVIDER),
        _command("list", "the names of the keys that are kept", None, (of.JSON,)),
    ),
)
_SETTING = Words("NAME", help="as max_steps or limits.files", least=1, most=1, completes="setting")
_PROJECT = switch("--project", help="the file of this project, .fanout/config.toml")
_CONFIG = CommandSpec(
    "config",
    "where the configuration is, what it says, what is wrong",
    actions=(
        _command("path", "the files and folders", None, (of.JSON,)),
        _command(
            "show",
            "every setting and who said it",
            Words("SETTING", help="only these", completes="setting"),
            (of.JSON, *of.SETTINGS, of.THEME),
        ),
        _command("list", "every setting with what it means", None, (of.JSON, *of.SETTINGS, of.THEME)),
        _command("get", "the value of one", _SETTING, (of.JSON, *of.SETTINGS, of.THEME)),
        _command(
            "set",
            "write one into your file",
            Words("NAME VALUE", help="as max_steps 9, limits.files 2", least=2, most=2, completes="setting"),
            (_PROJECT,),
        ),
        _command("unset", "take one out of your file", _SETTING, (_PROJECT,)),
        _command("edit", "your file in $VISUAL or $EDITOR", None, (_PROJECT,)),
        _command("validate", "what is wrong with it", None, (of.JSON, *of.MODEL, *of.SERVERS)),
    ),
)
_SERVE = _command(
    "serve",
    "the console in a browser",
    Words("CONSOLE OPTIONS", help="behind --: what each console is started with"),
    (
        flag("--host", metavar="ADDRESS", default="127.0.0.1", help="listen here; beyond loopback with a token"),
        flag("--port", metavar="N", type=port, default=8021, help="listen on this port (8021); 0: any"),
        flag("--token-file", metavar="FILE", completes="file", help="a token in place of a link that works once"),
        flag("--token", metavar="TOKEN", help="the token itself, which other users see"),
        flag("--public-url", metavar="URL", action="append", help="its address through a proxy or tunnel"),
        flag("--consoles", metavar="N", type=count, default=8, help="how many at a time (8)"),
        flag("--keep", metavar="MINUTES", type=minutes, default=0.0, help="how long one goes on without its page (0)"),
        flag("-e", "--env", metavar="NAME[=VALUE]", action="append", help="a variable that consoles get"),
    ),
    ("fanout serve", "fanout serve --keep 60 -- --model openai/NAME"),
)
COMMANDS: dict[str, CommandSpec] = {
    one.name: one
    for one in (
        _command(
            "run",
            "answer one prompt without the console (also: fanout -p)",
            Words("PROMPT", "prompt", help="`-` or nothing reads standard input; both are joined"),
            (
                *of.MODEL,
                *of.CALLS,
                *of.TURN,
                *of.APPROVALS,
                *of.SAVING,
                *of.SERVERS,
                *of.OUTPUT,
                of.SHOWS_OUTPUT,
                of.BACKGROUND_AFTER,
                *of.TRACE,
            ),
            ('git diff | fanout run "Review this"',),
        ),
        _command(
            "batch",
            "answer thousands of prompts at once, each a whole turn",
            Words("ITEMS", help="files of items; or status|show|stop [NAME]", least=1, completes="file"),
            (*of.ITEMS, *of.BULK, *of.MODEL, *of.CALLS, of.PROTOCOL, *of.TURN[2:-2], *of.APPROVALS, *of.SERVERS),
            ('fanout batch items.jsonl --prompt "Summarise {text}" -o results.jsonl',),
            renamed=(("--max-tokens", "--max-total-tokens"),),
        ),
        _command(
            "diff",
            "compare the results of two batches, call by call; 1 where they differ",
            Words("A B", help="two files of results", least=2, most=2, completes="file"),
            (of.JSON, _JUNIT),
            ("fanout diff expected.jsonl results.jsonl --junit report.xml",),
        ),
        _command(
            "call",
            "run tools yourself, several in parallel; no model",
            Words("SERVER.TOOL JSON", help="a tool and its arguments; {} if left out", completes="tool"),
            (_CALLS_FROM, *of.BULK, *of.CALLS, *of.APPROVALS, *of.SERVERS, *of.OUTPUT, *of.TRACE),
            ('fanout call demo.fail \'{"message": "no"}\' calculator.evaluate \'{"expression": "1+1"}\'',),
        ),
        _command(
            "program",
            "run a Python program whose functions are your tools; no model",
            Words("FILE", help="the program; - for standard input", least=1, most=1, completes="file"),
            (of.PRINT, *of.CALLS, *of.APPROVALS, *of.SERVERS, *of.OUTPUT),
            ("fanout program weather.py", "fanout program --output-format json weather.py"),
        ),
        CommandSpec(
            "parse",
            "what a text answer would call, as JSON",
            None,
            (
                flag("--tools", metavar="FILE", completes="file", help='JSON: [{"name": ..., "parameters": ...}]'),
                switch("--jsonl", help="read cases {id, tools, text}, one a line"),
                one_of(
                    "--protocol",
                    "HOW",
                    ("auto", "native", "text", "xml"),
                    default="text",
                    help="read as auto, native, text or xml would",
                ),
                of.DIALECT,
                flag("--chunk", metavar="N", type=count, help="feed N characters at a time"),
            ),
            ("fanout parse --tools tools.json < answer.txt",),
        ),
        _MCP,
        _command(
            "trust",
            "use what the project brings (servers, hooks, skills and more), shown first",
            Words("NAME|FILE", completes="file", help="what to trust; without one, all that waits"),
            (of.YES,),
            ("fanout trust AGENTS.md", "fanout trust 'skill deploy' --yes"),
        ),
        _ENDPOINT,
        _SESSIONS,
        _SERVE,
        _command(
            "acp",
            "the agent of an editor (Agent Client Protocol)",
            None,
            (*of.MODEL, *of.CALLS, *of.TURN, *of.APPROVALS, of.NO_SAVE, *of.SERVERS, *of.TRACE),
        ),
        _AGENTS,
        _command("models", "the models that can be used", None, (of.JSON, *of.MODEL)),
        _command("themes", "the themes that can be used", None, (of.JSON,)),
        _AUTH,
        _command(
            "doctor", "what is wrong, here and now, and what to do about it", None, (of.JSON, *of.MODEL, *of.SERVERS)
        ),
        _CONFIG,
        CommandSpec(
            "schema",
            "the JSON schema of each output",
            Words("NAME", help="an output; without one, what there is", most=1, completes="output"),
            (of.JSON,),
            ("fanout schema run > run.schema.json",),
        ),
        CommandSpec(
            "completion",
            "what makes a shell complete fanout's words",
            Words("SHELL", "shell", help="bash, zsh or fish", least=1, most=1, choices=SHELLS, listed=False),
            (),
            (
                'eval "$(fanout completion bash)"                           # in ~/.bashrc',
                'eval "$(fanout completion zsh)"                            # in ~/.zshrc, behind compinit',
                "fanout completion fish > ~/.config/fish/completions/fanout.fish",
            ),
        ),
        CommandSpec(
            "man",
            "the manual page",
            Words("COMMAND", help="of this command", most=1, completes="command"),
            (),
            ("fanout man | man -l -", "fanout man mcp | man -l -"),
        ),
    )
}
CONSOLE = CommandSpec(
    "",
    "A terminal console for agents that call many tools at once.",
    Words("PROMPT", "prompt", help="sent as the console opens"),
    (*of.MODEL, *of.CALLS, *of.TURN, *of.APPROVALS, *of.SAVING, *of.SERVERS, of.THEME, of.SCREEN_READER,
     of.PRINT, *of.OUTPUT, *of.TRACE, *of.GENERAL, of.VERSION, of.VERBOSE),
    (
        'fanout "Calculate 355/113, sqrt(2) and e^pi"',
    ),
)  # fmt: skip
