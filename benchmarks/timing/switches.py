"""The layers of torchlint whose only purpose is speed, and how each is switched off.

A switch replaces functions of torchlint in the process that calls it, and so belongs into a process of its own. The
findings stay what they are: a layer that is off costs time and nothing else.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

from torchlint.prefilter.needs import All, Need, TextPattern, identifier_parts
from torchlint.prefilter.needs import Any as AnyOf

#: How a layer is measured: in one process, in two, or with a filled cache.
ALONE, TWO, WARM = "one process", "two processes", "cache filled"
_NAMES_TORCH = identifier_parts("torch", "accelerat", "lightning")


class Layer(NamedTuple):
    """A layer by the name it has in the table, and the switch; ``run`` is where its effect shows."""

    name: str
    off: Callable[[], None]
    run: str = ALONE


def put(owner: Any, name: str, value: object) -> None:
    """Replace something that is there."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name} to replace")
    setattr(owner, name, value)


# -- which files are parsed ----------------------------------------------------------------------


def _every_file() -> None:
    from torchlint.rule import Rule
    from torchlint.run import screened

    put(Rule, "alternatives", classmethod(lambda _: [(_NAMES_TORCH,)]))
    put(screened, "needs_parsing", lambda text_index: text_index.has(_NAMES_TORCH))


def _texts(*needs: Need) -> Iterator[TextPattern]:
    for need in needs:
        if isinstance(need, TextPattern):
            yield need
        elif isinstance(need, (AnyOf, All)):
            yield from _texts(*need.needs)


def _unread(unread: Callable[[TextPattern], bool]) -> None:
    """These patterns count as found wherever their identifiers stand."""
    from torchlint.prefilter.text_index import TextIndex

    search = TextIndex._search

    def searched(text_index: TextIndex, need: Need) -> bool:
        if isinstance(need, TextPattern) and unread(need):
            return need.guard is None or text_index.has(need.guard)
        return search(text_index, need)

    put(TextIndex, "_search", searched)


def _no_patterns() -> None:
    """Only what decides which files are parsed: facts that the text tells by itself stay as they are."""
    from torchlint.prefilter import concepts
    from torchlint.run import registry

    of_rules = (need for rule in registry.load() for need in rule.needs)
    _unread(set(_texts(concepts.HAS_PROJECT_FACTS, *of_rules)).__contains__)


def _concept(name: str) -> Callable[[], None]:
    def off() -> None:
        from torchlint.prefilter import concepts

        _unread(set(_texts(getattr(concepts, name))).__contains__)

    return off


def _patterns_of(rule_id: str) -> Callable[[], None]:
    """The patterns of one rule that are no concept."""

    def off() -> None:
        from torchlint.prefilter import concepts
        from torchlint.run import registry

        shared = {text for need in vars(concepts).values() for text in _texts(need)}
        own = next(rule for rule in registry.load() if rule.id == rule_id)
        _unread((set(_texts(*own.needs)) - shared).__contains__)

    return off


def _no_vocabulary() -> None:
    from torchlint.prefilter import text_index
    from torchlint.prefilter.identifier_set import IdentifierSet

    class Searched(IdentifierSet):
        """Each word is looked for when it is asked for."""

        def __init__(self, data: bytes) -> None:
            self._data = self.joined = data
            self._lowered = data.lower()

        def any(self, names: Any) -> bool:
            return any(name in self._data for name in names)

        def any_containing(self, part: bytes) -> bool:
            return part.strip() in self._lowered

        def any_of_library(self, names: Any) -> bool:
            return self.any(names)

        def any_imported(self, names: Any) -> bool:
            return self.any(names)

    put(text_index, "IdentifierSet", Searched)


def _parsed_to_be_checked() -> None:
    from torchlint.run import screened

    def is_parsable(data: bytes) -> bool:
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError):
            return False
        return True

    put(screened, "is_parsable", is_parsable)


# -- what is made of a file that is parsed -------------------------------------------------------


def _parsed_by_libcst() -> None:
    from torchlint.run import engine

    parsed = engine._parse_and_check
    put(engine, "_parse_and_check", lambda file, text, **_: parsed(file, text, layout=True))


def _bodies_at_once() -> None:
    from torchlint.analysis.syntax.light import parse as light

    parse = light.parse
    put(light, "parse", lambda text, **_: parse(text, at_once=True))


def _every_function() -> None:
    from torchlint.analysis.syntax.tree import NodeIndex

    put(NodeIndex, "bodies_with", lambda index, _: index.bodies)
    put(NodeIndex, "body_has", lambda *_: True)


def _names_unread() -> None:
    from torchlint.analysis import dispatch

    put(dispatch, "may_call", lambda *_: True)


def _whole_headers() -> None:
    from torchlint.analysis.syntax.lazy_positions import LazyPositions

    put(LazyPositions, "_alone", lambda *_: None)


def _collected_in_a_loop() -> None:
    from torchlint.analysis.syntax import tree, walk

    def collect(root: Any, nodes: Any, parents: Any) -> None:
        nodes[root.__class__].append(root)
        for child in walk.children(root):
            parents[child] = root
            if child.__class__ is not tree.LazyBlock:
                collect(child, nodes, parents)
            else:
                nodes[child.__class__].append(child)

    put(tree, "collect", collect)


def _hash(node: object) -> int:
    return id(node)


def _own_hashes_and_tests() -> None:
    from torchlint.analysis.syntax import walk

    def restore(kind: Any) -> None:
        kind.__class__ = walk._Plain.__base__
        kind.__hash__ = _hash
        for below in kind.__subclasses__():
            restore(below)

    restore(walk.cst.CSTNode)


def _collected() -> None:
    from torchlint.run import engine

    put(engine, "_no_collection", nullcontext)
    gc.enable()


# -- starting and ending -------------------------------------------------------------------------


def _plain_import() -> None:
    import libcst  # noqa: F401


def _openssl() -> None:
    import hashlib

    from torchlint.base import digests

    put(digests, "blake2b", hashlib.blake2b)


def _taken_apart() -> None:
    from torchlint import __main__ as start

    put(start, "_end", lambda _: None)


def _one_process() -> None:
    from torchlint.base import limits

    put(limits, "is_much", lambda _: False)


def _spawned() -> None:
    import multiprocessing

    multiprocessing.set_start_method("spawn")


def _not_ahead() -> None:
    from torchlint.run import parallel

    put(parallel, "_screened_ahead", lambda *_: {})


def _no_cache() -> None:
    from torchlint.cli import main

    put(main, "_cache", lambda *_: None)


_CONCEPTS = ("MOVE _DEFINES_DEVICE _OWN_MOVE").split()
_PATTERNS = ("TL103", "TL507")
LAYERS = (
    Layer("files are left out", _every_file),
    Layer("text patterns, all of them", _no_patterns),
    *(Layer(f"text patterns of {name}", _concept(name)) for name in _CONCEPTS),
    *(Layer(f"text patterns of {rule_id}", _patterns_of(rule_id)) for rule_id in _PATTERNS),
    Layer("identifiers are gathered once", _no_vocabulary),
    Layer("syntax check without a syntax tree", _parsed_to_be_checked),
    Layer("light trees", _parsed_by_libcst),
    Layer("lazy function bodies", _bodies_at_once),
    Layer("functions are left out by identifiers", _every_function),
    Layer("calls are left out by name", _names_unread),
    Layer("parameters of long headers alone", _whole_headers),
    Layer("nodes collected without loops", _collected_in_a_loop),
    Layer("plain hashes and type tests of nodes", _own_hashes_and_tests),
    Layer("no garbage collection", _collected),
    Layer("fast import of LibCST", _plain_import),
    Layer("digests without OpenSSL", _openssl),
    Layer("no farewell", _taken_apart),
    Layer("several processes", _one_process, TWO),
    Layer("processes are forked", _spawned, TWO),
    Layer("screening during the import", _not_ahead, TWO),
    Layer("cache", _no_cache, WARM),
)


def lint(arguments: Sequence[str]) -> None:
    """Lint without the layer that the first argument names, if any; print what that did, and end this process."""
    import json

    from torchlint import __main__ as start
    from torchlint.base.digests import blake2b
    from torchlint.cli.main import main
    from torchlint.run import engine

    name, *options = arguments
    for layer in LAYERS:
        if layer.name == name:
            layer.off()
    parse, parsed = engine._parse_and_check, set()

    def noted(file: engine._File, text: str, **how: Any) -> engine._Found:
        parsed.add(file.path)
        return parse(file, text, **how)

    put(engine, "_parse_and_check", noted)
    said = StringIO()
    with redirect_stdout(said):
        status = main(["check", "--isolated", "--output-format", "json", *options])
    findings = blake2b(said.getvalue().encode(), digest_size=8).hexdigest()
    print(json.dumps({"status": status, "parsed": len(parsed), "findings": findings}))
    start._end(0)


if __name__ == "__main__":
    lint(sys.argv[1:])
