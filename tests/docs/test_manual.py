# SPDX-License-Identifier: Apache-2.0
"""scripts/docs.sh makes the manual without a warning, and its links and pictures lead to what it contains."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple
from urllib.parse import unquote

import github_markdown as markdown
import pytest

ROOT = markdown.ROOT
SITE = ROOT / "build" / "docs" / "html"


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: Set[str] = set()
        self.links: List[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


@pytest.fixture(scope="module")
def pages() -> Dict[Path, Page]:
    made = subprocess.run([ROOT / "scripts" / "docs.sh", "manual"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert made.returncode == 0, made.stdout
    return {file: Page(file.read_text()) for file in SITE.glob("*.html")}


def test_links_of_the_manual(pages: Dict[Path, Page]) -> None:
    broken = set()
    for file, page in pages.items():
        for link in page.links:
            path, _, anchor = unquote(link).partition("#")
            target = SITE / path if path else file
            # Doxygen 1.9.4 links to the head of a list of private structs, which it leaves out.
            if re.match(r"[a-z]+:", link) or anchor == "nested-classes":
                continue
            if not target.is_file() or (anchor and anchor not in pages[target].anchors):
                broken.add(f"{file.name}: {link}")
    assert broken == set()


def test_no_page_shows_markdown(pages: Dict[Path, Page]) -> None:
    code = re.compile(r'<div class="fragment">.*?<!-- fragment -->|<(pre|code|script)\b.*?</\1>', re.DOTALL)
    for file in [SITE / "index.html", *SITE.glob("md_*.html")]:
        shown = code.sub("", file.read_text())
        assert re.findall(r".*(?:`|\]\(|\*\*|&lt;/?(?:tt|code)&gt;).*", shown) == [], file.name


def test_contents_of_the_manual(pages: Dict[Path, Page]) -> None:
    assert "pictures/aloe-bp.png" in pages[SITE / "index.html"].links
    names = [page.name for page in pages]
    for name in ("classparallax_1_1Matcher.html", "parallax__c_8h.html", "md_docs_reference_block.html"):
        assert name in names
    python = (SITE / "md_build_docs_python_reference.html").read_text()
    for name in ("match", "Matcher", "OutOfMemoryError", "opencv.create"):
        assert f"</a>\n{name}</h" in python, name


def test_an_undocumented_member_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "header.h").write_text("/// \\file\n/// A header.\n\n/// A struct.\nstruct S {\n  int member;\n};\n")
    settings = (ROOT / "docs" / "Doxyfile").read_text()
    settings += f"INPUT = {tmp_path}\nUSE_MDFILE_AS_MAINPAGE =\nOUTPUT_DIRECTORY = {tmp_path}\n"
    made = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, capture_output=True, text=True)
    assert made.returncode != 0 and "member" in made.stderr


def test_an_undocumented_python_name_is_an_error(tmp_path: Path) -> None:
    for part in ("scripts/manual", "python/parallax_stereo"):
        (tmp_path / part).mkdir(parents=True)
        for file in (ROOT / part).glob("*.py"):
            (tmp_path / part / file.name).write_text(file.read_text())
    lists = tmp_path / "python" / "parallax_stereo" / "_lists.py"
    lists.write_text(lists.read_text().replace('    """The devices of this machine."""\n', ""))
    script = tmp_path / "scripts" / "manual" / "python_reference.py"
    made = subprocess.run(["python3", script], capture_output=True, text=True)
    assert made.returncode != 0
    assert re.match(r"python/parallax_stereo/_lists.py:\d+: devices is not documented", made.stderr)
