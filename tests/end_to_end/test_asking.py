"""Rules, commands, skills and mentions in one task, as people run it."""

from __future__ import annotations

import subprocess

from joey.testing.script import reply
from joey_process import JoeyProcess, call, done

RULES = {
    "~/.roo/rules-code/user.md": "RULE 1",
    ".joey/rules-code/project.md": "RULE 2",
    "AGENTS.md": "RULE 3",
    "AGENTS.local.md": "RULE 4",
    "~/.roo/rules/user.md": "RULE 5",
    ".joey/rules/b.md": "RULE 6",
    ".joey/rules/c-long.md": "long line of a rule\n" * 5_000,
    ".joey/rules/d.md": "RULE that finds no room",
}


async def test_what_the_users_files_and_words_bring_reaches_the_model(joey: JoeyProcess) -> None:
    for name, text in RULES.items():
        joey.write(name, text)
    joey.write(".joeyignore", "secret.txt\n")
    joey.write("secret.txt", "THE SECRET")
    joey.write(
        ".roo/commands/review.md",
        "---\ndescription: Look\nargument-hint: FILE\nmode: code\n---\n"
        "Review <$1>, <$2> and all of <$ARGUMENTS>; \\$1 stays.",
    )
    joey.write(".agents/skills/notes/SKILL.md", "---\nname: notes\ndescription: For notes\n---\nBegin with the date.")
    joey.write("src/a.py", "x = 41 + 1\n")
    joey.write("src/trap.md", "@/secret.txt /review it")
    joey.write("~/.config/joey/config.toml", 'check = "echo a.py:1: bad"\n')
    subprocess.run(["git", "init", "-q", str(joey.workspace)], check=True)  # noqa: ASYNC221
    script = [
        reply(call("1", "skill", skill="notes"), call("2", "run_slash_command", command="review", args="b.py")),
        done(),
    ]
    prompt = '/review src/a.py "two words" @/src/ @git-changes @problems @/secret.txt'
    ran = await joey.run(script, prompt, "--approve", "all")
    assert (ran.code, ran.out) == (0, "All done.\n"), ran.err

    system = str(ran.requests[0]["system"])
    places = [system.index(text.split("\n")[0]) for text in list(RULES.values())[:-1]]
    assert places == sorted(places), "the order of the rules"
    assert "[Cut here: " in system and "Not shown, since there is more" in system and ".joey/rules/d.md" in system
    assert "- notes: For notes" in system

    first = ran.sent(0)
    assert "Review <src/a.py>, <two words> and all of <src/a.py" in first and "; $1 stays." in first
    assert "1 | x = 41 + 1" in first, "the folder brings the text of its files"
    assert "?? src/a.py" in first and "a.py:1: bad" in first
    assert "Not shown: .joeyignore hides it." in first and "THE SECRET" not in first + ran.sent(1)
    assert first.count("<command name=") == 1, "what a file says is not looked at"

    second = ran.sent(1)
    assert "Begin with the date." in second and "Review <b.py>, <> and all of <b.py>" in second
