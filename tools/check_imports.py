"""Check three rules that import-linter cannot state; prints each offence as ``file:line: what`` and ends with 1.

1. A private TVM name (one with a leading underscore) stands in `tvmlab/tvm_api.py` alone.
2. `tvmlab/fusion` imports, of third parties, numpy and onnx alone.
3. No module imports one of Python's that Windows lacks, except inside a function.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TVM = ("tvm", "tvm_ffi")
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
FUSION_MAY_IMPORT = {"numpy", "onnx", "tvmlab"}


def offences(package: Path) -> Iterator[str]:
    """Every offence in a package folder, as ``file:line: what``."""
    for file in sorted(package.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
        name = file.relative_to(package.parent)
        if file != package / "tvm_api.py":
            yield from (
                f"{name}:{line}: private TVM name {what}; it belongs in tvm_api" for line, what in private(tree)
            )
        yield from (
            f"{name}:{line}: {what} is missing on Windows; import it in a function" for line, what in posix(tree)
        )
        if package / "fusion" in file.parents:
            yield from (f"{name}:{line}: fusion may not import {what}" for line, what in foreign(tree))


def imports(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, dotted name and local name of everything imported, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, alias.asname or alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}", alias.asname or alias.name


def private(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Private names imported from TVM, or reached through a name that was."""
    from_tvm = {}
    for line, dotted, local in imports(tree):
        if dotted.split(".")[0] in TVM:
            from_tvm[local] = dotted
            if has_private_part(dotted):
                yield line, dotted
    for node in ast.walk(tree):
        chain = dotted_chain(node)
        if chain and chain[0] in from_tvm and has_private_part(chain[-1]):
            yield node.lineno, ".".join(chain)  # type: ignore[attr-defined]


def dotted_chain(node: ast.AST) -> list[str]:
    """``a.b.c`` as its parts; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if parts and isinstance(node, ast.Name) else []


def has_private_part(dotted: str) -> bool:
    """Whether a part of the name starts with an underscore and is no ``__dunder__``."""
    return any(part.startswith("_") and not part.endswith("__") for part in dotted.split("."))


def foreign(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Third-party packages that the fuser may not know."""
    allowed = FUSION_MAY_IMPORT | sys.stdlib_module_names
    for line, dotted, _ in imports(tree):
        if dotted.split(".")[0] not in allowed:
            yield line, dotted


def posix(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Modules that Windows lacks, imported where the module itself is."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {line for function in functions for line in range(function.lineno, (function.end_lineno or 0) + 1)}
    for line, dotted, _ in imports(tree):
        if dotted.split(".")[0] in POSIX_ONLY and line not in inside:
            yield line, dotted


def main() -> int:
    """Check the checkout's package."""
    found = list(offences(ROOT / "tvmlab"))
    print(
        "\n".join(found)
        or "Private TVM names stand in tvm_api alone; the fuser knows numpy and onnx alone; Windows lacks nothing."
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
