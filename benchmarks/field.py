"""What public PyTorch code wastes: counts of torchlint's findings in many repositories, for ``docs/field.md``.

``python benchmarks/field.py FOLDER`` fetches the repositories of ``benchmarks/survey/repositories.jsonl`` into FOLDER
(``FOLDER/owner+name``, each at its commit, unless it is there already), lints each as one project with the rules that
are on by default, and without any configuration of the repository, and writes the counts and torchlint's commit to
``benchmarks/survey/counts.jsonl``. Nothing of the code is executed, or kept in this repository. Then it draws the
figures in ``docs/field/`` and writes the tables in ``docs/field.md``; ``--draw`` does only that.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from survey import checkouts, counts, figures, tables
from timing import commits

HERE = Path(__file__).parent
REPOSITORIES, COUNTS = HERE / "survey" / "repositories.jsonl", HERE / "survey" / "counts.jsonl"
PAGE, FIGURES = HERE.parent / "docs" / "field.md", HERE.parent / "docs" / "field"


def surveyed(folder: Path) -> list[counts.Counts]:
    """Fetch and lint all repositories. Exits if one cannot be fetched."""
    found = []
    for line in REPOSITORIES.read_text(encoding="utf-8").splitlines():
        repository = checkouts.Repository(**json.loads(line))
        found.append(counts.of(repository, checkouts.checkout(repository, folder)))
        print(f"{repository.repository}: {found[-1].warnings()} warnings, {found[-1].files} files with torch")
    return found


def write_page(when: str, found: Sequence[counts.Counts]) -> None:
    """Draw the figures and write the tables of the page."""
    FIGURES.mkdir(exist_ok=True)
    for name, drawn in figures.all_of(found).items():
        (FIGURES / f"{name}.svg").write_text(drawn, encoding="utf-8")
    PAGE.write_text(tables.written(PAGE.read_text(encoding="utf-8"), found, when), encoding="utf-8")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where the repositories are, or are put")
    parser.add_argument("--draw", action="store_true", help="draw the figures and tables from the counts as they are")
    arguments = parser.parse_args()
    if arguments.draw == (arguments.folder is not None):
        parser.error("name a folder, or give --draw")
    if not arguments.draw:
        when = commits.stamp()
        counts.write(surveyed(arguments.folder.resolve()), when, COUNTS)
    write_page(*counts.read(COUNTS))


if __name__ == "__main__":
    main()
