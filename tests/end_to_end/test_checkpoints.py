"""Going back after a task did harm, by the command line alone, on a machine without git."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from joey.testing.script import reply
from joey_process import JoeyProcess, call, done


def without_git(joey: JoeyProcess, folder: Path) -> None:
    """A PATH on which there is a shell and what removes files, and nothing else."""
    folder.mkdir()
    for name in ("sh", "bash", "rm"):
        program = shutil.which(name)
        assert program is not None
        (folder / name).symlink_to(program)
    joey.path = str(folder)


def image(folder: Path) -> dict[str, object]:
    """Everything there is: folders, links, modes and contents."""
    seen: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name, mode = str(path.relative_to(folder)), path.lstat().st_mode
        if path.is_symlink():
            seen[name] = path.readlink()
        else:
            seen[name] = (mode, path.read_bytes() if path.is_file() else None)
    return seen


async def test_everything_comes_back_after_rm_rf_and_can_go_again(joey: JoeyProcess, tmp_path: Path) -> None:
    without_git(joey, tmp_path / "bin")
    joey.write(".git/config", "[core]\n")
    joey.write("a.txt", "before\n")
    joey.write("src/deep/b.py", "print(1)\n").chmod(0o755)
    joey.write("nested/.git/HEAD", "ref: refs/heads/main\n")
    joey.write("nested/c.txt", "nested\n")
    joey.write("odd\nname.txt", "odd\n")
    joey.write("src/big.bin", "x" * (2 << 20))
    (joey.workspace / "link").symlink_to("src/deep")
    (joey.workspace / "empty").mkdir()
    before = image(joey.workspace)
    script = [
        reply(call("1", "write_to_file", path="a.txt", file_text="after\n")),
        reply(call("2", "execute_command", command="rm -rf src nested/c.txt link empty odd*")),
        done(),
    ]
    ran = await joey.run(script, "tidy up", "--approve", "all")
    assert ran.code == 0, ran.err
    after = image(joey.workspace)
    assert "src" not in after and after["a.txt"] != before["a.txt"]

    listed = await joey("checkpoints")
    assert "write_to_file: a.txt" in listed.out and "rm -rf src" in listed.out, listed
    diff = await joey("checkpoints", "diff", "1")
    assert "+before" in diff.out and '"odd\\nname.txt"' in diff.out, diff
    assert "src/big.bin" in diff.err and "1048576" in diff.err, "what was too large is named"

    back = await joey("checkpoints", "restore", "1", "--yes")
    assert back.code == 3, back.err
    lost = {"src/big.bin"}
    assert image(joey.workspace) == {name: kept for name, kept in before.items() if name not in lost}
    again = await joey("checkpoints", "restore", "3", "--yes")
    assert again.code == 0 and image(joey.workspace) == after, "the way back"


async def test_a_restore_that_was_killed_half_way_can_be_done_again(joey: JoeyProcess) -> None:
    for number in range(300):
        joey.write(f"src/{number % 10}/{number}.txt", f"content {number}\n" * 50)
    before = image(joey.workspace)
    script = [reply(call("1", "execute_command", command="rm -rf src")), done()]
    assert (await joey.run(script, "tidy up", "--approve", "all")).code == 0
    assert image(joey.workspace) == {}

    process = await joey.start("checkpoints", "restore", "1", "--yes")
    while process.returncode is None and not list(joey.workspace.rglob("*.txt")):  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    if process.returncode is None:
        process.kill()
    await process.communicate()

    assert (await joey("checkpoints", "restore", "1", "--yes")).code == 0
    assert image(joey.workspace) == before
