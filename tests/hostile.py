"""Texts that would do something if they reached a terminal, or were read as markup: one for each way known."""

from __future__ import annotations

CONTROL = [
    "\x1b]52;c;ZXZpbA==\x07",  # clipboard
    "\x1b]52;c;ZXZpbA==\x1b\\",
    "\x9d52;c;ZXZpbA==\x9c",  # C1
    "\x9d52;c;ZXZpbA==\x07",
    "\x1b]52;c;?\x07",  # reads the clipboard
    "\x1b]0;title\x07",
    "\x1b]2;title\x1b\\",
    "\x9d0;title\x9c",
    "\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\",
    "\x9d8;;http://evil.example/\x9clink\x9d8;;\x9c",
    "\x1b]4;1;rgb:00/00/00\x07",  # palette
    "\x1b]10;#000000\x07",
    "\x1b]11;?\x07",
    "\x1b]7;file://evil/\x07",
    "\x1b]9;notification\x07",
    "\x1b]777;notify;a;b\x07",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1b]133;A\x07",
    "\x1b]22;wait\x07",
    "\x1bP+q544e\x1b\\",  # DCS
    "\x1bP$q\"p\x1b\\",
    "\x90+q544e\x9c",
    "\x1bPtmux;\x1b\x1b]52;c;ZXZpbA==\x07\x1b\\",
    "\x1b_Gf=24;AAAA\x1b\\",  # APC: kitty graphics
    "\x9fGf=24;AAAA\x9c",
    "\x1b^private\x1b\\",  # PM
    "\x1bXstring\x1b\\",  # SOS
    "\x1b[2J",
    "\x9b2J",
    "\x1b[H\x1b[J",
    "\x1b[1;1Hoverwritten",
    "\x1b[5A\x1b[2K",
    "\x1b[31mred\x1b[0m",
    "\x1b[8mhidden\x1b[0m",
    "\x1b[?1049l",
    "\x1b[?25l",
    "\x1b[?1000h",
    "\x1b[?2004l",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[21t",
    "\x1b[>31u",
    "\x1b[!p",
    "\x1bc",  # reset
    "\x1b(0lqqk\x1b(B",
    "\x1b#8",
    "\x1b",
    "\x9b",
    "good\rEVIL",
    "abc\x08\x08\x08xyz",
    "\x07\x07",
    "\x00\x05\x0e\x0f",
    "\x7f",
    "a\x0bb\x0cc\x85d",
]  # fmt: skip
UNICODE = [
    "\u202eevil\u202c",  # right to left
    "\u2066isolate\u2069",
    "\u200f\u200e\u061c",
    "zero\u200bwidth\u200djoin\u200cers\u2060",
    "\ufefftext\ufff9a\ufffab\ufffb",
    "\u2028line\u2029paragraph",
    "\U000e0041\U000e0042tags\U000e007f",
    "\u3164\u115f\u1160filler",
    "soft\u00adhyphen\u180e",
    "a\ufe0fb\ufe00",
]
MARKUP = [
    "[/red]",
    "[/]",
    "[@click=app.quit]x[/]",
    "[@click=app.bell()]x",
    "[link=http://evil.example/]x[/link]",
    "[bold red on blue blink]x",
    "[[",
    "\\[",
    "[",
    "$error [$primary]x",
    ":skull:",
]
PAYLOADS = [*CONTROL, *UNICODE, *MARKUP]
