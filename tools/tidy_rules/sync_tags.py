"""Memory orders and the comments that name their partners.

A comment belongs to a statement if it stands on one of its lines or directly above one of them.
"""

import re
from collections import defaultdict

from .blocks import Statement
from .tree import SourceFile, Tree

RULE = "sync-tags"
TAG = re.compile(r"\bsync\(([^()\n]+)\)")
KEBAB_CASE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
ORDERS = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
RELEASING = {"release", "acq_rel", "seq_cst"}
ACQUIRING = {"acquire", "acq_rel", "seq_cst"}
FENCES = {"full_fence", "full_fence_after_rmw"}  # Of sync/fence.hpp.
HINTS = ORDERS | FENCES | {"sync("}  # A file with none of these needs no closer look.

# A bare `release` is an order only where a value may stand: in f(x, release), but neither in
# slot.release() nor in Slot::release.
QUALIFIERS = {"memory_order", "muster"}
BEFORE_VALUE = {"(", ",", "{", "<", "=", "?", ":", "==", "!=", "return"}
BEHIND_VALUE = {")", ",", "}", ">", ";", "?", ":", "==", "!="}


def check(tree: Tree):
    ends = defaultdict(list)  # For each tag: where it stands and which orders stand with it.
    for file in tree.files:
        if file.is_library:
            yield from check_file(file, ends)
    for tag, places in ends.items():
        orders = set().union(*(orders for _file, _line, orders in places))
        file, line, _orders = places[0]
        if len(places) < 2:
            yield file.problem(line, RULE, f"sync({tag}) stands here alone; tag the other end too")
        elif not (orders & RELEASING and orders & ACQUIRING):
            side = "releases" if orders & RELEASING else "acquires"
            yield file.problem(line, RULE, f"all of sync({tag}) {side}; tag the end that answers")


def check_file(file: SourceFile, ends):
    if not any(hint in file.text for hint in HINTS):
        return
    lines_with_orders = set()
    for statement in file.structure.statements:
        orders = orders_in(statement)
        if orders:
            lines_with_orders |= statement.lines
            yield from check_statement(file, statement, orders, ends)
    yield from check_tags(file, lines_with_orders)


def orders_in(statement: Statement) -> list[tuple[str, int]]:
    """Each order that the statement uses, with its line."""
    tokens = statement.tokens
    if statement.kind == "enum" or tokens[0].text == "using":
        return []
    found = []
    texts = ["", "", *(token.text for token in tokens), ""]
    for at, token in enumerate(tokens, 2):
        text = token.text
        if text in ORDERS and is_value(texts, at):
            found.append((text, token.line))
        elif text.startswith("memory_order_") and text[13:] in ORDERS:
            found.append((text[13:], token.line))
        elif text in FENCES and texts[at + 1] == "(" and not texts[at - 1].isidentifier():
            found.append(("seq_cst", token.line))
    return found


def is_value(texts: list[str], at: int) -> bool:
    if texts[at + 1] not in BEHIND_VALUE:
        return False
    if texts[at - 1] == "::":
        return texts[at - 2] in QUALIFIERS
    return texts[at - 1] in BEFORE_VALUE


def check_statement(file: SourceFile, statement: Statement, orders, ends):
    comment = comment_of(file, statement)
    strong = [(order, line) for order, line in orders if order != "relaxed"]
    relaxed = [line for order, line in orders if order == "relaxed"]
    tags = set(TAG.findall(comment))
    if strong and not tags:
        order, line = strong[0]
        yield file.problem(line, RULE, f"{order} names no partner; add `// sync(tag): ...` to the "
                                       "statement and to its partner")
    if relaxed and "relaxed:" not in comment:
        yield file.problem(relaxed[0], RULE, "relaxed gives no reason; add `// relaxed: ...`: why "
                                             "stale is harmless, or who publishes")
    if strong:
        for tag in tags:
            ends[tag].append((file, strong[0][1], {order for order, _line in strong}))


def comment_of(file: SourceFile, statement: Statement) -> str:
    lexed = file.lexed
    texts = []
    for line in sorted(statement.lines):
        texts += lexed.comment_above(line), lexed.comments.get(line, "")
    return "\n".join(texts)


def check_tags(file: SourceFile, lines_with_orders: set[int]):
    lexed = file.lexed
    for line, comment in lexed.comments.items():
        tags = TAG.findall(comment)
        for tag in tags:
            if not KEBAB_CASE.fullmatch(tag):
                yield file.problem(line, RULE, f"sync({tag}) is not in kebab-case; "
                                               "write it like sync(task-visible)")
        below = line
        while below in lexed.comments and below not in lexed.code_lines:
            below += 1
        if tags and below not in lines_with_orders:
            yield file.problem(line, RULE, f"sync({tags[0]}) stands at no memory order; "
                                           "move it to the order it explains, or remove it")
