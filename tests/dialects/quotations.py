"""Quotation machines: some eighty ways in which people write down a call that nobody means."""

from collections.abc import Callable
from typing import TypeAlias

Machine: TypeAlias = Callable[[str], str]


def _each(prefix: str) -> Machine:
    return lambda text: "\n".join(prefix + line for line in text.split("\n"))


def _around(before: str, after: str) -> Machine:
    return lambda text: f"{before}{text}{after}"


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def _in_line(before: str, after: str) -> Machine:
    return lambda text: f"{before}{_one_line(text)}{after}"


MACHINES: dict[str, Machine] = {
    "quotation marks": _around('It says "', '" there.'),
    "quotation marks on lines": _around('The page reads:\n"', '"\n'),
    "quotation marks around a block": _around('The page reads: "\n', '\n"\nI won\'t.'),
    "single quotation marks": _around("It says '", "' there."),
    "curly quotation marks": _around("It says “", "” there."),
    "curly quotation marks around a block": _around("It says:\n“\n", "\n”"),
    "single curly quotation marks": _around("It says ‘", "’ there."),
    "guillemets": _around("Il dit « ", " » ici."),
    "guillemets around a block": _around("Il dit :\n«\n", "\n»\n"),
    "guillemets turned around": _around("Da steht »", "«."),
    "low quotation marks": _around("Da steht „", "“."),
    "low quotation marks around a block": _around("Da steht:\n„\n", "\n”"),
    "corner brackets": _around("そこには「", "」とあります。"),
    "double corner brackets": _around("『", "』"),
    "three quotation marks": _around('text = """\n', '\n"""'),
    "three single quotation marks": _around("text = '''\n", "\n'''"),
    "a block quote": _each("> "),
    "a block quote without blanks": _each(">"),
    "a block quote in a block quote": _each("> > "),
    "a block quote that goes on": _around("> It says:\n", "\n"),
    "an indented block quote": _each("  > "),
    "a list": _each("- "),
    "a list with stars": _each("* "),
    "a numbered list": _each("1. "),
    "a lettered list": _each("a) "),
    "a point of a list": lambda text: "- It says:\n" + _each("  ")(text),
    "a numbered point of a list": lambda text: "1. It says:\n\n" + _each("   ")(text),
    "a table": _in_line("| page | ", " |"),
    "a table with a header": _in_line("| a | b |\n|---|---|\n| x | ", " |\n"),
    "a table without edges": _in_line("a | b\n--|--\nx | ", " | y"),
    "inline code": _in_line("It says `", "` there."),
    "inline code with two ticks": _in_line("It says `` ", " `` there."),
    "a fence": _around("It says:\n\n```\n", "\n```\n\nI won't."),
    "a fence with a language": _around("It says:\n\n```python\n", "\n```\n"),
    "a fence of a transcript": _around("The log:\n~~~console\n", "\n~~~\n"),
    "a longer fence": _around("It says:\n````markdown\n```\n", "\n```\n````\n"),
    "indented code": lambda text: "It says:\n\n" + _each("    ")(text),
    "code indented by a tab": lambda text: "It says:\n\n" + _each("\t")(text),
    "a comment of HTML": _around("<!-- ", " -->"),
    "a comment of HTML on lines": _around("Text.\n<!--\n", "\n-->\n"),
    "a comment of C": _around("/* ", " */"),
    "a comment of C on lines": _around("/*\n", "\n*/"),
    "a line comment": _each("// "),
    "a comment of a shell": _each("# "),
    "a comment of SQL": _each("-- "),
    "preformatted text": _around("<pre>\n", "\n</pre>"),
    "code in HTML": _around("It says <code>", "</code> there."),
    "details": _around("<details>\n<summary>Page</summary>\n\n", "\n\n</details>"),
    "a quotation in HTML": _around("<blockquote>\n", "\n</blockquote>"),
    "an element with attributes": _around('<div class="page">\n', "\n</div>"),
    "an element of its own": _around("<web_page>\n", "\n</web_page>"),
    "a script": _around("<script>\n", "\n</script>"),
    "CDATA": _around("<![CDATA[\n", "\n]]>"),
    "front matter": _around("---\ntitle: page\n", "\n---\n"),
    "a block of YAML": lambda text: "page: |\n" + _each("  ")(text),
    "a folded block of YAML": lambda text: "page:\n  body: >-\n" + _each("    ")(text),
    "a value": _in_line("x = ", ";"),
    "an argument": _in_line("print(", ")"),
    "brackets": _in_line("It says (", ")."),
    "a sentence": _in_line("I refuse to emit ", " here."),
    "a sentence that ends": _in_line("I will never write ", "."),
    "bold": _in_line("It says **", "** there."),
    "struck out": _in_line("It says ~~", "~~ there."),
    "a link": _in_line("See [", "](https://example.org)."),
    "a diff": _each("+"),
    "BBCode": _around("[quote]\n", "\n[/quote]"),
    "Jira": _around("{noformat}\n", "\n{noformat}"),
    "LaTeX": _around("\\begin{verbatim}\n", "\n\\end{verbatim}"),
    "Org": _around("#+BEGIN_SRC\n", "\n#+END_SRC"),
    "text of a wiki": _around("It says <nowiki>", "</nowiki> there."),
    "double angle brackets": _around("《", "》"),
    "lenticular brackets": _around("它说：【", "】。"),
    "wide quotation marks": _around("它说：＂", "＂。"),
    "low and high quotation marks": _around("Da steht ‚", "‘."),
    "a comment of Pascal": _around("(*\n", "\n*)"),
    "a comment of Haskell": _around("{-\n", "\n-}"),
    "a comment of Lua": _around("--[[\n", "\n]]"),
    "a comment of Ruby": _around("=begin\n", "\n=end"),
    "a list with Roman numbers": _each("ii. "),
    "a list with numbers in brackets": _each("(1) "),
    "a list of definitions": _in_line("Page\n: ", ""),
    "a footnote": _in_line("[^1]: ", ""),
    "a here document": _around("cat <<'EOF'\n", "\nEOF"),
}  # fmt: skip
