"""Ask an editor: whether a call may run, and what the model or a server wants to know. A question is a request of its
own, taken back when its call ended or was decided elsewhere; a late answer counts for nothing. An editor that can't ask
has said no."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING, Any, TypeVar

from acp import schema
from pydantic import ValidationError

from console_app.acp_agent import tool_calls
from console_app.acp_agent.updates import Updates
from console_app.console import ApprovalDecision, Pending, Scope
from console_app.domain import Decision, displayed, one_line, questions
from console_app.domain import schema as json_schema
from console_app.domain.transcript import CallView
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp.core import AgentSideConnection

    from console_app.console import Console

ONCE: Scope = "once"
SESSION: Scope = "session"
ALWAYS: Scope = "always"
FORM: Scope = "form"
REJECT = "reject"
_TRIES = 2  # that a call is asked for which waits on though it was allowed
T = TypeVar("T")
Option = tuple[str, str, schema.PermissionOptionKind]
log = logging.getLogger(__name__)


@dataclass(eq=False)
class EditorQuestions:
    """The HumanPort of one conversation. `forms` and `pages`: whether its editor can ask so; `limit`: seconds for an
    answer."""

    _editor: AgentSideConnection
    _session_id: str
    forms: bool
    pages: bool
    limit: float | None
    note: Callable[[str], None]
    tell: Callable[[Any], None]
    _open: dict[str, set[asyncio.Task[Any]]] = field(default_factory=dict[str, set[asyncio.Task[Any]]])
    _allowed: set[str] = field(default_factory=set[str])  # servers that may ask the model in this conversation

    async def choose(
        self, call_id: str, shown: Mapping[str, Any], options: list[Option], asker: str | None = None
    ) -> str | None:
        """Return the option that is taken, None for none; asked for the call `asker`, where that is another. Raises
        Withdrawn."""
        offered = [schema.PermissionOption(option_id=one, name=name, kind=kind) for one, name, kind in options]
        call = schema.ToolCallUpdate(tool_call_id=call_id, **shown)
        request = self._editor.request_permission(self._session_id, call, offered)
        response = await self._asked(call_id if asker is None else asker, request)
        outcome = response.outcome if response is not None else None
        if isinstance(outcome, schema.DeniedOutcome):
            raise Withdrawn
        return next((one for one, _, _ in options if outcome is not None and one == outcome.option_id), None)

    async def fill_in(self, call_id: str, message: str, fields: Mapping[str, Any]) -> questions.ElicitationAnswer:
        """Return the values of a form. Raises Withdrawn."""
        if not self.forms:
            return questions.ElicitationAnswer("decline")
        try:
            form = schema.ElicitationSchema.model_validate({"type": "object", **fields})
        except ValidationError as error:
            log.warning("a form can't be told to the editor: %s", error)
            return questions.ElicitationAnswer("decline")
        mode = schema.ElicitationFormSessionMode(
            session_id=self._session_id, tool_call_id=call_id or None, requested_schema=form
        )
        return _answer(await self._asked(call_id, self._editor.create_elicitation(message, mode)))

    def withdraw(self, call_id: str) -> None:
        for task in self._open.pop(call_id, ()):
            task.cancel()

    # -- as a HumanPort

    async def ask(self, question: questions.Elicitation) -> questions.ElicitationAnswer:
        """Ask as a HumanPort. What the editor has no way to ask is declined, and said."""
        message = f"{one_line(question.server, 60)}: {displayed.folded_text(question.message)}"
        if not (self.pages if question.mode == "url" else self.forms):
            what = "to open a page" if question.mode == "url" else "for values"
            self.note(f"{message}\nThe server asked {what}, which this editor can't: it was declined.")
            return questions.ElicitationAnswer("decline")
        try:
            async with asyncio.timeout(self.limit):
                if question.mode == "form":
                    return await self.fill_in(question.call_id, message, question.schema)
                mode = schema.ElicitationUrlSessionMode.model_validate({
                    "sessionId": self._session_id, "toolCallId": question.call_id or None,
                    "elicitationId": uuid.uuid4().hex, "url": question.url,
                })  # fmt: skip
                return _answer(await self._asked(question.call_id, self._editor.create_elicitation(message, mode)))
        except Withdrawn:
            return questions.ElicitationAnswer("cancel")
        except ValidationError:
            self.note(f"{message}\nThe server asked to open a page that the editor can't open: it was declined.")
            return questions.ElicitationAnswer("decline")
        except TimeoutError:
            raise questions.Unanswered(f"nobody replied within {self.limit:g} s") from None

    async def allow_sampling(self, request: questions.SamplingRequest) -> bool:
        if request.server in self._allowed:
            return True
        name = one_line(request.server, 60)
        shown: dict[str, Any] = {
            "title": f"{name} wants to ask the model, at your expense",
            "content": [_block(displayed.sampling_lines(request))],
        }
        options: list[Option] = [
            (ONCE, "Allow once", "allow_once"),
            (SESSION, f"Allow whatever {name} asks in this conversation", "allow_always"),
            (REJECT, "Reject", "reject_once"),
        ]
        # A call of its own: which of the server's it belongs to is not always known, and that one has its own words.
        call_id = f"sampling-{uuid.uuid4().hex}"
        self.tell(schema.ToolCallStart(session_update="tool_call", tool_call_id=call_id, status="pending", **shown))
        picked = None
        try:
            async with asyncio.timeout(self.limit):
                picked = await self.choose(call_id, shown, options, request.call_id)
        except Withdrawn:
            pass
        except TimeoutError:
            raise questions.Unanswered(f"nobody replied within {self.limit:g} s") from None
        finally:
            status: schema.ToolCallStatus = "completed" if picked in (ONCE, SESSION) else "failed"
            self.tell(schema.ToolCallProgress(
                session_update="tool_call_update", tool_call_id=call_id, status=status
            ))  # fmt: skip
        self._allowed |= {request.server} if picked == SESSION else set()
        return picked in (ONCE, SESSION)

    async def _asked(self, call_id: str, request: Coroutine[Any, Any, T]) -> T | None:
        """Return the editor's answer, None for an error. Raises Withdrawn where nobody wants it any more."""
        task = asyncio.ensure_future(request)
        self._open.setdefault(call_id, set()).add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            if (others := self._open.get(call_id)) is not None:
                others.discard(task)
        if task.cancelled() or isinstance(task.exception(), ConnectionError):
            raise Withdrawn
        if (error := task.exception()) is not None:
            log.warning("the editor could not ask: %r", error)
            return None
        return task.result()


class Withdrawn(Exception): ...


def _block(lines: Sequence[displayed.ArgumentLine], *words: str) -> schema.ContentToolCallContent:
    """Join words, and lines indented as a block, which no line of a value can end."""
    return tool_calls.content("\n\n".join((*words, indent(displayed.as_text(lines), "    "))))


def _answer(response: Any) -> questions.ElicitationAnswer:
    match response:
        case schema.AcceptElicitationResponse():
            return questions.ElicitationAnswer("accept", dict(response.content or {}))
        case schema.DeclineElicitationResponse() | None:
            return questions.ElicitationAnswer("decline")
        case _:
            return questions.ElicitationAnswer("cancel")


class CallQuestions:
    """Asks for each call that waits, in a task of its own: for its approval, or for what it asks the user."""

    def __init__(self, console: Console, asking: EditorQuestions, updates: Updates) -> None:
        self.pending = console.pending
        self._conversation = console.conversation
        self._permissions, self._calls = console.permissions, console.calls
        self._asking = asking
        self._updates = updates
        self._folder = console.services.working_folder
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._locks: dict[str, asyncio.Lock] = {}  # by what would let calls run

    def approve(self, call: CallView) -> None:
        self._begin(call, self._approve(call))

    def answer(self, call: CallView) -> None:
        self._begin(call, self._answer(call))

    def over(self, call_id: str) -> None:
        if (task := self._tasks.pop(call_id, None)) is not None:
            task.cancel()
        self._asking.withdraw(call_id)

    def close(self) -> None:
        for call_id in [*self._tasks]:
            self.over(call_id)

    def _begin(self, call: CallView, work: Coroutine[Any, Any, None]) -> None:
        if (before := self._tasks.pop(call.id, None)) is not None:
            before.cancel()
        self._tasks[call.id] = task = asyncio.create_task(work, name=f"ask-{call.id}")
        task.add_done_callback(partial(self._done, call.id))

    def _done(self, call_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(call_id) is task:
            del self._tasks[call_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a question could not be asked", exc_info=error)

    async def _approve(self, call: CallView) -> None:
        for _ in range(_TRIES):
            async with self._lock(call):
                if await self._decided(call):
                    return
        if (running := self._conversation.calls_of) is not None:
            running.resolve(call.id, Decision.DENY, feedback="it could not be approved as it is")

    def _lock(self, call: CallView) -> asyncio.Lock:
        """Return the lock of the rule that would let a call run: one of its calls asks at a time, as editors may show a
        question that was taken back."""
        rule = next(iter(self.pending.one(call).rules), "")
        return self._locks.setdefault(rule, asyncio.Lock()) if rule else asyncio.Lock()

    async def _decided(self, call: CallView) -> bool:
        pending = self.pending.one(call)
        rule, fingerprint = next(iter(pending.rules), ""), pending.fingerprint or ""
        if (running := self._conversation.calls_of) is None or not running.is_as_shown(call.id, fingerprint):
            return running is None  # decided while another was asked for, or of a tool that changes just now
        if not self._updates.diffs(call.id):
            changes = await asyncio.to_thread(tool_calls.whole_change, call, self._folder)
            self._updates.keep_diffs(call.id, changes)
        try:
            picked = await self._asking.choose(call.id, self._shown(pending), self._options(pending))
        except Withdrawn:
            self._calls.cancel(call.id)
            return True
        scopes = (ONCE, SESSION, ALWAYS, FORM)
        scope: Scope | None = next((one for one in scopes if one == picked), None)
        decision = Decision.DENY if scope is None else Decision.ALLOW
        decided = ApprovalDecision(
            *((call.id,), decision, scope or ONCE, rule if scope in (SESSION, ALWAYS) else ""),
            shown={call.id: fingerprint},
            displayed={call.id: displayed.digest(pending.lines())},
        )
        return self._permissions.decide(decided)

    def _options(self, pending: Pending) -> list[Option]:
        if pending.form:
            said = {key: f"{words[:1].upper()}{words[1:]}" for key, words in pending.answers.items()}
            return [
                (ONCE, said["once"], "allow_once"),
                (FORM, said["form"], "allow_always"),
                (REJECT, said["deny"], "reject_once"),
            ]
        rule = next(iter(pending.rules), "")
        shown = one_line(rule, 120)
        options: list[Option] = [(ONCE, "Allow once", "allow_once")]
        if rule:
            options.append((SESSION, f"Allow {shown} in this conversation", "allow_always"))
        if rule and self._permissions.rules_path:
            options.append((ALWAYS, f"Always allow {shown}", "allow_always"))
        return [*options, (REJECT, "Reject", "reject_once")]

    def _shown(self, pending: Pending) -> dict[str, Any]:
        """Return all that a person needs: some editors show nothing but what comes with the question."""
        call = pending.call
        said = _block(pending.lines(), *pending.reasons())
        shape = tool_calls.shape(call, pending.spec, self._folder)
        return {**shape, "status": "pending", "content": [*self._updates.diffs(call.id), said]}

    async def _answer(self, call: CallView) -> None:
        fields: dict[str, Any] = {"answer": {"type": "string", "title": "Your answer"}}
        if call.options:
            fields = {"choice": {"type": "string", "title": "One of these", "enum": list(call.options)}, **fields}
        try:
            answer = await self._asking.fill_in(
                call.id, displayed.folded_text(call.question), json_schema.object_of(fields)
            )
        except Withdrawn:
            answer = questions.ElicitationAnswer("cancel")
        given = answer.content or {}
        words = str(given.get("answer") or given.get("choice") or "")
        if (turn := self._conversation.turn) is not None and not (words and turn.answer(call.id, words)):
            turn.answer(call.id, None)
