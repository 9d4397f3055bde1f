"""Writes the bank's folder: `bank.json`, images, what was drawn (for audits), notice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchsuite.corpus.minis.memlens_gen.write import made_with
from benchsuite.corpus.minis.mirage_gen.draw import png
from benchsuite.corpus.minis.mirage_gen.extension_pictures import INFOGRAPHIC, INVOICE, PHOTO, REPORT
from benchsuite.corpus.minis.mirage_gen.extension_texts import CODE, MAIL
from benchsuite.corpus.minis.mirage_gen.filler import library
from benchsuite.corpus.minis.mirage_gen.main_charts import CHARTS
from benchsuite.corpus.minis.mirage_gen.main_screens import SCREENS
from benchsuite.corpus.minis.mirage_gen.specs import SEED, Ask, Planted, opaque

NOTICE = Path(__file__).with_name("NOTICE.md")
PERSONA = (
    "Your user is Maren Tolvey, an engineer who builds and runs machine-learning services in a small team, and who "
    "also hands you keepsakes of life outside work."
)
SCALES = {
    "tenth": {
        "per_k": 100, "planted": 0, "compaction": 10_000, "kept": 2, "summary_words": 250, "rounds": 5,
    },
    "paper": {
        "per_k": 1000, "planted": 23_000, "compaction": 100_000, "kept": 2, "summary_words": 1200, "rounds": 5,
    },
}  # fmt: skip
OPENING = {
    "main": (
        "Before we start on work: I will hand you a few things that I want to ask about later. Keep them.",
        "Gladly. Show me one at a time; I store each with its notes.",
    ),
    "extension": (
        "I have some papers and pictures of the last weeks for you to keep. I may come back to them.",
        "Good. Send them one after the other, and I file each.",
    ),
}
CLOSING = {
    "main": (
        "That was all of them. Let us turn to work now.",
        "All six are in the workspace. What is first?",
    ),
    "extension": (
        "Those were all the papers. Back to the day job.",
        "They are filed. What shall we look at?",
    ),
}
SPLITS: dict[str, tuple[Planted, ...]] = {
    "main": (*CHARTS, *SCREENS),
    "extension": (PHOTO, INFOGRAPHIC, CODE, MAIL, INVOICE, REPORT),
}


def write_bank(out: Path) -> None:
    """Writes ``mirage-mini`` into ``out`` (made if absent); the same bytes every time. Raises OSError."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Any] = {}
    for objects in SPLITS.values():
        for planted in objects:
            lines: list[list[str]] = []
            if planted.draw is not None:
                canvas = planted.draw()
                (out / "images" / f"{planted.id}.png").write_bytes(png(canvas))
                lines = [list(line) for line in canvas.lines]
            drawn[planted.id] = lines
    splits = {name: _split(name, objects) for name, objects in SPLITS.items()}
    answers = [probe["answer"] for split in splits.values() for probe in split["probes"] if probe["answerable"]]
    filler = [
        {"id": task.id, "topic": task.topic, "turns": [list(pair) for pair in task.turns]} for task in library(answers)
    ]
    bank = {
        "format": "mirage-bank/1",
        "persona": PERSONA,
        "seed": SEED,
        "scales": SCALES,
        "filler": filler,
        "splits": splits,
    }
    _write(out / "bank.json", bank)
    absent = {
        _probe_id(planted, place, "-"): list(ask.absent)
        for objects in SPLITS.values()
        for planted in objects
        for place, ask in enumerate(planted.asks)
        if ask.other
    }
    _write(out / "drawn.json", {"made_with": made_with(), "images": drawn, "absent": absent})
    (out / "NOTICE.md").write_bytes(NOTICE.read_bytes())


def _split(name: str, objects: Sequence[Planted]) -> dict[str, Any]:
    first, last = OPENING[name], CLOSING[name]
    turns: list[dict[str, Any]] = [{"role": "user", "text": first[0]}, {"role": "assistant", "text": first[1]}]
    for planted in objects:
        turns.append({"role": "user", "text": planted.fill(planted.said), "artifact": planted.id})
        turns.append({"role": "assistant", "text": planted.fill(planted.reply)})
        for said, reply in planted.after:
            turns.append({"role": "user", "text": planted.fill(said)})
            turns.append({"role": "assistant", "text": planted.fill(reply)})
    turns += [{"role": "user", "text": last[0]}, {"role": "assistant", "text": last[1]}]
    probes = [
        probe for planted in objects for place, ask in enumerate(planted.asks) for probe in _pair(planted, place, ask)
    ]
    return {
        "artifacts": [_artifact(planted) for planted in objects],
        "turns": turns,
        "files": [],
        "probes": sorted(probes, key=lambda probe: str(probe["id"])),
    }


def _artifact(planted: Planted) -> dict[str, Any]:
    made: dict[str, Any] = {"id": planted.id, "kind": planted.kind, "path": planted.path}
    if planted.draw is not None:
        made["images"] = [f"{planted.id}.png"]
    if planted.text:
        made["text"] = planted.text
    made["records"] = [{"path": planted.fill(path), "text": planted.fill(text)} for path, text in planted.records]
    return made


def _probe_id(planted: Planted, place: int, sign: str) -> str:
    return "mq_" + opaque("probe", f"{planted.key}:{place}:{sign}")


def _pair(planted: Planted, place: int, ask: Ask) -> list[dict[str, Any]]:
    """The answerable question and its counterpart, where it has one."""
    pair = "mp_" + opaque("pair", f"{planted.key}:{place}")
    about = {"difficulty": ask.difficulty, "query": ask.query, "risk": ask.risk, "pair": pair}
    made = []
    for sign, text in (("+", ask.question), ("-", ask.other)):
        if not text:
            continue
        answerable = sign == "+"
        made.append(
            {
                "id": _probe_id(planted, place, sign),
                "question": text,
                "answerable": answerable,
                "artifact": planted.id,
                "source": planted.id if answerable else None,
                "answer": ask.answer if answerable else None,
                **about,
                "family": planted.kind + sign,
            }
        )
    return made


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
