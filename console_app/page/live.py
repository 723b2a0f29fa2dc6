"""The page of `fanout serve`: one conversation that every device sees alike, drawn as an export draws it.

The console behind it belongs to the server and begins with the first device that came in. A device is sent all blocks
once and then those that changed, gathered ten times a second: a slow one skips what lies between, and holds up nobody.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from html import escape
from typing import Any, Final

from console_app.console import (
    ApprovalDecision,
    Console,
    Pending,
    PendingQuestion,
    Reply,
    Scope,
    Services,
    UiPort,
    files,
)
from console_app.console.intents import INTENTS, Cannot, Commands, Slash, Ways, parse
from console_app.domain import (
    Decision,
    Event,
    FanoutError,
    Level,
    displayed,
    event_news,
    one_line,
    plural,
    questions,
    web_address,
)
from console_app.domain.schema import forms
from console_app.domain.transcript import CallView, Transcript
from console_app.line_console import fill_in
from console_app.page.calls import CallEvents, CallsOnPage, argument_block
from console_app.page.conversation import blocks_of
from console_app.page.document import PageBlock, PageFrame, document
from console_app.page.texts import LONGEST, Texts
from console_app.records import dataclass

GATHERED: Final = 0.1  # seconds from one drawing to the next
SHARE: Final = 4  # parts of the time that are left to others for each part that drawing takes
PACE: Final = 500_000  # characters a second that a device is sent at most
MESSAGE: Final = 64_000  # characters of a message, unless one block alone has more
LINES: Final = 20  # that are told beside the conversation, the newest
Tell = Callable[[Mapping[str, Any]], Awaitable[None]]
STALE = "That changed since it was displayed here. Nothing was decided: read it again."
GONE = "That waits no more."
COMES_BACK = (
    "<p>The sign-in ends at an address of the machine that Fanout runs on. A browser on another device can't open it: "
    "paste that address here.</p>"
)
NO = ("deny", "stop", "decline", "")  # buttons that agree to nothing
log = logging.getLogger(__name__)


class Blocks:
    """The blocks that every device shows, each with the version in which it last changed."""

    def __init__(self) -> None:
        self.version = 0
        self.run = secrets.token_urlsafe(8)  # a device that knows another one has nothing of this
        self._areas: dict[str, dict[str, tuple[PageBlock, str, int]]] = {}
        self._gone: dict[str, int] = {}

    def put(self, area: str, blocks: Iterable[PageBlock], behind: str = "") -> None:
        """Show these blocks in an area, in place of what it has. The first is behind another area's block."""
        before, now, last = self._areas.get(area, {}), dict[str, tuple[PageBlock, str, int]](), dict[str, str]()
        for block in blocks:
            known = before.get(block.id)
            if known is None or known[0] != block:
                self.version += 1
                known = block, last.get(block.parent, "" if last else behind), self.version
            self._gone.pop(block.id, None)
            now[block.id], last[block.parent] = known, block.id
        for name in before.keys() - now.keys():
            self.version += 1
            self._gone[name] = self.version
        self._areas[area] = now

    def keep(self, kind: str, areas: Iterable[str]) -> None:
        """Take away the areas whose name begins so, but for these."""
        for area in [one for one in self._areas if one.startswith(kind)]:
            if area not in areas:
                self.put(area, ())
                del self._areas[area]

    def newer(self, version: int) -> Iterator[list[Any]]:
        """Yield what a device lacks that has all up to a version: a block in its place, or the id of one gone."""
        for name, since in self._gone.items():
            if since > version > 0:
                yield [name, "", ""]
        for area in self._areas.values():
            for block, after, since in area.values():
                if since > version:
                    yield [block.id, block.parent, block.named, after, bool(block.end)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on the board, with its buttons by their meaning and the label of its field, if it has one.

    `shown` is HTML. `answer` takes the button and the field, and returns False where nothing waits any more, or the
    reason against it in words. A yes counts for the display of this `stamp` alone, once the whole can be displayed.
    """

    title: str
    shown: str
    buttons: Mapping[str, str]
    answer: Callable[[str, str], object]
    field: str = ""
    secret: bool = False
    stamp: str = ""
    whole: bool = True


class LivePage(UiPort):
    """Holds the conversation, as its UiPort. `open_services` builds what it runs on, and may block."""

    def __init__(self, open_services: Callable[[], Services]) -> None:
        self._open_services = open_services
        self._console: Console | None = None
        self._opening: asyncio.Future[None] | None = None
        self._work = set[asyncio.Future[None]]()
        self._blocks = Blocks()
        self._devices = 0
        self._told = CallEvents()
        self._transcript = Transcript()
        self._dirty = set[int]()  # the numbers of turns that have news
        self._turn_of: dict[str, int] = {}  # where each call stands
        self._opened = set[str]()  # the calls of which a device shows all that is known
        self._lines = deque[tuple[Level, str]](maxlen=LINES)
        self._said = deque[tuple[int, Mapping[str, Any]]](maxlen=LINES)  # with the version that it came after
        self._asked: dict[str, Asked] = {}  # what the console itself asks, by the id of its block
        self._pages: dict[str, None] = {}  # addresses that were agreed to, until they are closed or a sign-in is over
        self._later_on = set[str]()  # servers whose sign-in was put off
        self._board: dict[str, Asked] = {}  # all that can be answered now
        self._names: dict[object, str] = {}  # the ids of questions of others
        self._looks: dict[str, asyncio.Task[bool]] = {}  # stamps of calls whose file is read
        self._news, self._drawn = asyncio.Event(), asyncio.Event()

    # -- devices

    @property
    def document(self) -> tuple[str, str]:
        return "".join(document("Fanout", (), live=True)), PageFrame.of(live=True).policy

    @asynccontextmanager
    async def show_on(self, tell: Tell, asked: Mapping[str, Any]) -> AsyncGenerator[None]:
        known = asked.get("version") if asked.get("run") == self._blocks.run else 0
        sending = asyncio.create_task(self._send(tell, known if isinstance(known, int) else 0))
        self._devices += 1
        self._begin()
        try:
            yield
        finally:
            self._devices -= 1
            sending.cancel()

    async def _send(self, tell: Tell, seen: int) -> None:
        blocks, heard = self._blocks, seen or self._blocks.version
        await tell({"run": blocks.run})
        while True:
            drawn, version = self._drawn, blocks.version
            part, size, sent = list[list[Any]](), 0, 0
            for one in list(blocks.newer(seen)):
                part.append(one)
                size += len(one[2])
                if size >= MESSAGE:
                    await tell({"blocks": part})
                    part, size, sent = [], 0, sent + size
            said = [message for at, message in self._said if at > heard]
            if version != seen:
                await tell({"blocks": part, "version": version})
                for message in said:
                    await tell(message)
            seen = heard = version
            await asyncio.sleep(max(GATHERED, (sent + size) / PACE))
            await drawn.wait()

    # -- its life

    def _begin(self) -> None:
        """Open the console with the first device, or again after that failed; draw as long as somebody looks."""
        if self._opening is None:
            self._later(self._draw_on())
        if self._opening is None or (self._opening.done() and self._console is None):
            self._opening = self._later(self._open())
        self.changed()

    async def _open(self) -> None:
        self._lines.clear()
        try:
            services = await asyncio.to_thread(self._open_services)
        except FanoutError as error:
            self.tell("error", error.line)
            return
        console = Console(services, self)
        self._commands = Commands(console)
        self._commands.use(self.ways)
        self._changes = files.FileChanges(services.working_folder)
        self._console = console
        if services.hub is not None:
            services.hub.asking.open_url = self._open_url
        services.human.listen(self.changed)
        for problem in services.problems:
            self.tell("warning", problem)
        self._later(self._start(console))

    async def _start(self, console: Console) -> None:
        await console.read_project()
        await console.start()

    async def close(self) -> None:
        for task in (*self._work, *self._looks.values()):
            task.cancel()
        if (console := self._console) is not None:
            await console.close()
            await console.services.close()

    async def _open_url(self, url: str) -> None:
        """Show a page that was agreed to as a link: it opens where the user is. Raises ValueError for what is none."""
        if not web_address.is_web_page(url):
            raise ValueError(f"{url[:80]} is no web page")
        self._pages[url] = None
        self.changed()

    def _later(self, work: Awaitable[None]) -> asyncio.Future[None]:
        def over(task: asyncio.Future[None]) -> None:
            self._work.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("something on the page failed", exc_info=error)
                self.tell("error", f"Unexpected: {error!r}. /log has the details.")

        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(over)
        return task

    # -- the port

    @property
    def transcript(self) -> Transcript:
        return self._transcript

    def show(self, event: Event) -> None:
        self._transcript.apply(event)
        self._told.take(event)
        self._dirty |= {event.turn, self._turn_of.get(event_news.call_of(event), 0)}
        self.changed()

    async def next_slice(self) -> None:
        await asyncio.sleep(0)

    async def show_stored(self, events: Sequence[Event]) -> None:
        self.show_new()
        for event in events:
            self._transcript.apply(event)
            self._told.take(event)
        self._dirty = {turn.number for turn in self._transcript.turns}

    def show_new(self) -> None:
        self._blocks.keep("turn", ())
        self._told, self._transcript = CallEvents(), Transcript()
        self._turn_of.clear()
        self._opened.clear()
        self.changed()

    def changed(self) -> None:
        self._news.set()

    def tell(self, level: Level, text: str) -> None:
        self._lines.append((level, text))
        self.changed()

    def take_back(self, text: str) -> None:
        self._lines = deque((one for one in self._lines if one[1] != text), LINES)
        self.changed()

    def toast(self, text: str, seconds: float = 4) -> None:
        self._say({"say": text})

    def give_back(self, text: str) -> bool:
        self._say({"draft": text})
        return True

    def say(self, text: str) -> None:
        self.toast(text)

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        named = {name: f"{name}: {about}" if about else name for name, about in options.items()}
        return (await self._ask(title, "", {**named, "": "Cancel"}))[0] or None

    async def ask(self, title: str, hint: str = "", *, secret: bool = False) -> str | None:
        buttons = {"ok": "OK", "": "Cancel"}
        button, text = await self._ask(title, "", buttons, hint or title, secret=secret)
        return text if button else None

    async def trusts(self, text: str) -> bool:
        return (await self._ask("Trust this?", self._texts().block(text), {"yes": "Trust", "": "Not now"}))[0] == "yes"

    async def _ask(
        self, title: str, shown: str, buttons: Mapping[str, str], field: str = "", *, secret: bool = False
    ) -> tuple[str, str]:
        found: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        name = self._name(found)

        def answered(button: str, text: str) -> None:
            if not found.done():
                found.set_result((button, text))

        self._asked[name] = Asked(title, shown, buttons, answered, field, secret)
        self.changed()
        try:
            return await found
        finally:
            del self._asked[name]
            self.changed()

    # -- what is done on a device

    async def act(self, message: Mapping[str, Any]) -> None:
        if self._opening is not None:
            await asyncio.wait({self._opening})
        console, what, of = self._console, message.get("do"), str(message.get("of", ""))
        words = str(message.get("words") or "")
        call = next((one for one, number in self._told.numbers.items() if f"c{number}" == of), "")
        if console is None:
            self.toast("The conversation could not be opened: load this page again to try once more.")
        elif what == "send" and words.strip():
            self._sent(console, words)
        elif what == "open" and call:
            self._opened.add(call)
            self._dirty.add(self._turn_of.get(call, 0))
        elif what == "cancel" and call:
            console.calls.cancel(call)
        elif what == "retry" and call:
            console.calls.run_again(call)
        elif what in ("stop", "unsend"):
            self._sent(console, f"/{what}")
        elif what == "close":
            self._lines.clear()
        elif what == "answer":
            asked, how, stamp = self._board.get(of), str(message.get("how")), str(message.get("stamp") or "")
            if asked is not None and how not in NO and (stamp != asked.stamp or not asked.whole):
                self.toast(STALE)
            elif asked is None or how not in asked.buttons or (said := asked.answer(how, words.strip())) is False:
                self.toast(GONE)
            elif isinstance(said, str):
                self.toast(said)
        self.changed()

    def _sent(self, console: Console, words: str) -> None:
        asked = parse(words)
        if asked is None:
            console.send(words)
        elif (command := self._commands.get(asked[0])) is None:
            self.toast(self._commands.missing(asked[0]))
        elif (work := self._commands.do(command, asked[1])) is not None:
            self._later(work())

    @property
    def ways(self) -> Ways:
        """Say how the page has each intent: those that name a call are buttons here."""
        terminal, button = Cannot("the terminal beside this page has it"), Cannot("this page has buttons for it")
        return {
            **{name: terminal for name, one in INTENTS.items() if one.does is None},
            **{name: button for name, one in INTENTS.items() if one.argument == "CALL"},
            **dict.fromkeys(("approve", "deny", "answer", "decline", "calls"), button),
            "help": Slash(self._help),
        }

    def _help(self, _console: Console, _rest: str) -> None:
        every = (bound.intent for bound in self._commands.listed)
        self.tell("info", "\n".join(f"/{one.name} {one.argument}".rstrip() + f": {one.about}" for one in every))

    # -- drawing

    def _say(self, message: Mapping[str, Any]) -> None:
        self._blocks.version += 1
        self._said.append((self._blocks.version, message))
        self.changed()

    def _texts(self) -> Texts:
        """Texts as a terminal shows them: whoever is here may see what the console sees."""
        return Texts(str, None if self._console is None else self._console.services.pictures_path)

    async def _draw_on(self) -> None:
        """Draw what has news, and each second what time alone changes."""
        while True:
            moves = self._console is not None and (self._transcript.open_calls or self._console.conversation.busy)
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0 if self._devices and moves else None):
                    await self._news.wait()
            self._news.clear()
            if not self._devices:
                continue
            began = time.monotonic()
            try:
                self._draw()
            except Exception:  # the conversation goes on, and what comes next may be drawn
                log.exception("the page could not be drawn")
            before, self._drawn = self._drawn, asyncio.Event()
            before.set()
            await asyncio.sleep(max(GATHERED, SHARE * (time.monotonic() - began)))

    def _draw(self) -> None:
        console, texts, transcript, behind = self._console, self._texts(), self._transcript, ""
        if console is not None and transcript.turns:
            now = console.services.clock()
            calls = CallsOnPage(texts, self._told, now, live=True, opened=self._opened)
            self._dirty |= {transcript.turns[-1].number, *(self._turn_of.get(one, 0) for one in transcript.open_calls)}
            for turn in transcript.turns:
                if turn.number in self._dirty:
                    self._turn_of |= {call.id: turn.number for call in turn.calls}
                    self._blocks.put(f"turn{turn.number}", blocks_of(turn, transcript, texts, calls), behind)
                behind = f"t{turn.number}"
        self._blocks.keep("turn", {f"turn{turn.number}" for turn in transcript.turns})
        self._dirty.clear()
        self._blocks.put("lines", self._beside(texts))
        if console is not None:
            self._blocks.put("board", self._asking(console, texts))
            self._blocks.put("now", self._status(console, texts))

    def _beside(self, texts: Texts) -> Iterator[PageBlock]:
        if self._lines:
            yield PageBlock("lines-close", "lines", '<button type="button" data-do="close">Close</button>')
        for number, (level, text) in enumerate(self._lines):
            yield PageBlock(f"line{number}", "lines", f'<p class="{level}">{texts.plain(text)}</p>')

    def _status(self, console: Console, texts: Texts) -> Iterator[PageBlock]:
        doing, needs = console.activity.at(console.services.clock()), len(self._board)
        words = [console.models.name or "no model yet", f"mode {console.permissions.mode.value}"]
        words += [doing.what] if doing is not None else []
        busy = ' class="busy"' if doing is not None else ""
        yield PageBlock("doing", "now", f"<span{busy}>{texts.line(' · '.join(words))}</span>")
        for number, text in enumerate(console.conversation.waiting):
            back = '<button type="button" data-do="unsend">Take back</button>'
            last = number == len(console.conversation.waiting) - 1
            yield PageBlock(
                f"queued{number}", "queue", f"<p>Queued: {texts.line(one_line(text, 200))} {back if last else ''}</p>"
            )
        told = f"{plural(needs, 'thing')} need{'s' * (needs == 1)} you." if needs else ""
        turn = self._transcript.turn
        told = told or ("Working." if doing is not None else "" if turn is None else f"Turn {turn.number} is over.")
        yield PageBlock("heard", "said", f"<span>{told}</span>")

    # -- the board

    def _asking(self, console: Console, texts: Texts) -> Iterator[PageBlock]:
        waiting = console.pending.all()
        self._changes.keep([one.call.id for one in waiting])
        self._board = {
            **{f"{self._told.name(one.call.id)}-ask": self._waiting(console, one, texts) for one in waiting},
            **self._asked,
            **dict(self._links(console, texts)),
            **{
                self._name(("sign in", one.name)): self._sign_in(console, one.name)
                for one in console.services.server_statuses()
                if one.state == "needs sign-in" and one.name not in self._later_on
            },
            **{
                self._name((call.id, call.attempt)): self._asked_by(console, call, texts)
                for call in self._transcript.open_calls.values()
                if call.asks
            },
            **{self._name(one): self._asked_of(console, one, texts) for one in console.services.human.open},
        }
        for name, asked in self._board.items():
            title, label = texts.line(asked.title), texts.line(asked.field)
            kind = f'type="{"password" if asked.secret else "text"}" name="words"'
            field = f'<input {kind} aria-label="{label}" placeholder="{label}">' if label else ""
            act = f'type="button" data-do="answer" data-of="{name}" data-stamp="{asked.stamp}"'
            buttons = "".join(
                f'<button {act} data-how="{escape(how)}"'
                f"{'' if asked.whole or how in NO else ' disabled'}>{texts.line(word[:1].upper() + word[1:])}</button>"
                for how, word in asked.buttons.items()
            )
            yield PageBlock(
                name,
                "board",
                f'<section class="asks" tabindex="-1" aria-label="{title}"><h3>{title}</h3>{asked.shown}{field}'
                f'<div class="buttons">{buttons}</div></section>',
            )

    def _name(self, asked: object) -> str:
        return self._names.setdefault(asked, f"q{len(self._names)}")

    def _stamp(self, pending: Pending) -> tuple[str, str]:
        """Return what tells one display of a call from any other, and the hash of its lines."""
        digest = displayed.digest(pending.lines(self._changes.of(pending.call)))
        told = repr((pending.call.id, len(self._told.asked.get(pending.call.id, ())), pending.fingerprint, digest))
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32], digest

    def _waiting(self, console: Console, pending: Pending, texts: Texts) -> Asked:
        call, change = pending.call, self._changes.of(pending.call)
        stamp, digest = self._stamp(pending)
        lines, look = pending.lines(change), self._look(call)
        told = [f"<p>{texts.line(one)}</p>" for one in pending.reasons()]
        if change is not None and change.warning:
            told.append(f'<p class="warning">{texts.line(change.warning)}</p>')
        told.append(argument_block(texts, lines))
        if pending.rules:
            told.append(f"<p class='note'>For session, and always: {texts.line(pending.rules[0])}</p>")

        def decided(how: str, words: str) -> object:
            if how == "stop":
                return console.calls.cancel(call.id)
            if how != "deny" and self._stamp(console.pending.one(call))[0] != stamp:
                return STALE
            scope: Scope = how if how == "session" or how == "always" or how == "form" else "once"
            rule = pending.rules[0] if scope == "session" or scope == "always" else ""
            decision, shown = Decision.DENY if how == "deny" else Decision.ALLOW, {call.id: pending.fingerprint or ""}
            return console.permissions.decide(
                ApprovalDecision((call.id,), decision, scope, rule, words or None, shown, {call.id: digest})
            )

        return Asked(
            f"{call.label} needs you",
            "".join(told),
            {**pending.answers, "stop": "stop it"},
            decided,
            "words for the model, if you like",
            stamp=stamp,
            whole=look.done() and all(len(line.text) < LONGEST for line in lines),
        )

    def _look(self, call: CallView) -> asyncio.Task[bool]:
        """Return the task that reads the file which the call would change, one for each time that it asks."""
        asked = f"{call.id} {len(self._told.asked.get(call.id, ()))}"
        if asked not in self._looks:
            self._looks[asked] = look = asyncio.create_task(self._changes.look_up(call))
            look.add_done_callback(lambda _: self.changed())
        return self._looks[asked]

    def _links(self, console: Console, texts: Texts) -> Iterator[tuple[str, Asked]]:
        for url in tuple(self._pages):
            if (asked := self._link(console, url, texts)) is None:
                del self._pages[url]
            else:
                yield self._name(url), asked

    def _link(self, console: Console, url: str, texts: Texts) -> Asked | None:
        hub = console.services.hub
        back = None if hub is None else hub.asking.sign_ins.get(url)
        if back is not None and not back.waits:
            return None

        def answered(button: str, words: str) -> object:
            return self._pages.pop(url, None) if not button or back is None else back.take(words)

        link = f'<p><a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{texts.line(url)}</a></p>'
        buttons, field = {"": "Close"}, ""
        if back is not None:
            link, buttons, field = link + COMES_BACK, {"back": "Hand it on", **buttons}, "The address where it ended"
        return Asked("A page to open", link, buttons, answered, field)

    def _sign_in(self, console: Console, name: str) -> Asked:

        async def signs_in() -> None:
            switches = console.services.servers
            try:
                if switches is not None:
                    await switches.sign_in(name)
            except FanoutError as error:
                self.tell("warning", error.line)

        def answered(button: str, _words: str) -> None:
            if button:
                self._later(signs_in())
            else:
                self._later_on.add(name)

        return Asked(f"{one_line(name, 40)} needs you to sign in", "", {"sign in": "Sign in", "": "Not now"}, answered)

    def _asked_by(self, console: Console, call: CallView, texts: Texts) -> Asked:
        def answered(button: str, text: str) -> None:
            given = call.options[int(button)] if button.isdecimal() else text if button == "send" else None
            console.calls.answer(call.id, given)

        buttons = {str(number): text for number, text in enumerate(call.options)}
        shown = texts.block(displayed.folded_text(call.question))
        return Asked(
            "The model asks", shown, {**buttons, "send": "Answer", "decline": "Decline"}, answered, "Your answer"
        )

    def _asked_of(self, console: Console, asked: PendingQuestion, texts: Texts) -> Asked:
        question, answer = asked.question, partial(console.services.human.answer, asked)
        if isinstance(question, questions.SamplingRequest):
            replies: dict[str, Reply] = {"once": "once", "session": "session", "deny": "deny"}
            return Asked(
                f"{question.server} wants to ask the model, at your expense",
                argument_block(texts, displayed.sampling_lines(question)),
                {"once": "This request", "session": "Whatever it asks in this session", "deny": "No"},
                lambda button, _: answer(replies[button]),
            )

        async def fill() -> None:
            content = await fill_in(self, forms.fields_asked(question.schema), {})
            if content is not None and not answer(questions.ElicitationAnswer("accept", content)):
                self.toast(GONE)

        def replied(button: str, _text: str) -> object:
            if button == "accept" and question.mode == "form":
                return self._later(fill())
            return answer(questions.ElicitationAnswer("accept" if button == "accept" else "decline"))

        shown, word = texts.block(displayed.folded_text(question.message)), "Answer"
        if question.mode == "url":
            address, word = web_address.read_address(question.url), "Open the page"
            warnings = address.warnings if address is not None else ("This is no plain web address.",)
            shown += texts.block(question.url) + "".join(
                f"<p class='warning'>{texts.line(one)}</p>" for one in warnings
            )
        return Asked(f"{question.server} asks", shown, {"accept": word, "decline": "Decline"}, replied)
