# SPDX-License-Identifier: Apache-2.0
"""Links and pictures of the pages lead to existing files and headings, by GitHub's rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator
from urllib.parse import unquote

import github_markdown as markdown
import pytest


def broken_links(root: Path) -> Iterator[str]:
    for page in [*sorted(root.glob("*.md")), *sorted(root.glob("docs/**/*.md"))]:
        for line, target in markdown.links(page.read_text()):
            path, _, anchor = unquote(target).partition("#")
            file = (page.parent / path).resolve() if path else page.resolve()
            if re.match(r"[a-z]+:", target):
                continue
            if root.resolve() not in [file, *file.parents] or not file.exists():
                yield f"{page.relative_to(root)}:{line}: {target} does not exist"
            elif anchor and (file.suffix != ".md" or anchor not in markdown.anchors(file.read_text())):
                yield f"{page.relative_to(root)}:{line}: {target}: there is no such heading"


def test_links_of_the_pages() -> None:
    assert list(broken_links(markdown.ROOT)) == []


def test_every_page_is_in_the_index() -> None:
    index = markdown.ROOT / "docs" / "README.md"
    linked = {(index.parent / target).resolve() for _, target in markdown.links(index.read_text())}
    assert set((markdown.ROOT / "docs").rglob("*.md")) - {index} - linked == set()


PAGE = """# The page

## What's `new_here` (in C++)?

## Again
## Again

<a name="own"></a>
"""


@pytest.mark.parametrize(
    "link, is_broken",
    [
        ("[x](docs/page.md)", False),
        ("[x](docs/)", False),
        ("[`x`](docs/page.md#the-page)", False),
        ("[x](docs/page.md#whats-new_here-in-c)", False),
        ("[x](docs/page.md#again-1)", False),
        ("[x](docs/page.md#own)", False),
        ("[x](#readme)", False),
        ("![x](docs/a%20b.png)", False),
        ("[x](https://example.org/none.md)", False),
        ("`[x](none.md)`", False),
        ("```\n[x](none.md)\n```", False),
        ("[x](none.md)", True),
        ("[two\nlines](none.md)", True),
        ("[x](docs/page.md#again-2)", True),
        ("[x](docs/page.md#The-page)", True),
        ("[x](#other)", True),
        ("[x](docs/Page.md)", True),
        ("[x](../outside.md)", True),
        ("![x](docs/none.png)", True),
        ('[x](none.md "title")', True),
        ('<img src="docs/none.png" width="9">', True),
        ("[x][y]\n\n[y]: none.md", True),
    ],
)
def test_a_link(tmp_path: Path, link: str, is_broken: bool) -> None:
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (tmp_path / "outside.md").write_text("# Outside\n")
    (root / "docs" / "page.md").write_text(PAGE)
    (root / "docs" / "a b.png").write_bytes(b"")
    (root / "README.md").write_text(f"# Readme\n\n{link}\n")
    assert bool(list(broken_links(root))) == is_broken
