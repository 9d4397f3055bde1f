"""Responders whose answers depend on known variables by known amounts: D-T1 must show just these amounts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from scipy.stats import binomtest

if TYPE_CHECKING:
    from .conftest import Project, Row, Run

WORKERS = [0, 2]
BASE = 20  # questions that a responder answers right in every arm
FLIPPED = 13  # of further questions, those on which pixels alone decide
FOUND = 7  # those with a gold message that both retrievals deliver
HURT = 2  # pixels hurt, but only beside the gold message
CROSSED = 1  # pixels help beside the gold message and hurt without it

Effect = tuple[float, int, int]  # sum over the questions, wins, losses


@dataclass(frozen=True)
class Planted:
    """Over ``n`` questions, by model: how many are right in each arm, and the effects that follow."""

    n: int
    right: dict[str, dict[str, int]]
    effects: dict[str, dict[str, Effect]]


def in_hash_order(corpus: dict[str, Row], questions: Sequence[str]) -> list[str]:
    """In an order that question text and date decide."""

    def digest(question: str) -> str:
        item = corpus[question]
        return hashlib.sha256(f"{item['question']} {item['question_date']}".encode()).hexdigest()

    return sorted(questions, key=digest)


def marker_of(item: Row) -> tuple[str, str]:
    """(turn id, text) of the first gold message whose text no other message of the history has; empty for none."""
    turns = {
        f"s{i}t{j}": (turn["content"].replace("<image>", "").strip(), turn["has_answer"])
        for i, session in enumerate(item["haystack_sessions"], start=1)
        for j, turn in enumerate(session, start=1)
    }
    texts = [text for text, _ in turns.values()]
    unique = ((turn, text) for turn, (text, gold) in turns.items() if gold and text and texts.count(text) == 1)
    return next(unique, ("", ""))


def effects(**changed: Effect) -> dict[str, Effect]:
    names = ("delta_d.oracle", "delta_d.text", "delta_r.pixels", "delta_r.noimg", "interaction")
    return {name: changed.get(name.replace(".", "_"), (0, 0, 0)) for name in names}


def arms(*counts: int) -> dict[str, int]:
    return dict(zip(("oracle.pixels", "oracle.noimg", "text.pixels", "text.noimg"), counts, strict=True))


@pytest.fixture(scope="module")
def planted(project: Project, echo: Run, corpus: dict[str, Row]) -> Planted:
    """Gives every responder its rule for every question, from what the arms are seen to deliver."""
    rows = echo.by_arm
    answerable = [question for question, row in rows["text", "pixels"].items() if row["answerable"]]
    answerable = in_hash_order(corpus, answerable)
    markers = {question: marker_of(corpus[question]) for question in corpus}
    with_pixels = [rows[retrieval, "pixels"] for retrieval in ("text", "oracle")]
    seen_everywhere = [q for q in answerable if all(arm[q]["n_images"] > 0 for arm in with_pixels)]
    base = set(answerable[:BASE])
    flipped = [question for question in seen_everywhere if question not in base][:FLIPPED]
    marked = [question for question in seen_everywhere if markers[question][0]]
    by_both = [q for q in marked if markers[q][0] in rows["text", "pixels"][q]["items"]]
    by_oracle = [q for q in marked if q not in by_both and markers[q][0] in rows["oracle", "pixels"][q]["items"]]
    by_both = by_both[:FOUND]
    gained = len(by_oracle) - HURT - CROSSED  # pixels help beside a gold message that the oracle alone delivers
    assert len(flipped) == FLIPPED
    assert len(by_both) == FOUND
    assert gained >= 2

    rules = {model: dict.fromkeys(corpus, "never") for model in ("pixels", "zero", "harm", "found", "mixed")}
    for model in ("pixels", "zero", "harm"):
        rules[model].update(dict.fromkeys(base, "always"))
    rules["pixels"].update(dict.fromkeys(flipped, "shown"))
    rules["harm"].update(dict.fromkeys(flipped, "hidden"))
    rules["found"].update(dict.fromkeys([*by_both, *by_oracle], "found"))
    rules["mixed"].update(dict.fromkeys([*by_both, *by_oracle], "shown and found"))
    rules["mixed"].update(dict.fromkeys(by_oracle[:HURT], "not both"))
    rules["mixed"].update(dict.fromkeys(by_oracle[HURT : HURT + CROSSED], "both or neither"))
    truth = {
        item["question"] + item["question_date"]: {
            "gold": item["answer"],
            "marker": markers[question][1],
            "rules": {model: rule[question] for model, rule in rules.items()},
        }
        for question, item in corpus.items()
    }
    assert len(truth) == len(corpus)
    (project.folder / "truth.json").write_text(json.dumps(truth))

    flips, lone = BASE + FLIPPED, len(by_oracle)
    return Planted(
        n=len(answerable),
        right={
            "pixels": arms(flips, BASE, flips, BASE),
            "zero": arms(BASE, BASE, BASE, BASE),
            "harm": arms(BASE, flips, BASE, flips),
            "found": arms(FOUND + lone, FOUND + lone, FOUND, FOUND),
            "mixed": arms(FOUND + gained + CROSSED, HURT, FOUND + HURT, HURT + CROSSED),
        },
        effects={
            "pixels": effects(delta_d_oracle=(FLIPPED, FLIPPED, 0), delta_d_text=(FLIPPED, FLIPPED, 0)),
            "zero": effects(),
            "harm": effects(delta_d_oracle=(-FLIPPED, 0, FLIPPED), delta_d_text=(-FLIPPED, 0, FLIPPED)),
            "found": effects(delta_r_pixels=(lone, lone, 0), delta_r_noimg=(lone, lone, 0)),
            "mixed": effects(
                delta_d_oracle=(FOUND + gained + CROSSED - HURT, FOUND + gained + CROSSED, HURT),
                delta_d_text=(FOUND - CROSSED, FOUND, CROSSED),
                delta_r_pixels=(gained + CROSSED - HURT, gained + CROSSED, HURT),
                delta_r_noimg=(-CROSSED, 0, CROSSED),
                interaction=(gained + 2 * CROSSED - HURT, gained + CROSSED, HURT),
            ),
        },
    )


@pytest.fixture(scope="module", params=WORKERS)
def run(request: pytest.FixtureRequest, project: Project, planted: Planted) -> Run:
    return project.run("planted", workers=request.param, model=list(planted.right))


@pytest.mark.parametrize("model", ["pixels", "zero", "harm", "found", "mixed"])
def test_the_table_recovers_what_was_planted(run: Run, planted: Planted, model: str) -> None:
    values = run.blocks[model]["values"]
    assert values["n"] == planted.n
    right = {arm: values[f"accuracy.{arm}"] * planted.n for arm in planted.right[model]}
    assert right == pytest.approx(planted.right[model])
    for name, (total, wins, losses) in planted.effects[model].items():
        assert values[name] == pytest.approx(total / planted.n, abs=1e-12), name
        assert (values[f"{name}.wins"], values[f"{name}.losses"]) == (wins, losses), name
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        assert values[f"{name}.p"] == pytest.approx(p), name


@pytest.mark.parametrize("model", ["pixels", "zero", "harm", "found", "mixed"])
def test_the_terminal_says_the_same(run: Run, planted: Planted, model: str) -> None:
    right, effect = planted.right[model], planted.effects[model]

    def share(count: float, form: str = ".2f") -> str:
        return format(100 * count / planted.n, form)

    def row(retrieval: str) -> list[str]:
        total, wins, losses = effect[f"delta_d.{retrieval}"]
        accuracies = [share(right[f"{retrieval}.{delivery}"]) for delivery in ("pixels", "noimg")]
        return [*accuracies, share(total, "+.2f"), f"{wins}/{losses}"]

    text = run.text.partition(f", model {model}\n")[2].partition("Refused among")[0]
    assert f"n: {planted.n} answerable questions answered in all four arms" in text
    assert printed(text, "Gold messages (oracle)")[:4] == row("oracle")
    assert printed(text, "Text channel (text)")[:4] == row("text")
    (pixels, *pixels_wl), (noimg, *noimg_wl) = effect["delta_r.pixels"], effect["delta_r.noimg"]
    total, wins, losses = effect["interaction"]
    deltas = [share(pixels, "+.2f"), share(noimg, "+.2f")]
    assert printed(text, "Delta_R ")[:5] == [*deltas, "interaction", share(total, "+.2f"), f"{wins}/{losses}"]
    counts = printed(text, "Delta_R W/L, p")
    assert [counts[0], counts[2]] == [f"{wins}/{losses}," for wins, losses in (pixels_wl, noimg_wl)]


def printed(text: str, label: str) -> list[str]:
    """The words after a row's label."""
    found: Any = re.search(rf"^{re.escape(label)} +(?=[+-]?\d)(.+)$", text, re.MULTILINE)
    assert found, text
    return str(found[1]).split()
