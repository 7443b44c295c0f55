"""git. Its settings can make it run anything: whoever allows it looks at the repository too (`repository.py`).

Whether a value must be attached is part of the table's meaning here: `git log --format --output=x` writes x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Check, Program, Use, option_values, option_words, program
from joey.policy.shell.plain import Word
from joey.policy.shell.programs import git_files as files

_DIFF = """
    -p -u --patch -s --no-patch -U?t --unified?t -W --function-context --no-function-context --raw --patch-with-raw
    --patch-with-stat --numstat --shortstat --dirstat?t --cumulative --check --summary --name-only --name-status
    --stat?t --stat-width=t --stat-name-width=t --stat-graph-width=t --stat-count=t --compact-summary --binary
    --full-index --color?t --no-color --ws-error-highlight=t -z --abbrev?t --no-abbrev --src-prefix=t --dst-prefix=t
    --line-prefix=t --no-prefix --inter-hunk-context=t --output-indicator-new=t --output-indicator-old=t
    --output-indicator-context=t -B?t --break-rewrites?t -M?t --find-renames?t -D --irreversible-delete -C?t
    --find-copies?t --find-copies-harder --no-renames --rename-empty --no-rename-empty --follow -l=t --minimal -w
    --ignore-all-space -b --ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines -I=t
    --ignore-matching-lines=t --indent-heuristic --no-indent-heuristic --patience --histogram --diff-algorithm=t
    --anchored=t --word-diff?t --word-diff-regex=t --color-words?t --color-moved?t --no-color-moved --color-moved-ws=t
    --relative?t --no-relative -a --text -R --exit-code --no-ext-diff --no-textconv --ignore-submodules?t
    --submodule?t -S=t -G=t --pickaxe-all --pickaxe-regex --find-object=t --diff-filter=t --ita-invisible-in-index
    --ita-visible-in-index
"""
_HISTORY = """
    -# -n=t --max-count=t --skip=t --since=t --after=t --until=t --before=t --author=t --committer=t --grep=t
    --all-match --invert-grep -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings -P --perl-regexp
    --merges --no-merges --min-parents?t --max-parents?t --first-parent --all --branches?t --tags?t --remotes?t
    --glob=t --exclude=t --reflog --ignore-missing --cherry-mark --cherry-pick --left-only --right-only --cherry -g
    --walk-reflogs --grep-reflog=t --merge --boundary --simplify-by-decoration --full-history --dense --sparse
    --simplify-merges --ancestry-path?t --show-pulls --date-order --author-date-order --topo-order --reverse
    --no-walk?t --pretty?t --format?t --abbrev-commit --no-abbrev-commit --oneline --encoding=t --expand-tabs?t
    --no-expand-tabs --notes?t --no-notes --relative-date --date=t --parents --children --left-right --graph
    --no-graph --show-linear-break?t --not --count
"""
_LOG = f"""{_DIFF} {_HISTORY}
    -q --quiet --source --use-mailmap --no-use-mailmap --mailmap --no-mailmap --decorate?t --no-decorate
    --decorate-refs=t --decorate-refs-exclude=t --clear-decorations -L=t --full-diff --log-size -m -c --cc
    --no-diff-merges --diff-merges=t --combined-all-paths --root -t -r
"""
_REFS = """
    --sort=t --format=t --contains?t --no-contains?t --merged?t --no-merged?t --points-at?t --color?t --no-color
    --ignore-case
"""
_MERGE = """
    --ff --no-ff --ff-only --squash --no-squash --commit --no-commit --no-edit --stat -n --no-stat -q --quiet -v
    --verbose -s=t --strategy=t -X=t --strategy-option=t --allow-unrelated-histories --autostash --no-autostash
    --signoff --no-signoff --progress --no-progress --log?t --no-log
"""
_FETCH = """
    --all -a --append -p --prune -t --tags --no-tags --depth=t --deepen=t --unshallow --shallow-since=t
    -j=t --jobs=t -q --quiet -v --verbose --progress --no-progress --dry-run -4 --ipv4 -6 --ipv6 --update-shallow
    --set-upstream
"""
_PICK = """
    -n --no-commit -x --continue --abort --skip --quit -m=t --mainline=t -s --signoff --no-edit --strategy=t -X=t
    --strategy-option=t
"""

_STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours"})
"""Not `subtree`, which puts files into another folder, where an ignore file may not hide them."""
_STRATEGY_OPTION = re.compile(
    r"ours|theirs|ignore-(?:space-change|all-space|space-at-eol|cr-at-eol)|(?:no-)?renormalize|no-renames"
    r"|find-renames(?:=\d+%?)?|patience|diff-algorithm=(?:patience|minimal|histogram|myers)"
)
_REMOTE = re.compile(r"[A-Za-z0-9][\w.-]*")
_CLONE = re.compile(r"(?:https?|ssh)://[A-Za-z0-9][^\s]*|[A-Za-z0-9][\w.-]*@[A-Za-z0-9][\w.-]*:[^\s:]+")


_FIELDS = frozenset(
    {"refname", "objecttype", "objectsize", "objectname", "deltabase", "tree", "parent", "numparent", "object", "type"}
    | {"tag", "author", "authorname", "authoremail", "authordate", "committer", "committername", "committeremail"}
    | {"committerdate", "tagger", "taggername", "taggeremail", "taggerdate", "creator", "creatordate", "describe"}
    | {"subject", "body", "trailers", "contents", "upstream", "push", "symref", "flag", "HEAD", "color", "worktreepath"}
    | {"align", "end", "if", "then", "else", "rest", "ahead-behind", "is-base", "objectmode", "path", "version", "v"}
)
"""What may be shown of a reference, or of an entry of a folder. `raw` is the object itself, which may be a file."""


def _fields(use: Use) -> Iterator[str]:
    """The fields of a format for references, and those that they are sorted by."""
    formats = [value.text for name, value in use.options if name == "--format" and value]
    keys = [value.text.removeprefix("-") for name, value in use.options if name == "--sort" and value]
    found = [field for text in formats for field in re.findall(r"%\(([^)]*)", text)] + keys
    for field in found:
        if field.removeprefix("*").partition(":")[0] not in _FIELDS:
            use.shows, use.widens = "history", True
            yield f"the field `{field}` may show what is in a file"


_OF_REFERENCES = frozenset({"tag", "branch", "for-each-ref", "ls-tree", "ls-remote"})


def _tag(use: Use) -> Iterator[str]:
    """A tag may be of a file, which is seen then where only commits are expected."""
    if not use.has("-d", "--delete", "-l", "--list"):
        yield from (f"`{word.text}` is a file, not a commit" for word in use.operands[1:] if ":" in word.text)


def _whole(use: Use) -> Iterator[str]:
    yield from option_values(use, "-m", "--message", "-e", "--sort")
    yield from option_words(use)
    if use.path[:1] and use.path[0] in _OF_REFERENCES:
        yield from _fields(use)
    for name, value in use.options:
        if value and ("%G" in value.text or "%(signature" in value.text) and name in ("--format", "--pretty"):
            yield "showing signatures runs another program"
    if sum(touch == "folder" for touch, _ in use.files) > 1:
        yield "each `-C` starts from the one before"


def _remote(use: Use) -> Iterator[str]:
    """The first word of fetch, pull and push: the name of a remote, not an address or a path."""
    names = use.operands if use.has("--multiple") else use.operands[:1]
    for word in names:
        if not _REMOTE.fullmatch(word.text):
            yield f"`{word.text}` is not the name of a remote"
        use.remotes.append(word.text)


def _push(use: Use) -> Iterator[str]:
    yield from _remote(use)
    for word in use.operands[1:]:
        if word.text.startswith(("+", ":")):
            yield f"`{word.text}` overwrites or deletes a branch of the remote"


def _strategy(use: Use) -> Iterator[str]:
    """Another strategy is a program of that name."""
    for name, value in use.options:
        known = value is None or value.text in _STRATEGIES
        if not known and (name == "--strategy" or (name == "-s" and use.path[0] in ("merge", "rebase", "pull"))):
            yield f"the merge strategy `{value.text if value else ''}` is not one of git's"
        if name in ("-X", "--strategy-option") and value and not _STRATEGY_OPTION.fullmatch(value.text):
            yield f"`{value.text}` is not known to be a harmless option of a merge strategy"


def _pull(use: Use) -> Iterator[str]:
    yield from _remote(use)
    yield from _strategy(use)
    for name, value in use.options:
        if name in ("--rebase", "-r") and value and value.text not in ("true", "false", "merges"):
            yield f"`--rebase={value.text}` opens an editor"


def _clone(use: Use) -> Iterator[str]:
    if not use.operands or not _CLONE.fullmatch(use.operands[0].text):
        yield "it does not clone from a plain https or ssh address"
    elif len(use.operands) == 1:
        name = re.split("[/:]", use.operands[0].text.rstrip("/").removesuffix("/.git"))[-1].removesuffix(".git")
        use.files.append(("write", Word(name)))


_SHOWN_SETTING = re.compile(
    r"(?:core|init|branch|pull|push|fetch|merge|rebase|commit|tag|color|diff|log|status|alias|submodule|advice|gc|gpg"
    r"|format|pager|safe)\..+"
    r"|(?:user|author|committer)\.(?:name|email|signingkey|useconfigonly)"
    r"|remote\..+\.(?:url|pushurl|fetch|push|mirror|prune|tagopt)|remote\.pushdefault",
    re.IGNORECASE,
)
"""Settings that hold no credentials. Others may, or their names: `http.extraheader`, `url.https://me:token@host/.…`,
`remote.origin.proxy`, and the `user.password` that some people keep."""


def _config(use: Use) -> Iterator[str]:
    """Reading settings, writing one's name and address. What a word means depends on its place: nothing is free.

    The repository's own file is one of the workspace, the others are not.
    """
    words = [word.text for word in use.operands]
    if use.has("--list", "-l"):
        reads = not words
    elif use.has("--get", "--get-all", "--get-regexp"):
        reads = len(words) == 1
    else:
        reads = (len(words) == 1 and (words[0] == "list" or "." in words[0])) or (len(words) == 2 and words[0] == "get")
    names = (
        len(words) == 2 and words[0] in ("user.name", "user.email") and {name for name, _ in use.options} <= {"--local"}
    )
    if not reads and not names:
        yield "it writes a setting; some of them name programs that git runs"
    one = not use.has("--get-regexp") and words and _SHOWN_SETTING.fullmatch(words[-1])
    if reads and not one and not use.has("--local", "--worktree"):
        yield "it may show credentials in your own configuration of git; `git config --local` reads the project's"


def _only_checks(use: Use) -> Iterator[str]:
    """Which files a patch writes is in the patch, which the policy does not read."""
    if not use.has("--check", "--stat", "--numstat", "--summary"):
        yield "which files the patch writes is not known; check it with `--stat`"


def _alone(check: Check) -> Check:
    """A check of a command that may also have a subcommand: it holds where there is none."""
    return lambda use: check(use) if len(use.path) == 1 else iter(())


_view = files.shows(files.patch)
_names = files.shows(files.never)

_STASH_PUSH = (
    "-m=t --message=t -u --include-untracked -k --keep-index --no-keep-index -q --quiet -p --patch -S --staged"
)

_SUBCOMMANDS: dict[str, Program] = {
    # Looking
    "status": program(
        """-s --short -b --branch --porcelain?t --long -u?t --untracked-files?t --ignored?t --ignore-submodules?t -z
        --column?t --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?t --show-stash""",
        "l*",
    ),
    "log": program(_LOG, "t*", check=_view),
    "whatchanged": program(_LOG, "t*", check=_view),
    "reflog": program(_LOG, subcommands={"show": program(_LOG, "t*", check=_view)}, check=_alone(_view)),
    "show": program(_LOG, "t*", check=files.shows(files.no_summary)),
    "diff": program(
        f"{_DIFF} --cached --staged --merge-base --no-index --quiet --base --ours --theirs -0 -1 -2 -3",
        "t*", check=files.shows(files.no_summary),
    ),
    "diff-tree": program(
        f"{_DIFF} -r -t --root -m -c --cc -v --pretty?t --format?t --no-commit-id", "t*", check=_view
    ),
    "diff-index": program(f"{_DIFF} --cached -m --merge-base", "t*", check=_view),
    "diff-files": program(f"{_DIFF} -q -c --cc --base --ours --theirs -0 -1 -2 -3", "t*", check=_view),
    "range-diff": program(
        f"{_DIFF} --creation-factor=t --no-dual-color --dual-color --left-only --right-only", "t*",
        check=files.shows(files.always, paths=False),
    ),
    "blame": program(
        """-L=t -b --root --show-stats --progress --no-progress --score-debug -f --show-name -n --show-number -p
        --porcelain --line-porcelain -c -t -l -s -e --show-email -w --ignore-rev=t --ignore-revs-file=r --color-lines
        --color-by-age --minimal -C?t -M?t --abbrev?t --date=t --since=t --first-parent --reverse --contents=r""",
        "t+", check=files.shows(files.always),
    ),
    "grep": program(
        """-n --line-number -i --ignore-case -l --files-with-matches --name-only -L --files-without-match -c --count -w
        --word-regexp -v --invert-match -h -H -E --extended-regexp -F --fixed-strings -G --basic-regexp -P
        --perl-regexp -e=t -f=r -A=t --after-context=t -B=t --before-context=t -C=t --context=t -p --show-function -W
        --function-context -q --quiet -o --only-matching --color?t --no-color --break --heading --column --and --or
        --not --all-match --max-depth=t -r --recursive --no-recursive -a --text -I --cached --untracked
        --exclude-standard -z --null --full-name -m=t --max-count=t --threads=t -#""",
        "t*", check=files.shows(files.always, skip=lambda use: 0 if use.has("-e", "-f") else 1),
    ),
    "cat-file": program("-t -s -e -p", "t*", check=files.shows(lambda use: not use.has("-t", "-s", "-e"), paths=False)),
    "shortlog": program(
        f"{_HISTORY} -s --summary -n --numbered -e --email -c --committer --group=t",
        "t*", check=_names,
    ),
    "rev-list": program(f"{_HISTORY} --objects --timestamp --header --quiet --disk-usage", "t*", check=_names),
    "rev-parse": program(
        """--abbrev-ref?t --short?t --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir
        --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository
        --verify -q --quiet --symbolic --symbolic-full-name --all --branches?t --tags?t --remotes?t
        --show-superproject-working-tree --show-object-format?t --path-format?t --revs-only --no-revs --flags
        --no-flags --not""",
        "t*",
    ),
    "describe": program(
        """--tags --all --long --abbrev?t --exact-match --always --dirty?t --broken?t --match=t --exclude=t
        --candidates=t --first-parent --contains --debug""",
        "t*",
    ),
    "ls-files": program(
        """-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed -t -v -z
        --exclude-standard -x=t --exclude=t -X=r --exclude-from=r --error-unmatch --full-name
        --directory --no-empty-directory --abbrev?t --deduplicate --eol --with-tree=t --resolve-undo""",
        "t*", check=_names,
    ),
    "ls-tree": program(
        "-r -d -t -l --long -z --name-only --name-status --object-only --full-name --full-tree --abbrev?t --format=t",
        "t l*",
    ),
    "ls-remote": program(
        "--heads -t --tags --refs -q --quiet --sort=t --symref --exit-code --get-url", "t*", check=_remote
    ),
    "show-ref": program("--head --heads --tags -d --dereference -s --hash?t --abbrev?t --verify -q --quiet", "t*"),
    "show-branch": program("-a --all -r --remotes --current --topo-order --date-order --sparse --list --color?t", "t*"),
    "symbolic-ref": program("-q --quiet --short", "t"),
    "merge-base": program("-a --all --octopus --is-ancestor --fork-point --independent", "t*"),
    "name-rev": program("--name-only --tags --refs=t --exclude=t --always --undefined --no-undefined", "t*"),
    "for-each-ref": program(f"{_REFS} --count=t", "t*"),
    "count-objects": program("-v --verbose -H --human-readable"),
    "check-ignore": program("-q --quiet -v --verbose -n --non-matching --no-index", "l*"),
    "cherry": program("-v --verbose --abbrev?t", "t*"),
    "version": program("--build-options"),
    "config": program(
        """--get --get-all --get-regexp --list -l --global --system --local --worktree --type=t --bool --int --path -z
        --null --name-only --show-origin --show-scope --default=t --no-type""",
        "t*", check=_config,
    ),
    "remote": program("-v --verbose", subcommands={
        "get-url": program("--push --all", "t"),
        "show": program("-n", "t", check=_remote),
        "prune": program("-n --dry-run", "t", check=_remote),
    }),
    # Staging and committing
    "add": program(
        """-A --all --no-all -u --update -p --patch -n --dry-run -v --verbose -f --force -N --intent-to-add --refresh
        --ignore-errors --ignore-missing --renormalize --chmod=t --ignore-removal --no-ignore-removal --sparse""",
        "t*", check=files.stages,
    ),
    "commit": program(
        """-m=t --message=t -a --all --amend --no-edit -q --quiet -v --verbose --allow-empty --allow-empty-message
        --author=t --date=t -F=r --file=r -C=t --reuse-message=t --fixup=t --squash=t -s --signoff --no-signoff
        --dry-run --short --branch --porcelain --long --reset-author --cleanup=t --trailer=t -o --only -i --include -p
        --patch -u?t --untracked-files?t --no-gpg-sign --status --no-status --no-post-rewrite -z --null""",
        "t*", check=files.stages,
    ),
    "stash": program(_STASH_PUSH, "t*", check=_alone(files.changes("write")), subcommands={
        "list": program(_LOG, "t*", check=files.shows(files.patch, paths=False)),
        "show": program(
            f"{_LOG} -u --include-untracked --only-untracked", "t*", check=files.shows(files.patch, paths=False)
        ),
        "push": program(_STASH_PUSH, "t*", check=files.changes("write")),
        "save": program("-u --include-untracked -k --keep-index --no-keep-index -q --quiet -p --patch", "t*"),
        "pop": program("--index -q --quiet", "t"),
        "apply": program("--index -q --quiet", "t"),
        "drop": program("-q --quiet", "t"),
        "branch": program("", "t t"),
    }),
    # Branches
    "branch": program(
        f"""{_REFS} -i -a --all -r --remotes -v --verbose --list -l --show-current -d --delete -D -m --move -M -c --copy
        -C -f --force -u=t --set-upstream-to=t --unset-upstream -t --track?t --no-track --column?t --no-column
        --abbrev?t --no-abbrev -q --quiet""",
        "t*",
    ),
    "tag": program(
        f"""{_REFS} -i -l --list -a --annotate -m=t --message=t -F=r --file=r -n?t -d --delete -f --force --column?t
        --no-column --cleanup=t --create-reflog --no-sign""",
        "t*", check=_tag,
    ),
    "switch": program(
        """-c=t --create=t -C=t --force-create=t -d --detach -q --quiet --progress --no-progress -f --force
        --discard-changes -m --merge --conflict=t --guess --no-guess -t --track?t --no-track --orphan=t
        --ignore-other-worktrees""",
        "t*",
    ),
    "checkout": program(
        """-b=t -B=t -q --quiet --progress --no-progress -f --force --ours -2 --theirs -3 -d --detach -t --track?t
        --no-track --guess --no-guess --orphan=t -m --merge --conflict=t -p --patch -l --overlay --no-overlay
        --ignore-other-worktrees""",
        "t*", check=files.checks_out,
    ),
    "restore": program(
        """-s=t --source=t -S --staged -W --worktree -q --quiet --progress --no-progress --ours -2 --theirs -3 -m
        --merge --conflict=t -p --patch --overlay --no-overlay --ignore-unmerged""",
        "t+", check=files.restores,
    ),
    "reset": program("--hard --soft --mixed --keep --merge -q --quiet --no-refresh --refresh -N --intent-to-add", "t*"),
    "merge": program(
        f"{_MERGE} -m=t --message=t --into-name=t --abort --continue --quit --overwrite-ignore --no-overwrite-ignore",
        "t*", check=_strategy,
    ),
    "rebase": program(
        """--onto=t --continue --abort --skip --quit -q --quiet -v --verbose --stat -n --no-stat --autostash
        --no-autostash --no-autosquash --keep-base --root -f --force-rebase --no-ff --fork-point --no-fork-point -m
        --merge -s=t --strategy=t -X=t --strategy-option=t -r?t --rebase-merges?t --no-rebase-merges
        --committer-date-is-author-date --ignore-date --reset-author-date --empty=t --reapply-cherry-picks
        --no-reapply-cherry-picks --update-refs --no-update-refs --signoff --apply --ignore-whitespace""",
        "t*", check=_strategy,
    ),
    "cherry-pick": program(
        f"{_PICK} --ff --allow-empty --allow-empty-message --keep-redundant-commits", "t*", check=_strategy
    ),
    "revert": program(_PICK, "t*", check=_strategy),
    "bisect": program(subcommands={
        "start": program("--no-checkout --first-parent", "t*", check=_names),
        **dict.fromkeys(("good", "bad", "new", "old", "skip", "reset", "log", "next"), program("", "t*")),
    }),
    # Files
    "rm": program(
        "-r -f --force --cached -q --quiet -n --dry-run --ignore-unmatch --sparse",
        "t+", check=files.changes("remove"),
    ),
    "mv": program("-f --force -n --dry-run -k -v --verbose --sparse", "t+", check=files.moves),
    "clean": program("-n --dry-run -f --force -d -x -X -q --quiet -e=t --exclude=t", "t*", check=files.cleans),
    "archive": program(
        "--format=t -o=w --output=w --prefix=t -v --verbose -l --list --worktree-attributes -# --mtime=t", "t*",
        check=files.archives,
    ),
    "format-patch": program(
        f"""{_DIFF} -# -o=w --output-directory=w --stdout -n --numbered -N --no-numbered --start-number=t -k
        --keep-subject --subject-prefix=t -v=t --reroll-count=t -s --signoff --cover-letter --no-cover-letter --root
        -q --quiet --zero-commit --base=t --no-base --in-reply-to=t --thread?t --no-thread --no-signature
        --progress""",
        "t*", check=files.shows(files.always),
    ),
    # Others
    "fetch": program(f"{_FETCH} -P --prune-tags -f --force -n -k --keep --multiple --prefetch", "t*", check=_remote),
    "pull": program(f"{_MERGE} {_FETCH} -j?t --jobs?t -r?t --rebase?t --no-rebase", "t*", check=_pull),
    "push": program(
        """-u --set-upstream --tags --follow-tags --no-follow-tags -n --dry-run -v --verbose -q --quiet --progress
        --no-progress --atomic --no-atomic --porcelain --force-with-lease?t --force-if-includes -4 --ipv4 -6 --ipv6""",
        "t*", check=_push,
    ),
    "clone": program(
        """--depth=t -b=t --branch=t --single-branch --no-single-branch --no-tags -q --quiet -v --verbose --progress
        -n --no-checkout -o=t --origin=t --shallow-since=t -j=t --jobs=t --sparse -4 --ipv4 -6 --ipv6""",
        "t w", check=_clone,
    ),
    "init": program("-q --quiet -b=t --initial-branch=t", "w"),
    "worktree": program(subcommands={
        "list": program("-v --verbose --porcelain -z"),
        "add": program(
            "-b=t -B=t -d --detach --checkout --no-checkout --track --no-track --guess-remote -q --quiet",
            "w t",
        ),
        "prune": program("-n --dry-run -v --verbose --expire=t"),
    }),
    "submodule": program("-q --quiet", subcommands={"status": program("--cached --recursive", "l*")}),
    "apply": program(
        """--check --stat --numstat --summary -R --reverse -p=t -C=t --recount -v --verbose -q --quiet --unidiff-zero
        --ignore-whitespace --ignore-space-change --cached --index -3 --3way -z --inaccurate-eof""",
        "r*", check=_only_checks,
    ),
    "gc": program("--auto --quiet -q --aggressive --no-prune"),
    "fsck": program(
        "--full --no-full --strict --dangling --no-dangling --unreachable --root --tags --cache --progress",
        "t*",
    ),
}  # fmt: skip


PROGRAMS: dict[str, Program] = {
    "git": program(
        "-C=p --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --no-lazy-fetch --version -v",
        subcommands=_SUBCOMMANDS,
        check=_whole,
    ),
}
