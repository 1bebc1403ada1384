#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links and headings of Markdown pages by GitHub's rules.

github_markdown.py PAGE     prints the page for Doxygen, whose rules differ
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Callable, Iterator, List, Match, Pattern, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
CODE = re.compile(r"^```.*?^```|`[^`]+`|<!--.*?-->", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,6}) +(.*?)[ #]*$", re.MULTILINE)
LINK = re.compile(r'(!?)\[((?:`[^`]*`|[^\]`])*)\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)')
# HTML, and definitions of links that have names. The pages that the manual renders have none.
OTHER_LINK = re.compile(r'<(?:a|img)\b[^>]*?\b(?:href|src)="([^"]+)"|^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)', re.MULTILINE)


def matches(pattern: Pattern[str], text: str) -> List[Match[str]]:
    """The matches that do not begin in code or in a comment."""
    code = [found.span() for found in CODE.finditer(text)]
    return [found for found in pattern.finditer(text) if not any(a <= found.start() < b for a, b in code)]


def replaced(pattern: Pattern[str], replacement: Callable[[Match[str]], str], text: str) -> str:
    for found in reversed(matches(pattern, text)):
        text = text[: found.start()] + replacement(found) + text[found.end() :]
    return text


def links(text: str) -> Iterator[Tuple[int, str]]:
    """The links and pictures of a page: number of the line, and target."""
    for found in matches(LINK, text) + matches(OTHER_LINK, text):
        target = found[3] if found.re is LINK else found[1] or found[2]
        yield text.count("\n", 0, found.start()) + 1, target


def slug(heading: str) -> str:
    """GitHub's anchor of a heading, unless an earlier heading has the same."""
    shown = LINK.sub(r"\2", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")


def anchors(text: str) -> Set[str]:
    """All anchors of a page: those of its headings, with a number if repeated, and those set by HTML."""
    result = set(re.findall(r'<[^>]*\b(?:id|name)="([^"]+)"', text))
    for found in matches(HEADING, text):
        name, number = slug(found[2]), 0
        while (name if number == 0 else f"{name}-{number}") in result:
            number += 1
        result.add(name if number == 0 else f"{name}-{number}")
    return result


def label(page: Path, anchor: str) -> str:
    """Doxygen's name for a heading, unique in the manual."""
    name = "-".join(page.relative_to(ROOT).with_suffix("").parts) + "-" + anchor
    return re.sub(r"[^A-Za-z0-9-]", "_", name)


def for_doxygen(page: Path) -> str:
    """The page with a label at each heading and pictures from the manual's folder; links to files that are not part of
    the manual become text."""

    def heading(found: Match[str]) -> str:
        # Doxygen has no code in headings; -- would become a dash.
        text = found[2].replace("`", "").replace("--", "\\--")
        return f"{found[1]} {text}" + ("" if found[1] == "#" else f" {{#{label(page, slug(found[2]))}}}")

    def link(found: Match[str]) -> str:
        picture, shown, target = found.groups()
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if re.match(r"[a-z]+:", target):
            return found.group()
        if file.suffix == ".md":
            text = shown.replace("`", "")  # Doxygen has no code in links between pages
            return f"[{text}](#{label(file, anchor)})" if anchor else f"[{text}]({target})"
        if PICTURES not in file.parents:
            return shown
        copy = f"pictures/{file.relative_to(PICTURES)}"
        return f'<img src="{copy}" alt="{shown}"/>' if picture else f'<a href="{copy}">{shown}</a>'

    def code(found: Match[str]) -> str:
        # For Doxygen, an apostrophe ends code in single backticks.
        is_inline = found.group().startswith("`") and not found.group().startswith("```")
        return f"`{found.group()}`" if is_inline and "'" in found.group() else found.group()

    return CODE.sub(code, replaced(HEADING, heading, replaced(LINK, link, page.read_text())))


if __name__ == "__main__":
    sys.stdout.write(for_doxygen(Path(sys.argv[1]).resolve()))
