"""Files, folders, modules and functions that the documentation names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "shadowtime"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))))
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.name != "__pycache__"}


def path_exists(name: str) -> bool:
    """As written from the root of the repository, or from the package's."""
    return (ROOT / name).exists() or (PACKAGE / name).exists() or (PACKAGE.parent / name).exists()


def name_exists(dotted: str) -> bool:
    """``room.module.name``: the module is a file or folder, and its text defines the name."""
    place = PACKAGE
    parts = dotted.split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and (place / f"{parts[0]}.py").is_file():
        text = (place / f"{parts.pop(0)}.py").read_text(encoding="utf-8")
    else:
        text = (place / "__init__.py").read_text(encoding="utf-8")
    return all(
        re.search(
            rf"^\s*(def|class) {part}\b|^{part}\b.* =|\"{part}\"| as {part}$", text, re.MULTILINE
        )
        for part in parts
    )


def test_every_path_exists() -> None:
    """What has a slash or ends in .py is a file or folder of the repository."""
    paths = [name for name in QUOTED if re.fullmatch(r"[\w.\-]+(/[\w.\-]+)+|\w+\.py", name)]
    assert len(paths) > 30, "the pattern finds the paths of the page"
    assert [name for name in paths if not path_exists(name)] == []


def test_every_source_file_named_elsewhere_exists() -> None:
    """A path with a slash that ends in .py, on any page; capitals are placeholders."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {
        (str(page.relative_to(ROOT)), name)
        for page in pages
        for name in re.findall(r"`([a-z_.\-]+(?:/[a-z0-9_.\-]+)+\.py)`", page.read_text("utf-8"))
    }
    assert named, "the pattern finds paths"
    assert sorted(one for one in named if not path_exists(one[1])) == []


def test_every_dotted_name_exists() -> None:
    """What begins with a room's name is a module, or a name that its module defines."""
    names = [name for name in QUOTED if re.fullmatch(r"\w+(\.\w+)+", name)]
    names = [
        name
        for name in names
        if name.split(".")[0] in ROOMS and not name.endswith((".py", ".conf"))
    ]
    assert len(names) > 30, "the pattern finds the names of the page"
    assert [name for name in names if not name_exists(name)] == []


def test_every_room_has_a_paragraph() -> None:
    """A folder of the package begins a definition of the section "The packages"."""
    rooms = PAGE.split("## The packages")[1].split("## ")[0]
    described = set(re.findall(r"^(\w+)\n: ", rooms, re.MULTILINE))
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders - described == set()
