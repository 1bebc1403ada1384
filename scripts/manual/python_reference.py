#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the reference of the Python package as a Markdown page, from its docstrings and comments "#:".

It reads the sources and does not import the package, which needs a built library.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Union

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "parallax_stereo"
# The modules that have public names, in the order of the page.
TITLES = {
    "_matcher": "Matching",
    "_pool": "Many pairs",
    "_check": "Checking a pair",
    "_tiles": "Margins of tiles",
    "_maps": "Disparity maps",
    "_flow": "Motion between frames",
    "_temporal": "Maps of a video",
    "_shared": "Maps in shared memory",
    "_view": "Results in the browser",
    "_rig": "Calibrated cameras",
    "_lists": "Methods and devices",
    "_log": "Notices",
    "_library": "Version and errors",
    "opencv": "OpenCV's interface",
    "dask": "On a Dask cluster",
}
# Functions make the objects of other classes.
CONSTRUCTED_BY_USERS = {
    "Camera",
    "Matcher",
    "MatcherPool",
    "RectifiedMatcher",
    "Rectifier",
    "Rig",
    "SharedMaps",
    "TemporalFilter",
}
Documented = Union[ast.FunctionDef, ast.ClassDef]


class Module:
    def __init__(self, name: str) -> None:
        self.path = PACKAGE / f"{name}.py"
        text = self.path.read_text()
        self.body = ast.parse(text).body
        self.lines = text.splitlines()

    def undocumented(self, node: ast.AST, name: str) -> SystemExit:
        place = f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        return SystemExit(f"{place}: {name} is not documented: add a docstring or a comment #:")

    def comment(self, node: ast.stmt) -> str:
        """The comment "#:" behind a statement, or above it; empty if there is none."""
        line, above = self.lines[node.lineno - 1], self.lines[node.lineno - 2].strip()
        if "#:" in line:
            return escaped(line.split("#:")[1].strip())
        return escaped(above[2:].strip()) if above.startswith("#:") else ""

    def description(self, node: Documented) -> str:
        """A docstring as Markdown, in which lines that describe arguments are a list."""
        text = ast.get_docstring(node)
        if not text:
            raise self.undocumented(node, node.name)
        return "\n\n".join(paragraph(lines) for lines in text.split("\n\n")) + "\n"


def escaped(text: str) -> str:
    """The text, escaped so that only backticks have a meaning."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([_*<>@#%\\|])", r"\\\1", part) for part in parts)


def paragraph(text: str) -> str:
    if text.startswith("    "):
        return code(textwrap.dedent(text))
    lines = []
    for line in text.splitlines():
        argument = re.match(r"((?:[a-z_]+, )*[a-z_]+): (.*)", line)
        lines.append(f"- `{argument[1]}`: {escaped(argument[2])}" if argument else escaped(line))
    return "\n".join(lines)


def code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def has_decorator(node: ast.FunctionDef, name: str) -> bool:
    return name in map(ast.unparse, node.decorator_list)


def argument(node: ast.arg, default: Optional[ast.expr], stars: str = "") -> str:
    annotation = "" if node.annotation is None else ast.unparse(node.annotation)
    shown = stars + node.arg + ("" if annotation in ("", "Any") else f": {annotation}")
    return shown if default is None else f"{shown} = {ast.unparse(default)}"


def signature(name: str, node: ast.FunctionDef) -> str:
    given = node.args
    defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
    arguments = [argument(*pair) for pair in zip(given.args, defaults) if pair[0].arg != "self"]
    if given.kwonlyargs:
        arguments += ["*", *(argument(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults))]
    if given.kwarg:
        arguments.append(argument(given.kwarg, None, "**"))
    returned = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {shown},\n" for shown in arguments) + f"){returned}"
    return code(line)


def methods(node: ast.ClassDef) -> List[ast.FunctionDef]:
    return [member for member in node.body if isinstance(member, ast.FunctionDef)]


def attributes(module: Module, node: ast.ClassDef) -> str:
    """A table of fields, properties, and attributes that the constructor sets with a comment."""
    rows = []
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            rows.append((ast.unparse(field.target), f"`{ast.unparse(field.annotation)}`", module.comment(field)))
    for method in methods(node):
        if has_decorator(method, "property") and method.returns is not None:
            rows.append((method.name, f"`{ast.unparse(method.returns)}`", module.description(method).strip()))
        elif method.name == "__init__":
            for set_here in method.body:
                if isinstance(set_here, ast.Assign) and module.comment(set_here):
                    rows.append((ast.unparse(set_here.targets[0])[len("self.") :], "", module.comment(set_here)))
    if not rows:
        return ""
    return "| attribute | type | |\n|---|---|---|\n" + "".join(f"| `{a}` | {b} | {c} |\n" for a, b, c in rows)


def documented(method: ast.FunctionDef, owner: ast.ClassDef) -> ast.FunctionDef:
    """The method, or, if it has no docstring, its counterpart of getX and setX, whose docstring describes both."""
    counterpart = {"get": "set", "set": "get"}.get(method.name[:3], "") + method.name[3:]
    others = [other for other in methods(owner) if other.name == counterpart and ast.get_docstring(other)]
    return method if ast.get_docstring(method) or not others else others[0]


def class_section(module: Module, node: ast.ClassDef) -> List[str]:
    parts = [module.description(node), attributes(module, node)]
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) != "NamedTuple"]
    if bases:
        parts.insert(0, "Derived from " + ", ".join(f"`{base}`" for base in bases) + ".\n")
    for method in methods(node):
        if method.name == "__init__" and node.name in CONSTRUCTED_BY_USERS:
            parts.insert(0, signature(node.name, method))
        elif method.name == "__call__" or not (method.name.startswith("_") or has_decorator(method, "property")):
            owner = node.name if has_decorator(method, "staticmethod") else node.name.lower()
            name = owner if method.name == "__call__" else f"{owner}.{method.name}"
            parts += [signature(name, method), module.description(documented(method, node))]
    return parts


def section(module: Module, node: ast.stmt, name: str) -> List[str]:
    if isinstance(node, ast.FunctionDef):
        return [signature(name, node), module.description(node)]
    if isinstance(node, ast.ClassDef):
        return class_section(module, node)
    comment = module.comment(node)
    if not comment:
        raise module.undocumented(node, name)
    return [comment + "\n"]


def name_of(node: ast.stmt) -> str:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    return getattr(node, "name", "")


def public_names() -> Dict[str, Dict[str, str]]:
    """For each module, the names that users see, by their names in the module."""
    body = Module("__init__").body
    everything = next(set(ast.literal_eval(node.value)) for node in body if isinstance(node, ast.Assign))
    result: Dict[str, Dict[str, str]] = {}
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module:
            shown = {name.name: name.asname or name.name for name in node.names}
            public = {name: seen for name, seen in shown.items() if seen in everything}
            result.setdefault(node.module, {}).update(public)
    for part in ("opencv", "dask"):
        names = [name_of(node) for node in Module(part).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        result[part] = {name: f"{part}.{name}" for name in names if not name.startswith("_")}
    return result


def page() -> Sequence[str]:
    parts = ["# Python reference\n", "The public names of `parallax_stereo`.\n"]
    names = public_names()
    for module_name, title in TITLES.items():
        module, shown = Module(module_name), names.pop(module_name)
        parts.append(f"## {title}\n")
        for node in module.body:
            name = shown.get(name_of(node))
            if name:
                parts += [f"### {escaped(name)}\n", *section(module, node, name)]
    if names:
        raise SystemExit(f"{__file__}: the page has no section for {', '.join(names)}")
    return parts


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()))
