"""The one base of errors meant for people: each says what failed, what exactly, and what to do next, in one line."""

from __future__ import annotations

from typing import ClassVar

from console_app.domain.safe_text import encodable


class FanoutError(Exception):
    """An error a person reads. `title` says what failed, `detail` what exactly and where, `hint` what to do next."""

    title: ClassVar[str] = "Something went wrong"

    def __init__(self, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint

    @property
    def line(self) -> str:
        text = encodable(" ".join(f"{self.title}: {self.detail}".removeprefix(": ").split()))
        if not self.hint:
            return text
        return f"{text if text.endswith(('.', '!', '?')) else text + '.'} {self.hint}"

    def __str__(self) -> str:
        return self.line


class ConfigError(FanoutError):
    """A configuration file, flag or variable that can't be used (exit code 2)."""

    title = "Configuration"


class UsageError(FanoutError):
    """A command line, field or slash command that can't be understood (exit code 2)."""

    title = ""  # it says what is wrong with what one just wrote


class OutputError(FanoutError):
    title = ""


class ProviderError(FanoutError):
    """The model's endpoint refused or failed. `status` is the HTTP status where there was one."""

    title = "Model"

    def __init__(
        self, detail: str, hint: str = "", *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(detail, hint)
        self.status = status
        self.retry_after = retry_after  # seconds; set when the endpoint said when to come back
        self.unavailable = False  # overloaded or out of reach: another endpoint may answer


class ToolsRefused(ProviderError):
    """The endpoint takes no `tools` field: the text protocol may be tried in its place."""


class ContextOverflow(ProviderError):
    title = "Context"


class AnswerInterrupted(ProviderError):
    """The stream ended before the model said that it had finished: what came so far is kept, and marked."""

    title = "Answer cut off"


class ToolError(FanoutError):
    title = "Tool"


class AttachmentError(FanoutError):
    title = "Not attached"


class ServerError(FanoutError):
    title = "Server"
