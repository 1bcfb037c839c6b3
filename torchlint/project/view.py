"""The project as seen from one file: its queries are recorded with their results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchlint.project.facts import FlagHelper
    from torchlint.project.followed import FollowedFile
    from torchlint.project.merged import Project

Query = tuple[str, ...]


class ProjectView:
    """The project as seen from one file. ``queries`` holds every query with its result."""

    def __init__(self, project: Project, path: str) -> None:
        self._project = project
        self._path = path.replace("\\", "/")
        self.queries: dict[Query, Any] = {}

    def digests(self) -> tuple[tuple[Query, str], ...]:
        """Every query with a digest of its result."""
        return tuple((query, _digest(found)) for query, found in sorted(self.queries.items()))

    def _run(self, *query: str) -> Any:
        if query not in self.queries:
            self.queries[query] = run_query(self._project, self._path, query)
        return self.queries[query]

    def followed(self) -> FollowedFile:
        """See :meth:`Project.followed`."""
        return self._run("followed")  # type: ignore[no-any-return]

    def seeds(self) -> bool:
        """See :meth:`Project.seeds`."""
        return bool(self._run("seeds"))

    def configures_cudnn(self) -> bool:
        """See :meth:`Project.configures_cudnn`."""
        return bool(self._run("configures_cudnn"))

    def sets_device(self) -> bool:
        """See :meth:`Project.sets_device`."""
        return bool(self._run("sets_device"))

    def sets_dtype(self) -> bool:
        """See :meth:`Project.sets_dtype`."""
        return bool(self._run("sets_dtype"))

    def sets_precision(self) -> bool:
        """See :meth:`Project.sets_precision`."""
        return bool(self._run("sets_precision"))

    def redefines(self) -> bool:
        """See :meth:`Project.redefines`."""
        return bool(self._run("redefines"))

    def own_moves(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.own_moves`."""
        return bool(self._run("own_moves", *sorted(set(modules))))

    def flag_helper(self, name: str) -> tuple[str, FlagHelper] | None:
        """See :meth:`Project.flag_helper`."""
        return self._run("flag_helper", name)  # type: ignore[no-any-return]

    def device(self, name: str) -> str | None:
        """See :meth:`Project.device`."""
        return self._run("device", name)  # type: ignore[no-any-return]

    def contains_all(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.contains_all`."""
        return bool(self._run("contains_all", *sorted(set(modules))))

    def convolves(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.convolves`."""
        return bool(self._run("convolves", *sorted(set(modules))))

    def multiplies(self, modules: Iterable[str]) -> bool:
        """See :meth:`Project.multiplies`."""
        return bool(self._run("multiplies", *sorted(set(modules))))

    def varying_shapes(self, modules: Iterable[str]) -> list[tuple[str, int, str]]:
        """See :meth:`Project.varying_shapes`."""
        return self._run("varying_shapes", *sorted(set(modules)))  # type: ignore[no-any-return]

    def cuda_only(self, module: str) -> tuple[str, str] | None:
        """See :meth:`Project.cuda_only`."""
        return self._run("cuda_only", module)  # type: ignore[no-any-return]

    def compiled_for_cuda(self, name: str) -> bool:
        """See :meth:`Project.compiled_for_cuda`."""
        return bool(self._run("compiled_for_cuda", name))

    def cuda_programs(self) -> tuple[str, str] | None:
        """See :meth:`Project.cuda_programs`."""
        return self._run("cuda_programs")  # type: ignore[no-any-return]

    def needs_cuda(self, name: str) -> tuple[str, str] | None:
        """See :meth:`Project.needs_cuda`."""
        return self._run("needs_cuda", name)  # type: ignore[no-any-return]

    def cuda_check(self, name: str) -> str | None:
        """See :meth:`Project.cuda_check`."""
        return self._run("cuda_check", name)  # type: ignore[no-any-return]


def run_query(project: Project, path: str, query: Query) -> Any:
    """The result of a query of a file. Raises ``KeyError`` for an unknown query."""
    name, *words = query
    if name not in QUERIES:
        raise KeyError(name)
    return getattr(project, name)(path, *words)


def query_digest(project: Project, path: str, query: Query) -> str:
    """A digest of the result of a query of a file; empty for an unknown query."""
    try:
        return _digest(run_query(project, path.replace("\\", "/"), query))
    except (KeyError, TypeError, ValueError):
        return ""


def _digest(found: object) -> str:
    if not found:
        return repr(found)  # most results; a file without PyTorch needs no more
    import json
    from hashlib import blake2b

    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


QUERIES = frozenset(
    "followed seeds configures_cudnn sets_device sets_dtype sets_precision redefines own_moves "
    "contains_all convolves multiplies flag_helper "
    "device varying_shapes cuda_only "
    "compiled_for_cuda cuda_programs needs_cuda cuda_check".split()
)
