"""What lines of the languages look like that tools print most: the table from which `source` tells them.

A pattern sees one line, from its beginning, and has no repetition within a repetition, so that it costs what a look at
the line costs. All are written so that prose, logs and what a shell prints have no `mark`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

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
    """How the lines of a language are told. `mark`: what no other text has; `said`: what speaks for it beside that;
    `line`: what else may stand without indentation. `least` lines are a mark or said. `comment` begins a line that is
    passed over, and `blocks` are what opens and ends more of them."""

    alias: str
    comment: str
    mark: tuple[str, ...]
    said: tuple[str, ...]
    line: tuple[str, ...]
    least: int = 2
    blocks: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=128)
def any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern of several; compiled when first asked for, as all of the table take some ten milliseconds."""
    return re.compile("|".join(patterns))


_C_BLOCKS = (("/*", "*/"),)
_DIRECTIVE = r"#\s*(?:include|define|if|ifn?def|else|elif|endif|undef|pragma|error|warning)\b"

# The first that fits is taken: what has more of its own stands before what it could be mistaken for.
LANGUAGES = (
    Language(
        "python",
        "#",
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
    Language(
        "docker",
        "#",
        mark=(r"FROM (?:-{2}platform=\S+ )?[a-z$][\w./:@${}-]*(?: (?:AS|as) [\w.-]+)?$",),
        said=(_INSTRUCTIONS,),
        line=(_INSTRUCTIONS,),
    ),
    Language(
        "rust",
        "//",
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
        line=_BRACED,
        blocks=_C_BLOCKS,
    ),
    Language(
        "go",
        "//",
        mark=(r"package \w+$", r"func (?:\(\w+ \*?\w+\) )?\w+\("),
        said=(r"import [(\"]", r"(?:type|var|const) [\w(]", r"\)$", r"\}", r"\s+\w[\w., ]* := "),
        line=_BRACED,
        blocks=_C_BLOCKS,
    ),
    Language(
        "kotlin",
        "//",
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
        line=_BRACED,
        blocks=_C_BLOCKS,
    ),
    Language(
        "java",
        "//",
        mark=(r"package [a-z]\w*(?:\.\w+)+;$", r"import (?:static )?[a-z]\w*(?:\.\w+)*\.(?:[A-Z]\w*|\*);$"),
        said=(
            r"(?:(?:public|final|abstract) )*(?:class|interface|enum|record) \w",
            r"@[A-Z]",
            r"\s+(?:public|private|protected|static|return|final) ",
        ),
        line=_BRACED,
        blocks=_C_BLOCKS,
    ),
    Language(
        "csharp",
        "//",
        mark=(r"using (?:static )?[A-Z][\w.]*;$", r"namespace [A-Z][\w.]*[; {]*$"),
        said=(r"\s*(?:public|private|internal|protected|static) ", r"\{$", r"(?:class|record|interface|enum) [A-Z]"),
        line=(r"#(?:if|endif|region|endregion|nullable)", *_BRACED),
        blocks=_C_BLOCKS,
    ),
    Language(
        "cpp",
        "//",
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
        blocks=_C_BLOCKS,
    ),
    Language(
        "c",
        "//",
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
        blocks=_C_BLOCKS,
    ),
    Language(
        "typescript",
        "//",
        mark=(
            r"(?:export |declare )*interface \w+.*\{",
            r"(?:export |declare )*type \w+(?:<.*>)? =",
            r"(?:export |declare )+(?:enum|abstract class|namespace) \w+",
            r"import type \{",
            r"(?:export |async |default )*function \w+\(.*\): [\w<>\[\]| ]+ \{$",
            r"(?:export )?(?:const|let) [\w$]+: [\w<>\[\]| ]+ = ",
        ),
        said=(*_SCRIPTED, r"\s+(?:readonly )?[\w$]+\??: [\w<>\[\]| '\"]+[;,]$"),
        line=_BRACED,
        blocks=_C_BLOCKS,
    ),
    Language(
        "javascript",
        "//",
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
        blocks=_C_BLOCKS,
    ),
    Language(
        "css",
        "//",
        mark=(
            r"(?:[.#][A-Za-z][\w-]*|:root|\*|(?:html|body|a|p|h[1-6]|ul|ol|li|div|span|table|img|button|input|nav|main)\b)"
            r"[^;(){}=]*(?:\{|,$)",
            r"@(?:media|font-face|keyframes|supports)\b[^;{}]*\{",
        ),
        said=(r"\s*[a-z-]+: ?[^;{}]+;$", r"[^{}]*\{ *[a-z-]+: ?[^;{}]+;? ?\}$"),
        line=(r"[.#@:*\[\w][^{};]*[{,]$", r"[.#@:*\[\w][^{};]*\{[^{}]*\}$", r"\}", r"@\w[^{}]*;$"),
        blocks=_C_BLOCKS,
    ),
    Language(
        "sql",
        "--",
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
        blocks=_C_BLOCKS,
    ),
    Language(
        "make",
        "#",
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
    Language(
        "bash",
        "#",
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
    Language(
        "toml",
        "#",
        mark=(r"\[\[?[A-Za-z][\w.\"-]*\]?\]$",),
        said=(r"[\w.\"-]+ = (?:[\"'\[{\d+-]|true\b|false\b)",),
        line=(r"[\]}\"']",),
    ),
    Language(
        "ini",
        "#",
        mark=(r"\[[A-Za-z][\w.:/@\" -]*\]$",),
        said=(r"[\w.@-]+ ?= ?\S",),
        line=(r"[\w.@/-]+ ?=", r";"),
        least=3,
    ),
    Language(
        "yaml",
        "#",
        mark=(r" *(?:- )?[a-z_][\w.-]*:(?: [|>][-+]?| &\w+)?$",),
        said=(r" +(?:- )?[a-z_][\w.-]*: \S",),
        line=(r"---(?: |$)", r"\.\.\.$", r"[\w.\"'/-]+:(?: |$)", r"-(?: |$)", r"[}\]]"),
        least=3,
    ),
)
