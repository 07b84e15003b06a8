"""Who may include and link whom."""

import posixpath
import re

from . import tables
from .tree import SourceFile, Tree

INCLUDED = re.compile(r'(?P<mark>[<"])(?P<name>[^>"]+)[>"]')
LAYER_CALL = re.compile(r"\bmuster_layer\s*\(([^)]*)\)")
CMAKE_COMMENT = re.compile(r"#[^\n]*")
NO_LAYER = ""


def may_include() -> dict[str, set[str]]:
    allowed: dict[str, set[str]] = {}
    lower: set[str] = set()
    for rank in tables.LAYER_RANKS:
        for layer in rank:
            allowed[layer] = lower | {layer}
        lower = lower.union(rank)
    allowed["export"] = {"export", *tables.EXPORT_MAY_INCLUDE}
    for layer in tables.MAY_INCLUDE_EXPORT:
        allowed[layer].add("export")
    return allowed


ALLOWED = may_include()


def check(tree: Tree):
    yield from check_folders(tree)
    for file in tree.files:
        if file.kind == "cmake":
            yield from check_links(file)
        elif file.is_cpp and file.top in ("include", "src"):
            yield from check_place(file)
            yield from check_includes(file, tree)


def check_folders(tree: Tree):
    """Reported at the first file of each folder."""
    seen = set()
    for file in tree.files:
        folders = file.path.split("/")[:-1]
        for depth, folder in enumerate(folders, 1):
            whole = tuple(folders[:depth])
            if folder in tables.FORBIDDEN_FOLDERS and whole not in seen:
                seen.add(whole)
                yield file.problem(1, "folders", f"folder {'/'.join(whole)} says nothing of its "
                                                 "content; name it after the one thing it holds")


def layer_of(path: str) -> str | None:
    """The layer a path claims; NO_LAYER if it lacks one; None if it needs none."""
    match path.split("/"):
        case ["src", _]:
            return NO_LAYER
        case ["src", layer, *_]:
            return layer
        case ["include", "muster", header]:
            return tables.PUBLIC_HEADERS.get(header, NO_LAYER)
        case ["include", "muster", "detail", *rest]:
            return tables.PUBLIC_HEADERS.get("detail/" + "/".join(rest), NO_LAYER)
        case ["include", "muster", layer, *_]:
            return layer
        case ["include", *_]:
            return NO_LAYER
    return None


def check_place(file: SourceFile):
    layer = layer_of(file.path)
    if layer == NO_LAYER:
        yield file.problem(1, "layers", "belongs to no layer; move it into a layer's folder or, if "
                                        "users name it, list it in tools/tidy_rules/tables.py")
    elif layer not in ALLOWED:
        yield file.problem(1, "layers", f"folder {layer} is no layer; use {', '.join(ALLOWED)}")


def check_includes(file: SourceFile, tree: Tree):
    layer = layer_of(file.path)
    for directive in file.lexed.directives("include"):
        target = resolve(file.path, directive.rest, tree.paths)
        if target is None:
            continue
        included = layer_of(target)
        if target.partition("/")[0] in tables.OUTSIDE_FOLDERS:
            yield file.problem(directive.line, "layers",
                               f"the library includes {target}; move what it needs into a layer")
        elif included is not None and layer in ALLOWED and included not in ALLOWED[layer]:
            yield file.problem(directive.line, "layers", refusal(layer, included, target))


def refusal(layer: str, included: str, target: str) -> str:
    if included not in ALLOWED:
        return f"{layer} includes {target}, which belongs to no layer; move that file into one"
    lower = ", ".join(sorted(ALLOWED[layer] - {layer})) or "no other layer"
    return (f"{layer} includes {target} of {included}; {layer} may include {lower}: "
            "move the code down or pass a value up")


def resolve(path: str, spelled: str, paths: set[str]) -> str | None:
    """The file below the root that an #include means; None for one of the system's."""
    found = INCLUDED.match(spelled)
    if not found:
        return None
    name = posixpath.normpath(found["name"])
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    places = [f"{root}/{name}" for root in ("include", "src", *tables.OUTSIDE_FOLDERS)] + [name]
    if found["mark"] == '"':
        places.insert(0, beside)
    for place in places:
        if place in paths:
            return place
    top = name.partition("/")[0]
    if top == "muster":
        return "include/" + name
    if top in tables.OUTSIDE_FOLDERS:
        return name
    return beside if found["mark"] == '"' else None


def check_links(file: SourceFile):
    text = CMAKE_COMMENT.sub(lambda found: " " * len(found.group()), file.text)
    for call in LAYER_CALL.finditer(text):
        line = text.count("\n", 0, call.start()) + 1
        layer, *arguments = call[1].split() or [NO_LAYER]
        if layer not in ALLOWED:
            yield file.problem(line, "layers", f"muster_layer({layer}) names no layer; "
                                               f"use {', '.join(ALLOWED)}")
            continue
        for lower in listed_behind("DEPENDS", arguments):
            if lower not in ALLOWED[layer] - {layer}:
                yield file.problem(line, "layers", f"{layer} depends on {lower}, no lower layer; "
                                                   "name only lower ones in DEPENDS")


def listed_behind(keyword: str, arguments: list[str]) -> list[str]:
    listed, active = [], False
    for argument in arguments:
        if argument.isupper():
            active = argument == keyword
        elif active:
            listed.append(argument)
    return listed
