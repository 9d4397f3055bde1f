"""Every control against responders that depend on one property of a request: what was planted is what is found.

Two hundred responders, each with its own questions on its own properties, zero included, run through retrieval,
delivery, client, scoring and pairing. Each contrast must show the planted wins and losses, exactly, and no other.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from scipy.stats import binom

from benchsuite.delivery.certificates.certify import Sent, certify, variables
from benchsuite.delivery.spec import parse_delivery
from benchsuite_reports.arms import Group, group_rows, pair
from benchsuite_reports.table import Condition

from .responders import PROPERTIES, Truth, World, open_world

QUESTIONS = 24
SEEDS = 200
BASE = "deployed"
# contrast (a -> b): the properties that b has and a has not
GAINED: Mapping[tuple[str, str], frozenset[str]] = {
    ("deployed+noimg", BASE): frozenset(
        ["presence", "content", "binding", "stamp", "told", "stamp and told"],
    ),
    ("deployed+scramble", BASE): frozenset(["content", "binding"]),
    ("deployed+phase", BASE): frozenset(["content", "binding"]),
    ("deployed+decoy", BASE): frozenset(["content", "binding"]),
    ("deployed+bindshuf", BASE): frozenset(["binding"]),
    ("deployed+dateperm", BASE): frozenset(["date"]),
    ("deployed+nodate", BASE): frozenset(["date", "any date"]),
    ("deployed+nodate", "deployed+dateperm"): frozenset(["any date"]),
    ("deployed+notag", BASE): frozenset(["stamp", "told", "stamp and told", "name"]),
    ("deployed+tagpix", BASE): frozenset(["told", "stamp and told"]),
    ("deployed+tagtext", BASE): frozenset(["stamp", "stamp and told", "name"]),
    ("deployed+tagconst", BASE): frozenset(["stamp", "told", "stamp and told", "name"]),
    ("deployed+tagshuf", BASE): frozenset(["stamp", "told", "stamp and told"]),
    ("deployed+tagshufpix", BASE): frozenset(["stamp", "stamp and told"]),
    ("deployed+tagconst", "deployed+tagshuf"): frozenset(["name"]),
    ("deployed+phase", "deployed+decoy"): frozenset(),
}
# without images there is no name to miss: "name" holds of no image at all
DELIVERIES = tuple(dict.fromkeys(text for contrast in GAINED for text in contrast))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return open_world(tmp_path_factory.mktemp("world"), QUESTIONS)


@pytest.fixture(scope="module")
def truths(world: World) -> dict[str, Truth]:
    return {world.asked(question): world.truth(question) for question in world.questions}


def grouped(rows: list[dict[str, Any]]) -> Group:
    (group,) = group_rows(rows, [Condition(text, "latest pictures", text) for text in DELIVERIES])
    return group


def name(text: str) -> str:
    return f"latest pictures-{text}"


def test_planted_effects_are_found_exactly_and_no_other(world, truths):
    seen: dict[str, set[int]] = {}
    for seed in range(SEEDS):
        draw = random.Random(f"planted {seed}")
        ids = [question.id for question in world.questions]
        draw.shuffle(ids)
        sizes = {each: draw.randrange(0, 4) for each in PROPERTIES if each != "nothing"}
        helps = {each: draw.random() < 0.7 for each in PROPERTIES}
        rules: dict[str, tuple[str, bool]] = {}
        for each, size in sizes.items():
            size = sizes[each] = min(size, len(ids) - len(rules))
            rules.update(dict.fromkeys(ids[len(rules) : len(rules) + size], (each, helps[each])))
            seen.setdefault(each, set()).add(size if helps[each] else -size)
        rules.update({question: ("nothing", draw.random() < 0.5) for question in ids[len(rules) :]})
        paired = pair(grouped(world.run(world.responder(rules, truths), DELIVERIES)))
        assert paired.n == QUESTIONS
        for (a, b), properties in GAINED.items():
            wins = sum(sizes[each] for each in properties if helps[each])
            losses = sum(sizes[each] for each in properties if not helps[each])
            found = paired.difference(name(a), name(b))
            assert (found.wins, found.losses) == (wins, losses), (seed, a, b, sizes, helps)
            assert found.estimate == pytest.approx((wins - losses) / QUESTIONS)
    assert all({0, 1, 2, 3, -1, -2, -3} <= sizes for sizes in seen.values())  # every effect, both signs, zero


def test_without_an_effect_alarms_are_as_rare_as_the_test_says(world, truths):
    contrasts = [("deployed+phase", BASE), ("deployed+dateperm", BASE), ("deployed+tagconst", BASE)]
    arms = tuple(dict.fromkeys(text for contrast in contrasts for text in contrast))
    alarms, differences = 0, []
    for seed in range(SEEDS):
        paired = pair(grouped(world.run(world.responder({}, truths, coin=str(seed)), arms)))
        for a, b in contrasts:
            found = paired.difference(name(a), name(b))
            alarms += found.p <= 0.05
            differences.append(found.estimate)
    drawn = len(differences)
    assert alarms <= binom.ppf(0.9995, drawn, 0.05)
    assert any(differences)
    assert abs(sum(differences) / drawn) < 4 * (0.5 / QUESTIONS / drawn) ** 0.5


def test_the_pairs_behind_it_are_certified(world, truths):
    rows = {row["cell"]: row for row in world.run(world.responder({}, truths), DELIVERIES)}
    by_arm: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows.values():
        by_arm.setdefault(row["arm.delivery"], {})[row["question"]] = row
    presets = world.registry.deliveries

    def delivery(text: str):
        return parse_delivery(text, presets)

    for a, b in GAINED:
        for question in by_arm[a]:
            pair_of = [Sent(world.calls[by_arm[text][question]["cell"]], by_arm[text][question]) for text in (a, b)]
            declared = variables(pair_of[0].row, pair_of[1].row, delivery)
            found = certify(*pair_of, declared, delivery, None)
            assert (found.matched, found.difference) == (True, ""), (a, b, question)
            assert found.altered, (a, b, question, found.unaltered)
