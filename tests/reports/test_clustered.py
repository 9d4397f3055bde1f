"""A contrast by cluster, beside the one by question."""

from __future__ import annotations

from typing import Any

import pytest

from benchsuite_reports.arms import DELIVERMEM, DIRECT, group_rows, pair
from benchsuite_reports.clustered import clustered_block
from benchsuite_reports.table import Block

CONTRASTS = {"gain": {DELIVERMEM.name: 1, DIRECT.name: -1}}


def block_of(rows: list[dict[str, Any]]) -> tuple[Block, ...]:
    (group,) = group_rows(rows, (DELIVERMEM, DIRECT))
    return clustered_block("here", pair(group), CONTRASTS)


def test_eight_wins_in_two_clusters_are_two_units(rows_of: Any) -> None:
    rows = rows_of({DELIVERMEM: (1.0,) * 8 + (0.0,) * 2, DIRECT: (0.0,) * 10})
    rows = [{**row, "cluster": "c" + "aaaabbbbcd"[int(str(row["question"])[1:])]} for row in rows]
    (block,) = block_of(rows)
    assert block.heading == "here: by cluster"
    ((label, difference, question, cluster, clusters, p, least),) = block.rows
    assert (label, difference, clusters) == ("gain", "+80.00", "4")
    assert (p, least) == ("0.50", "0.50"), "two clusters that differ: 2 of 4 sign assignments"
    assert block.values["gain.cluster_p"] == pytest.approx(0.5)
    assert question != cluster
    assert cluster.endswith("to +100.00")


def test_questions_without_a_cluster_are_one_each(rows_of: Any) -> None:
    rows = rows_of({DELIVERMEM: (1.0,) * 6 + (0.0,), DIRECT: (0.0,) * 7})
    ((_, _, question, cluster, clusters, p, _),) = block_of(rows)[0].rows
    assert clusters == "7"
    assert p == "0.031"
    assert question == cluster


def test_one_question_has_no_interval_and_a_missing_arm_no_row(rows_of: Any) -> None:
    ((_, _, question, cluster, _, p, _),) = block_of(rows_of({DELIVERMEM: (1.0,), DIRECT: (0.0,)}))[0].rows
    assert (question, cluster, p) == ("n/a", "n/a", "1.0")
    assert block_of(rows_of({DELIVERMEM: (1.0,)})) == ()
