"""Cuts C++ into tokens, comments and directives. Good enough for rules of style; not a compiler."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

LEXEME = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<directive> ^[ \t]*\#(?: \\\r?\n | /\*.*?\*/ | "(?:[^"\\\n]|\\.)*" | (?!//)[^\n] )* )
  | (?P<raw> (?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)" )
  | (?P<string> (?:u8|[uUL])?(?: "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)+' ) )
  | (?P<number> \.?\d(?: '(?=\w) | [eEpP][+-] | [\w.] )* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<mark> :: | -> | <=> | [=!<>]= | [^\w\s] )
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)(.*)", re.DOTALL)
NOT_NEWLINE = re.compile(r"[^\n]")


class Token(NamedTuple):
    text: str  # '""' for any string or character
    line: int


class Directive(NamedTuple):
    text: str  # The word behind the #.
    line: int
    rest: str
    tokens: list[Token]  # What a #define stands for.


@dataclass
class Lexed:
    code: str = ""  # The text with comments and strings blanked; every line keeps its place.
    tokens: list[Token | Directive] = field(default_factory=list)
    comments: dict[int, str] = field(default_factory=dict)  # By line.
    code_lines: set[int] = field(default_factory=set)  # Lines with anything but comments.

    def directives(self, word: str):
        return (token for token in self.tokens
                if isinstance(token, Directive) and token.text == word)

    def comment_above(self, line: int) -> str:
        """The lines of nothing but comment that end directly above `line`, top to bottom."""
        texts = []
        while (line := line - 1) in self.comments and line not in self.code_lines:
            texts.append(self.comments[line])
        return "\n".join(reversed(texts))


def lex(text: str) -> Lexed:
    return Lexer(text).run()


class Lexer:
    def __init__(self, text: str):
        self.text = text
        self.line_starts = [0] + [at.end() for at in re.finditer("\n", text)]
        self.out = Lexed()
        self.pieces: list[str] = []
        self.trailing: tuple[int, int, int] | None = None  # Line, column and anchor of a comment.

    def run(self) -> Lexed:
        done = 0
        for found in LEXEME.finditer(self.text):
            kind, lexeme, start = found.lastgroup, found.group(), found.start()
            if kind == "word" or kind == "mark":
                line = self.line_at(start)
                self.out.tokens.append(Token(lexeme, line))
                self.out.code_lines.add(line)
                continue
            blanked = self.take(kind, lexeme, start)
            if blanked is not lexeme:
                self.pieces += self.text[done:start], blanked
                done = found.end()
        self.out.code = "".join(self.pieces) + self.text[done:]
        return self.out

    def line_at(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def take(self, kind: str, lexeme: str, start: int) -> str:
        """Records a lexeme and returns what stands for it in the blanked code."""
        line = self.line_at(start)
        if kind == "comment":
            self.add_comment(lexeme, start)
            return NOT_NEWLINE.sub(" ", lexeme)
        if kind == "directive":
            return self.take_directive(lexeme, start)
        self.out.code_lines.update(range(line, line + lexeme.count("\n") + 1))
        if kind == "number":
            self.out.tokens.append(Token(lexeme, line))
            return lexeme
        self.out.tokens.append(Token('""', line))
        return NOT_NEWLINE.sub(" ", lexeme)

    def take_directive(self, whole: str, start: int) -> str:
        lexeme = BLOCK_COMMENT.sub(lambda found: NOT_NEWLINE.sub(" ", found.group()), whole)
        line = self.line_at(start)
        word, rest = DIRECTIVE.fullmatch(lexeme).groups()
        tokens, code = [], lexeme
        if word == "define":
            body = lex(" " * (len(lexeme) - len(rest)) + rest.replace("\\\n", " \n"))
            tokens = [Token(token.text, token.line + line - 1) for token in body.tokens]
            code = body.code
        self.out.tokens.append(Directive(word, line, rest.strip(), tokens))
        self.out.code_lines.update([line], (token.line for token in tokens))
        for comment in BLOCK_COMMENT.finditer(whole):
            self.add_comment(comment.group(), start + comment.start())
        return code

    def add_comment(self, lexeme: str, start: int) -> None:
        """A comment behind code that goes on below, in its column, still belongs to that code."""
        line = self.line_at(start)
        column = start - self.line_starts[line - 1]
        anchor = line
        if line not in self.out.code_lines:
            if self.trailing and self.trailing[:2] == (line - 1, column):
                anchor = self.trailing[2]
        if anchor in self.out.code_lines:
            self.trailing = (line, column, anchor)
        for offset, text in enumerate(lexeme.split("\n")):
            at = anchor if anchor != line else line + offset
            self.out.comments[at] = f"{self.out.comments.get(at, '')}\n{text}".lstrip("\n")
