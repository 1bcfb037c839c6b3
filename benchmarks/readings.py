"""Tools for work on the rules. Run them in the root of the repository.

``wild`` lints checkouts of public repositories with some rules, shows each finding with its source and the calls of its
function, asks whether it is right, pointless or wrong, and keeps answers in ``benchmarks/evaluation/readings.jsonl``.
``classes`` counts what readings and labels say of findings of one rule, phase, use or origin: by it
``torchlint/project/cost.py`` decides what costs a warning.
``figures`` prints what the readings say about code that torchlint had never seen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from judging import classes, figures, places, promises, verdicts, wild
from judging.readings import SIGHTS, VERDICTS, Reading, Unreadable, add, read
from judging.register import Register

from torchlint.config.config import ConfigError
from torchlint.config.select import check
from torchlint.docs import marked
from torchlint.run import results
from torchlint.run.rules import registry


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the tools; 2 if it cannot do its work."""
    arguments = _parser().parse_args(argv)
    try:
        result: int = arguments.run_tool(arguments)
    except EOFError:
        return 0  # what was said is kept
    except (ConfigError, Unreadable, wild.Missing, verdicts.WrongFile, OSError) as problem:
        print(f"readings: {problem}", file=sys.stderr)
        return 2
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python benchmarks/readings.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tools = parser.add_subparsers(required=True, metavar="TOOL")
    meaning = "; ".join(f"{word}: {text}" for word, text in VERDICTS.items())
    wilds = tools.add_parser("wild", help="read findings in public repositories", epilog=meaning)
    wilds.add_argument("rules", nargs="+", metavar="RULE", help="ids, names and other selectors of rules")
    wilds.add_argument("--folder", type=Path, default=Path("checkouts"), help="checkouts, as owner+name (%(default)s)")
    wilds.add_argument("--repositories", type=Path, metavar="LIST", help="a file with the repositories to lint")
    wilds.add_argument("--verdicts", type=Path, metavar="FILE", help="read the verdicts from a file, ask for none")
    wilds.add_argument("--list", action="store_true", help="only show the findings")
    wilds.add_argument(
        "--sight", choices=SIGHTS, default="seen", help="; ".join(f"{k}: {v}" for k, v in SIGHTS.items())
    )
    wilds.add_argument("--run", default="rules at work", help="the name of the occasion (%(default)s)")
    wilds.set_defaults(run_tool=_wild)
    counted = tools.add_parser("classes", help="what readings and labels say of classes of findings")
    counted.add_argument(
        "--folder", type=Path, default=Path("checkouts"), help="checkouts, as owner+name (%(default)s)"
    )
    counted.add_argument("--repositories", type=Path, metavar="LIST", help="a file with the repositories to lint")
    counted.set_defaults(run_tool=_classes)
    shown = tools.add_parser("figures", help="what the readings say about unseen code")
    shown.add_argument("--write", action="store_true", help=f"write the tables in {places.PAGE.as_posix()}")
    shown.set_defaults(run_tool=_figures)
    return parser


def _wild(arguments: argparse.Namespace) -> int:
    check(arguments.rules, registry.load(), "wild")
    day = datetime.now(timezone.utc).date().isoformat()
    repositories = wild.repositories(arguments.folder, arguments.repositories)
    register = Register(places.REGISTER)
    stale = [each.name for each in repositories if not register.is_fresh(each.name, day, arguments.run)]
    if arguments.sight == "fresh" and stale:
        raise wild.Missing(f"not fresh, since {places.REGISTER.as_posix()} has them: {', '.join(stale)}")
    register.add([each.name for each in repositories], day, arguments.run)
    known = {each.key for each in read(places.READINGS)}
    found = [each for one in repositories for each in wild.findings(one, arguments.rules)]
    unread = [f for f in found if (f.finding.rule, f.repository.name, f.repository.commit, f.place) not in known]
    if arguments.list:
        print("\n".join(wild.shown(each) for each in unread), end="")
        return 0
    given = (
        verdicts.from_file(unread, arguments.verdicts) if arguments.verdicts else verdicts.asked(unread, input, print)
    )
    new: list[Reading] = []
    for each, verdict, why in given:
        new.append(verdicts.reading(each, verdict, why, day=day, sight=arguments.sight, run=arguments.run))
        add(new[-1:], places.READINGS)
    print(figures.summary(new), end="")
    return 0


def _classes(arguments: argparse.Namespace) -> int:
    repositories = wild.repositories(arguments.folder, arguments.repositories)
    found = [each for one in repositories for each in wild.findings(one, ("ALL",))]
    seen = {place: events for one in repositories for place, events in classes.events(one).items()}
    print(classes.table(found, seen, read(places.READINGS), classes.labels(places.LABELS)), end="")
    return 0


def _figures(arguments: argparse.Namespace) -> int:
    for what, table in tables().items():
        print(f"{table}\n", end="")
        if arguments.write:
            text = places.PAGE.read_text(encoding="utf-8")
            places.PAGE.write_text(marked(text, what, table), encoding="utf-8", newline="\n")
    return 0


def tables() -> dict[str, str]:
    """The tables of the page, by the name of their markers."""
    readings, infos = read(places.READINGS), results.infos(registry.core())
    excused = promises.provisional(places.PROVISIONAL)
    return {
        "unseen": f"{figures.headline(readings)}\n{figures.unseen(readings)}",
        "readings": figures.by_rule(readings, infos, excused),
        "provisional": figures.undecided(readings, infos, excused),
    }


if __name__ == "__main__":
    raise SystemExit(main())
