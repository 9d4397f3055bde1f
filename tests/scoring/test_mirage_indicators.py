"""MIRAGE's indicators: a hand-made set of outcomes worked out on paper, and published tables rebuilt from counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from benchsuite.corpus.model import Evidence, Question
from benchsuite.scoring.mirage import score_probe
from benchsuite.stats.intervals import wilson
from benchsuite.stats.mirage import (
    COMPLIANT_SHARE,
    Rate,
    always_no,
    always_yes,
    compliance,
    delta_comp,
    depth_sensitivity,
    indicators,
    retention,
    route_composition,
    source_drift,
    transitions,
)
from tests.stats.figure_data import BY_ID

Row = dict[str, Any]

ALIASES = {
    name: owner
    for owner, names in {
        "obj_1a2b": ("obj_1a2b", "shots/obj_1a2b.png", "tables/fitness.csv"),
        "obj_9c8d": ("obj_9c8d", "shots/obj_9c8d.png"),
    }.items()
    for name in names
}
PSEUDO = '<|im_start|>tool\nartifact_recall\n{"query": "steps"}<|im_end|>'


def lines(answerable: str, source: str, answer: str) -> str:
    return f"ANSWERABLE={answerable}\nSOURCE={source}\nANSWER={answer}"


def row(id: str, gold: str | None, reply: str, **more: Any) -> Row:
    """A row as a run writes it; ``gold`` None: unanswerable."""
    evidence = Evidence(sources=("obj_1a2b",) if gold else ())
    question = Question(
        id, "value", "What is it?", gold or "NONE", "", "h", answerable=gold is not None, evidence=evidence
    )
    score = score_probe(question, reply, "NONE", aliases=ALIASES)
    scores = {} if score.score is None else {score.metric: score.score, **score.extra}
    status = "unparsed" if score.score is None else "scored"
    trace = {"tool": 0, "pseudo_tool": 0, "tool_faults": 0, "tool_limit": 0, **more}
    found: Row = {"cell": f"mirage:{id}", "question": id, "answerable": gold is not None, "status": status}
    found |= {"answer": score.answer, "arm.condition": "C0"}
    return found | {f"scores.{name}": float(value) for name, value in {**trace, **scores}.items()}


def error(id: str, answerable: bool) -> Row:
    return {"question": id, "answerable": answerable, "status": "error", "answer": None, "arm.condition": "C0"}


# id, gold, reply: YES SC VC GC as worked out by hand
ANSWERABLE = [
    ("q01", "8,412", lines("YES", "obj_1a2b", "8412"), "1 1 1 1"),
    ("q02", "leelin", lines("YES", "NONE", "leelin"), "1 0 1 0"),  # right with no source
    ("q03", "leelin", "answerable=no\nsource=obj_1a2b\nanswer=Leelin", "0 1 1 1"),  # GC 1 beside NO, lower case
    ("q04", "42 ms", "So:\n" + lines("YES", "workspace/tables/fitness.csv", "42") + "\nDone.", "1 1 1 1"),  # derived
    ("q05", "42 ms", lines("YES", "obj_1a2b, obj_9c8d", "42 ms"), "1 0 1 0"),  # two ids
    ("q06", "42", lines("YES", "shots/", "42 ms"), "1 0 1 0"),  # a folder, a unit
    ("q07", "42 ms", lines("YES", "obj_1a2b", "43 ms"), "1 1 0 0"),
    ("q08", "amber", lines("NO", "NONE", "NONE"), "0 0 0 0"),
    ("q09", "amber", PSEUDO, None),  # pseudo-tool text
    ("q10", "amber", lines("YES", "obj_9c8d", "teal"), "1 0 0 0"),
]
# id, reply: YES HR
UNANSWERABLE = [
    ("u01", lines("NO", "NONE", "NONE"), "0 0"),
    ("u02", lines("YES", "obj_1a2b", "5"), "1 1"),
    ("u03", lines("NO", "NONE", "5"), "0 1"),  # NO, and a value none the less
    ("u04", lines("NO", "obj_1a2b", "none"), "0 0"),  # a source alone is no hallucination
    ("u05", "I cannot tell.", None),
]
HAND = [
    *(row(id, gold, reply, pseudo_tool=reply == PSEUDO) for id, gold, reply, _ in ANSWERABLE),
    *(row(id, None, reply, tool=id == "u02") for id, reply, _ in UNANSWERABLE),
    error("u06", False),
]


@pytest.mark.parametrize(("id", "expected"), [(id, expected) for id, _, _, expected in ANSWERABLE])
def test_each_answerable_outcome(id, expected):
    (found,) = (each for each in HAND if each["question"] == id)
    if expected is None:
        assert found["status"] == "unparsed"
    else:
        values = [found[f"scores.{name}"] for name in ("yes", "sc", "vc", "gc")]
        assert values == [float(value) for value in expected.split()]


@pytest.mark.parametrize(("id", "expected"), [(id, expected) for id, _, expected in UNANSWERABLE])
def test_each_unanswerable_outcome(id, expected):
    (found,) = (each for each in HAND if each["question"] == id)
    if expected is None:
        assert found["status"] == "unparsed"
    else:
        assert [found["scores.yes"], found["scores.hr"]] == [float(value) for value in expected.split()]


def test_every_indicator_of_the_hand_made_set():
    found = indicators(HAND)
    assert (found.recorded, found.parsed, found.errors) == (15, 13, 1)
    assert found.pf == Rate(2, 15)
    assert found.ac == Rate(10, 13)  # 7 YES of 9, 3 NO of 4
    assert found.sc == Rate(4, 9)
    assert found.vc == Rate(6, 9)
    assert found.gc == Rate(3, 9)
    assert found.ws == Rate(5, 9)
    assert found.hr == Rate(2, 4)
    assert found.og == Rate(3, 9)
    assert found.mi == Rate(5, 10)  # over the recorded: q09 is in n alone
    assert found.mi_outcome == Rate(3, 10)
    assert found.mi_answer == Rate(2, 10)
    assert found.yes == Rate(7, 9)
    assert found.yes_unanswerable == Rate(1, 4)
    assert found.failing == {
        "ac": Rate(10, 15),
        "sc": Rate(4, 10),
        "vc": Rate(6, 10),
        "gc": Rate(3, 10),
        "hr": Rate(3, 5),
        "ws": Rate(6, 10),
    }


def test_no_rows_have_no_rates():
    found = indicators([])
    assert (found.recorded, found.ac.value, found.mi.value) == (0, None, None)


def test_only_failures_leave_mi_and_nothing_else():
    found = indicators([row("q1", "5", "what?"), row("u1", None, "what?")])
    assert (found.sc.value, found.hr.value, found.og.value) == (None, None, None)
    assert found.mi == Rate(0, 1)
    assert found.failing["ws"] == Rate(1, 1)
    assert found.failing["gc"] == Rate(0, 1)


def test_a_question_that_comes_twice_is_refused():
    """Three runs pooled would give intervals that are too narrow."""
    rows = [row("q1", "5", lines("YES", "obj_1a2b", "5"))] * 3
    for take in (
        indicators,
        route_composition,
        lambda rows: retention(rows, []),
        lambda rows: transitions({"a": rows}),
    ):
        with pytest.raises(ValueError, match="question q1 comes 3 times"):
            take(rows)


def test_a_scored_row_without_a_metric_is_refused():
    broken = row("q1", "5", lines("YES", "obj_1a2b", "5"))
    del broken["scores.vc"]
    with pytest.raises(ValueError, match=r"mirage:q1: the row has no scores\.vc"):
        indicators([broken])


# Between states


def state(outcomes: Mapping[str, str]) -> list[Row]:
    """Answerable rows by id: ``right``, ``right (other spelling)``, ``wrong``, ``failed``, ``error``."""
    replies = {
        "right": lines("YES", "obj_1a2b", "5"),
        "respelt": lines("YES", "tables/fitness.csv", "5"),
        "wrong": lines("YES", "NONE", "5"),
        "failed": "what?",
    }
    return [error(id, True) if how == "error" else row(id, "5", replies[how]) for id, how in outcomes.items()]


D0 = state({"a": "right", "b": "right", "c": "right", "d": "right", "e": "wrong", "f": "right", "g": "failed"})
D80K = state({"a": "right", "b": "respelt", "c": "wrong", "d": "failed", "e": "right", "f": "error", "g": "right"})
S2 = state({"a": "right", "b": "right", "c": "right", "d": "wrong", "e": "wrong", "g": "failed"})


def test_retention_is_over_what_was_grounded_first():
    assert retention(D0, D80K) == Rate(2, 4)  # a, b of a, b, c, d; f has no call at S1-d80k
    assert retention([], D80K).value is None


def test_drift_compares_sources_as_written():
    assert source_drift(D0, D80K) == Rate(1, 2)
    assert source_drift(D0, D0) == Rate(0, 5)
    spellings = ("obj_1a2b", "OBJ_1A2B", "shots/obj_1a2b.png", "./shots/obj_1a2b.png")
    first, *others = ([row("a", "5", lines("YES", source, "5"))] for source in spellings)
    assert [source_drift(other, first) for other in others] == [Rate(1, 1)] * 3
    assert source_drift(others[1], others[2]) == Rate(1, 1)
    assert source_drift(others[1], others[1]) == Rate(0, 1)
    assert source_drift(others[1], [row("a", "5", lines("YES", "obj_1a2b.png", "5"))]) == Rate(1, 1)


def test_transitions_are_over_shared_probes():
    found = transitions({"S1-d0": D0, "S1-d80k": D80K, "S2": S2})
    assert (found.states, found.n, found.left_out) == (("S1-d0", "S1-d80k", "S2"), 6, 1)
    assert found.counts == {
        (True, True, True): 2,
        (True, False, True): 1,
        (True, False, False): 1,
        (False, True, False): 2,
    }


def test_differences_between_states():
    assert depth_sensitivity(0.5, 0.25) == 50
    assert depth_sensitivity(0.25, 0.5) == -100
    assert depth_sensitivity(0.0, 0.5) is None
    assert depth_sensitivity(None, 0.5) is None
    assert depth_sensitivity(0.5, None) is None
    assert depth_sensitivity(0.5, 0.0) == 100
    assert delta_comp(0.5, 0.25) == 0.25
    assert delta_comp(None, 0.25) is None


def test_routes_are_over_all_recorded_calls():
    found = route_composition(HAND)
    assert (found.tool, found.context, found.pseudo) == (Rate(1, 15), Rate(14, 15), Rate(1, 15))
    bare = row("q1", "5", "what?")
    del bare["scores.tool"]
    with pytest.raises(ValueError, match=r"no scores\.tool"):
        route_composition([bare])


def cm(n: int, tools: int, failures: int = 0) -> list[Row]:
    rows = [
        row(f"q{at}", "5", "what?" if at >= n - failures else lines("YES", "obj_1a2b", "5"), tool=at < tools)
        for at in range(n)
    ]
    return [each | {"arm.condition": "Cm"} for each in rows]


def test_triage_of_models_under_cm():
    obeys, ignores, breaks = compliance(cm(20, 19)), compliance(cm(20, 0)), compliance(cm(20, 0, failures=18))
    assert (obeys.compliant, obeys.evaluable, obeys.tool) == (True, True, Rate(19, 20))
    assert (ignores.compliant, ignores.evaluable) == (False, True)
    assert (breaks.compliant, breaks.evaluable, breaks.pf) == (False, False, Rate(18, 20))
    at_bound = round(COMPLIANT_SHARE * 100)
    assert compliance(cm(100, at_bound)).compliant
    assert not compliance(cm(100, at_bound - 1)).compliant


def test_triage_looks_at_cm_alone():
    nothing = compliance(HAND)
    assert (nothing.tool, nothing.compliant, nothing.evaluable) == (Rate(0, 0), False, False)


def test_constant_baselines():
    bank = {"q1": True, "q2": True, "q3": True, "u1": False}
    yes, no = always_yes(bank), always_no(bank)
    assert (yes.ac, yes.hr, yes.mi, yes.gc, yes.ws) == (Rate(3, 4), Rate(1, 1), Rate(3, 3), Rate(0, 3), Rate(3, 3))
    assert (no.ac, no.hr, no.mi, no.gc, no.ws) == (Rate(1, 4), Rate(0, 1), Rate(0, 3), Rate(0, 3), Rate(3, 3))
    assert yes.mi_answer == yes.mi


def test_the_baselines_are_what_their_replies_score():
    bank: list[tuple[str, str | None]] = [("q1", "5"), ("q2", "6"), ("u1", None)]
    known = {id: gold is not None for id, gold in bank}
    assert indicators([row(id, gold, lines("YES", "NONE", "NONE")) for id, gold in bank]) == always_yes(known)
    assert indicators([row(id, gold, lines("NO", "NONE", "NONE")) for id, gold in bank]) == always_no(known)


# Published: Tables 1, 2, 8 and 9, from whole counts turned into replies and scored

TABLE_1 = {
    id.removeprefix("mirage-T1_counts_"): figure
    for id, figure in BY_ID.items()
    if id.startswith("mirage-T1_counts_") and figure["computed"]
}


def replies(counts: Mapping[str, int], mi: int | None = None, grounded: Iterable[int] | None = None) -> list[Row]:
    """200 rows with the counts of a row of Table 1; ``mi`` fixes how many of them are mirages. ``grounded`` says which
    answerable probes are (by default the first)."""
    n, m = counts["n_answerable"], counts["n_unanswerable"]
    no = m - counts["HR"] if mi is None else counts["AC"] - counts["GC"] - mi
    no = max(no, counts["AC"] - n)
    assert m - counts["HR"] <= no <= m
    yes = counts["AC"] - no
    first = sorted(range(100) if grounded is None else grounded)[: counts["GC"]]
    order = [*first, *(at for at in range(100) if at not in set(first))]
    found = []
    for place, at in enumerate(order[:n]):
        only_source = counts["GC"] <= place < counts["SC"]
        only_value = counts["SC"] <= place < counts["SC"] + counts["VC"] - counts["GC"]
        right = place < counts["GC"]
        source = "obj_1a2b" if right or only_source else "NONE"
        value = "5" if right or only_value else "6"
        found.append(row(f"q{at}", "5", lines("YES" if place < yes else "NO", source, value)))
    found += [row(f"q{at}", "5", PSEUDO) for at in order[n:]]
    for at in range(100):
        if at >= m:
            found.append(row(f"u{at}", None, PSEUDO))
        else:
            value = "6" if at < counts["HR"] else "NONE"
            found.append(row(f"u{at}", None, lines("NO" if at >= m - no else "YES", "NONE", value)))
    return found


def percent(rate: Rate) -> float:
    assert rate.value is not None
    return 100 * rate.value


@pytest.mark.parametrize("name", TABLE_1)
def test_a_row_of_table_1(name):
    figure = TABLE_1[name]
    found = indicators(replies(figure["computed"]))
    rates = [percent(rate) for rate in (found.ac, found.sc, found.vc, found.gc, found.hr, found.ws)]
    printed = [*figure["published"], figure["inputs"]["WS"]]
    slack = [figure["tolerance"] + 1e-9] * 5 + [0.1 + 1e-9]
    assert all(abs(one - other) <= by for one, other, by in zip(rates, printed, slack, strict=True))
    assert found.pf == Rate(figure["inputs"]["PF"], 200)


def test_most_rows_of_table_1_have_counts():
    assert len(TABLE_1) == 25


@pytest.mark.parametrize("name", ["GPT-5_S1-d0", "InternVL3.5-20B_S2"])
def test_with_failures_in_the_denominator_table_1_does_not_reproduce(name):
    figure = TABLE_1[name]
    found = indicators(replies(figure["computed"]))
    assert abs(percent(found.failing["ac"]) - figure["inputs"]["AC"]) > 1
    assert abs(percent(found.failing["gc"]) - figure["inputs"]["GC"]) > 0.7


def of_table_2(what: str) -> dict[str, dict[str, Any]]:
    found = (figure for id, figure in BY_ID.items() if id.startswith("mirage-") and figure["place"].startswith("T2 "))
    return {figure["place"].split()[1]: figure for figure in found if figure["place"].split(" ", 2)[2] == what}


@pytest.mark.parametrize("model", of_table_2("MI_d80k upper bound"))
def test_mi_of_table_2_is_over_recorded_calls(model):
    printed = of_table_2("MI_d80k upper bound")[model]["published"]
    found = indicators(replies(TABLE_1[f"{model}_S1-d80k"]["computed"], mi=round(printed)))
    assert percent(found.mi) == pytest.approx(printed)
    assert found.mi.k == found.mi_outcome.k + found.mi_answer.k
    assert found.mi.n == 100


def test_the_marginal_rates_behind_the_highest_mi():
    found = indicators(replies(TABLE_1["Qwen3-VL-8B_S1-d80k"]["computed"], mi=78))
    assert (percent(found.yes), percent(found.gc)) == (96, 18)
    assert found.og == Rate(29, 100)


@pytest.mark.parametrize("model", of_table_2("DS"))
def test_ds_and_delta_comp_of_table_2(model):
    rates = {
        name.removeprefix(f"{model}_"): indicators(replies(figure["computed"])).gc.value
        for name, figure in TABLE_1.items()
        if name.startswith(model)
    }
    sensitivity, compaction = of_table_2("DS")[model], of_table_2("Delta_comp")[model]
    if "S1-d0" in rates:
        found = depth_sensitivity(rates["S1-d0"], rates["S1-d80k"])
        assert found == pytest.approx(sensitivity["published"], abs=sensitivity["tolerance"] + 0.05)
    if "S2" in rates:
        found = delta_comp(rates["S2"], rates["S1-d80k"])
        assert found == pytest.approx(compaction["published"], abs=compaction["tolerance"])


@pytest.mark.parametrize("model", of_table_2("Ret"))
def test_ret_of_tables_2_and_8(model):
    figure = of_table_2("Ret")[model]
    kept, correct = figure["inputs"]["retained"], figure["inputs"]["correct_at_d0"]
    first = state({f"q{at}": "right" if at < correct else "wrong" for at in range(100)})
    later = state({f"q{at}": "right" if at < kept or at >= 100 - 5 else "failed" for at in range(100)})
    found = retention(first, later)
    assert found == Rate(kept, correct)
    assert percent(found) == pytest.approx(figure["published"], abs=figure["tolerance"])


@pytest.mark.parametrize(
    ("cell", "what", "count", "interval"),
    [
        ("Qwen3-VL-30B_S1-d80k", "gc", Rate(41, 100), (31.9, 50.8)),
        ("Qwen3-VL-4B_S1-d80k", "gc", Rate(1, 100), (0.2, 5.4)),
        ("Gemma-3-27B_S1-d80k", "sc", Rate(70, 99), (61.1, 78.8)),
        ("GPT-5_S2", "gc", Rate(84, 99), (76.5, 90.6)),
    ],
)
def test_table_9(cell, what, count, interval):
    found = getattr(indicators(replies(TABLE_1[cell]["computed"])), what)
    assert found == count
    limits = wilson(found.k, found.n)
    assert (round(100 * limits.low, 1), round(100 * limits.high, 1)) == interval
