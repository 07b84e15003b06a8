"""What a file opens with, what it is called, and where atomics come from."""

import re
from fnmatch import fnmatchcase

from . import tables
from .tree import SourceFile, Tree

COMMENTED_FOLDERS = ("include", "src", *tables.OUTSIDE_FOLDERS)
SNAKE_CASE = re.compile(r"(__)?[a-z][a-z0-9_]*")
RAW_ATOMICS = re.compile(
    r"\bstd\s*::\s*atomic\w*|#\s*include\s*<(?:std)?atomic(?:\.h)?>|\b__(?:atomic|sync)_\w+")
VOLATILE = re.compile(r"\bvolatile\b")
ASM = re.compile(r"\b(?:asm|__asm__|__asm)\s+$")
BANNED_CLASS = re.compile(r"""
    \b(?:class|struct|union|enum|using) \s+
    (?: (?:class|struct) \s+
      | \[\[ [^\]]* \]\] \s*
      | alignas \s* \([^)]*\) \s*
      | [A-Z][A-Z0-9_]+ (?:\([^)]*\)+)? \s+
    )*
    (\w*(?:Manager|Helper|Impl2))\b
""", re.VERBOSE)
BANNED_PYTHON_CLASS = re.compile(r"^\s*class\s+(\w*(?:Manager|Helper|Impl2))\b", re.MULTILINE)


def check(tree: Tree):
    for file in tree.files:
        yield from check_file_name(file)
        yield from check_class_names(file)
        if file.top in COMMENTED_FOLDERS and (file.is_cpp or file.kind == "promela"):
            yield from check_opening(file)
        if file.is_library:
            yield from check_atomics(file)


def check_file_name(file: SourceFile):
    stem = file.name.rpartition(".")[0] or file.name
    imposed = any(fnmatchcase(file.name, pattern) for pattern in tables.IMPOSED_NAMES)
    if file.kind != "other" and not imposed and not SNAKE_CASE.fullmatch(stem):
        yield file.problem(1, "names", f"file name {file.name} is not in snake_case; rename it")


def check_class_names(file: SourceFile):
    if file.is_cpp:
        found = BANNED_CLASS.finditer(file.lexed.code)
    elif file.kind == "python":
        found = BANNED_PYTHON_CLASS.finditer(file.text)
    else:
        return
    for match in found:
        yield file.problem(line_of(file, match.start(1)), "names",
                           f"{match[1]} says nothing; name the class after what it does")


def check_opening(file: SourceFile):
    first = file.lines[0] if file.lines else ""
    opening = r"(//|/\*)" if file.kind == "promela" else "//"
    if not re.match(rf"{opening} {re.escape(file.name)}: \S", first):
        yield file.problem(1, "file-comment",
                           f"does not say what it is; open with `// {file.name}: what it is`")
    pragmas = [directive.rest.split()[:1] for directive in file.lexed.directives("pragma")]
    if file.kind == "header" and ["once"] not in pragmas:
        yield file.problem(1, "file-comment", "header has no include guard; add #pragma once")


def check_atomics(file: SourceFile):
    code = file.lexed.code
    for match in RAW_ATOMICS.finditer(code):
        yield file.problem(line_of(file, match.start()), "raw-atomics",
                           f"{' '.join(match[0].split())} bypasses the seam that models replace; "
                           "use muster/sync/atomic.hpp or fence.hpp")
    for match in VOLATILE.finditer(code):
        if not ASM.search(code, max(0, match.start() - 20), match.start()):
            yield file.problem(line_of(file, match.start()), "raw-atomics",
                               "volatile orders nothing between threads; use Atomic")


def line_of(file: SourceFile, offset: int) -> int:
    return file.text.count("\n", 0, offset) + 1
