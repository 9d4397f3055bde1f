"""Certificates over requests of the real renderer: what they pass, and each planted fault by its name."""

from __future__ import annotations

import copy
import hashlib
import io
import json

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.model import Image, Query
from benchsuite.delivery.arrange import all_slots, arrange, with_decoys
from benchsuite.delivery.certificates import Sent, certify, pixel_checks, variables
from benchsuite.delivery.evidence import PixelEvidence
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.render import missing_images, render
from benchsuite.errors import BenchError
from benchsuite.models.wire import Request, request_key, sha256_text, skeleton

SEED = "0123456789abcdef"
TOKENS = (
    "noimg caption scramble phase decoy notag tag tagpix tagtext tagconst tagshuf tagshufpix nodate date dateperm "
    "ordinal bindshuf conv s24 label_images"
).split()
DEFAULTS = {"length": "1x", "index": "region", "retrieval": "text", "k": 10, "judge": "none", "repeat": 0}


@pytest.fixture
def history(store, turn):
    """Nine messages with three photographs, a JPEG among them, and one picture that is missing."""
    dog, cat = store.draw(48, 30, caption="a dog"), store.draw(36, 40)
    bird, gone = store.draw(50, 44, kind="JPEG"), Image("", "gone.png", missing="absent")
    return [
        turn(1, "See <image> and <image> here", dog, cat, date="2024/05/01"),
        turn(2, "Nice.", role="assistant", date="2024/05/02"),
        turn(3, "", bird, date="unknown", session=2),
        turn(4, "It is gone <image>", gone, date="2024/05/03", session=3),
        turn(5, "Once more <image>", dog, date="2024/05/04", session=3),
        *(turn(n, f"Talk {n}", role="user" if n % 2 else "assistant", date=f"2024/05/0{n}") for n in (6, 7, 8, 9)),
    ]


class Lab:
    """Sends items as an episode would and keeps the record of the call."""

    def __init__(self, store, delivery, protocol, folder):
        self.store, self.deliveries, self.protocol = store, delivery, protocol
        self.desk = ImageDesk(folder / "image")
        self.sources = [store.draw(70, 50 + number) for number in range(12)]
        self.bytes = {}

    def send(self, items, text="pixels", history=(), seed=SEED, **axes):
        chosen = self.deliveries(text)
        placed = arrange(items, chosen, seed, history or items)
        if chosen.modality == "decoy":
            placed = with_decoys(placed, self.sources)
        images = {}
        for slot in all_slots(placed):
            wire = images[slot.key] = self.desk.prepare(slot, chosen, self.store.read)
            self.bytes[wire.sha256] = self.desk.bytes_of(wire)
        query = Query("What is it?", "2024/06/01")
        messages = render(placed, query, chosen, self.protocol, images, len(history or items))
        arm = {**DEFAULTS, "model": "m", "delivery": text, **axes}
        request = Request(str(arm["model"]), messages, {"temperature": 0, "max_tokens": 1024})
        call = {"cell": "c", "role": "answer", **skeleton(request_key("f", request, int(arm["repeat"])), request)}
        row = {
            **{f"arm.{axis}": value for axis, value in arm.items()},
            "question": "q",
            "corpus": "corpus",
            "requests": [call["key"]],
            "n_missing": missing_images(items, chosen),
            "usage.prompt": 100 + 3 * len(request.images),
            "image_tokens": 3 * len(request.images),
            "model_served": f"{arm['model']}-served",
            "fingerprint": "fp",
        }
        return Sent(json.loads(json.dumps(call)), row)

    def certify(self, a, b, declared=None, pixels=None):
        names = variables(a.row, b.row, self.deliveries) if declared is None else declared
        return certify(a, b, names, self.deliveries, pixels)

    def evidence(self, folder):
        return PixelEvidence(
            folder, lambda part, corpus: self.bytes[part["sha256"]], lambda sha256, corpus: self.store.data[sha256]
        )


@pytest.fixture
def lab(store, delivery, protocol, tmp_path):
    return Lab(store, delivery, protocol, tmp_path)


def edited(sent, change, **row):
    """A copy with its parts changed in place by ``change(parts)``, in whichever message they stand."""
    call = copy.deepcopy(sent.call)
    for _, parts in call["messages"]:
        change(parts)
    return Sent(call, {**sent.row, **row})


def of(kind, item=None, number=0):
    """Finds the places of parts in a list."""
    return lambda parts: [
        i for i, part in enumerate(parts) if part["kind"] == kind and (item is None or part["item"] == item)
    ][number : number + 1]


def dropped(found):
    return lambda parts: [parts.pop(i) for i in found(parts)]


def rewritten(found, **facts):
    facts = facts or {"sha256": sha256_text("something else")}
    return lambda parts: [parts[i].update(facts) for i in found(parts)]


def added(found, kind):
    """A stray sentence after what is found."""
    extra = {"kind": kind, "item": "", "sha256": sha256_text("stray"), "n": 5}
    return lambda parts: [parts.insert(i + 1, {**extra, "item": parts[i]["item"]}) for i in found(parts)]


def params(found, **facts):
    return lambda parts: [parts[i]["params"].update(facts) for i in found(parts)]


def swapped(kind, first, second):
    """Two parts of a kind change their digests."""

    def change(parts):
        for i, j in zip(of(kind, first)(parts), of(kind, second)(parts), strict=True):
            parts[i]["sha256"], parts[j]["sha256"] = parts[j]["sha256"], parts[i]["sha256"]

    return change


def nothing(parts):
    return parts


ALTERED = [
    ("pixels", "noimg", "modality"),
    ("pixels", "pixels+caption", "modality"),
    ("noimg", "pixels+caption", "modality"),
    ("pixels+label_images", "noimg+label_images", "modality label_images"),
    *[("pixels", f"pixels+{name}", "modality") for name in ("scramble", "phase", "decoy")],
    ("pixels+scramble", "pixels+phase", "modality"),
    ("pixels+decoy", "pixels+phase", "modality"),
    ("deployed+decoy", "deployed", "modality"),
    ("pixels+decoy", "noimg", "modality"),
    *[("pixels", f"pixels+{name}", "identity") for name in TOKENS if name.startswith("tag")],
    *[("deployed", f"deployed+{name}", "identity") for name in TOKENS if name[:4] in ("nota", "tagp", "tagc", "tags")],
    ("deployed+tagshuf", "deployed+tagconst", "identity"),
    ("deployed+tagshuf", "deployed+tagshufpix", "identity"),
    ("deployed+tagconst", "deployed+tagtext", "identity"),
    ("deployed", "deployed+noimg", "modality identity"),
    *[("deployed", f"deployed+{name}", "time") for name in ("nodate", "dateperm", "ordinal")],
    ("pixels", "pixels+ordinal", "time"),
    ("deployed+dateperm", "deployed+ordinal", "time"),
    ("direct", "direct+nodate", "time"),
    ("deployed", "deployed+bindshuf", "binding"),
    ("pixels+scramble", "pixels+scramble+bindshuf", "binding"),
    ("pixels", "pixels+conv", "order"),
    ("deployed", "deployed+conv", "order"),
    ("deployed+tagconst", "deployed+tagconst+conv", "order"),
    ("deployed+tagshuf+dateperm+bindshuf", "deployed+tagshuf+dateperm+bindshuf+conv", "order"),
    ("pixels", "pixels+s24", "side"),
    ("deployed+phase", "deployed+phase+s24", "side"),
    ("pixels", "stored", "side codec"),
    ("pixels", "pixels+label_images", "label_images"),
    ("direct", "direct+label_images", "label_images"),
    ("direct", "pixels+conv+date", "side codec form"),
    ("pixels", "deployed", "identity time"),
    ("pixels", "deployed+decoy+bindshuf+s24", "modality identity time binding side"),
]


@pytest.mark.parametrize(("a", "b", "names"), ALTERED)
def test_a_declared_variable_is_matched_and_altered(lab, history, tmp_path, a, b, names):
    ranked = [history[4], history[2], history[1], history[0], history[3]]
    orders = [history[:5] if lab.deliveries(text).order == "conv" else ranked for text in (a, b)]
    first, second = (lab.send(items, text, history) for items, text in zip(orders, (a, b), strict=True))
    assert set(variables(first.row, second.row, lab.deliveries)) >= set(names.split())
    pixels = lab.evidence(tmp_path / "pixels")
    for pair in ((first, second), (second, first)):
        found = lab.certify(*pair, pixels=pixels)
        assert (found.matched, found.difference) == (True, "")
        if names != "modality label_images":  # captions and labels say that they cannot both be told apart
            assert (found.altered, found.unaltered) == (True, ())
    undeclared = lab.certify(first, second, [])
    assert (undeclared.matched, undeclared.altered) == (False, False)


@pytest.mark.parametrize("token", ["", *TOKENS])
def test_every_pair_of_deliveries_is_matched_and_one_more_change_is_not(lab, history, token):
    items = [history[4], history[1], history[0], history[3], history[2]]

    def sent(name):
        text = f"pixels+{name}" if name else "pixels"
        return lab.send(history[:5] if name == "conv" else items, text, history)

    first = sent(token)
    for other in ["", *TOKENS]:
        second = sent(other)
        found = lab.certify(first, second)
        assert (found.matched, found.difference) == (True, ""), (token, other)
        faults = {
            "text": rewritten(of("text", "t2")),
            "head": added(of("head"), "head"),
            "question": rewritten(of("question")),
            "role": dropped(of("role", "t3")),
            "item": lambda parts: [parts.pop(i) for i in range(len(parts) - 1, -1, -1) if parts[i]["item"] == "t2"],
        }
        for name, fault in faults.items():
            assert not lab.certify(first, edited(second, fault)).matched, (token, other, name)
        served = Sent({**second.call, "params": {**second.call["params"], "max_tokens": 512}}, second.row)
        assert lab.certify(first, served).difference == "max_tokens 1024 against 512"


FAULTS = [
    ("deployed", "deployed+noimg", rewritten(of("text", "t1")), "item 4 (of 5): its text differs"),
    ("deployed", "deployed+noimg", dropped(of("text", "t5")), "item 1 (of 5): 1 text part against 0"),
    ("pixels", "noimg", lambda p: [p.pop(i) for i in of("role", "t2")(p) + of("text", "t2")(p)[::-1]], "item 3"),
    ("pixels", "noimg", rewritten(of("role", "t5")), "item 1 (of 5): its role differs"),
    ("pixels", "noimg", added(of("head"), "head"), "the head: 1 part against 2"),
    ("pixels", "pixels+scramble", rewritten(of("head")), "the head differs"),
    ("pixels", "noimg", rewritten(of("instruction")), "the instruction differs"),
    ("pixels", "noimg", added(of("instruction"), "instruction"), "the instruction: 1 part against 2"),
    ("pixels", "noimg", rewritten(of("question")), "the question differs"),
    ("pixels", "noimg", added(of("text", "t1"), "note"), "item 4 (of 5): 0 note parts against 1"),
    ("deployed", "deployed+phase", swapped("date", "t5", "t1"), "item 1 (of 5): its date differs"),
    ("deployed", "deployed+dateperm", rewritten(of("date", "t5")), "the dates are not the same dates in another order"),
    ("deployed", "deployed+dateperm", dropped(of("date", "t5")), "item 1 (of 5): 1 date part against 0"),
    ("deployed", "deployed+nodate", rewritten(of("tag", "t5")), "item 1 (of 5): its tag differs"),
    ("deployed", "deployed+tagshuf", rewritten(of("tag", "t5")), "the tags in the text are not the same tags"),
    ("deployed", "deployed+tagshuf", dropped(of("tag", "t5")), "item 1 (of 5): 1 tag part against 0"),
    ("deployed", "deployed+tagshufpix", rewritten(of("tag", "t5")), "item 1 (of 5): its tag differs"),
    ("deployed", "deployed+tagconst", dropped(of("tag", "t5")), "item 1 (of 5): 1 tag part against 0"),
    ("pixels", "pixels+tagpix", added(of("head"), "tag"), "what the head says of tags: 0 parts against 1"),
    ("pixels", "pixels+tagpix", added(of("text", "t1"), "tag"), "item 4 (of 5): 0 tag parts against 1"),
    ("pixels", "pixels+date", dropped(of("image", "t5")), "item 1 (of 5): 1 image against 0"),
    ("pixels", "pixels+phase", dropped(of("image", "t1", 1)), "item 4 (of 5): 2 images against 1"),
    ("pixels", "pixels+phase", lambda p: [p[i].update(item="t2") for i in of("image", "t5")(p)], "item"),
    ("pixels", "pixels+date", rewritten(of("image", "t5"), w=99), "image 1: 48x30 against 99x30"),
    ("pixels", "pixels+scramble", rewritten(of("image", "t5"), w=99), "image 1: 48x30 against 99x30"),
    ("pixels", "pixels+date", rewritten(of("image", "t5"), mime="image/jpeg"), "image 1: image/png against image/jpeg"),
    ("pixels", "pixels+tagpix", rewritten(of("image", "t5"), mime="image/jpeg"), "image 1: image/png against"),
    ("pixels", "pixels+date", rewritten(of("image", "t5"), transform="png/1"), "image 1: as stored against png/1"),
    (
        "pixels+tag",
        "pixels+tag+scramble",
        rewritten(of("image", "t5"), transform="jpeg/1+scramble/1+stamp/1"),
        "image 1: png/1+stamp/1 against jpeg/1+scramble/1+stamp/1",
    ),
    ("pixels", "pixels+date", rewritten(of("image", "t5")), "image 1: its bytes differ"),
    ("pixels", "pixels+date", rewritten(of("image", "t5"), source="0" * 64), "image 1: another picture"),
    ("pixels", "pixels+decoy", params(of("image", "t5"), replaces="0" * 64), "image 1: another picture"),
    ("pixels+decoy", "deployed+decoy", rewritten(of("image", "t5"), source="0" * 64), "image 1: another decoy"),
    ("pixels+phase", "deployed+phase", params(of("image", "t5"), seed="0" * 16), "image 1: another seed"),
    ("pixels+tag", "deployed+tag", params(of("image", "t5"), side=512), "image 1: longest side 768 against 512"),
    ("pixels+tag", "deployed", params(of("image", "t5"), tag="M2"), "image 1: stamped M1 against M2"),
    ("pixels+tag", "deployed+noimg", params(of("image", "t5"), box="0,0,9,9"), ""),
    ("pixels+tag", "deployed+tag", params(of("image", "t5"), box="0,0,9,9"), "image 1: stamped in the box 0,0,9,9"),
    ("pixels", "pixels+tagpix", params(of("image", "t5"), box="0,0,9,9"), "image 1: stamped in the box 0,0,9,9 and"),
    ("pixels+tag", "pixels+tagconst", params(of("image", "t5"), frame="M10"), "image 1: stamped in the box of M1 aga"),
    ("pixels+tag", "pixels+tagshuf", params(of("image", "t5"), tag="M7"), "the stamps are not the same stamps"),
    ("pixels+tag", "pixels+tag+phase", params(of("image", "t5"), gamma=2), "image 1: gamma not set against 2"),
    ("pixels", "pixels+bindshuf", rewritten(of("image", "t5"), source="0" * 64), "the images are not the same images"),
    ("pixels", "pixels+bindshuf", rewritten(of("image", "t5"), w=99), "the images are not the same images"),
    ("pixels", "pixels+bindshuf", rewritten(of("image", "t5")), "the images are not the same images"),
    ("pixels", "pixels+caption", dropped(of("note", "t5")), "3 captions for 5 images"),
    ("pixels+label_images", "pixels+label_images+date", rewritten(of("note", "t5")), "item 1 (of 5): its note differs"),
]


@pytest.mark.parametrize(("a", "b", "fault", "named"), FAULTS, ids=[f"{n}-{f[3][:30]}" for n, f in enumerate(FAULTS)])
def test_a_planted_fault_is_the_first_difference(lab, history, a, b, fault, named):
    items = [history[4], history[2], history[1], history[0], history[3]]
    first, second = lab.send(items, a, history), lab.send(items, b, history)
    assert lab.certify(first, second).matched
    found = lab.certify(first, edited(second, fault))
    assert found.difference.startswith(named)
    assert found.matched == (not named)
