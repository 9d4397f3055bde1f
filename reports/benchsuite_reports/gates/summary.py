"""A gate report for people and scripts: terminal lines, a Markdown summary for CI, JSON, and a table."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchsuite.files import write_atomic
from benchsuite.stats.agreement import Flips
from benchsuite.stats.intervals import Interval
from benchsuite_reports.gates import FILE, SUMMARY
from benchsuite_reports.gates.evaluate import FAIL, NO_BASELINE, NOT_JUDGED, PASS, TO_CONFIRM, GateReport, Judgement
from benchsuite_reports.gates.grammar import AMOUNTS
from benchsuite_reports.gates.measure import Measured, Moved, Part
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, p_value, wins_losses

LISTED = 10
ORDER = (FAIL, TO_CONFIRM, NOT_JUDGED, NO_BASELINE, PASS)
COLUMNS = ("gate", "baseline", "verdict", "limit", "n", "a", "b", "difference", "lost/won", "p", "Holm p")
NOTE = (
    "b (this run) minus a (the baseline): the mean over questions of the mean over arms. p: signs of whole clusters "
    "flip, two-sided; Holm over all gates and baselines. Slices are not corrected."
)
_UNITS = {"latency": "s", "prompt_tokens": "tokens", "completion_tokens": "tokens"}
_PART_COLUMNS = ("slice", "n", "a", "b", "difference", "lost/won", "p")


def write_report(run: Path, report: GateReport, rows: Sequence[Row]) -> None:
    """``gates.json`` and the summary for CI into the run's folder; ``rows`` are what was judged."""
    words = Counter(str(row["word"]) for row in rows)
    counts = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    write_atomic(run / FILE, as_json(report))
    write_atomic(run / SUMMARY, f"{as_markdown(report)}\nRun `{run.name}`: {len(rows)} cells: {counts}.\n")


def as_lines(report: GateReport, listed: int = LISTED) -> list[str]:
    """Lines for the terminal, the verdict first; at most ``listed`` slices and questions of each kind."""
    lines = [_plain(headline(report))]
    for each in _in_order(report):
        if each.verdict != NO_BASELINE:
            lines.append(_plain(f"{each.verdict.upper()} {each.name} against {each.baseline.shown}: {sentence(each)}"))
            lines += [f"  {_plain(note)}" for note in notes(each, listed)]
    return lines + [_plain(f"{NO_BASELINE.upper()} {text}") for text in _no_baseline(report)]


def as_markdown(report: GateReport, listed: int = LISTED) -> str:
    """The summary for a CI page: verdicts first, slices and questions folded; everything foreign is escaped."""
    lines = [f"## {_md(headline(report))}", ""]
    if report.judgements:
        lines += [_md_row(COLUMNS), _md_row([":--"] * 4 + ["--:"] * (len(COLUMNS) - 4), raw=True)]
        lines += [_md_row(_cells(each)) for each in _in_order(report)]
        lines += ["", _md(NOTE)]
    for each in _in_order(report):
        if each.verdict == NO_BASELINE:
            continue
        found = f"{_md(_capital(sentence(each)))}."
        lines += ["", f"**{_md(each.verdict)}: {_md(each.name)} against {_md(each.baseline.shown)}.** {found}", ""]
        lines += [f"- {_md(note)}" for note in notes(each, listed, parts=False)]
        if each.measured is not None:
            lines += _folded_parts(each, each.measured)
            lines += _folded_questions(each, each.measured, listed)
    lines += [line for text in _no_baseline(report) for line in ("", f"**{NO_BASELINE}:** {_md(text)}.")]
    return "\n".join(lines) + "\n"


def as_json(report: GateReport) -> str:
    """Everything, unrounded, every question that moved and every cell left out by name."""
    found = {
        "failed": report.failed,
        "verdicts": dict(Counter(each.verdict for each in report.judgements)),
        "judgements": [_json(each) for each in report.judgements],
        "note": NOTE,
    }
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def gates_table(report: GateReport, facts: RunFacts) -> Table:
    """The report as a table among the run's others; without blocks when no gate was judged."""
    shown = _in_order(report)
    numbers: dict[str, Number] = {}
    for each in shown:
        label = f"{each.gate.text} on {each.suite} against {each.baseline.shown}"
        numbers |= {f"{label}: {name}": number for name, number in _numbers(each)}
    block = Block(
        heading=headline(report),
        facts=(),
        rows=tuple(tuple(map(_plain, _cells(each))) for each in shown),
        left_out=None,
        notes=tuple(
            _plain(f"{each.name} against {each.baseline.shown}: {sentence(each)}.")
            for each in shown
            if each.verdict != PASS
        ),
        values=numbers,
    )
    bundled = any(each.corpus in facts.corpora and facts.corpora[each.corpus].bundled for each in shown)
    return Table(
        id="gates",
        title="Gates",
        columns=COLUMNS,
        blocks=(block,) if shown else (),
        notes=(NOTE,),
        pipeline_check=bundled,
    )


def headline(report: GateReport) -> str:
    """``gates: 1 fail, 2 pass``."""
    counts = Counter(each.verdict for each in report.judgements)
    return "gates: " + (", ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER if counts[verdict]) or "none")


def sentence(each: Judgement) -> str:
    """What was found, in one line without a full stop."""
    found = each.measured
    if found is None:
        return each.reason
    p = f"p {p_value(found.permutation.p)}"
    if each.adjusted is not None and each.family > 1:
        p += f", {p_value(each.adjusted)} after Holm over {each.family}"
    lost, won = _lost_won(each, found)
    parts = [
        f"{_change(each, found)} ({_value(each, found.a)} -> {_value(each, found.b)}), fails at {_limit(each)} with "
        f"p < {each.gate.p:g}",
        p,
        f"{_counted(found.questions, 'question')} under {_counted(len(found.arms), 'arm')}, "
        f"lost/won {wins_losses(lost, won)}",
    ]
    if each.reason:
        parts.insert(0, each.reason)
    if each.verdict == PASS:
        parts.append(_sensitivity(each, found))
    return "; ".join(parts)


def notes(each: Judgement, listed: int = LISTED, parts: bool = True) -> Iterator[str]:
    """What must be said beside the verdict; ``parts``: slices and questions too."""
    found = each.measured
    if found is None:
        return
    if found.interval is not None:
        low, high = (_signed(each, limit) for limit in (found.interval.low, found.interval.high))
        yield f"95% by cluster: {low} to {high}; exact sign test by question: p {p_value(found.sign_p)}"
    if found.bounds is not None and found.bounds.low != found.bounds.high:
        low, high = (_signed(each, bound) for bound in (found.bounds.low, found.bounds.high))
        turned = "; what has no score could turn the sign" if found.bounds.sign_can_flip else ""
        yield f"worst case bounds, all that has no score wrong to all right: {low} to {high}{turned}"
    if found.left_out:
        yield (
            f"without a value: {100 * found.missing:.2g}% of {found.cells} cells: "
            f"{_some([f'{cell} ({why})' for cell, why in found.left_out.items()], listed)}"
        )
    for side, cells in (("the baseline", found.only_a), ("this run", found.only_b)):
        if cells:
            yield f"in {side} alone, not compared: {_counted(len(cells), 'cell')}: {_some(cells, listed)}"
    least = found.permutation.floor * each.family
    if found.permutation.exact and least < each.gate.p <= 2 * least:
        yield f"{_counted(found.clusters, 'cluster')}: no p below {each.gate.p:g} unless all of them move one way"
    yield from _noise(found)
    if each.allowed:
        yield f"compared all the same: {'; '.join(each.allowed)}"
    for axis, (a, b) in found.renamed.items():
        yield f"{axis}: {a} -> {b}"
    if found.served[0] != found.served[1]:
        yield f"model as served: {_names(found.served[0])} -> {_names(found.served[1])}"
    if parts:
        if shown := worst_parts(each, found):
            yield f"slices that lost: {_some([_part_text(each, part) for part in shown], listed)}"
        for what, moved in _moved(each, found):
            if moved:
                yield f"{what}: {_some([_moved_text(each, one) for one in moved], listed)}"
    if each.second is not None:
        yield f"second asking: {sentence(each.second)}"


def worst_parts(each: Judgement, found: Measured) -> list[Part]:
    """The slices that moved in the direction of the loss, the most first."""
    lost = [part for part in found.parts if each.gate.sign * part.difference > 0]
    return sorted(lost, key=lambda part: (-each.gate.sign * part.difference, part.kind, part.name))


def _noise(found: Measured) -> Iterator[str]:
    if found.answers is not None:
        floor = f"; between two repeats of one run {_flips(found.repeats)}" if found.repeats is not None else ""
        yield f"answers that changed, right or wrong: {_flips(found.answers)}{floor}"
    if found.one_reply:
        yield (
            f"{_counted(found.one_reply, 'pair')} of {found.cells} had one request and a reply from the cache: "
            "one answer looked at twice"
        )


def _sensitivity(each: Judgement, found: Measured) -> str:
    """What a pass could have seen."""
    if each.detectable is not None:
        return f"could not have seen less than {_unsigned(each, each.detectable)}"
    moved = found.clusters - found.permutation.ties
    if not moved:
        return "nothing moved"
    return f"insensitive: {moved} of {_counted(found.clusters, 'cluster')} moved, too few for p < {each.gate.p:g}"


def _no_baseline(report: GateReport) -> list[str]:
    """Each baseline that is not there, once, with the gates that wait for it."""
    names: dict[str, dict[str, None]] = {}
    for each in report.judgements:
        if each.verdict == NO_BASELINE:
            names.setdefault(f"{each.baseline.shown}: {each.reason}", {})[each.name] = None
    return [f"{reason}; not judged and not failed: {', '.join(gates)}" for reason, gates in names.items()]


def _in_order(report: GateReport) -> list[Judgement]:
    return sorted(report.judgements, key=lambda each: ORDER.index(each.verdict))


def _cells(each: Judgement) -> list[str]:
    found = each.measured
    start = [each.name, each.baseline.shown, each.verdict, f"{_limit(each)}, p < {each.gate.p:g}"]
    if found is None:
        return [*start, *["n/a"] * (len(COLUMNS) - len(start))]
    return [
        *start,
        str(found.questions),
        _value(each, found.a),
        _value(each, found.b),
        _change(each, found),
        wins_losses(*_lost_won(each, found)),
        p_value(found.permutation.p),
        p_value(each.adjusted) if each.adjusted is not None else "n/a",
    ]


def _lost_won(each: Judgement, found: Measured | Part) -> tuple[int, int]:
    return (found.falls, found.rises) if each.gate.sign < 0 else (found.rises, found.falls)


def _moved(each: Judgement, found: Measured) -> Iterator[tuple[str, list[Moved]]]:
    for what, sign in (("questions lost", each.gate.sign), ("questions won", -each.gate.sign)):
        yield what, [one for one in found.moved if sign * one.difference > 0]


def _change(each: Judgement, found: Measured) -> str:
    """In the unit of the limit: points, or percent of the baseline's mean where there is one."""
    if not each.gate.relative:
        return _signed(each, found.difference)
    return f"{100 * each.change + 0.0:+.2f}%" if each.change is not None else _signed(each, found.difference)


def _limit(each: Judgement) -> str:
    return f"{'-' if each.gate.sign < 0 else '+'}{100 * each.gate.limit:g}{each.gate.unit}"


def _in_points(each: Judgement) -> bool:
    return each.gate.metric not in AMOUNTS and (each.measured is None or each.measured.share)


def _value(each: Judgement, value: float) -> str:
    return f"{100 * value:.2f}" if _in_points(each) else f"{value:.4g}"


def _unsigned(each: Judgement, value: float) -> str:
    unit = "pp" if _in_points(each) else _UNITS.get(each.gate.metric, "")
    return f"{f'{100 * value:.2f}' if unit == 'pp' else f'{value:.4g}'} {unit}".rstrip()


def _signed(each: Judgement, value: float) -> str:
    text = _unsigned(each, abs(value))
    return f"{'-' if value < 0 and float(text.split()[0]) else '+'}{text}"


def _part_text(each: Judgement, part: Part) -> str:
    lost, won = _lost_won(each, part)
    return (
        f"{part.kind} {part.name} {_signed(each, part.difference)} (n {part.n}, lost/won {wins_losses(lost, won)}, "
        f"p {p_value(part.p)})"
    )


def _moved_text(each: Judgement, one: Moved) -> str:
    return f"{one.question} ({one.type}, {_signed(each, one.difference)})"


def _flips(flips: Flips | None) -> str:
    return "n/a" if flips is None else f"{flips.flipped} of {flips.n} ({100 * flips.rate:.1f}%)"


def _names(names: Sequence[str]) -> str:
    return ", ".join(name or "not known" for name in names) or "none"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _some(texts: Sequence[str], listed: int) -> str:
    return "; ".join(texts[:listed]) + (f"; and {len(texts) - listed} more" if len(texts) > listed else "")


def _folded_parts(each: Judgement, found: Measured) -> list[str]:
    if not found.parts:
        return []
    worst = worst_parts(each, found)
    rest = [part for part in found.parts if part not in worst]
    rows = [
        _md_row(
            [
                f"{part.kind} {part.name}",
                str(part.n),
                _value(each, part.a),
                _value(each, part.b),
                _signed(each, part.difference),
                wins_losses(*_lost_won(each, part)),
                p_value(part.p),
            ]
        )
        for part in (*worst, *rest)
    ]
    head = [_md_row(_PART_COLUMNS), _md_row([":--", *["--:"] * (len(_PART_COLUMNS) - 1)], raw=True)]
    return _folded(f"Slices: {len(worst)} of {len(found.parts)} lost", [*head, *rows])


def _folded_questions(each: Judgement, found: Measured, listed: int) -> list[str]:
    lines: list[str] = []
    for what, moved in _moved(each, found):
        if moved:
            shown = [f"- {_md(_moved_text(each, one))}: {_md(_some(one.arms, LISTED))}" for one in moved[:listed]]
            more = [f"- and {len(moved) - listed} more, in the JSON form"] if len(moved) > listed else []
            lines += _folded(f"{_capital(what)}: {len(moved)}", [*shown, *more])
    return lines


def _folded(title: str, lines: Iterable[str]) -> list[str]:
    return ["", f"<details><summary>{html.escape(title)}</summary>", "", *lines, "", "</details>"]


def _plain(text: str) -> str:
    """One line without anything that a terminal or a page would act on."""
    return "".join(char if char.isprintable() else " " for char in text)


def _md(text: str) -> str:
    """Text that Markdown and HTML take as it stands; ``@`` and URLs link nothing."""
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|~-])", r"\\\1", html.escape(_plain(text), quote=False))
    return escaped.replace("@", "&#64;").replace("://", ":&#47;&#47;").replace("www.", "www&#46;")


def _md_row(cells: Iterable[str], raw: bool = False) -> str:
    return f"| {' | '.join(cells if raw else map(_md, cells))} |"


def _numbers(each: Judgement) -> Iterator[tuple[str, Number]]:
    found = each.measured
    yield "verdict", each.verdict
    yield "limit", each.gate.sign * each.gate.limit
    if found is None:
        return
    yield from (
        ("questions", found.questions),
        ("cells", found.cells),
        ("missing", found.missing),
        ("a", found.a),
        ("b", found.b),
        ("difference", found.difference),
        ("change", each.change),
        ("rises", found.rises),
        ("falls", found.falls),
        ("sign_p", found.sign_p),
        ("p", found.permutation.p),
        ("floor", found.permutation.floor_with_ties),
        ("holm_p", each.adjusted),
        ("clusters", found.clusters),
        ("detectable", each.detectable),
    )


def _json(each: Judgement) -> dict[str, object]:
    found = each.measured
    result: dict[str, object] = {
        "gate": each.gate.text,
        "suite": each.suite,
        "metric": each.gate.metric,
        "baseline": each.baseline.name,
        "run": each.baseline.path.name if each.baseline.path is not None else None,
        "verdict": each.verdict,
        "reason": each.reason,
        "family": each.family,
        "allowed": list(each.allowed),
        **dict(_numbers(each)),
    }
    if found is not None:
        result |= {
            "arms": list(found.arms),
            "interval": _interval(found.interval),
            "bounds": None
            if found.bounds is None
            else {"low": found.bounds.low, "high": found.bounds.high, "sign_can_flip": found.bounds.sign_can_flip},
            "answers_changed": _flips_json(found.answers),
            "repeats_changed": _flips_json(found.repeats),
            "one_reply": found.one_reply,
            "left_out": dict(found.left_out),
            "only_in_baseline": list(found.only_a),
            "only_in_run": list(found.only_b),
            "renamed": {axis: list(values) for axis, values in found.renamed.items()},
            "served": [list(names) for names in found.served],
            "slices": [
                {
                    "kind": part.kind,
                    "name": part.name,
                    "n": part.n,
                    "a": part.a,
                    "b": part.b,
                    "difference": part.difference,
                    "rises": part.rises,
                    "falls": part.falls,
                    "p": part.p,
                }
                for part in found.parts
            ],
            "moved": [
                {"question": one.question, "type": one.type, "difference": one.difference, "arms": list(one.arms)}
                for one in found.moved
            ],
        }
    result["second"] = _json(each.second) if each.second is not None else None
    return result


def _interval(found: Interval | None) -> Mapping[str, object] | None:
    if found is None:
        return None
    return {"low": found.low, "high": found.high, "level": found.level, "method": found.method}


def _flips_json(found: Flips | None) -> Mapping[str, object] | None:
    return None if found is None else {"n": found.n, "flipped": found.flipped, "rate": found.rate}
