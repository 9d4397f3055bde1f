"""What the tables share: rows sorted into the conditions of a table, paired question by question."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchsuite.errors import BenchError
from benchsuite.stats.paired import Effect, effect
from benchsuite_reports.certified import certify_pairs
from benchsuite_reports.table import EMBEDDED_READER, Condition, CorpusFacts, Row, RunFacts, percent, signed

BASE = {"state": "none", "method": "none"}
NONE = "n/a"
INDEXED = ("image", "both")
"""Retrievals that read an image index; the others give the same at every value of the ``index`` axis."""
_OWN_AXES = {
    f"arm.{axis}" for axis in ("retrieval", "delivery", "length", "index", "k", "model", "judge", "repeat", *BASE)
}

Facts = tuple[tuple[str, str], ...]


WITHHELD = Condition("Images withheld", "text", "noimg")
TEXT_CHANNEL = Condition("Text-channel retrieval", "text", "pixels")
BOTH_WHOLE = Condition("Text and image channels", "both", "pixels", "whole")
UNSTAMPED = Condition("Without tag or date", "both", "pixels", "region")
DELIVERMEM = Condition("DeliverMem", "both", "deployed", "region")
DIRECT = Condition("Direct inference", "full", "direct")
NO_CONTEXT = Condition("No context", "none", "pixels")


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one length, model, judge and set of further axes (``others``), by condition and question."""

    length: str
    model: str
    judge: str
    others: str
    rows: Mapping[str, Mapping[str, Row]]

    @property
    def who(self) -> str:
        judge = f", judge {self.judge}" if self.judge != "none" else ""
        return f"model {self.model}{judge}{self.others}"

    @property
    def heading(self) -> str:
        return f"length {self.length}, {self.who}"

    @property
    def key(self) -> tuple[str, str, str]:
        """All but the length."""
        return self.model, self.judge, self.others

    def all_rows(self) -> list[Row]:
        return [row for questions in self.rows.values() for row in questions.values()]


def group_rows(rows: Iterable[Row], conditions: Sequence[Condition]) -> list[Group]:
    """The rows of these conditions, shortest length first; others are dropped."""
    found: dict[tuple[str, str, str, str], dict[str, dict[str, Row]]] = {}
    for row in rows:
        if row["suite"] != "memlens" or any(row.get(f"arm.{axis}", value) != value for axis, value in BASE.items()):
            continue
        condition = next((each for each in conditions if each.has(row)), None)
        if condition is None:
            continue
        others = sorted(axis for axis in row if axis.startswith("arm.") and axis not in _OWN_AXES)
        key = (
            str(row.get("arm.length")),
            str(row.get("arm.model")),
            str(row.get("arm.judge", "none")),
            "".join(f", {axis.removeprefix('arm.')} {row[axis]}" for axis in others),
        )
        questions = found.setdefault(key, {}).setdefault(condition.name, {})
        question = str(row["question"])
        if question not in questions or str(row["cell"]) < str(questions[question]["cell"]):
            questions[question] = row  # one of several cells that differ in an index that nothing read
    in_order = sorted(found, key=lambda key: (length_order(key[0]), key))
    names = [condition.name for condition in conditions]
    return [Group(*key, dict(sorted(found[key].items(), key=lambda each: names.index(each[0])))) for key in in_order]


def by_key(groups: Iterable[Group]) -> dict[tuple[str, str, str], dict[str, Group]]:
    """Groups by all but their length, then by length; the order of lengths is kept."""
    found: dict[tuple[str, str, str], dict[str, Group]] = {}
    for group in groups:
        found.setdefault(group.key, {})[group.length] = group
    return dict(sorted(found.items()))


def lengths_of(groups: Iterable[Group]) -> tuple[str, ...]:
    """Each length once, shortest first."""
    return tuple(sorted({group.length for group in groups}, key=lambda length: (length_order(length), length)))


def length_order(length: str) -> int:
    """So that 32k stands before 128k."""
    digits = re.match(r"\d+", length)
    return int(digits[0]) if digits else 0


def answered(row: Row) -> bool:
    return row["status"] in ("scored", "unparsed")


def score_of(row: Row) -> float:
    """An unparsed answer has no score and is not correct."""
    score = row["score"]
    return float(score) if isinstance(score, int | float) else 0.0


def labels_of(row: Row) -> list[str]:
    labels = row.get("labels", ())
    return [str(label) for label in labels] if isinstance(labels, list | tuple) else []


def only(table: str, what: str, rows: Iterable[Row], field: str) -> str:
    """The one value that the rows have. Raises BenchError when they have several."""
    values = sorted({str(row[field]) for row in rows})
    if len(values) > 1:
        raise BenchError(f"{table}: rows of different {what} cannot stand in one table: {', '.join(values)}")
    return values[0] if values else NONE


@dataclass(frozen=True, slots=True)
class Paired:
    """The questions of a group that stand in a table: ``kept`` were answered in every condition that was run.

    ``left_out`` is the rest of what was ``asked``, with the reason.
    """

    asked: tuple[str, ...]
    kept: tuple[str, ...]
    left_out: Mapping[str, str]
    rows: Mapping[str, Mapping[str, Row]]

    @property
    def n(self) -> int:
        return len(self.kept)

    def question(self, question: str) -> Row:
        return next(questions[question] for questions in self.rows.values() if question in questions)

    def where(self, wanted: Callable[[Row], bool]) -> list[str]:
        """The kept questions whose rows are wanted; type, labels and answerability are alike in every condition."""
        return [question for question in self.kept if wanted(self.question(question))]

    def part(self, wanted: Callable[[Row], bool]) -> Paired:
        """The same over the wanted questions alone."""
        asked = tuple(question for question in self.asked if wanted(self.question(question)))
        kept = tuple(question for question in asked if question not in self.left_out)
        left_out = {question: self.left_out[question] for question in asked if question in self.left_out}
        return Paired(asked, kept, left_out, self.rows)

    def scores(self, condition: str, among: Collection[str] | None = None) -> dict[str, float] | None:
        """Of the kept questions, or those ``among`` them; None for a condition that was not run."""
        if condition not in self.rows:
            return None
        kept = self.kept if among is None else [question for question in self.kept if question in among]
        return {question: score_of(self.rows[condition][question]) for question in kept}

    def accuracy(self, condition: str, among: Collection[str] | None = None) -> float | None:
        """A fraction; None when the condition was not run or there is no question."""
        scores = self.scores(condition, among)
        return sum(scores.values()) / len(scores) if scores else None

    def constant_refusal(self, among: Collection[str]) -> float | None:
        """What refusing every question would score, by rule: the share of unanswerable ones; None without any."""
        right = sum(not self.question(question)["answerable"] for question in among)
        return right / len(among) if among else None

    def difference(self, a: str, b: str, among: Collection[str] | None = None) -> Effect | None:
        """``b`` minus ``a``; None when one was not run or no question is kept."""
        first, second = self.scores(a, among), self.scores(b, among)
        if not first or second is None:
            return None
        return effect([second[question] - first[question] for question in first])

    def bounds(self, signs: Mapping[str, int]) -> tuple[float, float] | None:
        """The least and most that a signed sum of accuracies can be, had every question that was asked been scored.

        An error, a row that is not there and an unparsed answer may be anything from 0 to 1 (fractions).
        """
        if not self.asked or any(condition not in self.rows for condition in signs):
            return None
        low = high = 0.0
        for condition, sign in signs.items():
            for question in self.asked:
                row = self.rows[condition].get(question)
                known = row is not None and row["status"] == "scored"
                least, most = (score_of(row), score_of(row)) if row is not None and known else (0.0, 1.0)
                low += sign * (least if sign > 0 else most)
                high += sign * (most if sign > 0 else least)
        return low / len(self.asked), high / len(self.asked)

    def uncertain(self) -> bool:
        """Whether a question that was asked has no score in some condition."""
        return any(
            question not in questions or questions[question]["status"] != "scored"
            for questions in self.rows.values()
            for question in self.asked
        )


def pair(group: Group, wanted: Callable[[Row], bool] = lambda row: True) -> Paired:
    """Pair the wanted rows of a group's conditions."""
    rows = {name: {key: row for key, row in each.items() if wanted(row)} for name, each in group.rows.items()}
    asked = sorted({question for questions in rows.values() for question in questions})
    left_out = {question: why for question in asked if (why := _why_left_out(question, rows))}
    return Paired(tuple(asked), tuple(q for q in asked if q not in left_out), left_out, rows)


def _why_left_out(question: str, rows: Mapping[str, Mapping[str, Row]]) -> str:
    reasons = []
    for condition, questions in rows.items():
        if question not in questions:
            reasons.append(f"no row in {condition}")
        elif not answered(questions[question]):
            reasons.append(f"{questions[question]['error.kind']} error in {condition}")
    return "; ".join(reasons)


def table_facts(table: str, rows: Sequence[Row], facts: RunFacts) -> tuple[Facts, CorpusFacts]:
    """What every table says of its rows as a whole, and their corpus.

    Raises BenchError when they mix corpora, protocols or renderers; direct inference has a form of its own.
    """
    digest = only(table, "corpora", rows, "corpus")
    corpus = facts.corpora.get(digest, CorpusFacts("unknown corpus", bundled=False))
    direct = [row for row in rows if row.get("arm.delivery") == DIRECT.delivery]
    items = [row for row in rows if row.get("arm.delivery") != DIRECT.delivery]
    renderers = dict.fromkeys(only(table, "renderers", each, "renderer") for each in (items, direct) if each)
    channels = ("text", "image") if any(row.get("arm.retrieval") in INDEXED for row in rows) else ("text",)
    encoders = [f"{channel} {facts.encoders[channel].shown}" for channel in channels if channel in facts.encoders]
    return (
        ("corpus", f"{corpus.name}, digest {digest[:12]}{', bundled' if corpus.bundled else ''}"),
        ("protocol", only(table, "protocols", rows, "protocol")),
        ("renderer", ", ".join(renderers)),
        *((("encoders", ", ".join(encoders)),) if encoders else ()),
        *(() if facts.certificates else (("contrasts", "not certified"),)),
        *((("run", facts.run),) if facts.run else ()),
    ), corpus


def group_facts(
    table: str,
    group: Group,
    conditions: Sequence[Condition],
    paired: Paired,
    facts: RunFacts,
    contrasts: Mapping[str, Mapping[str, int]] | None = None,
) -> Facts:
    """What every table says of a group: arms, model, scorer, errors, missing images, unparsed answers, bounds.

    ``contrasts`` are the differences that the table shows, as signs of conditions, for the worst case bounds.
    Raises BenchError when models as served or scorers are mixed.
    """
    present = [condition.name for condition in conditions if condition.name in group.rows]
    missing = [condition.name for condition in conditions if condition.name not in group.rows]
    rows = group.all_rows()
    replied = [row for row in rows if answered(row)]
    served = only(table, "models as served", [row for row in replied if row["model_served"]], "model_served")
    label = f" ({EMBEDDED_READER})" if group.model in facts.embedded_models else ""
    splits = sorted({str(row["split"]) for row in rows if row["split"]})
    judged = _judge_agreement(rows) if group.judge != "none" else ""

    def count(of: Callable[[Row], int], questions: Collection[str] | None = None) -> str:
        counts = {
            name: sum(of(row) for key, row in group.rows[name].items() if questions is None or key in questions)
            for name in present
        }
        return ", ".join(f"{name} {counts[name]}" for name in present if counts[name]) or "0"

    return (
        *((("missing arms", ", ".join(missing)),) if missing else ()),
        ("model as served", served + label),
        ("scorer", scorers(table, group.judge, replied)),
        *((("judge and SubEM", judged),) if judged else ()),
        *((("split", ", ".join(splits)),) if splits else ()),
        ("errors", count(lambda row: not answered(row))),
        ("missing images", count(_missing_images)),
        ("unparsed, counted as not correct", count(lambda row: row["status"] == "unparsed", set(paired.kept))),
        *worst_case(paired, {name: {name: 1} for name in present}, contrasts or {}),
    )


def certified(paired: Paired, contrasts: Mapping[str, Mapping[str, int]], facts: RunFacts) -> Facts:
    """The certificate of each contrast of two conditions, over the kept questions; nothing without certificates."""
    lines: list[tuple[str, str]] = []
    for label, signs in contrasts.items():
        if facts.certificates is None or sorted(signs.values()) != [-1, 1] or any(c not in paired.rows for c in signs):
            continue
        b, a = sorted(signs, key=lambda condition: -signs[condition])
        found = certify_pairs([(paired.rows[a][q], paired.rows[b][q]) for q in paired.kept], facts)
        if found is not None:
            lines += [(f"certificate, {label}", str(found)), *((f"not matched, {label}", q) for q in found.faults)]
    return tuple(lines)


def _missing_images(row: Row) -> int:
    count = row["n_missing"]
    return count if isinstance(count, int) else 0


def worst_case(
    paired: Paired, accuracies: Mapping[str, Mapping[str, int]], contrasts: Mapping[str, Mapping[str, int]]
) -> Facts:
    """The bounds line, where a question that was asked has no score; a contrast whose sign they leave open says so."""
    if not paired.uncertain():
        return ()
    parts = []
    for shown, sums in ((percent, accuracies), (signed, contrasts)):
        for name, signs in sums.items():
            found = paired.bounds(signs)
            if found is None:
                continue
            low, high = found
            if shown(low) == shown(high):
                continue  # all of its answers have a score
            is_open = shown is signed and low < 0 < high
            parts.append(f"{name} {shown(low)} to {shown(high)}{' (sign open)' if is_open else ''}")
    return (("worst case bounds, errors and unparsed all wrong to all right", "; ".join(parts)),) if parts else ()


def scorers(table: str, judge: str, replied: Iterable[Row]) -> str:
    """The scorer of the answers, and the judge's where one judged. Raises BenchError when arms differ in it."""
    scored = [row for row in replied if row["status"] == "scored"]
    judged = {str(row["scorer"]) for row in scored if row["metric"] == "judge"}
    rules = {str(row["scorer"]) for row in scored if row["metric"] != "judge"}
    metrics = {row["metric"] for row in scored if row["metric"] != "judge" and row["answerable"]}
    names = sorted(judged | rules)
    if len(rules) > 1 or len(metrics) > 1 or len(judged) > (judge != "none"):
        raise BenchError(f"{table}: rows of different scorers cannot stand in one table: {', '.join(names)}")
    return ", ".join(names) or NONE


def _judge_agreement(rows: Sequence[Row]) -> str:
    from benchsuite.scoring.agreement import agreement, consistency  # not needed where no judge ran

    found, votes = agreement(rows), consistency(rows)
    if not found.n:
        return ""
    unanimous = f"; unanimous votes on {votes.unanimous} of {votes.n}" if votes.n else ""
    return (
        f"agree on {found.both_right + found.both_wrong} of {found.n} answers; right by the judge alone "
        f"{found.judge_only}, by SubEM alone {found.subem_only}{unanimous}"
    )


def merged(by_length: Mapping[str, Facts]) -> Facts:
    """The facts of several lengths as one list: a text that all lengths share stands once, others by length."""
    labels = dict.fromkeys(label for facts in by_length.values() for label, _ in facts)
    lines = []
    for label in labels:
        texts = {length: dict(facts)[label] for length, facts in by_length.items() if label in dict(facts)}
        same = len(set(texts.values())) == 1 and len(texts) == len(by_length)
        text = next(iter(texts.values()))
        lines.append((label, text if same else "; ".join(f"{length}: {each}" for length, each in texts.items())))
    return tuple(lines)


def left_out_by_length(paired: Mapping[str, Paired]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"{question} at {length}", reason)
        for length, each in paired.items()
        for question, reason in each.left_out.items()
    )


def cell(fraction: float | None) -> str:
    """An accuracy in percent."""
    return NONE if fraction is None else percent(fraction)
