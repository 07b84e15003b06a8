"""Finds statements and functions in a list of tokens.

Every opening brace is one of: "namespace", "class", "enum", "code" (a body or block) or "init" (a
braced value, which is part of its statement). The words in front of it decide; see `brace_kind`.
A body that stands in no other body is a function; lambdas and local classes count inside it.
Where #if offers branches each is read from the same start, and the first decides what follows.
"""

import re
from dataclasses import dataclass, field, replace

from .cpp import Directive, Token

CONTROL = {"if", "constexpr", "while", "for", "switch", "catch"}
LABELS = {"case", "default", "public", "private", "protected"}
BEHIND_PARAMETERS = {"const", "noexcept", "override", "final", "mutable", "constexpr", "consteval",
                     "&", ".", "try", "static"}
BEFORE_TYPE = {"inline", "export", "typedef", "static", "const", "constexpr", "extern"}
ATTRIBUTES = {"alignas", "__attribute__", "["}
VALUE_WORDS = {"return", "co_return", "co_yield", "co_await", "throw", "case", "else", "do"}
MACRO_NAME = re.compile(r"_*[A-Z][A-Z0-9_]+")
WORD = re.compile(r"[A-Za-z_]\w*")
OPENING = {"(": ")", "[": "]", "<": ">"}


@dataclass
class Statement:
    kind: str  # Of the braces it stands in.
    tokens: list[Token] = field(default_factory=list)

    @property
    def lines(self) -> set[int]:
        return {token.line for token in self.tokens}


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    last_line: int


@dataclass
class Structure:
    statements: list[Statement] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)


@dataclass
class Frame:
    """What is known inside one pair of braces."""
    kind: str
    statement: Statement
    head: Token | None = None  # Where the function begins whose body this is.
    name: str = ""
    opened: list[str] = field(default_factory=list)  # For each open ( or [: the word in front.


def parse(tokens: list[Token | Directive]) -> Structure:
    parser = Parser()
    for token in tokens:
        if isinstance(token, Directive):
            parser.directive(token)
        else:
            parser.token(token)
    parser.close_all()
    return parser.out


class Parser:
    def __init__(self):
        self.out = Structure()
        self.frames = [Frame("namespace", Statement("namespace"))]
        # For each open #if: the frames at its start and behind its first branch.
        self.branches: list[list] = []

    def token(self, token: Token) -> None:
        frame = self.frames[-1]
        text = token.text
        before = frame.statement.tokens[-1].text if frame.statement.tokens else ""
        if text == "{":
            self.open(frame, token)
            return
        if text == "}":
            self.close(token)
            return
        frame.statement.tokens.append(token)
        if text in ("(", "["):
            frame.opened.append(before)
        elif text in (")", "]") and frame.opened:
            if frame.opened.pop() in CONTROL and not frame.opened:
                self.end_statement(frame)
        elif not frame.opened and self.ends_here(frame, text):
            self.end_statement(frame)

    def ends_here(self, frame: Frame, text: str) -> bool:
        if frame.kind == "init":
            if text == ";":  # No value contains one: the brace was misread, so mend it here.
                frame.kind = "code" if self.in_function() else "namespace"
            return text == ";"
        return (text in (";", "else", "do", "try")
                or text == ":" and frame.statement.tokens[0].text in LABELS)

    def in_function(self) -> bool:
        return any(frame.kind == "code" for frame in self.frames)

    def open(self, frame: Frame, brace: Token) -> None:
        head = [token.text for token in frame.statement.tokens]
        kind = brace_kind(head, bool(frame.opened) or frame.kind == "init")
        frame.statement.tokens.append(brace)
        inner = Frame(kind, frame.statement if kind == "init" else Statement(kind))
        if kind == "code" and not self.in_function():
            inner.head = frame.statement.tokens[0]
            inner.name = function_name(head)
        self.frames.append(inner)

    def close(self, brace: Token) -> None:
        if len(self.frames) == 1:
            return
        inner = self.frames.pop()
        outer = self.frames[-1]
        outer.statement.tokens.append(brace)
        if inner.kind == "init":
            return
        self.keep(inner.statement)
        if inner.head:
            self.out.functions.append(Function(inner.name, inner.head.line, brace.line))
        if inner.kind in ("code", "namespace") and not outer.opened and outer.kind != "init":
            self.end_statement(outer)

    def directive(self, directive: Directive) -> None:
        if directive.text in ("if", "ifdef", "ifndef"):
            self.branches.append([copy_of(self.frames), None])
        elif directive.text in ("else", "elif") and self.branches:
            start, first_end = self.branches[-1]
            if first_end is None:
                self.branches[-1][1] = self.frames
            else:
                self.close_all()
            self.frames = copy_of(start)
        elif directive.text == "endif" and self.branches:
            first_end = self.branches.pop()[1]
            if first_end is not None:
                self.close_all()
                self.frames = first_end
        self.out.statements += parse(directive.tokens).statements

    def end_statement(self, frame: Frame) -> None:
        self.keep(frame.statement)
        frame.statement = Statement(frame.kind)

    def close_all(self) -> None:
        for frame in self.frames:
            self.keep(frame.statement)

    def keep(self, statement: Statement) -> None:
        if statement.tokens:
            self.out.statements.append(statement)


def copy_of(frames: list[Frame]) -> list[Frame]:
    """Frames of braced values go on sharing their statement."""
    statements = {id(frame.statement): replace(frame.statement, tokens=list(frame.statement.tokens))
                  for frame in frames}
    return [replace(frame, statement=statements[id(frame.statement)], opened=list(frame.opened))
            for frame in frames]


def function_name(head: list[str]) -> str:
    """The word in front of the first parenthesis, and for a test what stands inside."""
    head = without_template(head)
    if "(" not in head:
        return "lambda"
    at = head.index("(")
    if "operator" in head[:at]:
        return "".join(head[head.index("operator"):at])
    name = head[at - 1] if at else "lambda"
    if MACRO_NAME.fullmatch(name) and ")" in head:
        return name + "(" + "".join(head[at + 1:head.index(")")]).replace(",", ", ") + ")"
    return name if WORD.fullmatch(name) else "lambda"


def brace_kind(head: list[str], in_expression: bool) -> str:
    """What the brace behind the words `head` of its statement opens."""
    if not head:
        return "code"
    if not in_expression:
        kind = type_kind(head)
        if kind:
            return kind
        if head[-1] == "}":  # The last of a constructor's braced members; its body follows.
            return "code"
    return "code" if ends_signature(head) else "init"


def without_template(head: list[str]) -> list[str]:
    while head[:2] == ["template", "<"]:
        head = head[end_of_group(head, 1):]
    return head


def end_of_group(words: list[str], at: int) -> int:
    """The index behind the group that the bracket at `at` opens."""
    opening, closing, depth = words[at], OPENING[words[at]], 0
    for index in range(at, len(words)):
        depth += (words[index] == opening) - (words[index] == closing)
        if depth == 0:
            return index + 1
    return len(words)


def type_kind(head: list[str]) -> str | None:
    head = without_template(without_attributes(head))
    if head[:1] == ["requires"]:
        head = head[next((i for i, word in enumerate(head) if word in ("class", "struct")), 0):]
    while head and head[0] in BEFORE_TYPE and head != ["extern", '""']:
        head = head[1:]
    if not head:
        return None
    if head[0] == "namespace" or head == ["extern", '""']:
        return "namespace"
    if head[0] == "enum":
        return "enum"
    if head[0] not in ("class", "struct", "union"):
        return None
    return "class" if is_class_head(head[1:]) else None


def without_attributes(words: list[str]) -> list[str]:
    while words and (words[0] in ATTRIBUTES or MACRO_NAME.fullmatch(words[0])):
        bracket = 0 if words[0] == "[" else 1
        has_group = bracket < len(words) and words[bracket] in ("(", "[")
        words = words[end_of_group(words, bracket):] if has_group else words[1:]
    return words


def is_class_head(words: list[str]) -> bool:
    """True for `alignas(64) Name<T> final : Base`, false for `stat info` and `stat* read()`."""
    words = without_attributes(words)
    at = 0
    while at < len(words) and (WORD.fullmatch(words[at]) or words[at] in ("::", "<")):
        if at and WORD.fullmatch(words[at]) and words[at - 1] != "::":
            break
        at = end_of_group(words, at) if words[at] == "<" else at + 1
    return at >= len(words) or words[at] in (":", "final")


def ends_signature(head: list[str]) -> bool:
    """True if a body may follow: parameters, a lambda's captures, a return type, a constraint."""
    end = len(head)
    while end and (head[end - 1] in BEHIND_PARAMETERS or MACRO_NAME.fullmatch(head[end - 1])):
        end -= 1
    if not end:
        return False
    if head[end - 1] in (")", "requires"):
        return True
    if head[end - 1] == "]":
        return is_capture_list(head, end - 1)
    return has_return_type_or_constraint(head)


def is_capture_list(head: list[str], closing: int) -> bool:
    """`[x] {` begins a lambda, `int numbers[] {` and `new T[n] {` begin values."""
    depth = 0
    for at in range(closing, -1, -1):
        depth += (head[at] == "]") - (head[at] == "[")
        if depth == 0:
            before = head[at - 1] if at else ""
            is_value = WORD.fullmatch(before) and before not in VALUE_WORDS
            return not is_value and before not in (")", "]", ">")
    return False


def has_return_type_or_constraint(head: list[str]) -> bool:
    angles = 0
    for at in range(len(head) - 1, -1, -1):
        text = head[at]
        if text == "requires":
            return True
        if text == "->":
            return at > 0 and (head[at - 1] == ")" or head[at - 1] in BEHIND_PARAMETERS)
        angles += (text == ">") - (text == "<")
        if angles <= 0 and not WORD.fullmatch(text) and text not in ("::", "<", "*", "&", "|"):
            return False
    return False
