"""DeliverMem appendix C.5: a configuration for each question type, fitted on the dev split, applied to the eval split.

One rule: the configuration that is better overall on dev; another for a question type only where it is better there by
more than three points. Fitted once, at the shortest length that has dev questions, with SubEM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchsuite.stats.contrast import analyse
from benchsuite.stats.paired import Effect
from benchsuite_reports.arms import (
    BOTH_WHOLE,
    DELIVERMEM,
    NONE,
    Facts,
    Group,
    Paired,
    by_key,
    cell,
    certified,
    group_facts,
    group_rows,
    left_out_by_length,
    lengths_of,
    merged,
    pair,
    table_facts,
)
from benchsuite_reports.bases import base_of
from benchsuite_reports.clustered import clustered_block
from benchsuite_reports.effects import power_text, runs_of
from benchsuite_reports.table import (
    Block,
    Condition,
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

ID = "delivermem_c5"
TITLE = "DeliverMem C.5: configuration selection"
CONDITIONS = (BOTH_WHOLE, DELIVERMEM)
LABELS = {
    BOTH_WHOLE.name: "Baseline (both channels, whole image, no tag or date)",
    DELIVERMEM.name: "DeliverMem",
}
SHORT = {BOTH_WHOLE.name: "baseline", DELIVERMEM.name: "DeliverMem"}
DEV = "dev"
"""Questions of every other split, or of none, are those that the rule is applied to."""
METRIC = "subem"
FLOOR = 0.03
"""A configuration other than the default must be better by more than this, a fraction, to be chosen for a type."""
RULES = {"three points": FLOOR, "no threshold": 0.0}
SELECTIONS = {rule: f"Selection by type, {rule}" for rule in RULES}
ALL = "all"
CONTRASTS = {"DeliverMem minus baseline": {DELIVERMEM.name: 1, BOTH_WHOLE.name: -1}}
FIT_COLUMNS = ("Dev split", "n", "baseline", "DeliverMem", "difference", "W/L", "p", *RULES)


@dataclass(frozen=True, slots=True)
class _Fit:
    """The dev effects, DeliverMem minus baseline, by question type and for ``all``, with both means."""

    length: str
    paired: Paired
    effects: Mapping[str, tuple[float, float, Effect]]

    @property
    def default(self) -> Condition:
        """The better overall; DeliverMem where the two are equal."""
        return DELIVERMEM if self.effects[ALL][2].estimate >= 0 else BOTH_WHOLE

    def chosen(self, kind: str, floor: float) -> Condition:
        """The configuration of a question type; the default where dev has no question of it."""
        if kind not in self.effects:
            return self.default
        gain = self.effects[kind][2].estimate * (-1 if self.default is DELIVERMEM else 1)
        other = BOTH_WHOLE if self.default is DELIVERMEM else DELIVERMEM
        return other if gain > floor else self.default

    def deviating(self, floor: float) -> list[str]:
        return [kind for kind in self.effects if kind != ALL and self.chosen(kind, floor) is not self.default]


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """The fit on dev rows and its scores on the others, per model and judge: lengths as columns.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served, and for a dev row
    without SubEM.
    """
    dev = _complete(row for row in rows if row["split"] == DEV)
    held_out = _complete(row for row in rows if row["split"] != DEV)
    lengths = lengths_of(held_out)
    columns = ("Eval split", *lengths)
    if not held_out:
        return Table(ID, TITLE, columns, ())
    about, corpus = table_facts(ID, [row for group in (*held_out, *dev) for row in group.all_rows()], facts)
    fitted = by_key(dev)
    return Table(
        id=ID,
        title=TITLE,
        columns=columns,
        blocks=tuple(
            block
            for key, by_length in by_key(held_out).items()
            for block in _blocks(by_length, fitted.get(key, {}), lengths, corpus, facts)
        ),
        facts=(("base condition", base_of(ID)), *about),
        notes=(
            "Rule: the configuration that is better overall on dev; for a question type the other one only where that "
            "is better there by more than three points ('no threshold': by anything). Fitted once, with SubEM, at the "
            "shortest length that has dev questions; it reads the question's type. n: questions answered in both "
            "configurations, refusal questions included. Accuracy in percent, differences in points. Gain: selection "
            "minus the default configuration alone; W/L: questions won and lost by it; p: exact two-sided sign test; "
            "if null: the least gain that it finds with a power of .8 on so many discordant questions. Constant "
            "refusal is computed: every unanswerable question right, every answerable one wrong.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _complete(rows: Iterable[Row]) -> list[Group]:
    """The groups that have both configurations."""
    return [group for group in group_rows(rows, CONDITIONS) if len(group.rows) == len(CONDITIONS)]


def _fit(group: Group) -> _Fit | None:
    """None where no question was answered in both configurations."""
    paired = pair(group)
    if not paired.kept:
        return None
    kinds = sorted({str(paired.question(question)["type"]) for question in paired.kept})
    among = {kind: paired.where(_of_types(kind)) for kind in kinds} | {ALL: list(paired.kept)}
    effects = {}
    for kind, questions in among.items():
        a, b = ([paired.rows[each.name][question] for question in questions] for each in CONDITIONS)
        found = analyse(a, b, metric=METRIC, by="question")
        effects[kind] = (found.a.mean, found.b.mean, found.effect)
    return _Fit(group.length, paired, effects)


def _of_types(*kinds: str) -> Callable[[Row], bool]:
    return lambda row: row["type"] in kinds


def _blocks(
    by_length: Mapping[str, Group],
    dev: Mapping[str, Group],
    lengths: Sequence[str],
    corpus: CorpusFacts,
    facts: RunFacts,
) -> list[Block]:
    who = next(iter(by_length.values())).who
    paired = {length: pair(group) for length, group in by_length.items()}
    fit = next((found for group in dev.values() if (found := _fit(group))), None)
    if fit:
        paired = {length: _with_selection(each, fit) for length, each in paired.items()}
    rows, values = _scores(paired, lengths, fit)
    block = Block(
        heading=f"{who}: eval split",
        facts=(
            *_choices(fit, corpus),
            *merged({length: _facts(group, paired[length], fit, facts) for length, group in by_length.items()}),
        ),
        rows=rows,
        left_out=left_out_by_length(paired),
        values=values,
    )
    return [block, *_clustered(who, paired, fit), *((_fitted(who, fit),) if fit else ())]


def _with_selection(paired: Paired, fit: _Fit) -> Paired:
    """The same pairs with what each rule selects as further conditions."""
    rows = dict(paired.rows)
    for rule, floor in RULES.items():
        chosen = {question: fit.chosen(str(paired.question(question)["type"]), floor).name for question in paired.asked}
        rows[rule] = {q: paired.rows[name][q] for q, name in chosen.items() if q in paired.rows[name]}
    return replace(paired, rows=rows)


def _scores(
    paired: Mapping[str, Paired], lengths: Sequence[str], fit: _Fit | None
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Number]]:
    values: dict[str, Number] = {f"n.{length}": each.n for length, each in paired.items()}
    rows = [("n", *(str(paired[length].n) for length in lengths))]
    refusing = {length: each.constant_refusal(each.kept) for length, each in paired.items()}
    values |= {f"accuracy.constant_refusal.{length}": mean for length, mean in refusing.items()}
    rows.append(("Constant refusal (by rule)", *(cell(refusing[length]) for length in lengths)))
    for name, label in (LABELS | (SELECTIONS if fit else {})).items():
        found = {length: each.accuracy(name) for length, each in paired.items()}
        values |= {f"accuracy.{name}.{length}": mean for length, mean in found.items()}
        rows.append((label, *(cell(found[length]) for length in lengths)))
        gains = {x: gain for x, each in paired.items() if fit and (gain := each.difference(fit.default.name, name))}
        if name not in SELECTIONS:
            continue
        rows.append(("  gain", *(signed(gains[x].estimate) if x in gains else NONE for x in lengths)))
        rows.append(("  W/L", *(wins_losses(gains[x].wins, gains[x].losses) if x in gains else NONE for x in lengths)))
        rows.append(("  p", *(p_value(gains[x].p) if x in gains else NONE for x in lengths)))
        rows.append(("  if null", *(power_text(gains[x]) if x in gains else NONE for x in lengths)))
        for x, gain in gains.items():
            values |= {f"gain.{name}.{x}": gain.estimate, f"gain.{name}.{x}.p": gain.p}
            values |= {f"gain.{name}.{x}.wins": gain.wins, f"gain.{name}.{x}.losses": gain.losses}
    return tuple(rows), values


def _choices(fit: _Fit | None, corpus: CorpusFacts) -> Facts:
    """What was selected, or the command that makes the rows to select from."""
    if fit is None:
        where = "memlens-mini" if corpus.bundled else "PATH"
        labels = "" if corpus.bundled else ", where labels.json has the splits dev and eval"
        return (
            (
                "selection",
                "not fitted, no question of the dev split was answered in both configurations: "
                f"pytest cases -k assembly --bench-corpus memlens={where}#all{labels}",
            ),
        )
    baseline, full, effect = fit.effects[ALL]
    default = SHORT[fit.default.name]
    other = SHORT[next(each.name for each in CONDITIONS if each is not fit.default)]
    deviating = {rule: [_words(kind) for kind in fit.deviating(floor)] for rule, floor in RULES.items()}
    return (
        (
            "default",
            f"{default}: on {effect.n} dev questions at {fit.length} DeliverMem {percent(full)}, baseline "
            f"{percent(baseline)}",
        ),
        *((f"{other} instead, {rule}", ", ".join(kinds) or "for no type") for rule, kinds in deviating.items()),
    )


def _facts(group: Group, paired: Paired, fit: _Fit | None, facts: RunFacts) -> Facts:
    return (
        ("runs", runs_of(group.all_rows())),
        *group_facts(ID, group, CONDITIONS, paired, facts, CONTRASTS),
        *_gain_bounds(paired, fit),
        *certified(paired, CONTRASTS, facts),
    )


def _gain_bounds(paired: Paired, fit: _Fit | None) -> Facts:
    """The worst case of each gain: only questions of deviating types can have one."""
    if fit is None or not paired.uncertain():
        return ()
    parts = []
    for rule, floor in RULES.items():
        part = paired.part(_of_types(*fit.deviating(floor)))
        found = part.bounds({rule: 1, fit.default.name: -1})
        if found:
            low, high = (bound * len(part.asked) / len(paired.asked) for bound in found)
            parts.append(f"{rule} {signed(low)} to {signed(high)}{' (sign open)' if low < 0 < high else ''}")
    return (("worst case bounds of the gain", "; ".join(parts)),) if parts else ()


def _clustered(who: str, paired: Mapping[str, Paired], fit: _Fit | None) -> tuple[Block, ...]:
    """The gains by cluster, of the rules that deviate anywhere."""
    rules = [rule for rule, floor in RULES.items() if fit and fit.deviating(floor)]
    found = [
        block
        for length, each in paired.items()
        for rule in rules
        if fit
        for block in clustered_block(f"{who}: gain", each, {f"{length}, {rule}": {rule: 1, fit.default.name: -1}})
    ]
    if not found:
        return ()
    rows = tuple(row for block in found for row in block.rows)
    return (replace(found[0], rows=rows, values={key: n for block in found for key, n in block.values.items()}),)


def _fitted(who: str, fit: _Fit) -> Block:
    """The effects that the choice was made from."""
    rows = []
    values: dict[str, Number] = {}
    for kind, (baseline, full, effect) in fit.effects.items():
        choices = [SHORT[fit.chosen(kind, floor).name] for floor in RULES.values()]
        rows.append(
            (
                _words(kind),
                str(effect.n),
                percent(baseline),
                percent(full),
                signed(effect.estimate),
                wins_losses(effect.wins, effect.losses),
                p_value(effect.p),
                *choices,
            )
        )
        values |= {f"dev.{kind}": effect.estimate, f"dev.{kind}.n": effect.n}
        values |= {f"chosen.{kind}.{rule}": choice for rule, choice in zip(RULES, choices, strict=True)}
    return Block(
        heading=f"{who}: fitted on the dev split at length {fit.length}, SubEM",
        facts=(),
        rows=tuple(rows),
        left_out=tuple(fit.paired.left_out.items()),
        values=values,
        columns=FIT_COLUMNS,
    )


def _words(kind: str) -> str:
    return kind.replace("_", " ")
