"""The commands of the guide from a cluster to an answer, as the page has them."""

from __future__ import annotations

import re
import shlex

from conftest import ROOT

PAGE = ROOT / "docs" / "guides" / "five-minutes.md"


def guide_commands(heading: str, **given: str) -> list[list[str]]:
    """The words of each command below a heading, with ``$NAME`` and other texts replaced."""
    text = PAGE.read_text("utf-8")
    section = re.split(r"^## ", text.split(f"## {heading}\n", 1)[1], flags=re.M)[0]
    blocks = re.findall(r"```bash\n(.*?)```", section, re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines and all(line.startswith("shadowtime ") for line in lines)
    found = []
    for line in lines:
        for old, new in given.items():
            line = line.replace(f"${old}", new)
        found.append(shlex.split(line)[1:])
    return found
