"""Token counts of what a run sent and of the whole histories, by a named tokenizer (DeliverMem, appendix E.6).

They are taken once, at the end of a run, and kept as `<run>/tokens.json`, so that a table can be made again from the
run's folder alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchsuite.corpus.model import Corpus, History, Image, plain_text
from benchsuite.errors import DataError
from benchsuite.files import whole_lines, write_atomic
from benchsuite.models.cache import AnswerStore
from benchsuite.models.tokenizer import Counter, image_tokens, load_tokenizer
from benchsuite_reports.table import FULL_CONTEXT_SIDE, FullContext, Row, TokenCounts

FILE = "tokens.json"
SCHEMA = 1
BATCH = 512


def count_tokens(
    run_dir: Path, rows: Iterable[Row], cache: Path, corpora: Mapping[str, Corpus], tokenizer: Path | None = None
) -> TokenCounts:
    """Count what the requests of these rows held and what their histories hold, each distinct text once.

    Errors are not counted, and of retrieval ``full`` only the history, which is what was sent.
    ``cache`` is the folder of the answer cache, which has the texts; ``corpora`` stands by digest; ``tokenizer`` is
    a folder with a ``tokenizer.json``, by default that of all-MiniLM-L6-v2. Raises ConfigError when there is no
    answer cache, DataError for a call log or a tokenizer that cannot be read.
    """
    name, count = load_tokenizer(tokenizer)
    mine = [row for row in rows if row["status"] != "error"]
    store = AnswerStore(cache, readonly=True)
    try:
        sent = _texts_sent(run_dir, {str(row["cell"]) for row in mine if row.get("arm.retrieval") != "full"})
        known: dict[str, int] = {}
        for batch in _batches(dict.fromkeys(sha for shas in sent.values() for sha in shas)):
            texts = {sha: part.decode("utf-8", "replace") for sha in batch if (part := store.part(sha)) is not None}
            known.update(zip(texts, count(list(texts.values())), strict=True))
    finally:
        store.close()
    delivered = {cell: sum(known[sha] for sha in shas) for cell, shas in sent.items() if all(s in known for s in shas)}
    return TokenCounts(name, delivered, _count_histories(mine, corpora, count))


def write_tokens(run_dir: Path, counts: TokenCounts) -> None:
    full = [[*key, each.text, each.images, each.missing] for key, each in sorted(counts.full.items())]
    read = {
        "schema": SCHEMA,
        "tokenizer": counts.tokenizer,
        "side": counts.side,
        "delivered": dict(sorted(counts.delivered.items())),
        "full": full,
    }
    write_atomic(run_dir / FILE, json.dumps(read, separators=(",", ":")) + "\n")


def read_tokens(run_dir: Path) -> TokenCounts | None:
    """What a run counted; None where it counted nothing. Raises DataError for a file that is not such counts."""
    file = run_dir / FILE
    try:
        read = json.loads(file.read_bytes())
        if read["schema"] != SCHEMA:
            raise ValueError(f"schema {read['schema']}, this version reads {SCHEMA}")
        full = {(corpus, length, question): FullContext(*rest) for corpus, length, question, *rest in read["full"]}
        return TokenCounts(read["tokenizer"], read["delivered"], full, read["side"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(str(file), None, None, error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(str(file), None, None, f"no token counts: {type(error).__name__}: {error}") from None


def _texts_sent(run_dir: Path, cells: set[str]) -> dict[str, list[str]]:
    """The sha256 of every text part of each cell's answering request; the last request of a cell counts."""
    sent: dict[str, list[str]] = {}
    same: dict[str, str] = {}  # one object a digest: most parts come back in every arm
    for file in sorted((run_dir / "calls").glob("*.jsonl")):
        for number, line in whole_lines(file):
            try:
                call = json.loads(line)
                if call["role"] == "answer" and call["cell"] in cells:
                    parts = [part for _, records in call["messages"] for part in records]
                    shas = [part["sha256"] for part in parts if part["kind"] != "image"]
                    sent[call["cell"]] = [same.setdefault(sha, sha) for sha in shas]
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(f"{file}:{number}", None, None, f"no call: {type(error).__name__}: {error}") from None
    return sent


def _count_histories(
    rows: Sequence[Row], corpora: Mapping[str, Corpus], count: Counter
) -> dict[tuple[str, str, str], FullContext]:
    known: dict[int, int] = {}  # by the text's hash: the texts themselves may be gigabytes
    wholes: dict[str, tuple[int, int, int]] = {}  # by history: text tokens, image tokens, missing images
    full: dict[tuple[str, str, str], FullContext] = {}
    for key in dict.fromkeys((str(row["corpus"]), str(row.get("arm.length")), str(row["question"])) for row in rows):
        digest, length, question_id = key
        if digest not in corpora:
            continue
        question = corpora[digest].question(length, question_id)
        if question.history_id not in wholes:
            wholes[question.history_id] = _whole(corpora[digest].history(question.history_id), known, count)
        text, images, missing = wholes[question.history_id]
        full[key] = FullContext(text + _sum([question.text], known, count), images, missing)
    return full


def _whole(history: History, known: dict[int, int], count: Counter) -> tuple[int, int, int]:
    turns = history.turns
    images: list[Image] = [image for turn in turns for image in turn.images]
    return (
        _sum([plain_text(turn.text) for turn in turns], known, count),
        sum(image_tokens(image.width, image.height, FULL_CONTEXT_SIDE) for image in images if not image.missing),
        sum(bool(image.missing) for image in images),
    )


def _sum(texts: Sequence[str], known: dict[int, int], count: Counter) -> int:
    new = {hash(text): text for text in texts if hash(text) not in known}
    for batch in _batches(new):
        known.update(zip(batch, count([new[key] for key in batch]), strict=True))
    return sum(known[hash(text)] for text in texts)


def _batches(keys: Iterable[Any]) -> Iterable[list[Any]]:
    every = list(keys)
    return (every[at : at + BATCH] for at in range(0, len(every), BATCH))
