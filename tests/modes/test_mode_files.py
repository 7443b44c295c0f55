from __future__ import annotations

import json
from pathlib import Path

import pytest

from joey.modes import BUILTIN_MODES, GroupRule
from joey.modes.files import LoadedModes, load_modes

TWO_MODES = r"""
customModes:
  - slug: docs
    name: Docs 📝
    roleDefinition: You write documentation.
    whenToUse: For docs.
    customInstructions: Short lines.
    source: project
    groups:
      - read
      - - edit
        - fileRegex: \.(md|rst)$
          description: docs only
      - browser
  - slug: code
    name: Our Code
    roleDefinition: You write our code.
    groups: [read, edit, command, mcp, modes]
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    workspace, user = tmp_path / "work", tmp_path / "user"
    (workspace / ".joey" / "modes").mkdir(parents=True)
    (user / "modes").mkdir(parents=True)
    return workspace, user


def messages(loaded: LoadedModes) -> list[str]:
    return [f"{Path(each.file).name}:{each.line}: {each.message}" for each in loaded.problems]


def test_without_files_there_are_the_built_in_modes(places: tuple[Path, Path]) -> None:
    assert load_modes(*places).modes == BUILTIN_MODES


def test_modes_of_the_project_are_read_from_roomodes(places: tuple[Path, Path]) -> None:
    (places[0] / ".roomodes").write_text(TWO_MODES)
    loaded = load_modes(*places, trusted=True)
    docs = loaded.get("docs")
    assert loaded.problems == () and docs is not None
    assert docs.groups == (GroupRule("read"), GroupRule("edit", r"\.(md|rst)$", "docs only"), GroupRule("browser"))
    assert (docs.name, docs.when_to_use, docs.instructions) == ("Docs 📝", "For docs.", "Short lines.")
    assert (docs.origin, docs.file) == ("project", str(places[0] / ".roomodes"))
    assert loaded.slugs == ("architect", "code", "ask", "debug", "orchestrator", "docs")


def test_the_project_s_mode_beats_the_user_s_and_that_the_built_in_one(places: tuple[Path, Path]) -> None:
    workspace, user = places
    mode = "slug: {}\nname: {}\nroleDefinition: r\ngroups: []\n"
    (user / "modes" / "a.yaml").write_text(mode.format("ask", "users ask"))
    (user / "custom_modes.yaml").write_text(TWO_MODES)
    (workspace / ".roomodes").write_text("customModes:\n- " + mode.format("docs", "ours").replace("\n", "\n  "))
    (workspace / ".joey" / "modes" / "docs.yaml").write_text(mode.format("docs", "joeys"))
    loaded = load_modes(workspace, user, trusted=True)
    named = {each.slug: (each.name, each.origin) for each in loaded.modes}
    assert named["ask"] == ("users ask", "user")
    assert named["code"] == ("Our Code", "user")
    assert named["docs"] == ("joeys", "project")
    assert named["debug"][1] == "built-in"


def test_json_is_read_with_tabs_and_escapes(places: tuple[Path, Path]) -> None:
    mode = {"slug": "x", "name": "X 📝", "roleDefinition": "r", "groups": [["edit", {"fileRegex": "\\.md$"}]]}
    (places[0] / ".roomodes").write_text("\ufeff" + json.dumps({"customModes": [mode]}, indent="\t"), encoding="utf-8")
    loaded = load_modes(*places)
    found = loaded.get("x")
    assert loaded.problems == () and found is not None
    assert found.name == "X 📝" and found.groups[0].file_regex == r"\.md$"


def test_toml_holds_one_mode_or_several(places: tuple[Path, Path]) -> None:
    folder = places[0] / ".joey" / "modes"
    (folder / "docs.toml").write_text(
        'name = "Docs"\nroleDefinition = "r"\ngroups = ["read", ["edit", {fileRegex = "[.]md$"}]]\n'
    )
    (folder / "more.toml").write_text(
        '[[customModes]]\nslug = "a"\nname = "A"\nroleDefinition = "r"\ngroups = []\n'
        '[[customModes]]\nslug = "b"\nname = 5\nroleDefinition = "r"\ngroups = []\n'
    )
    loaded = load_modes(*places)
    assert loaded.slugs[5:] == ("docs", "a")
    assert messages(loaded) == ["more.toml:8: 'name' must be a string, got 5"]


BAD_ENTRIES = r"""customModes:
  - slug: good
    name: Good
    roleDefinition: r
    groups: [read]
  - slug: not good
    name: ""
    groups:
      - reed
      - [edit, {fileRegex: "["}]
      - read
      - read
  - just words
  - slug: tagged
    name: !!python/object:os.system x
    roleDefinition: r
    groups: []
  - slug: good
    name: Again
    roleDefinition: r
    groups: []
  - slug: also-good
    name: Also
    roleDefinition: r
    groups: []
    whenTouse: never
"""


def test_bad_entries_are_reported_by_line_and_the_others_load(places: tuple[Path, Path]) -> None:
    (places[0] / ".roomodes").write_text(BAD_ENTRIES)
    loaded = load_modes(*places)
    assert loaded.slugs[5:] == ("good", "also-good")
    good = loaded.get("good")
    assert good is not None and good.name == "Good"
    complaints = messages(loaded)
    groups = "read, edit, command, browser, mcp, or [group, {fileRegex, description}]"
    assert complaints[:6] == [
        ".roomodes:6: 'slug' is letters, digits and hyphens, 100 at most, got 'not good'",
        ".roomodes:7: 'name' must not be empty",
        ".roomodes:6: a mode needs 'roleDefinition'",
        f".roomodes:8: there is no group 'reed'; a group is one of {groups}",
        ".roomodes:8: the fileRegex of 'edit' is no regular expression: '['",
        ".roomodes:8: the group 'read' is there twice",
    ]
    assert complaints[6] == ".roomodes:13: a mode must be a mapping, got a string"
    assert complaints[7].startswith(".roomodes:14: a mode cannot be read: could not determine a constructor")
    assert complaints[8] == ".roomodes:18: a mode 'good' came before in this file; this one is left out"
    assert complaints[9].startswith(".roomodes:26: a mode has no 'whenTouse'; it is ignored")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (".roomodes", b"customModes:\n  - slug: [x\n", ".roomodes:3: is not valid YAML"),
        (".roomodes", b'{\n "customModes": [\n  {"slug": "x",,}\n ]}', ".roomodes:3: is not valid JSON"),
        (".roomodes", b"customModes: 5\n", ".roomodes:1: customModes must be a list"),
        (".roomodes", b'{"customModes": {}}', ".roomodes:1: customModes must be a list"),
        (".roomodes", b"\xff\xfe\x00", ".roomodes:1: is not UTF-8"),
        (".joey/modes/x.toml", b"slug = 'x'\nname = \n", "x.toml:2: is not valid TOML"),
        (".joey/modes/x.yaml", b"- 5\n", "x.yaml:1: a mode must be a mapping, got a list"),
        (".joey/modes/x.json", b"[]", "x.json:1: a mode must be a mapping, got a list"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_the_rest_loads(
    places: tuple[Path, Path], name: str, content: bytes, complaint: str
) -> None:
    (places[0] / name).write_bytes(content)
    (places[1] / "modes" / "mine.yaml").write_text("name: Mine\nroleDefinition: r\ngroups: []\n")
    loaded = load_modes(*places)
    assert loaded.get("mine") is not None
    assert len(loaded.problems) == 1 and messages(loaded)[0].startswith(complaint)


@pytest.mark.parametrize("content", ["", "   \n", "customModes:\n", "customModes: []\n", '{"customModes": []}'])
def test_an_empty_file_is_no_mistake(places: tuple[Path, Path], content: str) -> None:
    (places[0] / ".roomodes").write_text(content)
    assert load_modes(*places).problems == ()


def test_named_groups_in_the_syntax_of_mode_files_work() -> None:
    rule = GroupRule("edit", r"(?<kind>md|rst)-\k<kind>$")
    assert rule.permits("a/md-md") and not rule.permits("a/md-rst")
    assert not GroupRule("edit", "[").permits("a")
