"""The files that are checked: which they are, and what each contains."""

import os
import subprocess
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from . import blocks, cpp, tables

KIND_BY_SUFFIX = {
    ".hpp": "header", ".h": "header", ".cpp": "source", ".cc": "source",
    ".cmake": "cmake", ".py": "python", ".pml": "promela",
    ".sh": "other", ".sql": "other", ".js": "other", ".mjs": "other", ".ts": "other",
    ".tsx": "other",
}
NEVER_WALKED = {".git", "build", "node_modules", "__pycache__"}


class Problem(NamedTuple):
    path: str
    line: int
    rule: str
    text: str


class SourceFile:
    """One file; `path` is relative to the root. What costs time to find out is found out once."""

    def __init__(self, path: str, kind: str, text: str):
        self.path = path
        self.kind = kind
        self.text = text

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def top(self) -> str:
        return self.path.partition("/")[0]

    @property
    def is_cpp(self) -> bool:
        return self.kind in ("header", "source")

    @property
    def is_library(self) -> bool:
        return self.is_cpp and self.path.startswith(("include/muster/", "src/"))

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def lexed(self) -> cpp.Lexed:
        return cpp.lex(self.text)

    @cached_property
    def structure(self) -> blocks.Structure:
        return blocks.parse(self.lexed.tokens)

    def problem(self, line: int, rule: str, text: str) -> Problem:
        return Problem(self.path, line, rule, text)


class Tree:
    """Every source file below `root`; `chosen` are the paths of those to report on."""

    def __init__(self, root: Path, named: list[Path]):
        if not root.is_dir():
            raise ValueError(f"cannot check {root}: no such folder; name one with --root")
        self.root = root
        self.files: list[SourceFile] = []
        for path in list_paths(root):
            if not is_below(path, tables.SKIPPED):
                self._load(path)
        self.chosen = {file.path for file in self.files}
        if named:
            self.chosen = self._choose(named)

    @cached_property
    def paths(self) -> set[str]:
        return {file.path for file in self.files}

    def _choose(self, named: list[Path]) -> set[str]:
        wanted = []
        for path in named:
            if not path.exists() or not path.is_relative_to(self.root):
                raise ValueError(f"cannot check {path}: no such file below {self.root}")
            wanted.append(path.relative_to(self.root).as_posix())
            if path.is_file() and wanted[-1] not in self.chosen:
                self._load(wanted[-1])
        if "." in wanted:
            return self.chosen
        return {file.path for file in self.files if is_below(file.path, wanted)}

    def _load(self, path: str) -> None:
        full = self.root / path
        suffix = os.path.splitext(path)[1]
        kind = "cmake" if full.name == "CMakeLists.txt" else KIND_BY_SUFFIX.get(suffix)
        if (kind is None and suffix) or not full.is_file():
            return
        text = full.read_text(encoding="utf-8", errors="replace")
        if kind is None and text.startswith("#!"):
            kind = "python" if "python" in text.partition("\n")[0] else "other"
        if kind is not None:
            self.files.append(SourceFile(path, kind, text))


def is_below(path: str, folders) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def list_paths(root: Path) -> list[str]:
    """What git tracks or would track; all files where git knows none (an unpacked archive)."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    return sorted(set(filter(None, listed.split("\0")))) or sorted(walk(root))


def walk(root: Path):
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in NEVER_WALKED]
        for name in names:
            yield Path(folder, name).relative_to(root).as_posix()
