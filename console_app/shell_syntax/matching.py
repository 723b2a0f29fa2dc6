"""Match the pattern of a rule against a command, word by word from the front: `pytest *`, `git commit *`, `make test`.

A `*` at the end stands for any more words, elsewhere for one. What a wildcard may stand for is never a command to run:
programs that run others, and options that do, are allowed only by a rule that has them word for word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
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
    return _mentions(pattern, command, 0)


def _mentions(pattern: str, command: str, depth: int) -> bool:
    wanted, root = _words_of(pattern), syntax.tree(command)
    if wanted is None or root is None or depth > _MOST_NESTED:
        return True
    for argv in syntax.commands(root, command):
        if not argv or argv[0] is None:
            return True
        if _may_fit(wanted, argv):
            return True
        if _name(argv[0]) in _RUNNERS or _INTERPRETERS.fullmatch(_name(argv[0])) or _name(argv[0]) in _RUNS:
            if any(_may_fit(wanted, argv[at:]) for at in range(1, len(argv))):
                return True
            scripts = [word for word in argv if word is not None and re.search(r"\s|;", word)]
            if any(_mentions(pattern, script, depth + 1) for script in scripts):
                return True
            if None in argv:
                return True
        elif not _EXECUTING.isdisjoint(argv) and any(_may_fit(wanted, argv[at:]) for at in range(1, len(argv))):
            return True
    return False


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
