"""The rules of tools/tidy. Each module checks a few and yields a Problem for each breach."""

from fnmatch import fnmatchcase

from . import conventions, layers, lengths, sync_tags, tables, words
from .tree import Problem, Tree

RULES = {
    "layers": "a layer includes and links only lower layers; every file belongs to a known layer",
    "folders": "no folder is named " + ", ".join(sorted(tables.FORBIDDEN_FOLDERS)),
    "file-length": f"a header has at most {tables.MAX_HEADER_LINES} lines, "
                   f"a source file {tables.MAX_SOURCE_LINES}",
    "function-length": f"a function has at most {tables.MAX_FUNCTION_LINES} lines",
    "line-length": f"a line has at most {tables.MAX_COLUMNS} columns",
    "sync-tags": "every memory order names its partner, sync(tag), or its reason, relaxed:; "
                 "every tag has both ends",
    "raw-atomics": "atomics come from muster/sync/atomic.hpp and fence.hpp; nothing is volatile",
    "file-comment": "a file opens with `// its_name: what it is`; a header has #pragma once",
    "words": "no to-do without an issue, no disabled test, no sleep in unit and model tests, "
             "no silent catch (...)",
    "names": "files are named in snake_case; no class is a Manager, a Helper or an Impl2",
}


def check(tree: Tree) -> list[Problem]:
    """All problems of the chosen files, each once, in the order of path and line."""
    found = set()
    for module in (layers, lengths, sync_tags, conventions, words):
        found.update(module.check(tree))
    return sorted(problem for problem in found
                  if problem.path in tree.chosen and not is_exempt(problem))


def is_exempt(problem: Problem) -> bool:
    return any(problem.rule == rule and fnmatchcase(problem.path, pattern)
               for rule, pattern, _reason in tables.EXEMPT)
