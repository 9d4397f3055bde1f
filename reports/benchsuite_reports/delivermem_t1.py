"""DeliverMem Table 1: delivery against retrieval, the 2x2 of retrieved set and pixels (section 3, appendix C.1).

Rows are what is retrieved (gold messages; the text channel), columns whether the items keep their pixels.
Delta_D is pixels minus withheld in a row, Delta_R gold minus text channel in a column, the interaction is
Delta_D of the gold row minus Delta_D of the text row, unhalved. Base condition: K = 10, no tag, no date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchsuite.errors import BenchError
from benchsuite.stats.paired import Effect, effect, two_by_two
from benchsuite_reports.table import (
    EMBEDDED_READER,
    Block,
    CorpusFacts,
    Number,
    Row,
    RunFacts,
    Table,
    TableSpec,
    p_value,
    percent,
    signed,
    wins_losses,
)

ID = "delivermem_t1"
TITLE = "DeliverMem Table 1: delivery against retrieval"
RETRIEVALS = {"oracle": "Gold messages (oracle)", "text": "Text channel (text)"}
DELIVERIES = {"pixels": "Pixels delivered", "noimg": "Pixels withheld"}
ARMS = tuple((retrieval, delivery) for retrieval in RETRIEVALS for delivery in DELIVERIES)
COLUMNS = ("Retrieved set", *DELIVERIES.values(), "Delta_D", "W/L", "p")
BASE = {"state": "none", "method": "none", "k": 10, "repeat": 0}
_OWN_AXES = {f"arm.{axis}" for axis in ("retrieval", "delivery", "length", "model", "judge", *BASE)}
_NONE = "n/a"

ArmKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Group:
    """The rows of one length, model, judge and set of suite axes (``others``), by arm and question."""

    length: str
    model: str
    judge: str
    others: str
    arms: Mapping[ArmKey, Mapping[str, Row]]

    @property
    def heading(self) -> str:
        judge = f", judge {self.judge}" if self.judge != "none" else ""
        return f"length {self.length}, model {self.model}{judge}{self.others}"

    def rows(self) -> list[Row]:
        return [row for questions in self.arms.values() for row in questions.values()]


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 1 from outcome rows, one block per length, model and judge; rows of other arms are not its own.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    groups = _groups(rows)
    mine = [row for group in groups for row in group.rows()]
    if not mine:
        return Table(ID, TITLE, COLUMNS, ())
    digest = _only("corpora", mine, "corpus")
    corpus = facts.corpora.get(digest, CorpusFacts("unknown corpus", bundled=False))
    return Table(
        id=ID,
        title=TITLE,
        columns=COLUMNS,
        blocks=tuple(_block(group, facts) for group in groups),
        facts=(
            ("corpus", f"{corpus.name}, digest {digest[:12]}{', bundled' if corpus.bundled else ''}"),
            ("protocol", _only("protocols", mine, "protocol")),
            ("renderer", _only("renderers", mine, "renderer")),
            ("contrasts", "not certified"),
            *((("run", facts.run),) if facts.run else ()),
        ),
        notes=(
            "n: answerable questions answered in all arms shown. Accuracy in percent, differences in points. W/L: "
            "questions won and lost; p: exact two-sided sign test on them. The interaction is the unhalved "
            "difference of differences; its estimate sums magnitudes, its W/L counts signs.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build)


def _groups(rows: Iterable[Row]) -> list[_Group]:
    found: dict[tuple[str, str, str, str], dict[ArmKey, dict[str, Row]]] = {}
    for row in rows:
        arm = (str(row.get("arm.retrieval")), str(row.get("arm.delivery")))
        base = all(row.get(f"arm.{axis}", value) == value for axis, value in BASE.items())
        if row["suite"] == "memlens" and base and arm in ARMS:
            others = sorted(axis for axis in row if axis.startswith("arm.") and axis not in _OWN_AXES)
            key = (
                str(row.get("arm.length")),
                str(row.get("arm.model")),
                str(row.get("arm.judge", "none")),
                "".join(f", {axis.removeprefix('arm.')} {row[axis]}" for axis in others),
            )
            found.setdefault(key, {}).setdefault(arm, {})[str(row["question"])] = row
    in_order = sorted(found, key=lambda key: (_size(key[0]), key))
    return [_Group(*key, found[key]) for key in in_order]


def _size(length: str) -> int:
    """So that 32k stands before 128k."""
    digits = re.match(r"\d+", length)
    return int(digits[0]) if digits else 0


def _only(what: str, rows: Iterable[Row], field: str) -> str:
    """The one value that the rows have. Raises BenchError when they have several."""
    values = sorted({str(row[field]) for row in rows})
    if len(values) > 1:
        raise BenchError(f"{ID}: rows of different {what} cannot stand in one table: {', '.join(values)}")
    return values[0] if values else _NONE


def _answered(row: Row) -> bool:
    return row["status"] in ("scored", "unparsed")


def _count(row: Row, field: str) -> int:
    value = row[field]
    return value if isinstance(value, int) else 0


def _score(row: Row) -> float:
    """An unparsed answer has no score and is not correct."""
    score = row["score"]
    return float(score) if isinstance(score, int | float) else 0.0


def _block(group: _Group, facts: RunFacts) -> Block:
    present = [arm for arm in ARMS if arm in group.arms]
    missing = [arm for arm in ARMS if arm not in group.arms]
    answered = [row for row in group.rows() if _answered(row)]
    answerable = {arm: {key: row for key, row in group.arms[arm].items() if row["answerable"]} for arm in present}
    asked = sorted({key for questions in answerable.values() for key in questions})
    left_out = {key: why for key in asked if (why := _why_left_out(key, answerable))}
    kept = [key for key in asked if key not in left_out]
    scores = {arm: {key: _score(answerable[arm][key]) for key in kept} for arm in present}
    unparsed = _by_arm(
        present, {arm: sum(answerable[arm][key]["status"] == "unparsed" for key in kept) for arm in present}
    )
    served = _only("models as served", [row for row in answered if row["model_served"]], "model_served")
    label = f" ({EMBEDDED_READER})" if group.model in facts.embedded_models else ""
    grid, values = _grid(scores, len(kept))
    splits = sorted({str(row["split"]) for row in group.rows() if row["split"]})
    return Block(
        heading=group.heading,
        facts=(
            ("n", f"{len(kept)} answerable questions answered in {_arms_word(len(present))}"),
            *((("missing arms", ", ".join("-".join(arm) for arm in missing)),) if missing else ()),
            ("model as served", served + label),
            ("scorer", _scorers(group, answered)),
            *((("split", ", ".join(splits)),) if splits else ()),
            (
                "errors",
                _by_arm(present, {arm: sum(not _answered(row) for row in group.arms[arm].values()) for arm in present}),
            ),
            (
                "missing images",
                _by_arm(
                    present, {arm: sum(_count(row, "n_missing") for row in group.arms[arm].values()) for arm in present}
                ),
            ),
            ("unparsed, counted as not correct", unparsed),
        ),
        rows=grid,
        left_out=tuple(left_out.items()),
        notes=_refusals(present, group),
        values=values,
    )


def _arms_word(count: int) -> str:
    return "all four arms" if count == len(ARMS) else f"the {count} of {len(ARMS)} arms that were run"


def _why_left_out(question: str, answerable: Mapping[ArmKey, Mapping[str, Row]]) -> str:
    reasons = []
    for arm, questions in answerable.items():
        if question not in questions:
            reasons.append(f"no row in {'-'.join(arm)}")
        elif not _answered(questions[question]):
            reasons.append(f"{questions[question]['error.kind']} error in {'-'.join(arm)}")
    return "; ".join(reasons)


def _by_arm(arms: Sequence[ArmKey], counts: Mapping[ArmKey, int]) -> str:
    some = [f"{'-'.join(arm)} {counts[arm]}" for arm in arms if counts[arm]]
    return ", ".join(some) or "0"


def _scorers(group: _Group, answered: Iterable[Row]) -> str:
    """The scorer of the answers, and the judge's where one judged. Raises BenchError when arms differ in it."""
    scored = [row for row in answered if row["status"] == "scored"]
    judged = {str(row["scorer"]) for row in scored if row["metric"] == "judge"}
    rules = {str(row["scorer"]) for row in scored if row["metric"] != "judge"}
    metrics = {row["metric"] for row in scored if row["metric"] != "judge" and row["answerable"]}
    names = sorted(judged | rules)
    if len(rules) > 1 or len(metrics) > 1 or len(judged) > (group.judge != "none"):
        raise BenchError(f"{ID}: rows of different scorers cannot stand in one table: {', '.join(names)}")
    return ", ".join(names) or _NONE


def _refusals(arms: Sequence[ArmKey], group: _Group) -> tuple[str, ...]:
    """The refusal rate on unanswerable questions, where such rows were run; it is not part of Table 1's n."""
    parts = []
    for arm in arms:
        rows = [row for row in group.arms[arm].values() if not row["answerable"] and _answered(row)]
        if rows:
            parts.append(f"{'-'.join(arm)} {sum(row['refused'] is True for row in rows)}/{len(rows)}")
    return (f"Refused among answered unanswerable questions (not in n): {', '.join(parts)}.",) if parts else ()


def _grid(
    scores: Mapping[ArmKey, Mapping[str, float]], n: int
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Number]]:
    """The printed rows, and the numbers behind them by name."""
    values: dict[str, Number] = {"n": n}
    rows = []
    for retrieval, label in RETRIEVALS.items():
        accuracies = []
        for delivery in DELIVERIES:
            arm = scores.get((retrieval, delivery))
            mean = sum(arm.values()) / n if arm is not None and n else None
            values[f"accuracy.{retrieval}.{delivery}"] = mean
            accuracies.append(_NONE if mean is None else percent(mean))
        delta = _difference(scores, (retrieval, "noimg"), (retrieval, "pixels"))
        values.update(_numbers(f"delta_d.{retrieval}", delta))
        rows.append((label, *accuracies, *_estimate_cells(delta)))
    columns = {delivery: _difference(scores, ("text", delivery), ("oracle", delivery)) for delivery in DELIVERIES}
    for delivery, delta in columns.items():
        values.update(_numbers(f"delta_r.{delivery}", delta))
    interaction = None
    if all(arm in scores for arm in ARMS) and n:
        interaction = two_by_two(
            low_low=scores["text", "noimg"],
            low_high=scores["text", "pixels"],
            high_low=scores["oracle", "noimg"],
            high_high=scores["oracle", "pixels"],
        ).interaction
    values.update(_numbers("interaction", interaction))
    estimate, counts, p = _estimate_cells(interaction)
    rows.append(
        ("Delta_R", *(_estimate_cells(delta)[0] for delta in columns.values()), f"interaction {estimate}", counts, p)
    )
    rows.append(
        (
            "Delta_R W/L, p",
            *(", ".join(_estimate_cells(delta)[1:]) if delta else _NONE for delta in columns.values()),
            "",
            "",
            "",
        )
    )
    return tuple(rows), values


def _difference(scores: Mapping[ArmKey, Mapping[str, float]], a: ArmKey, b: ArmKey) -> Effect | None:
    """``b`` minus ``a`` over the kept questions; None when an arm is missing or no question is kept."""
    if a not in scores or b not in scores or not scores[a]:
        return None
    return effect([scores[b][key] - scores[a][key] for key in scores[a]])


def _estimate_cells(found: Effect | None) -> tuple[str, str, str]:
    if found is None:
        return _NONE, _NONE, _NONE
    return signed(found.estimate), wins_losses(found.wins, found.losses), p_value(found.p)


def _numbers(name: str, found: Effect | None) -> dict[str, Number]:
    if found is None:
        return {name: None}
    return {name: found.estimate, f"{name}.wins": found.wins, f"{name}.losses": found.losses, f"{name}.p": found.p}
