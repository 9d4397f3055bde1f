"""Hand-made outcome rows of MIRAGE cells, from codes of one letter a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchsuite.outcome import Outcome
from benchsuite_reports.table import CorpusFacts, RunFacts, Table

DIGEST = "cd" * 32
OBJECTS = 6
USERS = RunFacts({DIGEST: CorpusFacts("bank.json", bundled=False)}, run="0003_nogit_run")
MINI = RunFacts({DIGEST: CorpusFacts("mirage-mini", bundled=True)}, frozenset({"embedded"}), "0003_nogit_run")
DEPTHS = {"S1-d0": 2318, "S1-d50k": 5022, "S1-d80k": 8044, "S2": 10008}
ANSWERABLE: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "g": ("grounded", {"yes": 1, "ac": 1, "sc": 1, "vc": 1, "gc": 1, "ws": 0}),
    "v": ("mirage", {"yes": 1, "ac": 1, "sc": 0, "vc": 1, "gc": 0, "ws": 1}),  # the answer is kept, its source lost
    "s": ("mirage", {"yes": 1, "ac": 1, "sc": 1, "vc": 0, "gc": 0, "ws": 0}),  # the source is right, the value is not
    "m": ("mirage", {"yes": 1, "ac": 1, "sc": 0, "vc": 0, "gc": 0, "ws": 1}),
    "n": ("refused", {"yes": 0, "ac": 0, "sc": 0, "vc": 0, "gc": 0, "ws": 1}),
    "t": ("refused", {"yes": 0, "ac": 0, "sc": 1, "vc": 0, "gc": 0, "ws": 0}),
    "w": ("refused", {"yes": 0, "ac": 0, "sc": 0, "vc": 1, "gc": 0, "ws": 1}),
    "c": ("grounded", {"yes": 0, "ac": 0, "sc": 1, "vc": 1, "gc": 1, "ws": 0}),  # GC 1 beside ANSWERABLE=NO
}
"""Code: word and scores of an answerable question; ``p`` is a parse failure, ``e`` an error."""
UNANSWERABLE: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "r": ("right", {"yes": 0, "ac": 1, "hr": 0}),
    "h": ("wrong", {"yes": 1, "ac": 0, "hr": 1}),
    "o": ("wrong", {"yes": 0, "ac": 1, "hr": 1}),  # ANSWERABLE=NO, and a value beside it
}
REPLIES = {
    "g": "ANSWERABLE=YES\nSOURCE={source}\nANSWER={gold}",
    "v": "ANSWERABLE=YES\nSOURCE=NONE\nANSWER={gold}",
    "s": "ANSWERABLE=YES\nSOURCE={source}\nANSWER=17",
    "m": "ANSWERABLE=YES\nSOURCE=ev_000000\nANSWER=17",
    "n": "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=NONE",
    "t": "ANSWERABLE=NO\nSOURCE={source}\nANSWER=NONE",
    "w": "ANSWERABLE=NO\nSOURCE=NONE\nANSWER={gold}",
    "c": "ANSWERABLE=NO\nSOURCE={source}\nANSWER={gold}",
    "r": "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=NONE",
    "h": "ANSWERABLE=YES\nSOURCE={source}\nANSWER=17",
    "o": "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=17",
    "p": "I cannot say.",
}


def mirage_row(
    question: str, code: str, state: str = "S1-d0", answerable: bool = True, **changes: Any
) -> dict[str, object]:
    """A row. Keyword arguments that are axes are put on the arm, ``scores`` are added to those of the code, ``trace``
    False leaves out depths and tool counts; others replace fields."""
    axes: dict[str, Any] = {
        "length": "tenth",
        "state": state,
        "condition": "C0",
        "recall": "intact",
        "summary": "verbatim",
        "summariser": "extractive",
        "retention": "all",
        "method": "none",
        "retrieval": "none",
        "k": 10,
        "delivery": "direct",
        "model": "qwen",
        "judge": "none",
        "repeat": 0,
    }
    axes.update({name: changes.pop(name) for name in list(changes) if name in axes})
    axes.update(changes.pop("axes", {}))
    word, scores = (ANSWERABLE if answerable else UNANSWERABLE).get(code, ("", {}))
    status = {"p": "unparsed", "e": "error"}.get(code, "scored")
    cluster = changes.pop("cluster", f"ev_{sum(map(ord, question)) % OBJECTS:06d}")
    gold = changes.pop("gold", f"value of {question}" if answerable else "NONE")
    trace: dict[str, float] = {}
    if status != "error" and changes.pop("trace", True):
        trace = {"tool": 0, "tool_calls": 0, "tool_faults": 0, "pseudo_tool": 0, "tool_limit": 0, "recall_calls": 0}
        trace |= {"recall_hits": 0, "recall_empty": 0, "gold_text": 0, "gold_pixels": 0}
        trace |= {"depth": DEPTHS.get(state, 3000), "active": DEPTHS.get(state, 3000) - (6000 if state == "S2" else 0)}
        trace |= {"compactions": int(state == "S2")}
    scored = status == "scored"
    score = (scores["gc"] if answerable else 1 - scores["hr"]) if scored else None
    values: dict[str, Any] = {
        "cell": f"mirage:{'-'.join(str(value) for value in axes.values())}-{question}",
        "suite": "mirage",
        "corpus": DIGEST,
        "question": question,
        "type": "value",
        "split": "main",
        "cluster": cluster,
        "labels": ["difficulty:lookup", "query:value", "risk:none", f"family:chart{'+' if answerable else '-'}"],
        "answerable": answerable,
        "arm": axes,
        "status": status,
        "word": {"p": "unparsed", "e": "error"}.get(code, word),
        "answer": REPLIES[code].format(source=cluster, gold=gold) if code in REPLIES else None,
        "gold": gold,
        "refused": scores["yes"] == 0 if scored else None,
        "metric": "gc" if answerable else "hr_free",
        "score": score,
        "scores": {**scores, **trace, **changes.pop("scores", {})},
        "scorer": "mirage-strict/1" if status != "error" else "",
        "protocol": "mirage/1",
        "renderer": "state/1" if status != "error" else "",
        "model_served": f"{axes['model']}-served",
    }
    if status == "error":
        values.update(error_kind="timeout", error_message="late", model_served="", scores={})
    return Outcome(**{**values, **changes}).to_row()


def mirage_state(
    answerable: str, unanswerable: str = "", state: str = "S1-d0", **changes: Any
) -> list[dict[str, object]]:
    """The rows of one state and run: a code a question, ``a0``, ``a1``, ... and ``u0``, ``u1``, ..."""
    return [
        *(mirage_row(f"a{i}", code, state, True, **changes) for i, code in enumerate(answerable)),
        *(mirage_row(f"u{i}", code, state, False, **changes) for i, code in enumerate(unanswerable)),
    ]


def counted(n_answerable: int, n_unanswerable: int, ac: int, sc: int, vc: int, gc: int, hr: int) -> tuple[str, str]:
    """Codes of parsed answerable and unanswerable questions with these counts, GC wherever SC and VC can both be.

    Answerable questions claim YES; unanswerable ones that are hallucinated say YES first and else name a value, so
    that the whole has ``ac`` right judgements.
    """
    yes = "g" * gc + "v" * (vc - gc) + "s" * (sc - gc) + "m" * (n_answerable - gc - (vc - gc) - (sc - gc))
    assert len(yes) == n_answerable
    wrong = n_answerable + n_unanswerable - ac
    said = min(wrong, hr)
    silent = dict(zip("msvg", "ntwc", strict=True))  # the same sources and values, with ANSWERABLE=NO
    order = sorted(range(len(yes)), key=lambda i: "msvg".index(yes[i]))[: wrong - said]
    codes = "".join(silent[code] if i in order else code for i, code in enumerate(yes))
    return codes, "h" * said + "o" * (hr - said) + "r" * (n_unanswerable - hr)


def shown(table: Table, block: int = 0) -> dict[str, dict[str, str]]:
    """The texts of a block by its first cell and column."""
    columns = table.blocks[block].columns or table.columns
    return {row[0]: dict(zip(columns, row, strict=True)) for row in table.blocks[block].rows}


def lines(table: Table, block: int = 0) -> list[dict[str, str]]:
    """The texts of a block's rows by column."""
    columns = table.blocks[block].columns or table.columns
    return [dict(zip(columns, row, strict=True)) for row in table.blocks[block].rows]
