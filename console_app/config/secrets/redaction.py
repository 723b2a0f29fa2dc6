"""Keeps secrets out of what is written for people: known secrets, and what is shaped like a key.

Known values are found exactly, in every form that the standard writers give them; one that a program enciphered or
compressed is not. Keys that nobody told us of are found by the prefixes of their makers, by the field that they stand
in, or by the frame of a private key, each told from ordinary text. One Redactor stands before logs and exports.
"""

from __future__ import annotations

import base64
import codecs
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from console_app.config.secrets.secret_sources import is_worth_hiding, secrets_of_environment
from console_app.domain import safe_text
from console_app.records import dataclass

_LONGEST_LINE_LEFT_ALONE = 15  # characters of a line of a secret with many lines: `-----END KEY-----` is longer
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def _forms(secret: str) -> set[str]:
    """Return every form of `secret`; of one with several lines also its long lines, since logs come line by line."""
    found: set[str] = set()
    lines = (line for line in map(str.strip, secret.splitlines()) if len(line) > _LONGEST_LINE_LEFT_ALONE)
    for text in {secret, *lines}:
        found.update(_written(text))
        found.update(_encoded(text.encode("utf-8", "surrogateescape")))
    return {form for form in found if form}


def _written(text: str) -> Iterator[str]:
    yield text
    data = text.encode("utf-8", "surrogateescape")
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield quoted
        yield re.sub(r"%..", lambda found: found[0].lower(), quoted)
    for ascii_only in (True, False):
        inner = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield inner
        yield inner.replace("/", "\\/")
        yield json.dumps(inner, ensure_ascii=ascii_only)[1:-1]  # JSON inside a string of JSON
    yield repr(text)[1:-1]
    yield repr(data)[2:-1]
    yield text.translate(_HTML)
    yield text.translate(_HTML).replace("&#x27;", "&#39;")


def _encoded(data: bytes) -> Iterator[str]:
    """Yield hex, and base64 wherever the secret begins in what was encoded: only characters that are all its own."""
    yield data.hex()
    yield data.hex().upper()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode()
        first = -(-before * 8 // 6)  # the characters that hold a bit of what stands before
        last = (before + len(data)) * 8 // 6
        inner = whole[first:last]
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))


class _Trie:
    """Texts by their beginnings: one pattern over all of them, and whether a text ends inside one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._root: dict[str, Any] = {}
        self.longest = 0
        for text in texts:
            node = self._root
            for character in text:
                node = node.setdefault(character, {})
            node[""] = {}  # a text ends here
            self.longest = max(self.longest, len(text))

    def pattern(self) -> str:
        """Return a regular expression for the longest text at a place, which tries common beginnings once."""
        # Written without recursion: a certificate is thousands of characters deep.
        done: dict[int, str] = {}
        stack = [(self._root, False)]
        while stack:
            node, children_done = stack.pop()
            if not children_done:
                stack.append((node, True))
                stack.extend((child, False) for character, child in node.items() if character)
                continue
            branches = [re.escape(character) + done.pop(id(child)) for character, child in node.items() if character]
            whole = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
            # A group only where the rest may be missing: nesting them for each character would be too deep for `re`.
            done[id(node)] = "" if not branches else f"(?:{whole})?" if "" in node else whole
        return done[id(self._root)]

    def open_from(self, text: str) -> int:
        """Return where the first of our texts begins that `text` ends within; its length where there is none."""
        for begin in range(max(0, len(text) - self.longest + 1), len(text)):
            node: dict[str, Any] = self._root
            for character in text[begin:]:
                node = node.get(character, {})
                if not node:
                    break
            if any(node):  # something goes on from here
                return begin
        return len(text)


_LONGEST_LINE = 16_384  # characters that a stream may hold back while it waits for the end of a line


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the forms of `known`; no pattern where nothing is known."""

    known: frozenset[str]
    trie: _Trie
    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, known: frozenset[str]) -> _Finder:
        trie = _Trie(form for secret in known for form in _forms(secret))
        return cls(known, trie, re.compile(trie.pattern()) if known else None)


class Redactor:
    """Replaces secrets in texts. More may become known while the program runs, which `beside` is told too; safe to use
    from any thread."""

    HIDDEN = "(hidden)"

    def __init__(self, secrets: Iterable[str] = (), beside: Redactor | None = None) -> None:
        self._beside = beside
        self._known: frozenset[str] = frozenset()
        self._finder = _Finder.of(self._known)
        self._later: Callable[[], Iterable[str]] | None = None
        self.add(*secrets)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Redactor:
        """Know the values of the variables whose names say that they are secret, and the passwords in URLs."""
        return cls(secrets_of_environment(environ))

    def add(self, *secrets: str | None) -> None:
        """Learn secrets, but for those that are too short or too common to be (`is_worth_hiding`)."""
        self._known |= {secret.strip() for secret in secrets if secret and is_worth_hiding(secret.strip())}
        if self._beside is not None:
            self._beside.add(*secrets)

    def add_later(self, source: Callable[[], Iterable[str]]) -> None:
        """Learn what `source` gives; it is asked once, before the first text is cleaned."""
        self._later = source

    def _current(self) -> _Finder:
        """Return the finder, built when it is first needed after a change: half a millisecond a secret."""
        if (source := self._later) is not None:
            self._later = None  # first: to read a file may log, which comes here again
            self.add(*source())
        finder, known = self._finder, self._known
        if finder.known != known:
            finder = self._finder = _Finder.of(known)
        return finder

    def clean(self, text: str) -> str:
        return without_shapes(self.without_known(text))

    def without_known(self, text: str) -> str:
        """Return `text` without the secrets that are known; what is only shaped like one stays."""
        pattern = self._current().pattern
        return text if pattern is None else pattern.sub(Redactor.HIDDEN, text)

    def without_known_in(self, value: Any) -> Any:
        """Return JSON data with every text in it cleaned of known secrets, keys included; the same object where it had
        none.

        Numbers stay: to hide one would change what the data is.
        """
        if not self._current().known:
            return value
        cleaned = safe_text.changed(value, str, self.without_known, names=True)
        return value if cleaned == value else cleaned

    def cut(self, text: str) -> int:
        """Return up to where `text`, which goes on, can be cleaned by itself: behind that a secret may have begun."""
        finder = self._current()
        begin = finder.trie.open_from(text)
        if finder.pattern is not None:
            for match in finder.pattern.finditer(text, max(0, begin - finder.trie.longest)):
                if match.start() < begin < match.end():
                    return match.end()
        return begin

    @staticmethod
    def in_use(environ: Mapping[str, str]) -> Redactor:
        """Return the redactor that stands before the log, with all that was learnt since the start, for last words:
        they come where nobody can hand anything down. Before there is a log, it is a new one of `environ`."""
        for handler in logging.getLogger().handlers:
            if isinstance(handler.formatter, WithoutSecrets):
                return handler.formatter.redactor
        return Redactor.of(environ)

    @staticmethod
    def has_key(text: str) -> bool:
        """Return whether a word of `text`, or of a path in it, has the shape of a key."""
        return any(_KEY.fullmatch(word) for word in re.split(r"[\s/]", text))


class RedactedStream:
    """Bytes that come in pieces, without secrets, however they were cut: handed on line by line.

    A line without an end is handed on once it is longer than 16 kB, up to where a secret may have begun; a private key
    once it is whole.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")  # what is no UTF-8 stays what it was
        self._held = ""

    @property
    def rest(self) -> str:
        """The last line so far, cleaned; a secret that has only begun is left out."""
        return self._redactor.clean(self._held[: self._redactor.cut(self._held)])

    def feed(self, data: bytes) -> str:
        """Return what can be handed on now that `data` has come."""
        text = self._held + self._decoder.decode(data)
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        if len(text) - end > _LONGEST_LINE:
            end += self._redactor.cut(text[end:])
        if (begin := open_private_key(text[:end])) < end and len(text) - begin <= LONGEST_PEM:
            end = begin  # its lines say nothing of what they are: they wait for the last
        whole, self._held = text[:end], text[end:]
        return self._redactor.clean(whole) if whole else ""

    def flush(self) -> str:
        """Return what was held back; nothing more comes, or nobody waits for it."""
        whole, self._held = self._held + self._decoder.decode(b"", True), ""
        return self._redactor.clean(whole) if whole else ""


class WithoutSecrets(logging.Formatter):
    """A log record as it may be kept: libraries log requests with their headers."""

    def __init__(self, form: str, redactor: Redactor) -> None:
        super().__init__(form)
        self.redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self.redactor.clean(super().format(record))


LONGEST_PEM = 16_384  # characters of a private key: one of RSA with 16,384 bits has 13,000


_WORD = r"[A-Za-z0-9_-]"
# Words with hyphens or underscores may begin alike: a digit tells a key from them, or a run of letters as in no word.
_NO_WORDS = rf"(?={_WORD}{{0,60}}(?:[0-9]|[A-Za-z]{{20}}))"
_ENDS = rf"(?!{_WORD})"
# Keys of OpenAI and others with its format, Groq, xAI, Perplexity, Hugging Face, Replicate, NVIDIA, Google, GitHub,
# GitLab, AWS, Slack, Stripe, LangSmith, npm, PyPI, Docker, DigitalOcean, Shopify, SendGrid; JSON web tokens.
_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("sk-", "pk-", "rk-", "csk-", "tvly-"), rf"{_NO_WORDS}{_WORD}{{16,}}"),
    (("gsk_", "xai-", "pplx-", "hf_", "r8_", "nvapi-"), rf"{_NO_WORDS}{_WORD}{{24,}}"),
    (("AIza",), rf"{_WORD}{{35}}{_ENDS}"),
    (("ya29.", "GOCSPX-"), rf"{_WORD}{{20,}}"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{20,}"),
    (("github_pat_",), r"[A-Za-z0-9_]{20,}"),
    (("glpat-", "gloas-", "gldt-", "glrt-", "glptt-", "glcbt-"), rf"{_NO_WORDS}[A-Za-z0-9_.-]{{16,}}{_WORD}"),
    (("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    (("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[A-Za-z0-9-]{10,}"),
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"[A-Za-z0-9+/=]{16,}"),
    (("lsv2_pt_", "lsv2_sk_", "npm_", "dckr_pat_"), rf"{_NO_WORDS}{_WORD}{{24,}}"),
    (("pypi-AgE",), rf"{_WORD}{{40,}}"),
    (("dop_v1_", "doo_v1_", "shpat_", "shpca_", "shppa_", "shpss_"), r"[A-Fa-f0-9]{32,}"),
    (("SG.",), rf"{_WORD}{{22}}\.{_WORD}{{43}}"),
    (("eyJ",), rf"{_WORD}{{10,}}(?:\.{_WORD}*){{2,4}}"),
)
_STARTS = tuple(start for starts, _ in _KINDS for start in starts)
_KEY = re.compile(
    r"\b(?:%s)" % "|".join(f"(?:{'|'.join(map(re.escape, starts))}){rest}" for starts, rest in _KINDS)  # noqa: UP031
)

_KIND = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\+[nrt])"  # between lines, as it is and as JSON and the like write it
# Up to its end, or, where that is missing, as far as it looks like one.
_PEM = re.compile(
    rf"-----BEGIN {_KIND}((?:[^-]|-(?!----)){{1,{LONGEST_PEM}}}-----END {_KIND}"
    rf"|(?:{_BREAK}*[A-Za-z0-9+/=]{{40,}}+)*(?:{_BREAK}*[A-Za-z0-9+/=]*\Z)?)"
)
_PEM_LINE = re.compile(r"\s*(?:[A-Za-z0-9+/=]*|[A-Za-z][\w-]{0,30}:.*|-{1,5}|-----E[A-Z0-9 ]*-{0,4})\s*")

# Where a sentence or a program may go on, a token is told by a digit, a sign, capitals within, or a run of letters.
_TOKEN = (
    r"(?=[A-Za-z._~/-]{0,200}(?:[0-9+]|[a-z][A-Z][A-Za-z]{0,200}[a-z][A-Z])|[A-Za-z]{16}|[A-Za-z/]{1,200}=+(?![\w=]))"
    r"[A-Za-z0-9._~+/-]{8,}=*"
)
_FIELDS = (
    "x-api-key|api[-_]key|authorization|(?:access|refresh|id|session|auth)_token|client_secret|secret_(?:access_)?key"
)
# Each with the words, in small letters, without which it can't match: to look for these first is ten times as fast.
_SHAPES = (
    (("private key",), _PEM),
    (("bearer", "basic"), re.compile(rf"(?i:\b(?:bearer|basic)\s+)({_TOKEN})")),
    (("key", "authorization", "_token", "client_secret"),
     re.compile(rf"(?i:['\"]?(?:{_FIELDS})['\"]?\s*[:=]\s*)((?!(?i:bearer|basic)\b){_TOKEN})")),
    (("key", "authorization", "_token", "client_secret"),
     re.compile(rf"(?i)['\"]?(?:{_FIELDS})['\"]?\s*[:=]\s*['\"]((?!(?:bearer|basic)\b)[A-Za-z0-9._~+/=-]{{8,}})")),
    (("://",), re.compile(r"://[^/\s:@]*:([^/\s@]+)@")),
)  # fmt: skip


def without_shapes(text: str) -> str:
    small = text.lower()
    for words, shape in _SHAPES:
        if any(word in small for word in words):
            text = shape.sub(_hide, text)
    return _KEY.sub(Redactor.HIDDEN, text) if any(start in text for start in _STARTS) else text


def keys_in(text: str) -> list[str]:
    return _KEY.findall(text)


def open_private_key(text: str) -> int:
    """Return where a private key begins that goes on behind `text`; its length where there is none."""
    begin = text.rfind("-----BEGIN ", max(0, len(text) - LONGEST_PEM))
    if begin < 0:
        return len(text)
    first, *lines = text[begin:].splitlines()
    whole = re.fullmatch(rf"-----BEGIN {_KIND}\s*", first) is not None
    return begin if whole and all(map(_PEM_LINE.fullmatch, lines)) else len(text)


def _hide(match: re.Match[str]) -> str:
    if not match[1]:
        return match[0]
    begin, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:begin] + Redactor.HIDDEN + match[0][end:]
