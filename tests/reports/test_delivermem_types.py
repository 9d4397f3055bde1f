"""Effects by question type, planted and found again."""

from __future__ import annotations

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.contents import Contents
from benchsuite_reports.delivermem_types import CONTRASTS, draw
from benchsuite_reports.table import RunFacts

CONTENT, PHASE, TIME, IDENTITY, BINDING = (line for line, _ in CONTRASTS)
KINDS = ("information_extraction", "temporal_reasoning", "answer_refusal")


@pytest.fixture
def planted(row):
    """Twelve questions of three types: withholding costs every extraction question, phase every second one."""

    def build(line, scores, **changes):
        rows = []
        for side, score in ((line.a, scores[0]), (line.b, scores[1])):
            for i in range(12):
                kind = KINDS[i % 3]
                given = {"type": kind, "answerable": kind != "answer_refusal", "cluster": f"c{i // 6}", **changes}
                rows.append(row(f"q{i}", side, float(score(i, kind)), **given))
        return rows

    return build


def charted(rows, facts, tmp_path):
    return draw(rows, facts, tmp_path, Contents(()))


def points(panel):
    (series,) = panel.series
    return {panel.names[point.at]: point for point in series.points}


def test_planted_effects_are_found_by_type(planted, mini, tmp_path):
    rows = planted(CONTENT, (lambda i, kind: kind != KINDS[0], lambda i, kind: True))
    chart = charted(rows, mini, tmp_path)
    (strip,) = chart.strips
    (panel,) = strip.panels
    found = points(panel)
    assert {name: round(point.value, 6) for name, point in found.items()} == {
        "all": round(4 / 12, 6),
        "all but refusal questions": 0.5,
        "information extraction": 1.0,
        "temporal reasoning": 0.0,
        "answer refusal": 0.0,
    }
    assert [found[name].n for name in found] == [12, 8, 4, 4, 4]
    assert chart.pipeline_check
    assert panel.levels == (("", 0.0),)


def test_intervals_are_by_cluster_where_there_are_clusters(planted, users, tmp_path):
    def some(i, kind):
        return i < 6

    wide = charted(planted(TIME, (some, lambda i, kind: True)), users, tmp_path)
    narrow = charted(planted(TIME, (some, lambda i, kind: True), cluster=""), users, tmp_path)
    (by_cluster,), (by_question,) = wide.strips[0].panels, narrow.strips[0].panels
    a, b = points(by_cluster)["all"], points(by_question)["all"]
    assert (a.value, b.value) == (0.5, 0.5)
    assert (a.low, a.high) == (0.0, 1.0)  # two clusters, one of which differs
    assert 0 < b.low < b.high < 1
    assert (a.note, b.note) == ("12 (2)", "12")


def test_one_cluster_has_no_interval(planted, users, tmp_path):
    (panel,) = (
        charted(planted(BINDING, (lambda i, kind: 0, lambda i, kind: 1), cluster="c"), users, tmp_path).strips[0].panels
    )
    assert (points(panel)["all"].low, points(panel)["all"].note) == (None, "12 (1)")


def test_panels_of_missing_arms_are_left_out_and_the_arms_named(planted, users, tmp_path):
    rows = planted(IDENTITY, (lambda i, kind: 0, lambda i, kind: 0))
    rows += planted(PHASE, (lambda i, kind: 0, lambda i, kind: 0))[:12]  # one side only
    chart = charted(rows, users, tmp_path)
    (strip,) = chart.strips
    assert [panel.heading for panel in strip.panels] == [IDENTITY.label]
    assert "oracle-pixels, " in dict(strip.facts)["missing arms"] + ", "
    assert any("missing arms" in line for line in chart.caption)
    assert charted(rows[12:24], users, tmp_path) is None


def test_an_error_takes_its_question_from_its_own_contrast_alone(planted, row, users, tmp_path):
    rows = planted(CONTENT, (lambda i, kind: 0, lambda i, kind: 1)) + planted(
        TIME, (lambda i, kind: 0, lambda i, kind: 1)
    )
    faulty = row("q1", TIME.a, "error", type=KINDS[1])
    rows = [faulty if each["cell"] == faulty["cell"] else each for each in rows]
    (strip,) = charted(rows, users, tmp_path).strips
    assert [points(panel)["all"].n for panel in strip.panels] == [12, 11]
    assert strip.left_out == ((f"q1: {TIME.label}", f"timeout error in {TIME.a.name}"),)


def test_certificates_stand_below_the_heading(planted, tmp_path):
    def certify(a, b):
        whole, changed = a["question"] != "q0", a["question"] != "q1"
        return Certificate(
            variables=("modality",),
            matched=whole,
            difference="" if whole else "another text",
            altered=changed,
            unaltered=() if changed else ("modality: no image",),
            tokens="",
            token_difference=None,
        )

    facts = RunFacts({}, certificates=certify)
    (strip,) = charted(planted(CONTENT, (lambda i, kind: 0, lambda i, kind: 1)), facts, tmp_path).strips
    assert strip.panels[0].notes == ("oracle, no tag, no date", "matched 11/12, altered 11/12")


def test_models_and_lengths_stand_apart(planted, users, tmp_path):
    scores = (lambda i, kind: 0, lambda i, kind: 1)
    rows = [each for length in ("128k", "32k") for each in planted(TIME, scores, length=length)]
    assert [strip.heading for strip in charted(rows, users, tmp_path).strips] == [
        "length 32k, model qwen",
        "length 128k, model qwen",
    ]
