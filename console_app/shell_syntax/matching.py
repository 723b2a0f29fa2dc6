"""Match the pattern of a rule against a command, word by word from the front: `pytest *`, `git commit *`, `make test`.

A `*` at the end stands for any more words, elsewhere for one. What a wildcard may stand for is never a command to run:
programs that run others, and options that do, are allowed only by a rule that has them word for word.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from console_app.shell_syntax import words as syntax

_WILD: Final = re.compile(r"[*?\[]")
_RUNNERS: Final = frozenset(
    """
    sh bash dash zsh ksh mksh fish csh tcsh ash rbash busybox toybox pwsh env xargs sudo doas su runuser sg
    newgrp pkexec nice ionice chrt taskset nohup setsid timeout gtimeout time strace ltrace perf valgrind gdb
    lldb script expect unbuffer watch parallel ssh scp sftp chroot unshare nsenter bwrap firejail flock stdbuf
    setarch prlimit systemd-run systemctl at batch crontab entr npx bunx uvx pnpx dlx pipx eval exec source .
    command builtin coproc trap alias unalias bind complete compgen declare typeset local export readonly let
    read readarray mapfile printf test [ unset set shopt enable hash wait getopts fc history vi vim view nvim
    ex ed emacs nano pico less more man info awk gawk mawk nawk tclsh wish osascript run-parts
    start-stop-daemon rlwrap tmux screen docker podman nerdctl kubectl vagrant ansible psql mysql sqlite3
    mongosh pydoc jobs ldd ld.so gcc-wrapper socat nc ncat telnet dbus-run-session xvfb-run faketime fakeroot proot
    hyperfine watchexec nodemon dotenv foreman op doppler chronic retry ifne mosh sshpass eatmydata linux32 linux64
    i386 x86_64 cgexec gosu su-exec aws-vault xterm kitty alacritty konsole gnome-terminal rename prename file-rename
    exiftool fzf sk vimdiff gvim rview emacsclient kak joe tig lftp ftp rpm duckdb tcpdump lxc incus machinectl
    crystal nim
    catchsegv torsocks proxychains ccache distcc nsjail capsh setpriv choom cpulimit numactl
    """.split()  # noqa: SIM905, as a list it would take a page
)
_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|rscript|julia|ghci|runghc|tsx|ts-node|g?sed|jshell|"
    r"groovy|scala|swift|guile|racket|elixir|irb|bc|dc|m4|gnuplot|octave|erl|ocaml|sbcl|clojure|clj|raku|i?python|"
    r"tcc|iex)[\d.]*"
)
_RUNS: Final = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "rye", "pdm", "pixi", "mise", "conda"), ("run", "exec")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("exec", "dlx", "x", "explore", "init", "create", "node")),
    **dict.fromkeys(("gh", "bazel"), ("alias", "extension", "run")),
    **dict.fromkeys(("bundle", "opam", "stack", "cabal", "direnv", "nix"), ("exec", "develop", "shell", "run")),
}  # fmt: skip
# The options that run a program or write a file: long ones, which may be cut short where nothing else begins so, and
# the form of others.
_OPTIONS: Final = {
    "find": ("", r"-(?:exec|ok|delete|fprint|fls).*"),
    "fd": ("exec exec-batch", r"-[a-zA-Z]*[xX].*"),
    "fdfind": ("exec exec-batch", r"-[a-zA-Z]*[xX].*"),
    "git": (
        "upload-pack receive-pack exec ext-diff textconv open-files-in-pager output template config help",
        r"-[a-zA-Z]*[cOx].*|ext::.*",
    ),
    "tar": (
        "checkpoint-action to-command use-compress-program rsh-command rmt-command info-script new-volume-script "
        "transform",
        r"-[a-zA-Z]*[IF].*",
    ),
    "rsync": ("rsh rsync-path", r"-[a-zA-Z]*e.*"),
    "sort": ("compress-program output", r"-[a-zA-Z]*o.*"),
    "shuf": ("output", r"-[a-zA-Z]*o.*"),
    "iconv": ("output", r"-[a-zA-Z]*o.*"),
    "tree": ("output", r"-[a-zA-Z]*o.*"),
    "split": ("filter", ""),
    "date": ("set", r"-[uR]*s.*"),
    "rg": ("pre hostname-bin search-zip", r"-[a-zA-Z]*z.*"),
    "ag": ("pager", ""),
    "ack": ("pager", ""),
    "bat": ("pager", ""),
    "ip": ("", r"exec"),
    "zip": ("unzip-command", r"-[a-zA-Z]*T.*"),
    "make": ("eval", r"SHELL=.*|-[a-zA-Z]*E.*"),
    "go": ("exec toolexec vettool", r"-(?:exec|toolexec|vettool).*"),
    "cargo": ("config", ""),
    "gcc": ("", r"-(?:wrapper|B|fplugin).*"),
    "wget": ("execute use-askpass", r"-e.*"),
    "curl": ("config", r"-[a-zA-Z]*K.*"),
    "npm": ("script-shell node-options", ""),
    "cmake": ("", r"-[EP].*"),
    "ctest": ("", r"-S.*"),
    "mvn": ("", r"exec:.*|-Dexec.*"),
    "dpkg": ("pre-invoke post-invoke", ""),
    "apt": ("option", r"-o.*"),
    "sdiff": ("diff-program output", r"-[a-zA-Z]*o.*"),
    "diff3": ("diff-program", ""),
    "install": ("strip-program", ""),
    "openssl": ("", r"-engine"),
    "cpio": ("rsh-command", ""),
    "latex": ("shell-escape", r"-shell-escape"),
    "ctags": ("options", ""),
}
# The words of git that run nothing of their arguments: another may be an alias of the repository, or a program.
_OF_GIT: Final = frozenset(
    """
    add am annotate apply blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean clone
    commit commit-tree count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck
    gc grep hash-object init log ls-files ls-remote ls-tree merge merge-base merge-tree mv name-rev notes pull push
    range-diff read-tree reflog remote repack replace reset restore revert rev-list rev-parse rm shortlog show
    show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index update-ref version
    whatchanged worktree write-tree
    """.split()  # noqa: SIM905
)
_NAMED_AS: Final = {"gmake": "make", "cc": "gcc", "g++": "gcc", "clang": "gcc", "bsdtar": "tar", "gtar": "tar"} | {
    **dict.fromkeys(("pdflatex", "xelatex", "lualatex"), "latex"),
    "apt-get": "apt",
}
_SHELLS: Final = frozenset("sh bash dash zsh ksh mksh fish csh tcsh ash rbash".split())  # noqa: SIM905
_TELLERS: Final = frozenset("printf test [ awk gawk mawk nawk sqlite3 psql mysql".split())  # noqa: SIM905
_GIT_RUNS: Final = frozenset({"bisect", "difftool", "filter-branch", "mergetool", "rebase", "submodule"})
# What an interpreter is given: by words, each with a NUL behind it. A shell reads its input without `-c` and a file, or
# with `-s`; another has no file, or other options than those before one.
_KERNELS: Final = r"//?(?:dev|proc)/"
_FROM_INPUT: Final = re.compile(
    r"(?:[-+]\w*[oO]\0[^\0]*\0|--(?:rcfile|init-file)\0[^\0]*\0|--(?!version|help)[^\0]*\0|[-+](?!\w*c)\w+\0)*"
    rf"(?:$|-\0|{_KERNELS})|(?:[-+][^\0]*\0)*-\w*s\w*\0"
)
_FROM_FILE: Final = re.compile(
    r"(?:-(?:u|B|O+|s|v|q|w|b)\0|--[abdf-hjkmnoqs-z][^\0]*\0)*"
    rf"(?:(?!eval\0|repl\0|{_KERNELS})[^-\0]|-m\0(?!timeit|code|pdb|c?[pP]rofile|trace|asyncio|IPython)|"
    r"(?:-V|-h|-v|--version|--help)\0$)"
)
_AS_FILE: Final = rf"(?:^|\0)(?:-f\0?+|--(?:make)?file[=\0])(?:-?\0|{_KERNELS})"
_SED: Final = r"(?:^|[\0;{}\n\d$/!])\s*e(?:\s|\0)|[^\w\s\0-][gpiImM\d]*e[gpiImMw\d]*\s*[\0;}\n]"
_HARMLESS: Final = r"(?:user|color|advice|init|commit|push|pull)\.\w+=[^!\0]*"
_GIVEN: Final = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), re.compile(rf"system|\||getline|@load|{_AS_FILE}")),
    **dict.fromkeys(("sed", "gsed"), re.compile(rf"{_SED}|{_AS_FILE}")),
    "git": re.compile(
        rf"^(?:-C\0[^\0]*\0|-c\0{_HARMLESS}\0|--(?!config-env|exec-path=)[^\0]*\0|-[^cC\0]\0)*+"
        r"(?:-c|--config-env|--exec-path=)"
    ),
    "make": re.compile(_AS_FILE),
    "bc": re.compile(r"(?!)"),
    "xargs": re.compile(r"(?:^|\0)(?:-[IJ]\0?|--replace=)([^\0]+)\0(?:-[^\0]*\0)*+\1"),
    "crontab": re.compile(r"^(?!-l\0)"),
    **dict.fromkeys((".", "source"), re.compile(rf"^(?:-\0|{_KERNELS})")),
}
_TAKE_PROGRAMS: Final = frozenset(
    "ed ex vi vim view nvim sqlite3 psql mysql gdb lldb at batch expect tclsh wish osascript parallel socat".split()  # noqa: SIM905
)
_RUN_BY_OPTION: Final = frozenset("tar rsync split rg make go gcc zip cpio latex mvn cmake".split())  # noqa: SIM905
_SPACED, _ODD = re.compile(r"\s|;"), re.compile(r"[^\w./=:@%+,-]")  # of a word that may be a command, and for a shell
_DEFINED: Final = {"alias": re.compile(r"^[^=]*="), "git": re.compile(r"^(?:[^!]*=)?!")}  # what stands before a program
_Test = Callable[[tuple[str | None, ...], int, str | None], bool]
_EXECUTING: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir", "--exec", "-x", "-X"})
_MOST_NESTED: Final = 5  # commands within words of commands
_TWO: Final = frozenset(
    "git npm pnpm yarn cargo go make uv poetry pip docker kubectl gh brew apt bundle dotnet gradle mvn".split()  # noqa: SIM905
)


def allows(pattern: str, command: str) -> bool:
    """Tell whether a rule's pattern allows a command beyond doubt."""
    if not _WILD.search(pattern):
        return pattern == command
    argv, wanted = syntax.plain_words(command), _words_of(pattern)
    if argv is None or wanted is None or not _fits(wanted, argv):
        return False
    fixed = next((at for at, word in enumerate(wanted) if _WILD.search(word)), len(wanted))
    return not _runs_others(argv, fixed)


def mentions(pattern: str, command: str) -> bool:
    """Tell whether a command may be, or may run, what the pattern of a rule that asks or denies means."""
    wanted = _words_of(pattern)
    return wanted is None or _any(command, lambda argv, at, text: _may_fit(wanted, argv[at:]), unknown=True)


def hides(command: str) -> bool:
    """Tell whether a command gives an interpreter a program that can't be judged: by its words or by its input."""
    return _any(command, _is_given_program, unknown=False)


def _any(command: str, test: _Test, depth: int = 0, *, unknown: bool) -> bool:
    """Test each command that a command runs, by its words or its input. `unknown` is the answer for an unknown word."""
    root = syntax.tree(command)
    if root is None or depth > _MOST_NESTED:
        return True
    for argv, text in syntax.commands(root, command):
        if not argv or argv[0] is None:
            return True
        runs = _starts(argv)
        if any(argv[at] is not None and test(argv, at, text) for at in runs):
            return True
        name, words = _name(argv[0]), [word for word in argv[1:] if word not in (None, ";")]
        if unknown and len(runs) > 1 and None in argv and name != "git":
            return True
        shell = next((at for at in runs if _name(argv[at] or "") in _SHELLS), -1)
        scripts = [word for word in words if (_SPACED if shell < 0 else _ODD).search(word)] if len(runs) > 1 else []
        if name == "alias" or (name == "git" and not {"-c", "config"}.isdisjoint(words)):
            scripts = [script for word in words if (script := _DEFINED[name].sub("", word)) != word]
        if text is not None and shell >= 0 and _FROM_INPUT.match(_line(argv, shell)):
            scripts.append(text)
        if any(_any(script, test, depth + 1, unknown=unknown) for script in scripts):
            return True
    return False


def _starts(argv: Sequence[str | None]) -> range:
    """Return the places at which a command may begin: the first word, and later ones if the first runs others."""
    name = _name(argv[0] or "")
    runs = (
        (name in _RUNNERS and name not in _TELLERS)
        or name in _RUNS
        or not _EXECUTING.isdisjoint(argv)
        or (name == "git" and len(argv) > 1 and argv[1] in _GIT_RUNS)
    )
    return range(len(argv) if runs and not (name == "command" and argv[1:2] in (("-v",), ("-V",))) else 1)


def _is_given_program(argv: Sequence[str | None], at: int, text: str | None) -> bool:
    """Tell whether the interpreter at this place takes its program from the words behind it, or from its input."""
    name = _name(argv[at] or "")
    name, words, line = _NAMED_AS.get(name, name), [word or "" for word in argv[at + 1 :]], _line(argv, at)
    if name in _SHELLS:
        return text is None and bool(_FROM_INPUT.match(line))
    if name in _TAKE_PROGRAMS or (name in _GIVEN and _GIVEN[name].search(line)):
        return True
    if name == "xargs" and (_name((words or [""])[-1]) in _RUNNERS or any(_name(word) in _SHELLS for word in words)):
        return True
    if name not in _GIVEN and _INTERPRETERS.fullmatch(name):
        return not _FROM_FILE.match(line)
    return name in _RUN_BY_OPTION and _runs_others([name, *words], 1)


def _line(argv: Sequence[str | None], at: int) -> str:
    """The words behind one, each with a NUL behind it and a path as it leads from the root; `find` ends them by `;`."""
    words = (word or "" for word in argv[at + 1 :] if word != ";")
    paths = (posixpath.normpath(word) if word.startswith("/") else word for word in words)
    return "".join(f"{path}\0" for path in paths)


def beginning(command: str) -> str:
    """Return the pattern that commands like this one would be allowed by; "" where none is."""
    argv = syntax.plain_words(command)
    if not argv:
        return ""
    fixed = 2 if _name(argv[0]) in _TWO and len(argv) > 1 and not argv[1].startswith("-") else 1
    if _INTERPRETERS.fullmatch(_name(argv[0])):
        fixed = 3 if argv[1:2] == ("-m",) else 2
    if _name(argv[0]) in _RUNS and argv[1:2] and argv[1] in _RUNS[_name(argv[0])]:
        fixed = 3
    pattern = f"{shlex.join(argv[:fixed])} *"
    return pattern if len(argv) >= fixed and allows(pattern, command) else ""


def _words_of(pattern: str) -> tuple[str, ...] | None:
    try:
        return tuple(shlex.split(pattern)) or None
    except ValueError:
        return None


def _fits(wanted: Sequence[str], argv: Sequence[str]) -> bool:
    if wanted[-1] == "*" and len(wanted) > 1:
        wanted = wanted[:-1]
        argv = argv[: len(wanted)]
    elif wanted == ("*",):
        return True
    return len(wanted) == len(argv) and all(map(fnmatchcase, argv, wanted))


def _may_fit(wanted: Sequence[str], argv: tuple[str | None, ...]) -> bool:
    """Tell whether the words fit for all that is known: the program by its last part, in whatever capitals."""
    open_end = wanted[-1] == "*"
    wanted = wanted[:-1] if open_end and len(wanted) > 1 else wanted
    if len(argv) < len(wanted) or (len(argv) > len(wanted) and not open_end):
        return False
    for at, (glob, word) in enumerate(zip(wanted, argv, strict=False)):
        if word is not None and not fnmatchcase(_name(word) if at == 0 else word.lower(), glob.lower()):
            return False
    return True


def _name(word: str) -> str:
    return word.rpartition("/")[2].lower()


def _runs_others(argv: Sequence[str], fixed: int) -> bool:
    """Tell whether a command runs what stands in its words; the first `fixed` of them a rule has word for word."""
    name = _name(next(iter(argv)))
    name = _NAMED_AS.get(name, name)
    if name in _RUNNERS or name.startswith("ld-linux"):
        return True
    if _INTERPRETERS.fullmatch(name):
        module = "-m" in argv[1:2]
        return fixed < (3 if module else 2) or (argv[1].startswith("-") and not module)
    if len(argv) > 1 and argv[1] in _RUNS.get(name, ()):
        return fixed < 3 or argv[2].startswith("-") or _runs_others(argv[2:], fixed - 2)
    if name == "git" and len(argv) > 1 and argv[1] not in _OF_GIT:
        return True
    if name == "git" and argv[1:2] == ("clone",) and any(word.startswith("-u") for word in argv):
        return True
    if name not in _OPTIONS:
        return False
    long, other = _OPTIONS[name]
    return any(re.fullmatch(other, word, re.DOTALL) or _is_one_of(long, word) for word in argv[max(fixed, 1) :])


def _is_one_of(long: str, word: str) -> bool:
    given = word[2:].partition("=")[0]
    return word.startswith("--") and any(
        given and (one.startswith(given) or given.startswith(one)) for one in long.split()
    )
