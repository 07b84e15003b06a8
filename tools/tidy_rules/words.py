"""Words that do not belong in what we ship. This file spells them, so it is exempt itself."""

import re

from .conventions import line_of
from .tree import SourceFile, Tree

TO_DO = re.compile(r"\bTODO\b(?!\(#\d+\))|\b(?:FIXME|XXX|HACK)\b")
DISABLED = re.compile(r"\bDISABLED_\w*|\bGTEST_SKIP\w*")
SKIPPED = re.compile(r"\.skip(?:Test|If|Unless)?\(")
SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b"
                   r"|(?<![\w.>])sleep\s*\(|\btime\.sleep\s*\(")
SILENT_CATCH = re.compile(r"\bcatch\s*\(\s*\.\.\.\s*\)\s*\{(\s*)\}")
SWITCHED_OFF = "switches a test off; mend it or delete it"
SLEEPLESS = ("tests/unit/", "tests/model/")


def check(tree: Tree):
    for file in tree.files:
        yield from report(file, TO_DO, file.text,
                          "names no issue; do it now, or open an issue and write TODO(#12)")
        if file.is_cpp:
            yield from check_cpp(file)
        elif file.kind in ("python", "other"):
            yield from report(file, SKIPPED, file.text, SWITCHED_OFF)
        if file.path.startswith(SLEEPLESS):
            yield from report(file, SLEEP, file.lexed.code if file.is_cpp else file.text,
                              "makes tests slow; wait on a TestSignal or drive a FakeClock")


def check_cpp(file: SourceFile):
    yield from report(file, DISABLED, file.lexed.code, SWITCHED_OFF)
    for match in SILENT_CATCH.finditer(file.lexed.code):
        if not file.text[match.start(1):match.end(1)].strip():
            yield file.problem(line_of(file, match.start()), "words",
                               "catch (...) swallows every error; handle it, or say why inside")


def report(file: SourceFile, pattern: re.Pattern, text: str, advice: str):
    for match in pattern.finditer(text):
        yield file.problem(line_of(file, match.start()), "words", f"{match[0]} {advice}")
