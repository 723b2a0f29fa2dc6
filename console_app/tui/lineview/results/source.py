"""Find out the language of a text, where no path says it, and read texts whose lines a tool has numbered.

Prose, logs and the output of a shell are in none. In source, one line at least looks like no other language, more lines
speak for the same one, and every line without indentation can stand in it. That keeps the colours away from words that
only quote code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

from console_app.records import dataclass

# A sentence, or a part of one: words and nothing else.
_PROSE = r"[A-Za-z][\w']*,?(?: [A-Za-z][\w',]*){3,}[.:,!?)]?$"
_DECLARED = (
    r"(?:(?:public|private|protected|internal|abstract|final|static|sealed|partial|export|default|declare|data|open|pub)"
    r" )*(?:class|interface|enum|struct|namespace|record|trait|object|typealias|type|const|let|var|val) [\w$\[{*]"
)
# Where braces hold blocks, a line ends or begins in a sign.
_BRACED = (
    _DECLARED,
    rf"(?!{_PROSE})(?!fn |func |fun |def |package |#).*[{{}};,()\[\]=>|&:+?\\\"'`]$",
    r"[{});@]",
)
_ASSIGNED = r"[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:, ?\*?[\w.]+)*(?: ?:[^=]*)? ?[-+*/|&@%]?=(?!=)"
_CLAUSES = (
    "SELECT|FROM|WHERE|AND|OR|GROUP BY|ORDER BY|HAVING|LIMIT|OFFSET|LEFT|RIGHT|INNER|OUTER|FULL|CROSS|JOIN|ON|UNION"
    "|VALUES|SET|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|WITH|BEGIN|COMMIT|ROLLBACK|PRAGMA|GRANT|REVOKE"
    "|RETURNING|RETURNS|LANGUAGE|AS|END|USE"
)
_INSTRUCTIONS = (
    r"(?:FROM|RUN|CMD|LABEL|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|ONBUILD|HEALTHCHECK|SHELL"
    r"|STOPSIGNAL) \S"
)  # fmt: skip
_SCRIPTED = (
    r".*[;{]$",
    r"\s+(?:const|let|var|return|await|if \(|for \(|this\.)",
    r"(?:const|let|var) [\w$\[{]",
    r"import .*['\"];?$",
    r"export [\w{*]",
)


@dataclass(frozen=True)
class Language:
    """Recognizes lines. One of `mark` is in no other language, one of `said` speaks for it beside marks, one of `line`
    may stand unindented too. At least `least` are marks or said. `comment` and `blocks` open what is passed over."""

    alias: str
    mark: tuple[str, ...]
    said: tuple[str, ...]
    line: tuple[str, ...] = _BRACED
    least: int = 2
    comment: str = "//"
    blocks: tuple[tuple[str, str], ...] = (("/*", "*/"),)


_hashed = partial(Language, comment="#", blocks=())


@lru_cache(maxsize=128)
def any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """The patterns as one; compiled when first asked for, as all of the table take some ten milliseconds."""
    return re.compile("|".join(patterns))


_DIRECTIVE = r"#\s*(?:include|define|if|ifn?def|else|elif|endif|undef|pragma|error|warning)\b"

# The first that fits is taken: what has more of its own stands before what it could be mistaken for.
LANGUAGES = (
    Language(
        "python",
        comment="#",
        mark=(
            r"(?:async )?def \w+\(",
            r"class [A-Za-z_]\w*(?:[(\[].*)?:$",
            r"from [\w.]+ import (?:\(|\*$|\w+(?: as \w+)?(?:, ?\w+(?: as \w+)?)*,?\\?$)",
            r"import [a-z_][\w.]*(?: as \w+)?(?:, ?[a-z_][\w.]*(?: as \w+)?)*$",
            r"if __name__ ==",
        ),
        said=(
            _ASSIGNED,
            r"@\w",
            r"[A-Za-z_][\w.]*\(.*\)$",
            r"\s+(?:return|raise|yield|pass|self\.|[\w.]+ = |[\w.]+\()",
            r"\s+(?:if|for|with|while|try|else)\b.*:$",
        ),
        line=(
            r"(?:async|if|elif|for|while|with|match|except|class|from)\b.*[:(\[{,\\]$",
            r"(?:else|try|finally):",
            r"(?:raise|assert|del|await|global) [\w(\"'*]",
            r"[A-Za-z_][\w.]*\(",
            r"[)\]}\"']",
            r"[rbfu]+[\"']",
            r"(?:\.\.\.|pass)$",
        ),
        blocks=(('"""', '"""'), ("'''", "'''")),
    ),
    _hashed(
        "docker",
        mark=(r"FROM (?:-{2}platform=\S+ )?[a-z$][\w./:@${}-]*(?: (?:AS|as) [\w.-]+)?$",),
        said=(_INSTRUCTIONS,),
        line=(_INSTRUCTIONS,),
    ),
    Language(
        "rust",
        mark=(
            r"(?:pub(?:\(\w+\))? )?(?:async |unsafe |const )*fn \w+",
            r"use [\w:]+::",
            r"impl\b.*\{",
            r"#!?\[\w",
            r"pub (?:struct|enum|mod|trait|type|use) ",
            r"mod \w+;",
            r"macro_rules! ",
        ),
        said=(
            r"(?:struct|enum|trait|let|static|const|unsafe|type) \w.*[{;(=]$",
            r"\}",
            r"\s+(?:let|pub|fn|match|self\.|Ok\(|\w+: )",
        ),
    ),
    Language(
        "go",
        mark=(r"package \w+$", r"func (?:\(\w+ \*?\w+\) )?\w+\("),
        said=(r"import [(\"]", r"(?:type|var|const) [\w(]", r"\)$", r"\}", r"\s+\w[\w., ]* := "),
    ),
    Language(
        "kotlin",
        mark=(
            r"(?:(?:private|internal|suspend|override|inline|public|open|operator) )*fun (?:<[^>]*> )?[\w.<>?]+\(",
            r"data class \w+\(",
        ),
        said=(
            r"(?:package|import) [\w.*]+$",
            r"(?:(?:data|sealed|enum|open|abstract) )*class \w.*[{(:)]$",
            r"(?:val|var) \w",
            r"\s+(?:val|var|fun|override|return|println\()",
            r"\}",
        ),
    ),
    Language(
        "java",
        mark=(r"package [a-z]\w*(?:\.\w+)+;$", r"import (?:static )?[a-z]\w*(?:\.\w+)*\.(?:[A-Z]\w*|\*);$"),
        said=(
            r"(?:(?:public|final|abstract) )*(?:class|interface|enum|record) \w",
            r"@[A-Z]",
            r"\s+(?:public|private|protected|static|return|final) ",
        ),
    ),
    Language(
        "csharp",
        mark=(r"using (?:static )?[A-Z][\w.]*;$", r"namespace [A-Z][\w.]*[; {]*$"),
        said=(r"\s*(?:public|private|internal|protected|static) ", r"\{$", r"(?:class|record|interface|enum) [A-Z]"),
        line=(r"#(?:if|endif|region|endregion|nullable)", *_BRACED),
    ),
    Language(
        "cpp",
        mark=(
            r"#\s*include <\w+>",
            r"using namespace \w",
            r"template ?<",
            r"namespace(?: [\w:]+)? ?\{?$",
            r"(?:public|private|protected):$",
            r"[^\"]*\b(?:constexpr|nullptr|noexcept|typename)\b.*[;{(,>]$",
            r"[^\"]*\bstd::\w",
        ),
        said=(
            _DIRECTIVE,
            r"(?:class|struct) \w",
            r".*[;{]$",
            r"[{}]",
        ),
        line=(
            r"[\w:*&<> ]+::[\w:*&<> ]+$",
            r"(?:static|const|inline|constexpr|auto|void|int|bool)\b[\w *]*$",
            *_BRACED,
        ),
    ),
    Language(
        "c",
        mark=(r"#\s*include [<\"][\w./+-]+[\">]", r"#define\s+\w", r"#ifn?def\s+\w+$"),
        said=(
            _DIRECTIVE,
            r"(?:typedef|struct|static|int|void|char|extern|const|enum|unsigned)\b.*[;{(),]$",
            r"\w.*[;{]$",
            r"[{}]",
        ),
        line=(
            r"(?:static|const|unsigned|int|void|char|long|double|float|extern|struct)\b[\w *]*$",
            r"\w+:$",
            *_BRACED,
        ),
    ),
    Language(
        "typescript",
        mark=(
            r"(?:export |declare )*interface \w+.*\{",
            r"(?:export |declare )*type \w+(?:<.*>)? =",
            r"(?:export |declare )+(?:enum|abstract class|namespace) \w+",
            r"import type \{",
            r"(?:export |async |default )*function \w+\(.*\): [\w<>\[\]| ]+ \{$",
            r"(?:export )?(?:const|let) [\w$]+: [\w<>\[\]| ]+ = ",
        ),
        said=(*_SCRIPTED, r"\s+(?:readonly )?[\w$]+\??: [\w<>\[\]| '\"]+[;,]$"),
    ),
    Language(
        "javascript",
        mark=(
            r"import [\w*{$][^'\"]* from ['\"][^'\"]+['\"];?$",
            r"export (?:default [\w{(]|const |async |function|class |\{|\* from)",
            r"(?:const|let|var) (?:[\w$]+|\{[^}]*\}|\[[^\]]*\]) = ",
            r"module\.exports\b",
            r"['\"]use strict['\"];?$",
            r"(?:async )?function\*? \w+\([\w$, ={}\[\].]*\) ?\{$",
        ),
        said=_SCRIPTED,
        line=(r"[\w$.]+ = \S", *_BRACED),
    ),
    Language(
        "css",
        mark=(
            r"(?:[.#][A-Za-z][\w-]*|:root|\*|(?:html|body|a|p|h[1-6]|ul|ol|li|div|span|table|img|button|input|nav|main)\b)"
            r"[^;(){}=]*(?:\{|,$)",
            r"@(?:media|font-face|keyframes|supports)\b[^;{}]*\{",
        ),
        said=(r"\s*[a-z-]+: ?[^;{}]+;$", r"[^{}]*\{ *[a-z-]+: ?[^;{}]+;? ?\}$"),
        line=(r"[.#@:*\[\w][^{};]*[{,]$", r"[.#@:*\[\w][^{};]*\{[^{}]*\}$", r"\}", r"@\w[^{}]*;$"),
    ),
    Language(
        "sql",
        comment="--",
        mark=(
            r"(?:CREATE|ALTER|DROP) (?:OR REPLACE )?(?:\w+ )?"
            r"(?:TABLE|VIEW|INDEX|FUNCTION|TRIGGER|SCHEMA|SEQUENCE|TYPE|DATABASE) \S",
            r"INSERT INTO \S",
            r"DELETE FROM \S",
            r"UPDATE \S+ SET\b",
            r"SELECT (?!\d+$)\S",
            r"WITH \w+ AS \(",
            r"SELECT$",
            r"(?:create|alter|drop|insert into|select|update|delete from|with) .*[;(]$",
            r"select .* from [\w.]+$",
        ),
        said=(rf"(?:{_CLAUSES})\b", rf"(?:{_CLAUSES.lower()}) .*[;,(]$", r"\)"),
        line=(rf"(?:{_CLAUSES.lower()})\b", r".*[,;(]$", r"[(\\]"),
    ),
    _hashed(
        "make",
        mark=(
            r"\.PHONY ?:",
            r"\t.*\$[@<^({]",
            r"\t@[a-z]",
            r"[A-Z_]+\s*[:?]=\s*\S",
            r"\t(?:gcc|cc|g\+\+|rm|mkdir|go|cargo|python3?|npm|docker|install) ",
        ),
        said=(r"\t\S", r"[\w.-]+\s*[:?+]?=", r"[\w./%$(){} -]+::?(?: [\w./%$(){} -]+)?$"),
        line=(r"(?:ifn?eq|ifn?def|else|endif|-?include|export|define|endef)\b", r"[\w./%$(){} -]+::? "),
    ),
    _hashed(
        "bash",
        mark=(
            r"set -[a-z]+\b",
            r"(?:if|elif|while|until) (?:! )?(?:\[\[? .*\]|test |command -v |grep -q)",
            r"(?:fi|done|esac)$",
            r"for \w+ in .*; ?do$",
            r"case .* in$",
            r"\w+ ?\(\) ?\{$",
        ),
        said=(
            r"(?:export |local |readonly |declare )?\w+=",
            r"(?:echo|source|trap|exit|return|shift|cd|read|exec|eval|printf|function) \S",
            r"(?:then|else|do|\})$",
            r"\s+\S",
        ),
        line=(
            r"[\"'${}]",
            r"(?:[\w./-]+|\[\[? .* \]\]?)(?:$| [-\"$&|<>/~]| \w+[-\"$&|<>/~=])",
            rf"(?!{_PROSE})[a-z][\w./-]* [^.:!?,]*$",
            r"\. \S",
        ),
        least=3,
    ),
    _hashed(
        "toml",
        mark=(r"\[\[?[A-Za-z][\w.\"-]*\]?\]$",),
        said=(r"[\w.\"-]+ = (?:[\"'\[{\d+-]|true\b|false\b)",),
        line=(r"[\]}\"']",),
    ),
    _hashed(
        "ini",
        mark=(r"\[[A-Za-z][\w.:/@\" -]*\]$",),
        said=(r"[\w.@-]+ ?= ?\S",),
        line=(r"[\w.@/-]+ ?=", r";"),
        least=3,
    ),
    _hashed(
        "yaml",
        mark=(r" *(?:- )?[a-z_][\w.-]*:(?: [|>][-+]?| &\w+)?$",),
        said=(r" +(?:- )?[a-z_][\w.-]*: \S",),
        line=(r"---(?: |$)", r"\.\.\.$", r"[\w.\"'/-]+:(?: |$)", r"-(?: |$)", r"[}\]]"),
        least=3,
    ),
)


_SNIFFED = 8000  # characters that are looked at
_LOOKED_AT = 40  # lines of these that are neither empty nor comments
_LONGEST = 400  # characters of a line that are
_LARGEST_NUMBERED = 256 * 1024  # characters of a text whose numbers are taken off

_SHEBANG = re.compile(r"#! ?(?:/[\w.-]+)+/([\w.+-]+)(?: -S)?(?: ([A-Za-z][\w.+-]*))?(?: -\S+)*$")
_INTERPRETERS = {
    "sh": "bash", "dash": "bash", "ash": "bash", "zsh": "bash", "ksh": "bash", "bash": "bash", "fish": "fish",
    "python": "python", "pypy": "python", "node": "javascript", "deno": "typescript", "bun": "typescript",
    "ruby": "ruby", "perl": "perl", "php": "php", "lua": "lua", "awk": "awk", "gawk": "awk", "Rscript": "r",
    "pwsh": "powershell", "make": "make", "tclsh": "tcl",
}  # fmt: skip
_OPENINGS = (
    (re.compile(r"<\?php(?:\s|$)"), "php"),
    (re.compile(r"(?i)<(?:!doctype html|html)(?:[\s>]|$)"), "html"),
    (re.compile(r"<\?xml\s"), "xml"),
    (re.compile(r'syntax = "proto\d";'), "protobuf"),
    (re.compile(r"\\documentclass\b"), "latex"),
)
_WITH_TAGS = ("html", "xml", "php", "html+php", "css+php", "jsp", "aspx-cs", "aspx-vb")
_TAG = re.compile(r"<([A-Za-z][\w:.-]*)[\s/>]")
_HTML = frozenset({"head", "body", "div", "section", "main", "nav", "header", "footer", "article", "ul", "ol", "dl",
                   "table", "form", "p", "span", "style", "script", "template"})  # fmt: skip
_NUMBER = re.compile(r" {0,8}(\d{1,7}) ?(?:[\t│|→]|:(?= |$))(.*)")
_HEAD = re.compile(r"(?! *\d)[^\n]{1,300}:\n+(?= {0,8}\d{1,7} ?[\t│|→:])")


def language_of_text(text: str) -> str:
    """pygments' alias of the language that a text is written in; "" where it is in none, or none is sure."""
    lines = _lines(text)
    if len(lines) < 2:
        return ""
    first = lines[0]
    if (called := _SHEBANG.match(first)) is not None:
        name, given = called.groups()
        by_name = given if name == "env" else "" if given else name
        return _INTERPRETERS.get((by_name or "").rstrip("0123456789."), "")
    if opened := next((alias for pattern, alias in _OPENINGS if pattern.match(first)), ""):
        return opened
    if first[:1] in (" ", "\t"):  # a part of something
        return ""
    if (tag := _TAG.match(first)) is not None:
        return _marked_up(lines, tag[1], text)
    known: dict[object, list[str]] = {}  # the lines without comments, which many languages have in common
    for language in LANGUAGES:
        family = (language.comment, language.blocks)
        if family not in known:
            known[family] = list(_code(language, lines))
        mark = any_of(language.mark)
        if any(mark.match(one) for one in known[family]) and _telling(language, known[family]) >= language.least:
            return language.alias
    return ""


def can_be(alias: str, text: str) -> bool:
    """Tell whether a text can be in the language of its path. A message about a file or a page of it can't."""
    if alias in _WITH_TAGS:
        return "<" in text[:_SNIFFED]
    language = next((one for one in LANGUAGES if one.alias == alias), None)
    lines = [] if language is None else list(_code(language, _lines(text)))
    return language is None or _telling(language, lines) >= 0 or any(_tells(language, one) for one in lines)


def _lines(text: str) -> list[str]:
    begin = text[:_SNIFFED].lstrip("\ufeff\r\n")
    lines = [line[:_LONGEST].rstrip() for line in begin.split("\n")]
    return lines[:-1] if len(text) > _SNIFFED else lines  # the last is cut off


def _tells(language: Language, line: str) -> bool:
    return any_of(language.mark).match(line) is not None or any_of(language.said).match(line) is not None


def _telling(language: Language, lines: list[str]) -> int:
    """Count the lines that speak for a language; less than 0 where a line can't stand in it."""
    other = any_of(language.line)
    telling, continued = 0, False
    for line in lines:
        if _tells(language, line):
            telling += 1
        elif not continued and line[0] not in " \t" and other.match(line) is None:
            return -1
        continued = line.endswith("\\")
    return telling


def _code(language: Language, lines: list[str]) -> Iterator[str]:
    """The first lines without comments; of Python without what stands in long strings, whose words may be any."""
    end, left = "", _LOOKED_AT
    for one in lines:
        bare = one.lstrip()
        if end:
            end = "" if end in bare else end
            continue
        if not bare or bare.startswith(language.comment):
            continue
        begun = next((block for block in language.blocks if block[0] in bare), None)
        if begun is not None and begun[0] == begun[1]:
            end = begun[1] if bare.count(begun[0]) % 2 else ""
        elif begun is not None and bare.startswith(begun[0]):
            end = "" if begun[1] in bare else begun[1]
            continue
        if not left:
            return
        left -= 1
        yield one.partition(f" {language.comment}")[0].rstrip()


def _marked_up(lines: list[str], tag: str, text: str) -> str:
    """HTML or XML without a head: one element from end to end, and no words between the elements of it."""
    looked = [line for line in lines if line][:_LOOKED_AT]
    if len(looked) < 3 or not text[-200:].rstrip().endswith(f"</{tag}>"):
        return ""
    if not all(line[0] in "< \t" or line[-1] == ">" for line in looked):
        return ""
    elements = sum(line.lstrip()[0] == "<" for line in looked)
    return "" if elements * 2 < len(looked) else "html" if tag.lower() in _HTML else "xml"


def unnumbered(text: str) -> tuple[str, int]:
    """The text without the numbers that a tool printed before its lines, and the first; 0 where one is not the next. A
    line above that says what was read goes too."""
    if len(text) > _LARGEST_NUMBERED:
        return text, 0
    head = _HEAD.match(text)
    first, bare = 0, list[str]()
    for at, line in enumerate(text[head.end() if head else 0 :].removesuffix("\n").split("\n")):
        found = _NUMBER.fullmatch(line.removesuffix("\r"))
        if found is None or (at and int(found[1]) != first + at):
            return text, 0
        first = first if at else int(found[1])
        bare.append(found[2])
    if len(bare) < 2 or not first:
        return text, 0
    spaced = all(line[:1] in ("", " ") for line in bare)  # a space that belongs to the bar between
    return "".join(f"{line[spaced:]}\n" for line in bare), first
