"""``benchsuite inspect QUESTION``: find what reached the model under each arm, and write it as one page.

A request is rebuilt from the record of what was sent; see :mod:`benchsuite_reports.contents`.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchsuite.corpus.model import Question
from benchsuite.errors import ConfigError
from benchsuite.files import write_atomic
from benchsuite.models.cache import FILE_NAME
from benchsuite.plan import safe_id
from benchsuite.runs import Run, find_run, list_runs, load_run
from benchsuite_reports.certified import open_certificates, recorded_presets
from benchsuite_reports.contents import Call, Contents, caches_of, read_calls
from benchsuite_reports.page import render_page
from benchsuite_reports.shown import ShownArm, ShownQuestion
from benchsuite_reports.table import EMBEDDED_READER, Row, RunFacts
from benchsuite_reports.talk import TRACE, is_at_state, state_facts

NEAREST = 5
LISTED = 20


def inspect_command(argv: list[str]) -> int:
    """``benchsuite inspect``: write the page of a question and print where it is."""
    parser = argparse.ArgumentParser(
        prog="benchsuite inspect",
        description="Write one HTML page of what reached the model under each arm of a question.",
    )
    parser.add_argument("question", metavar="QUESTION", help="question id, the beginning of one, or a cell id")
    parser.add_argument(
        "--arms",
        nargs="+",
        action="extend",
        default=[],
        metavar="ARM",
        help="arms to show, in this order: 'retrieval=oracle,delivery=pixels', or 'oracle-pixels' (default: all)",
    )
    parser.add_argument("--against", default="", metavar="ARM", help="the arm to compare with (default: the first)")
    parser.add_argument("--run", default="", help="number, name or folder (default: the newest finished one that fits)")
    parser.add_argument(
        "--bench-dir",
        "--dir",
        type=Path,
        default=Path(".bench"),
        metavar="DIR",
        help="where runs and caches are kept (default: .bench)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page (default: pages/ in the run's folder)")
    options = parser.parse_args(argv)
    run, rows = find_question(options.bench_dir, options.question, options.run)
    chosen, base = select_arms(rows, options.arms, options.against)
    shown = load_question(options.bench_dir, run, chosen, base)
    page = render_page(shown)
    out = options.out or run.path / "pages" / f"{safe_id(shown.id)}.html"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(out, page)
    except OSError as error:
        raise ConfigError(f"{out}: cannot be written: {error.strerror or error}") from None
    print(f"{out}: {shown.id} under {len(chosen)} {'arm' if len(chosen) == 1 else 'arms'} of run {run.path.name}")
    return 0


def find_question(bench_dir: Path, asked: str, run_name: str = "") -> tuple[Run, list[Row]]:
    """The run that was asked for, or the newest finished one that has the question, with the question's rows.

    ``asked`` is a question id, the beginning of one, or a cell id with or without its suite; the rows stand in the
    order of the plan, a cell that was asked for first. Raises ConfigError where nothing fits, or too much.
    """
    known: dict[str, None] = {}
    for path in _candidates(bench_dir, run_name):
        run = load_run(path)
        rows = _rows_of(run, asked)
        if rows:
            return run, rows
        known.update((str(row["question"]), None) for row in run.rows.values())
    where = f"run {run_name}" if run_name else f"any finished run in {bench_dir}"
    near = difflib.get_close_matches(asked, known, NEAREST, cutoff=0)
    raise ConfigError(
        f"no question {asked!r} in {where}; " + (f"nearest: {', '.join(near)}" if near else "it is empty")
    )


def _candidates(bench_dir: Path, name: str) -> list[Path]:
    """The runs to look in: the one that was asked for, or the finished ones, newest first."""
    if name:
        return [find_run(bench_dir, name)]
    if not bench_dir.is_dir():
        raise ConfigError(f"{bench_dir}: no such folder; --bench-dir says where the runs are")
    finished = [run.path for run in reversed(list_runs(bench_dir)) if run.finished is not None]
    if not finished:
        raise ConfigError(f"{bench_dir}: no finished run; --run names one that is not finished")
    return finished


def _rows_of(run: Run, asked: str) -> list[Row]:
    """The rows of the one question that ``asked`` means in this run. Raises ConfigError when it may be several."""
    rows = list(run.rows.values())
    cells = [row for row in rows if asked in (row["cell"], str(row["cell"]).partition(":")[2])]
    named = cells or [row for row in rows if row["question"] == asked]
    named = named or [row for row in rows if str(row["question"]).startswith(asked)]
    questions = sorted({(str(row["suite"]), str(row["question"])) for row in named})
    if len(questions) > 1:
        some = ", ".join(f"{question} ({suite})" for suite, question in questions[:NEAREST])
        raise ConfigError(f"{asked!r} may be {len(questions)} questions of run {run.path.name}: {some}")
    planned = {cell: place for place, cell in enumerate(cell for ids in run.info["plan"].values() for cell in ids)}
    found = [row for row in rows if (row["suite"], row["question"]) in questions]
    return sorted(found, key=lambda row: (row not in cells, planned.get(str(row["cell"]), len(planned))))


def arm_name(row: Row) -> str:
    """The arm key: a cell's id without suite and question."""
    return str(row["cell"]).removeprefix(f"{row['suite']}:").removesuffix(f"-{safe_id(str(row['question']))}")


def select_arms(rows: Sequence[Row], selections: Sequence[str], against: str = "") -> tuple[list[Row], int]:
    """The arms to show, and the position of the one that the others are compared with.

    A selection is ``axis=value,...``, or words of an arm key in their order (``oracle-pixels``); each must fit an
    arm. ``against`` must fit exactly one; where that is not among the arms to show, it is shown first. Raises
    ConfigError saying which there are.
    """
    chosen: list[Row] = []
    for selection in selections:
        found = [row for row in rows if _fits(row, selection)]
        if not found:
            raise ConfigError(f"no arm {selection!r}; there are: {_names(rows)}")
        chosen += [row for row in found if row not in chosen]
    chosen = chosen or list(rows)
    if not against:
        return chosen, 0
    base = [row for row in chosen if _fits(row, against)] or [row for row in rows if _fits(row, against)]
    if len(base) != 1:
        problem = f"fits {len(base)} arms: {_names(base)}" if base else f"fits no arm; there are: {_names(rows)}"
        raise ConfigError(f"--against {against!r} {problem}")
    if base[0] not in chosen:
        chosen.insert(0, base[0])
    return chosen, chosen.index(base[0])


def _names(rows: Sequence[Row]) -> str:
    names = [arm_name(row) for row in rows]
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def _fits(row: Row, selection: str) -> bool:
    if "=" not in selection:
        left = iter(arm_name(row).split("-"))
        return all(word in left for word in selection.split("-"))
    for pair in selection.split(","):
        axis, _, value = pair.partition("=")
        name = f"arm.{axis.strip()}"
        if name not in row:
            axes = ", ".join(key.removeprefix("arm.") for key in row if key.startswith("arm."))
            raise ConfigError(f"no axis {axis.strip()!r} in {selection!r}; axes: {axes}")
        if str(row[name]) != value.strip():
            return False
    return True


def load_question(bench_dir: Path, run: Run, rows: Sequence[Row], against: int = 0) -> ShownQuestion:
    """The question under these arms, with all that was sent and the certificates of those that are compared.

    What is gone or changed stands in the page as such. Raises ConfigError when no text of any request is stored,
    and DataError for a record of a call that cannot be read.
    """
    calls = read_calls(run.path, {str(row["cell"]) for row in rows})
    caches = caches_of(bench_dir, [run.path])
    contents = Contents(caches)
    try:
        facts = RunFacts.from_info(run.info)
        arms = tuple(show_arm(row, calls.get(str(row["cell"]), {}), contents, facts) for row in rows)
        _require_contents(run, arms, bench_dir / "cache")
        first = rows[0]
        question, problem = contents.question(first)
    finally:
        contents.close()
    arms = _certified(arms, run, rows, against, caches)
    asked = [
        segment.text for arm in arms if arm.request for segment in arm.request.segments if segment.kind == "question"
    ]
    text = question.text if question is not None else next(filter(None, asked), str(first["question"]))
    corpus = facts.corpora.get(str(first["corpus"]))
    about = [
        ("run", f"{run.path.name}, started {run.info['started']}"),
        ("corpus", f"{corpus.name if corpus else first['suite']}, digest {str(first['corpus'])[:12]}"),
        ("wording", f"protocol {first['protocol']}, renderer {first['renderer']}"),
    ]
    if question is not None and question.outdated:
        about.insert(0, ("outdated answer", question.outdated))
    about += evidence_facts(first, question)
    if problem:
        about.append(("corpus index", problem))
    return ShownQuestion(
        id=str(first["question"]),
        text=text,
        gold=str(first["gold"] or "none"),
        type=str(first["type"] or "none"),
        date=(question.date if question is not None else "") or "none",
        arms=arms,
        facts=tuple(about),
        gold_items=frozenset(question.evidence.turn_ids if question is not None else ()),
        against=against,
        pipeline_check=any(
            facts.corpora[digest].bundled for row in rows if (digest := str(row["corpus"])) in facts.corpora
        ),
    )


def evidence_facts(row: Row, question: Question | None) -> list[tuple[str, str]]:
    """Of a question at a conversation state: the object that supports the answer, and the one that is asked about."""
    if question is None or not is_at_state(row):
        return []
    return [("gold source", ", ".join(question.evidence.sources) or "NONE"), ("asks about", str(row["cluster"]))]


def _certified(
    arms: Sequence[ShownArm], run: Run, rows: Sequence[Row], against: int, caches: Sequence[Path]
) -> tuple[ShownArm, ...]:
    """The arms with their certificates against the one that they are compared with."""
    ids = {str(_of_run(row).get("id", "")) for row in rows}
    with open_certificates(dict.fromkeys(ids, run.path), caches, recorded_presets(run.info)) as certificates:
        return tuple(
            arm if place == against else replace(arm, certificate=certificates(rows[against], row))
            for place, (arm, row) in enumerate(zip(arms, rows, strict=True))
        )


def _require_contents(run: Run, arms: Sequence[ShownArm], cache: Path) -> None:
    """Records alone, of digests, are no page."""
    texts = [segment for arm in arms if arm.request for segment in arm.request.segments if segment.picture is None]
    if texts and all(segment.text is None for segment in texts):
        raise ConfigError(
            f"run {run.path.name}: none of the texts that it sent is in {cache / FILE_NAME}: it was made with "
            "--bench-cache off or readonly, or the cache was removed; run it again with the cache on"
        )


def show_arm(row: Row, calls: Mapping[str, Call], contents: Contents, facts: RunFacts) -> ShownArm:
    """A cell as its page shows it; ``calls`` are the records of its calls by request key."""
    keys: Any = row["requests"]
    problem = f"{row['error.kind']} error: {row['error.message']}" if row["status"] == "error" else ""
    lost = [key for key in keys if key not in calls]
    if lost:
        problem = "; ".join(filter(None, [problem, f"calls/ has no record of request {', '.join(lost)}"]))
    requests = [contents.request(calls[key], str(row["corpus"])) for key in keys if key in calls]
    answered = [request for request in requests if request.role == "answer"]
    return ShownArm(
        name=arm_name(row),
        axes={key.removeprefix("arm."): str(value) for key, value in row.items() if key.startswith("arm.")},
        facts=(*_facts(row, facts), *((_key_label(calls.get(key)), key) for key in keys)),
        request=answered[0] if answered else None,
        answer=str(row["answer"] or ""),
        word=str(row["word"]),
        score=_score(row),
        further=tuple(each for each in requests if each.role != "answer"),
        problem=problem or ("" if answered else "nothing was sent"),
        rounds=tuple(answered[1:]),
    )


def _of_run(row: Row) -> Mapping[str, Any]:
    run: Any = row["run"]
    return dict(run)


def _facts(row: Row, facts: RunFacts) -> Iterator[tuple[str, str]]:
    run = _of_run(row)
    for key, value in row.items():
        axis = key.removeprefix("arm.")
        if axis != key and value != "none" and (axis, value) != ("repeat", 0):
            reader = f" ({EMBEDDED_READER})" if axis == "model" and value in facts.embedded_models else ""
            yield axis, f"{value}{reader}"
    yield from state_facts(row)
    yield "served as", str(row["model_served"] or "not known")
    yield "items", f"{row['n_items']}; {row['n_gold_delivered']} of {row['n_gold']} gold messages reached the model"
    yield "images", f"{row['n_images']}; {row['n_missing']} missing"
    tokens = (("usage.prompt", "prompt"), ("usage.completion", "completion"), ("image_tokens", "images by 32x32"))
    yield "tokens", "; ".join(f"{name} {'unknown' if row[key] is None else row[key]}" for key, name in tokens)
    yield (
        "reply",
        "from the cache" if run.get("cached") else f"asked in this run, tries: {run.get('attempts', 'unknown')}",
    )
    yield "scorer", str(row["scorer"])


def _key_label(call: Call | None) -> str:
    return "request" if call is None or call["role"] == "answer" else f"{call['role']} request"


def _score(row: Row) -> str:
    """The metric that counts, then the others; of a cell at a state, what its facts say is not said again."""
    if row["score"] is None:
        return "not scored"
    others = {key.removeprefix("scores."): value for key, value in row.items() if key.startswith("scores.")}
    others.pop(str(row["metric"]), None)
    if is_at_state(row):
        others = {name: value for name, value in others.items() if name not in TRACE}
    return ", ".join(f"{name} {value:g}" for name, value in ({str(row["metric"]): row["score"]} | others).items())
