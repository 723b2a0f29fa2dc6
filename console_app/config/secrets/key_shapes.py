"""Finds keys that nobody told us of: by the prefixes of their makers, by the field that they stand in, or by the frame
of a private key. Each is told from ordinary text, so that a log hides no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "(hidden)"
LONGEST_PEM = 16_384  # characters of a private key: one of RSA with 16,384 bits has 13,000


def _either(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, texts))


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
_KEY = re.compile(rf"\b(?:{'|'.join(f'(?:{_either(starts)}){rest}' for starts, rest in _KINDS)})")

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
    """Return `text` with everything hidden that has the shape of a key."""
    small = text.lower()
    for words, shape in _SHAPES:
        if any(word in small for word in words):
            text = shape.sub(_hide, text)
    return _KEY.sub(HIDDEN, text) if any(start in text for start in _STARTS) else text


def has_key(text: str) -> bool:
    """Return whether a word of `text`, or of a path in it, has the shape of a key."""
    return any(_KEY.fullmatch(word) for word in re.split(r"[\s/]", text))


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
    return match[0][:begin] + HIDDEN + match[0][end:]
