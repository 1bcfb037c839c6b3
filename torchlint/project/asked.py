"""What the queries of a run ask about functions that get or return loaders, and no facts tell yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, NamedTuple

from torchlint.project.facts import Followed

if TYPE_CHECKING:
    from torchlint.project.merged import Project
    from torchlint.project.view import Query


_NOTHING: Followed = {"functions": [], "results": []}


class Asked(NamedTuple):
    """What is asked about one file.

    ``functions`` are functions of the file: what does each do with the loaders and batches that it gets? ``results``
    are functions of other files: what does the file do with the loaders that they return?
    """

    functions: Set[str]
    results: Set[str]

    def identifiers(self) -> Iterator[str]:
        """An identifier for each function, which occurs in files that define or call it."""
        return (name.rpartition(".")[2] for name in self.functions | self.results)

    def followed(self) -> Followed:
        """The same as a fact."""
        return {"functions": sorted(self.functions), "results": sorted(self.results)}


def unanswered(project: Project, queries: Mapping[str, Iterable[Query]]) -> dict[str, Asked]:
    """What the queries of files ask about files that move batches, and the facts of these do not tell.

    What was asked about such a file before is included, so that the answer is complete.
    """
    functions: dict[str, set[str]] = {}
    returned: set[tuple[str, str]] = set()
    for asking, (kind, *words) in ((path, query) for path, every in queries.items() for query in every):
        if kind == "feeding_of":
            _ask(project, asking, words[0], functions)
        elif kind == "feedings_of_results":
            returned.add((asking.replace("\\", "/"), words[0]))
    for path, facts in project.facts.items():
        for relay in facts.get("forwarded_loaders", ()):
            if project.place(path, relay["function"]) in returned:
                _ask(project, path, relay["to"], functions)
    results = {name for _, name in returned}
    found = {}
    for path, facts in project.facts.items():
        if facts.get("feeds"):
            before = facts.get("followed", _NOTHING)
            asked = Asked(frozenset(before["functions"]) | functions.get(path, set()), results.union(before["results"]))
            if asked.followed() != before:
                found[path] = asked
    return found


def _ask(project: Project, asking: str, dotted: str, functions: dict[str, set[str]]) -> None:
    place = project.place(asking, dotted)
    if place is not None:
        functions.setdefault(place[0], set()).add(place[1])
