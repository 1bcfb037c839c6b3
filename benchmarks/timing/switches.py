"""The speed layers of torchlint, and a switch for each of them.

A switch replaces functions of torchlint in the current process, so each run has a process of its own. Without a layer a
run takes longer, and finds the same.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

from torchlint.model import Finding
from torchlint.prefilter.needs import All, Need, TextPattern, identifier_parts
from torchlint.prefilter.needs import Any as AnyOf

#: The kinds of runs in which layers are measured.
ONE_PROCESS, TWO_PROCESSES, WARM = "one process", "two processes", "a run with a filled cache"
_NAMES_TORCH = identifier_parts("torch", "accelerat", "lightning")


class Layer(NamedTuple):
    """A speed layer: its name, the function that switches it off, and the kind of run that shows its effect."""

    name: str
    off: Callable[[], None]
    kind: str = ONE_PROCESS


def put(owner: Any, name: str, value: object) -> None:
    """Replace an attribute, which must exist."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name} to replace")
    setattr(owner, name, value)


# -- which files are parsed ----------------------------------------------------------------------


def _every_file() -> None:
    from torchlint.rule import Rule
    from torchlint.run.linting import screened

    put(Rule, "alternatives", classmethod(lambda _: [(_NAMES_TORCH,)]))
    put(screened, "needs_parsing", lambda text_index: text_index.has(_NAMES_TORCH))


def _texts(*needs: Need) -> Iterator[TextPattern]:
    for need in needs:
        if isinstance(need, TextPattern):
            yield need
        elif isinstance(need, (AnyOf, All)):
            yield from _texts(*need.needs)


def _assume_found(chosen: Callable[[TextPattern], bool]) -> None:
    """Take text patterns for found in all files that satisfy their guards."""
    from torchlint.prefilter.text_index import TextIndex

    search = TextIndex._search

    def searched(text_index: TextIndex, need: Need) -> bool:
        if isinstance(need, TextPattern) and chosen(need):
            return need.guard is None or text_index.has(need.guard)
        return search(text_index, need)

    put(TextIndex, "_search", searched)


def _no_patterns() -> None:
    """All patterns of needs; facts that are read from the text without parsing stay as they are."""
    from torchlint.prefilter import concepts
    from torchlint.run.rules import registry

    of_rules = (need for rule in registry.load() for need in rule.needs)
    _assume_found(set(_texts(concepts.HAS_PROJECT_FACTS, *of_rules)).__contains__)


def _concept(name: str) -> Callable[[], None]:
    def off() -> None:
        from torchlint.prefilter import concepts

        _assume_found(set(_texts(getattr(concepts, name))).__contains__)

    return off


def _patterns_of(rule_id: str) -> Callable[[], None]:
    """The text patterns of one rule, without those of concepts."""

    def off() -> None:
        from torchlint.prefilter import concepts
        from torchlint.run.rules import registry

        shared = {text for need in vars(concepts).values() for text in _texts(need)}
        own = next(rule for rule in registry.load() if rule.id == rule_id)
        _assume_found((set(_texts(*own.needs)) - shared).__contains__)

    return off


def _no_identifier_set() -> None:
    from torchlint.prefilter import text_index
    from torchlint.prefilter.identifier_set import IdentifierSet

    class Searched(IdentifierSet):
        """Searches the text for each identifier."""

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


def _ast_to_check_syntax() -> None:
    from torchlint.run.linting import screened

    def is_parsable(data: bytes) -> bool:
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError):
            return False
        return True

    put(screened, "is_parsable", is_parsable)


# -- what is made of a file that is parsed -------------------------------------------------------


def _libcst_parser() -> None:
    from torchlint.run.linting import file as engine

    parsed = engine._parse_and_check
    put(engine, "_parse_and_check", lambda file, text, **_: parsed(file, text, layout=True))


def _bodies_at_once() -> None:
    from torchlint.analysis.syntax.from_ast import parse as light

    parse = light.parse
    put(light, "parse", lambda text, content=None, **_: parse(text, content, at_once=True))


def _every_function() -> None:
    from torchlint.analysis.syntax.tree import NodeIndex

    put(NodeIndex, "bodies_with", lambda index, _: index.bodies)
    put(NodeIndex, "body_has", lambda *_: True)


def _collect_in_a_loop() -> None:
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


def _hashes_of_libcst() -> None:
    from torchlint.analysis.syntax import walk

    def restore(kind: Any) -> None:
        kind.__class__ = walk._Plain.__base__
        kind.__hash__ = _hash
        for below in kind.__subclasses__():
            restore(below)

    restore(sys.modules["libcst"].CSTNode)


def _garbage_collection() -> None:
    from torchlint.run.linting import file as engine

    put(engine, "no_collection", nullcontext)
    gc.enable()


# -- starting and ending -------------------------------------------------------------------------


def _plain_import() -> None:
    import libcst  # noqa: F401


def _teardown() -> None:
    from torchlint import __main__ as start

    put(start, "_end", lambda _: None)


def _one_process() -> None:
    from torchlint.base import limits

    put(limits, "is_much", lambda _: False)


def _spawned_processes() -> None:
    import multiprocessing

    multiprocessing.set_start_method("spawn")


def _not_ahead() -> None:
    from torchlint.run.processes import parallel

    put(parallel, "_screened_ahead", lambda *_: {})


def _no_cache() -> None:
    from torchlint.cli import check

    put(check, "_cache", lambda *_: None)


LAYERS = (
    Layer("prefilters of files", _every_file),
    Layer("text patterns of all needs", _no_patterns),
    *(Layer(f"text patterns of {name}", _concept(name)) for name in ("MOVE", "_DEFINES_DEVICE", "OWN_MOVES")),
    Layer("text patterns of ON_ACCELERATOR", _concept("ON_ACCELERATOR")),
    *(Layer(f"text patterns of {rule_id}", _patterns_of(rule_id)) for rule_id in ("TL103", "TL502", "TL507")),
    Layer("identifier set", _no_identifier_set),
    Layer("syntax check without an AST", _ast_to_check_syntax),
    Layer("light trees", _libcst_parser),
    Layer("lazy function bodies", _bodies_at_once),
    Layer("prefilter of functions", _every_function),
    Layer("node collectors without loops", _collect_in_a_loop),
    Layer("plain hashes and type tests of nodes", _hashes_of_libcst),
    Layer("no garbage collection", _garbage_collection),
    Layer("fast import of LibCST", _plain_import),
    Layer("exit without teardown", _teardown),
    Layer("several processes", _one_process, TWO_PROCESSES),
    Layer("forked processes", _spawned_processes, TWO_PROCESSES),
    Layer("prefilters during the import of LibCST", _not_ahead, TWO_PROCESSES),
    Layer("cache", _no_cache, WARM),
)


def lint(arguments: Sequence[str]) -> None:
    """Lint without the layer that the first argument names, if any; print a report as JSON, and end this process."""
    import json
    from hashlib import blake2b

    from torchlint import __main__ as start
    from torchlint.cli.main import main
    from torchlint.run.linting import file as engine

    name, *options = arguments
    for layer in LAYERS:
        if layer.name == name:
            layer.off()
    parse, parsed = engine._parse_and_check, set()

    def noted(file: engine._File, text: str, **how: Any) -> list[Finding]:
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
