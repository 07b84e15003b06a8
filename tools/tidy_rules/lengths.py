"""How long a file, a function and a line may be."""

from . import tables
from .tree import SourceFile, Tree

LIMITED_LINES = ("header", "source", "cmake", "python", "promela")


def check(tree: Tree):
    for file in tree.files:
        if file.kind in LIMITED_LINES:
            yield from check_lines(file)
        if file.is_cpp:
            yield from check_file(file)
            yield from check_functions(file)


def check_lines(file: SourceFile):
    for number, line in enumerate(file.lines, 1):
        if len(line) > tables.MAX_COLUMNS:
            yield file.problem(number, "line-length", f"line has {len(line)} columns; "
                                                      f"break it before {tables.MAX_COLUMNS + 1}")


def check_file(file: SourceFile):
    limit = tables.MAX_HEADER_LINES if file.kind == "header" else tables.MAX_SOURCE_LINES
    if len(file.lines) > limit:
        yield file.problem(limit + 1, "file-length", f"{file.kind} has {len(file.lines)} lines, "
                                                     f"limit {limit}; split it by concern")


def check_functions(file: SourceFile):
    if len(file.lines) <= tables.MAX_FUNCTION_LINES:
        return
    for function in file.structure.functions:
        length = function.last_line - function.first_line + 1
        if length > tables.MAX_FUNCTION_LINES:
            yield file.problem(function.first_line, "function-length",
                               f"{function.name} has {length} lines, limit "
                               f"{tables.MAX_FUNCTION_LINES}; give its steps names of their own")
