"""Two arms from their outcome rows, paired question by question: everything that is said of a contrast, in one place.

A contrast is ``b`` minus ``a``. Nothing is scored that did not happen: a question with an error or without a row on
either side is left out by name, an unparsed answer is not correct, and the worst case bounds say what both could hide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from benchsuite.errors import BenchError
from benchsuite.stats.agreement import Flips, flip_rate
from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.family import can_reach
from benchsuite.stats.intervals import Interval
from benchsuite.stats.missing import Bounds, worst_case
from benchsuite.stats.paired import Effect, effect, sign_test
from benchsuite.stats.permutation import Permutation, cluster_permutation
from benchsuite.stats.power import minimum_detectable_effect

Row = Mapping[str, object]
"""An outcome row as ``outcomes.jsonl`` has it."""

CLUSTERS = ("cluster", "question")
"""What is taken as independent: the rows' clusters, or each question."""
SCORE = "score"
"""The metric that each row was scored by: SubEM, the refusal rule, or the judge's verdict."""
JUDGE = "judge"
MIRAGE = "mirage"
RISE_IS_WORSE = ("hr", "ws", "mi", "yes")
"""Indicators of MIRAGE of which more is worse: an unparsed answer has none, since 0 would be the best one."""
_ASKED_OF = {**dict.fromkeys(("gc", "sc", "vc", "ws", "mi"), True), "hr": False, "hr_free": False}
"""Indicators of MIRAGE that only answerable (True) or only unanswerable (False) questions have."""

_TRUNK = tuple(f"arm.{axis}" for axis in ("length", "state", "summary", "summariser"))
"""What decides which checkpoint of a trunk an arm is asked at."""
_Pair = tuple[str, int]  # question, place among its repeats


@dataclass(frozen=True, slots=True)
class Side:
    """One arm: its mean over the paired questions (a fraction), and what its rows say of themselves.

    ``unparsed`` counts paired answers without a score, ``errors`` the questions (each repeat) that have no answer,
    ``absent`` those that have no row; ``served`` and ``runs`` are the distinct models as served and runs.
    """

    mean: float
    unparsed: int
    errors: int
    absent: int
    served: tuple[str, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """``b`` minus ``a``, in fractions of 1.

    ``metric`` is as it was asked for, with the questions that it is of where these are not all (``gc of answerable
    questions``). ``effect`` has a value per question, the mean over its repeats; of a question's values its sign test
    counts signs alone, so for a ``graded`` score and for several repeats the permutation test is the one on sizes.
    ``interval`` is the bootstrap over questions, ``cluster_interval`` over clusters (None where each question is one);
    ``permutation`` flips the signs of whole clusters, its statistic being the mean over questions.

    ``p`` is the test that counts: the permutation test by clusters; by questions the sign test, or the permutation test
    where the score is graded. ``floor`` is the least that it could have been. ``detectable`` is the least effect that
    the sign test finds at ``alpha`` with a power of .8, at this n and share of discordant questions; None where not
    even the largest one would be, or nothing is discordant. ``bounds`` hold for whatever errors, absent rows and
    unparsed answers could have scored.

    ``answers`` are the pairs whose answers differ letter by letter, right or wrong: between two repeats of one arm the
    noise floor. ``left_out`` gives a reason by question (``q r1`` for one repeat). ``changed`` is the two values of
    every axis that differs; ``checkpoints`` what the arms say of theirs, where they name the same state of a
    conversation and yet were not asked at the same one. ``unaltered`` counts the pairs whose requests are the same,
    ``one_reply`` those among them of which at least one reply came from the cache: two looks at one answer, no noise.
    """

    metric: str
    by: str
    alpha: float
    a: Side
    b: Side
    effect: Effect
    pairs: int
    answers: Flips
    clusters: int
    graded: bool
    interval: Interval | None
    cluster_interval: Interval | None
    permutation: Permutation
    p: float
    floor: float
    detectable: float | None
    bounds: Bounds
    left_out: Mapping[str, str]
    changed: Mapping[str, tuple[str, str]]
    checkpoints: tuple[str, ...]
    unaltered: int
    one_reply: int
    corpus: str
    protocol: str
    scorers: tuple[str, ...]
    renderers: tuple[str, ...]

    @property
    def null(self) -> bool:
        """No difference was shown at ``alpha``, which is not the same as none."""
        return self.p > self.alpha

    @property
    def insensitive(self) -> bool:
        """The null says nothing: the test could not have reached ``alpha``, or would not have found any effect."""
        return self.null and (not can_reach(self.floor, self.alpha) or self.detectable is None)

    @property
    def within_run(self) -> bool:
        """Both arms stand in one run that is known."""
        runs = {*self.a.runs, *self.b.runs}
        return len(runs) == 1 and "" not in runs

    @property
    def same_model(self) -> bool:
        """One model, as served, answered both arms."""
        return len({*self.a.served, *self.b.served}) == 1


def analyse(
    a_rows: Iterable[Row],
    b_rows: Iterable[Row],
    *,
    metric: str = SCORE,
    by: str = "cluster",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> Analysis:
    """The contrast of two arms, paired by question, and by repeat where the arms have several (DeliverMem, 4 and F.1).

    ``metric`` is ``score``, or a name under ``scores``: ``subem`` and ``f1`` of a question without an answer are its
    refusal score, ``judge`` of an answer that no judge is asked about is the rule's. An indicator of MIRAGE is compared
    over the questions that have it; ``mi`` is the word *mirage*. Of one in ``RISE_IS_WORSE`` an unparsed answer is left
    out by name and bounded, elsewhere it is not correct. Sources: exact sign test on
    discordant pairs, sign flips of whole clusters, percentile bootstrap; each is described where it stands.

    Not for arms of different questions, and not for a claim that two arms are equal: a null is not that.

    Raises BenchError when an arm is no single arm (two rows of a question), when the arms mix corpora, protocols,
    scorers or judges or disagree on a question's cluster, when a row lacks the metric or no question can have it, and
    when no question has an answer in both; ValueError for an unknown ``by`` or an ``alpha`` outside (0, 1).
    """
    if by not in CLUSTERS:
        raise ValueError(f"by={by!r}: there are {', '.join(CLUSTERS)}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha}: must lie between 0 and 1")
    every = list(a_rows), list(b_rows)
    first, second = ([row for row in rows if is_asked(row, metric)] for rows in every)
    over = _over(metric, [*every[0], *every[1]])
    if any(every) and not (first or second):
        raise BenchError(f"{metric} is an indicator of {over}, and the arms have none")
    a, b = _paired_rows(first, second)
    asked = sorted({*a, *b})
    corpus = _one("corpora", "corpus", [*first, *second])
    protocol = _one("protocols", "protocol", [*first, *second])
    scorers = _check_scorers(first, second, metric)
    known = [{pair: _value(row, metric) for pair, row in arm.items() if not _unknown(row, metric)} for arm in (a, b)]
    kept = [pair for pair in asked if pair in known[0] and pair in known[1]]
    left_out = {_label(pair, asked): _why(a.get(pair), b.get(pair), metric) for pair in asked if pair not in kept}
    if not kept:
        reason = next(iter(left_out.items()), None)
        some = f"; {reason[0]}: {reason[1]}" if reason else ": neither has a row"
        raise BenchError(f"no question has an answer in both arms{some}")
    scores = [{pair: values[pair] or 0.0 for pair in kept} for values in known]  # an unparsed answer is not correct
    differences = _by_question({pair: scores[1][pair] - scores[0][pair] for pair in kept})
    clusters = {question: _cluster(question, by, a, b) for question in differences}
    by_cluster: dict[str, list[float]] = {}
    for question, value in differences.items():
        by_cluster.setdefault(clusters[question], []).append(value)
    found = effect(list(differences.values()))
    graded = any(value not in (0.0, 1.0) for each in scores for value in each.values()) or len(kept) > found.n
    permutation = cluster_permutation(by_cluster, seed=seed, weights="questions")
    flips = by == "cluster" or graded
    clustered = None
    if by == "cluster" and len(by_cluster) > 1:
        clustered = bootstrap(by_cluster, weights="questions", resamples=resamples, seed=seed)
    discordant = found.wins + found.losses
    certain = [{pair: value for pair, value in values.items() if value is not None} for values in known]
    return Analysis(
        metric=f"{metric} of {over}" if over else metric,
        by=by,
        alpha=alpha,
        a=_side(a, kept, asked, scores[0], known[0]),
        b=_side(b, kept, asked, scores[1], known[1]),
        effect=found,
        pairs=len(kept),
        answers=flip_rate(*({_name(pair): str(arm[pair]["answer"] or "") for pair in kept} for arm in (a, b))),
        clusters=len(by_cluster),
        graded=graded,
        interval=bootstrap(list(differences.values()), resamples=resamples, seed=seed) if found.n > 1 else None,
        cluster_interval=clustered,
        permutation=permutation,
        p=permutation.p if flips else found.p,
        floor=permutation.floor_with_ties if flips else sign_test(discordant, 0),
        detectable=minimum_detectable_effect(found.n, discordant / found.n, alpha=alpha) if discordant else None,
        bounds=_bounds(certain[0], certain[1], asked),
        left_out=left_out,
        changed=_changed(first, second),
        checkpoints=_checkpoints([(a[pair], b[pair]) for pair in kept]),
        unaltered=sum(_same_request(a[pair], b[pair]) for pair in kept),
        one_reply=sum(_one_reply(a[pair], b[pair]) for pair in kept),
        corpus=corpus,
        protocol=protocol,
        scorers=scorers,
        renderers=tuple(sorted({str(row["renderer"]) for row in [*first, *second]})),
    )


def _paired_rows(first: Sequence[Row], second: Sequence[Row]) -> tuple[dict[_Pair, Row], dict[_Pair, Row]]:
    """Rows by question and repeat; where each arm has one repeat, the two are paired, whichever they are."""
    repeats = [{row.get("arm.repeat", 0) for row in rows} for rows in (first, second)]
    single = all(len(each) <= 1 for each in repeats)
    arms: list[dict[_Pair, Row]] = []
    for name, rows in (("a", first), ("b", second)):
        found: dict[_Pair, Row] = {}
        for row in rows:
            repeat: Any = 0 if single else row.get("arm.repeat", 0)
            pair = (str(row["question"]), int(repeat))
            if pair in found:
                raise BenchError(f"arm {name} is no single arm: {_two_rows(found[pair], row)}")
            found[pair] = row
        arms.append(found)
    return arms[0], arms[1]


def _two_rows(one: Row, other: Row) -> str:
    differ = [key for key in one if key.startswith("arm.") and one[key] != other.get(key)]
    values = ", ".join(f"{key.removeprefix('arm.')} {one[key]} and {other.get(key)}" for key in differ)
    return f"question {one['question']} has rows of {values or 'the same arm twice'}"


def _name(pair: _Pair) -> str:
    return f"{pair[0]} r{pair[1]}"


def _label(pair: _Pair, asked: Sequence[_Pair]) -> str:
    return _name(pair) if any(repeat for _, repeat in asked) else pair[0]


def _answered(row: Row) -> bool:
    return row["status"] in ("scored", "unparsed")


def _why(a: Row | None, b: Row | None, metric: str) -> str:
    reasons = []
    for name, row in (("a", a), ("b", b)):
        if row is None:
            reasons.append(f"no row in {name}")
        elif not _answered(row):
            reasons.append(f"{row['error.kind']} error in {name}")
        elif _unknown(row, metric):
            reasons.append(f"unparsed in {name}")
    return "; ".join(reasons)


def score_under(row: Row, metric: str) -> object:
    """What the row holds under the metric, None for nothing: of a question without an answer its refusal score where
    its suite has one, of an answer that no judge is asked about the rule's."""
    if metric == SCORE:
        return row["score"]
    if metric == JUDGE:
        ruled = row.get("arm.judge", "none") != "none" and row["metric"] != JUDGE
        return row["score"] if ruled else row.get("scores.judge")
    if metric == "mi" and row["suite"] == MIRAGE:
        return float(row["word"] == "mirage") if row["status"] == "scored" else None
    own = row.get(f"scores.{metric}")
    return own if row["answerable"] or row["suite"] == MIRAGE else row.get("scores.refusal")


def is_asked(row: Row, metric: str) -> bool:
    """Whether the row's question can have the metric: MIRAGE's GC is one of answerable questions, its HR of others."""
    asked = _ASKED_OF.get(metric)
    return asked is None or row["suite"] != MIRAGE or bool(row["answerable"]) is asked


def unparsed_under(row: Row, metric: str) -> tuple[float | None, bool]:
    """What an unparsed row counts as under the metric, and whether that is known for sure.

    What MIRAGE traced of it (``tool``, ``depth``) is; else it is not correct, 0; None where more is worse.
    """
    if row["status"] == "unparsed" and row["suite"] == MIRAGE:
        traced = row.get(f"scores.{metric}")
        if isinstance(traced, int | float):
            return float(traced), True
        if metric in RISE_IS_WORSE:
            return None, False
    return 0.0, False


def checkpoint_of(row: Row) -> str:
    """What a row at a conversation state says of its checkpoint; empty for any other row. Two checkpoints that say the
    same may differ, two that do not are different ones."""
    if "scores.depth" not in row:
        return ""
    depth, active, compactions = (row.get(f"scores.{name}", 0) for name in ("depth", "active", "compactions"))
    return f"{depth:g} tokens deep, {active:g} in view, {compactions:g} compactions"


def _over(metric: str, rows: Sequence[Row]) -> str:
    """Which questions a metric is of; empty for all."""
    if metric not in _ASKED_OF or not any(row["suite"] == MIRAGE for row in rows):
        return ""
    return f"{'' if _ASKED_OF[metric] else 'un'}answerable questions"


def _unknown(row: Row, metric: str) -> bool:
    """Whether nothing is known of the row under the metric, not even that it is not correct."""
    return not _answered(row) or (row["status"] == "unparsed" and unparsed_under(row, metric)[0] is None)


def _checkpoints(pairs: Sequence[tuple[Row, Row]]) -> tuple[str, ...]:
    """The first two that differ though their arms name one state of one trunk."""
    for a, b in pairs:
        said = checkpoint_of(a), checkpoint_of(b)
        if all(said) and said[0] != said[1] and all(a.get(axis) == b.get(axis) for axis in _TRUNK):
            return said
    return ()


def _value(row: Row, metric: str) -> float | None:
    """The row's score under the metric; None for an unparsed answer. Raises BenchError when it has no such score."""
    found = score_under(row, metric)
    if found is None and row["status"] == "unparsed":
        return None
    if not isinstance(found, int | float) or not isfinite(found):
        there = ", ".join(key.removeprefix("scores.") for key in row if key.startswith("scores."))
        raise BenchError(f"{row['cell']}: no score {metric!r}; it has {there or 'none'}")
    return float(found)


def _check_scorers(first: Sequence[Row], second: Sequence[Row], metric: str) -> tuple[str, ...]:
    """The scorers of both arms. Raises BenchError when one arm was scored in another way."""
    scored = [row for row in [*first, *second] if row["status"] == "scored"]
    rules = sorted({str(row["scorer"]) for row in scored if row["metric"] != JUDGE})
    judged = sorted({str(row["scorer"]) for row in scored if row["metric"] == JUDGE})
    for what, names in (("scorers", rules), ("judge scorers", judged)):
        if len(names) > 1:
            raise BenchError(f"the arms have different {what}, so they cannot be compared: {', '.join(names)}")
    if metric in (SCORE, JUDGE):
        _one("judges", "arm.judge", [*first, *second])
        used = rules + judged
    else:
        used = rules or judged
    return tuple(used)


def _one(what: str, field: str, rows: Sequence[Row]) -> str:
    values = sorted({str(row.get(field, "none")) for row in rows})
    if len(values) > 1:
        raise BenchError(f"the arms have different {what}, so they cannot be compared: {', '.join(values)}")
    return values[0] if values else ""


def _by_question(values: Mapping[_Pair, float]) -> dict[str, float]:
    """The mean over a question's repeats."""
    found: dict[str, list[float]] = {}
    for (question, _), value in values.items():
        found.setdefault(question, []).append(value)
    return {question: sum(each) / len(each) for question, each in found.items()}


def _cluster(question: str, by: str, a: Mapping[_Pair, Row], b: Mapping[_Pair, Row]) -> str:
    """A question without a cluster is one of its own. Raises BenchError when the arms put it into two."""
    if by == "question":
        return question
    names = sorted({str(row["cluster"]) for arm in (a, b) for (name, _), row in arm.items() if name == question})
    if len(names) > 1:
        raise BenchError(f"question {question} has different clusters in the two arms: {', '.join(names)}")
    return names[0] or f"question {question}"


def _side(
    arm: Mapping[_Pair, Row],
    kept: Sequence[_Pair],
    asked: Sequence[_Pair],
    scores: Mapping[_Pair, float],
    known: Mapping[_Pair, float | None],
) -> Side:
    means = _by_question(scores).values()
    return Side(
        mean=sum(means) / len(means),
        unparsed=sum(known[pair] is None for pair in kept),
        errors=sum(not _answered(row) for row in arm.values()),
        absent=sum(pair not in arm for pair in asked),
        served=tuple(sorted({str(row["model_served"]) for row in arm.values() if _answered(row)})),
        runs=tuple(sorted({_of_run(row, "id") or "" for row in arm.values()})),
    )


def _bounds(a: Mapping[_Pair, float], b: Mapping[_Pair, float], asked: Sequence[_Pair]) -> Bounds:
    """Over all that was asked, each repeat a question of its own: what is not known may be anything from 0 to 1."""
    return worst_case(
        {_name(pair): value for pair, value in a.items()},
        {_name(pair): value for pair, value in b.items()},
        [_name(pair) for pair in asked if pair not in a],
        [_name(pair) for pair in asked if pair not in b],
    )


def _changed(first: Sequence[Row], second: Sequence[Row]) -> dict[str, tuple[str, str]]:
    axes = dict.fromkeys(key for row in [*first[:1], *second[:1]] for key in row if key.startswith("arm."))
    values = {
        axis: tuple(", ".join(sorted({str(row.get(axis, "none")) for row in rows})) for rows in (first, second))
        for axis in axes
    }
    return {axis.removeprefix("arm."): (a, b) for axis, (a, b) in values.items() if a != b}


def _same_request(a: Row, b: Row) -> bool:
    return bool(a["requests"]) and a["requests"] == b["requests"]


def _one_reply(a: Row, b: Row) -> bool:
    return _same_request(a, b) and bool(_of_run(a, "cached") or _of_run(b, "cached"))


def _of_run(row: Row, name: str) -> Any:
    run: Any = row.get("run") or {}
    return run.get(name)
