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
from benchsuite.delivery.certificates.certify import Sent, certify, pixel_checks, variables
from benchsuite.delivery.certificates.evidence import PixelEvidence
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.render import missing_images, render
from benchsuite.errors import BenchError
from benchsuite.models.wire import Request, request_key, sha256_text, skeleton

SEED = "0123456789abcdef"
TOKENS = [
    *("noimg", "caption", "scramble", "phase", "decoy"),
    *("notag", "tag", "tagpix", "tagtext", "tagconst", "tagshuf", "tagshufpix"),
    *("nodate", "date", "dateperm", "ordinal"),
    *("bindshuf", "conv", "s24", "label_images"),
]
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
        small = "side" in names and "codec" in names  # no image is larger than the side that stored bytes do without
        assert found.unaltered == (("side: every image has the same size",) if small else ())
        assert found.altered == (not small)
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
    ("pixels", "pixels+bindshuf", rewritten(of("image", "t3")), "the images are not the same images"),
    ("direct", "pixels+conv+date", rewritten(of("text", "t4"), n=99), "item 5 (of 5): its text differs"),
    ("pixels", "pixels+caption", dropped(of("note", "t5")), "4 captions for 5 images"),
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


@pytest.mark.parametrize(
    ("a", "b", "count", "why"),
    [
        ("deployed", "deployed+tagshuf", 1, "identity: one tag alone cannot change places"),
        ("deployed", "deployed+tagshufpix", 1, "identity: one tag alone cannot change places"),
        ("deployed", "deployed+dateperm", 1, "time: one date alone cannot change places"),
        ("deployed", "deployed+dateperm", 0, "time: no item has a date"),
        ("pixels", "pixels+bindshuf", 1, "binding: one image alone cannot change places"),
        ("pixels", "pixels+conv", 1, "order: one item alone has no order"),
        ("pixels", "pixels+conv", 3, "order: the items stand in the same order"),
        ("pixels", "noimg", 0, "modality: no image is shown"),
        ("pixels", "pixels+phase", 0, "modality: no image is shown"),
        ("noimg", "pixels+caption", 0, "modality: no caption stands in an image's place"),
        ("pixels", "pixels+tag", 0, "identity: no image is shown"),
        ("pixels", "pixels+bindshuf", 0, "binding: no image is shown"),
        ("pixels", "pixels+s200", 3, "side: every image has the same size"),
        ("pixels", "pixels+label_images", 0, "label_images: no image is shown"),
        ("pixels", "pixels+ordinal", 0, "time: no item has a date"),
    ],
)
def test_what_cannot_change_is_counted_as_unaltered(lab, turn, store, a, b, count, why):
    items = [turn(n, f"text {n} <image>", store.draw(40, 30 + n), date=f"2024/05/0{n}") for n in range(1, count + 1)]
    found = lab.certify(lab.send(items, a), lab.send(items, b))
    assert (found.matched, found.difference) == (True, "")
    assert (found.altered, found.unaltered) == (False, (why,))


def test_another_order_moves_neither_tags_nor_dates_nor_images_by_itself(lab, turn, store):
    items = [turn(1, "one <image>", store.draw(40, 30), date="2024/05/01"), turn(2, "two")]
    for own, other in (("tag", "tagshuf"), ("tag+date", "tag+dateperm"), ("tag", "tag+bindshuf")):
        first, second = lab.send(items[::-1], f"pixels+{own}", items), lab.send(items, f"pixels+{other}+conv", items)
        found = lab.certify(first, second)
        assert (found.matched, found.difference, len(found.unaltered)) == (True, "", 1)
        assert "alone cannot change places" in found.unaltered[0]


def test_equal_dates_and_equal_images_cannot_change_places(lab, turn, store):
    dog = store.draw(40, 30)
    items = [turn(n, "text <image>", dog, date="2024/05/01") for n in (1, 2)]
    pair = lab.send(items, "pixels+date"), lab.send(items, "pixels+dateperm+bindshuf")
    assert lab.certify(*pair).unaltered == ("time: all dates are equal", "binding: all images are equal")
    items = [turn(1, "<image><image>", dog, store.draw(40, 31)), turn(2, "text")]
    found = lab.certify(lab.send(items), lab.send(items, "pixels+bindshuf"))
    assert found.unaltered == ("binding: all images belong to one item",)


def test_a_permutation_that_is_the_identity_and_a_decoy_that_is_the_original_are_caught(lab, history):
    items = history[:5]
    for text, why in [
        ("tagshuf", "identity: the tags are where they were"),
        ("tagshufpix", "identity: the tags are where they were"),
        ("dateperm", "time: the dates are where they were"),
        ("bindshuf", "binding: the images are where they were"),
    ]:
        first = lab.send(items, "deployed")
        unmoved = Sent(first.call, {**first.row, "arm.delivery": f"deployed+{text}"})
        found = lab.certify(first, unmoved)
        assert (found.matched, found.altered, found.unaltered) == (True, False, (why,))
    first, second = lab.send(items), lab.send(items, "pixels+decoy")

    def original(parts):
        for i in of("image", "t3")(parts):
            parts[i]["source"] = parts[i]["params"]["replaces"]

    found = lab.certify(first, edited(second, original))
    assert found.matched
    assert found.unaltered == ("modality: image 3: the decoy is the image that it replaces",)
    for name in ("scramble", "phase", "decoy"):
        same = Sent(first.call, {**first.row, "arm.delivery": f"pixels+{name}"})
        assert lab.certify(first, same).unaltered == (f"modality: image 1: no {name} image stands in its place",)
    assert lab.certify(first, Sent(first.call, {**first.row, "arm.delivery": "noimg"})).unaltered == (
        "modality: both show images",
    )


def test_the_tags_of_one_item_do_not_part(lab, history):
    first = lab.send(history[:5], "deployed")
    parted = Sent(first.call, {**first.row, "arm.delivery": "deployed+tagshufpix"})
    for item, number, tag in (("t1", 0, "M3"), ("t1", 1, "M5"), ("t3", 0, "M1"), ("t5", 0, "M1")):
        place = of("image", item, number)
        parted = edited(edited(parted, params(place, tag=tag)), rewritten(place, sha256=tag * 32))
    assert lab.certify(first, parted).difference == "the stamps are not the same stamps in another order"


def test_a_larger_k_begins_with_the_items_of_the_smaller(lab, history):
    ranked = history[::-1]
    small, large = lab.send(ranked[:3], k=3), lab.send(ranked[:7], k=7)
    assert variables(small.row, large.row, lab.deliveries) == ("k",)
    for pair in ((small, large), (large, small)):
        found = lab.certify(*pair)
        assert (found.matched, found.difference, found.altered) == (True, "", True)
    assert lab.certify(lab.send(ranked, k=9), lab.send(ranked, k=12)).unaltered == ("k: both deliver the same items",)
    other = lab.send([ranked[0], ranked[2], ranked[1]], k=3)
    assert lab.certify(other, large).difference == "item 2 (of 3): item 3 of the longer delivery"
    absent = lab.send([ranked[0], ranked[8]], k=2)
    assert lab.certify(absent, large).difference == "item 2 (of 2): not among the 7 of the longer delivery"
    oracle = Sent(other.call, {**other.row, "sees_gold": True})
    assert lab.certify(oracle, Sent(large.call, {**large.row, "sees_gold": True})).matched
    early, late = lab.send([history[1], history[4]], "deployed+conv", k=2), lab.send(history, "deployed+conv", k=9)
    assert lab.certify(early, late).difference == ""


def test_two_retrievals_hold_delivery_and_number(lab, history):
    text, image = lab.send(history[:4], "deployed"), lab.send(history[4:0:-1], "deployed", retrieval="image")
    found = lab.certify(text, image)
    assert (found.variables, found.matched, found.difference, found.altered) == (("retrieval",), True, "", True)
    assert lab.certify(text, lab.send(history[4:1:-1], "deployed", retrieval="image")).difference == "4 items against 3"
    for name, items in (("none", []), ("gold_only", history[:1]), ("full", history)):
        found = lab.certify(text, lab.send(items, "deployed", history, retrieval=name))
        assert (found.matched, found.difference, found.altered) == (True, "", True)
    assert lab.certify(text, lab.send(history[:4], "deployed", retrieval="both")).unaltered == (
        "retrieval: both deliver the same items",
    )
    assert lab.certify(text, edited(image, rewritten(of("text", "t4")))).difference == "item 4 (of 4): its text differs"
    assert lab.certify(text, edited(image, dropped(of("date", "t2")))).difference == (
        "item 2 (of 4): 1 date part against 0"
    )
    longer_role = rewritten(of("role", "t2"), n=99)
    assert lab.certify(text, edited(image, longer_role)).difference == "item 2 (of 4): its role differs"
    retagged = lab.certify(text, edited(image, params(of("image", "t3"), tag="M1")))
    assert retagged.difference == "image 3: stamped M3 against M1, not by place"
    apart = lab.send(history[5:7], "deployed"), lab.send(history[7:], "deployed", retrieval="image")
    assert lab.certify(*apart).matched
    undated = edited(apart[1], lambda parts: [parts.pop(i) for i in of("date", "t8")(parts) + of("date", "t9")(parts)])
    assert lab.certify(apart[0], undated).matched  # one of two: it may be a message without a date
    undated = edited(undated, dropped(of("date")))
    assert lab.certify(apart[0], undated).difference == "only the items of one request have dates"


def test_a_shorter_history_may_deliver_fewer(lab, history):
    short = lab.send(history[:4], "deployed+ordinal+phase", seed="1" * 16, k=6)
    long = lab.send(history[2:8], "deployed+ordinal+phase", history, length="8x", k=6)
    found = lab.certify(short, long)
    assert (found.variables, found.matched, found.difference, found.altered) == (("length",), True, "", True)
    cut = lab.send(history[2:5], "deployed+ordinal+phase", history, length="8x", k=3)
    full = Sent(short.call, {**short.row, "arm.k": 3})
    assert lab.certify(full, cut).difference == "4 items against 3"
    other_seed = lab.send(history[:4], "deployed+phase", seed="1" * 16, retrieval="image")
    assert lab.certify(lab.send(history[:4], "deployed+phase"), other_seed).difference == "image 1: another seed"


def test_model_repeat_judge_and_the_axes_that_nobody_declared(lab, history):
    first = lab.send(history)
    assert lab.certify(first, lab.send(history, repeat=1)).altered
    assert lab.certify(first, lab.send(history, repeat=1)).matched
    assert lab.certify(first, Sent(first.call, {**first.row, "arm.repeat": 1})).unaltered == (
        "repeat: both requests have the same key",
    )
    other = lab.send(history, model="n")
    found = lab.certify(first, other)
    assert (found.variables, found.matched, found.altered) == (("model",), True, True)
    assert lab.certify(first, other, []).difference == "model is not declared: m against n"
    renamed = Sent(other.call, {**other.row, "arm.model": "m"})
    assert lab.certify(first, renamed).difference == "model m against n"
    elsewhere = Sent(first.call, {**first.row, "model_served": "another"})
    assert lab.certify(first, elsewhere).difference == "model served m-served against another"
    judged = Sent(first.call, {**first.row, "arm.judge": "j", "requests": [first.call["key"], "judge"]})
    assert lab.certify(first, judged).altered
    assert lab.certify(first, judged, ["repeat"]).difference == "judge is not declared: none against j"
    assert lab.certify(first, Sent({**first.call, "tools": "x"}, first.row)).difference == "the tools differ"
    assert lab.certify(first, Sent(first.call, {**first.row, "question": "r"})).difference == (
        "the rows are of two questions"
    )
    assert lab.certify(first, lab.send(history, "noimg"), []).difference == (
        "modality is not declared: pixels against withheld"
    )
    with pytest.raises(BenchError, match="no certificate for axis compaction"):
        lab.certify(first, first, ["compaction"])


def test_variables_are_what_is_sent_and_not_what_is_written(lab, history):
    def names(a, b):
        return variables({"arm.delivery": a, "arm.k": 1}, {"arm.delivery": b, "arm.k": 1}, lab.deliveries)

    assert names("noimg", "deployed+noimg+nodate") == ()
    assert names("pixels", "deployed") == ("identity", "time")
    assert names("stored", "noimg") == ("modality",)
    assert names("pixels+bindshuf", "pixels+caption") == ("modality", "binding")
    found = lab.certify(lab.send(history, "noimg"), lab.send(history, "noimg+tag"))
    assert (found.matched, found.altered, found.unaltered) == (True, False, ())


def test_a_part_that_stands_under_another_item_or_role_is_named(lab, history):
    first = lab.send(history[:3])

    def late(parts):
        for i in of("text", "t1")(parts):
            parts.insert(len(parts) - 1, parts.pop(i))

    assert lab.certify(first, edited(first, late)).difference == "item 4 (of 4): a part of an item that has ended"
    said = copy.deepcopy(first.call)
    said["messages"][1][0] = "assistant"
    assert (
        lab.certify(first, Sent(said, first.row)).difference == "message roles: system, user against system, assistant"
    )
    talk = lab.send(history[:3], "direct")
    said = copy.deepcopy(talk.call)
    said["messages"][2][0] = "user"
    assert lab.certify(talk, Sent(said, talk.row)).difference.startswith("message roles: system, user, assistant")


def test_token_counts_speak_beside_the_legs(lab, history):
    first = lab.send(history)

    def against(text, **row):
        second = lab.send(history, text)
        found = lab.certify(first, Sent(second.call, {**second.row, **row}))
        assert found.matched
        return found.tokens, found.token_difference

    assert against("pixels+tagpix") == against("pixels+phase") == against("pixels+bindshuf") == ("", 0)
    assert against("pixels+tagpix", **{"usage.prompt": 115}) == ("+3 prompt tokens where none are predicted", 3)
    assert against("noimg") == ("", -12)
    assert against("noimg", **{"usage.prompt": 112}) == ("+0 prompt tokens with fewer images", 0)
    assert against("pixels+date", **{"usage.prompt": 150}) == ("", 38)
    assert against("pixels+tagpix", **{"usage.prompt": None}) == ("no count of prompt tokens", None)
    assert against("pixels+tagpix", fingerprint="fq") == ("the server's fingerprints differ", 0)
    assert against("pixels+tagpix", model_served="") == ("one reply names no model served", 0)


def test_pixels_are_asked_what_digests_cannot_tell(lab, history, tmp_path):
    items = [history[4], history[0], history[2]]
    first, tagged = lab.send(items), lab.send(items, "pixels+tagpix")

    def forged(sent, item, change):
        """The image of an item with other pixels, under its true digest."""

        def swap(parts):
            for i in of("image", item)(parts):
                picture = PillowImage.open(io.BytesIO(lab.bytes[parts[i]["sha256"]]))
                change(picture)
                buffer = io.BytesIO()
                picture.save(buffer, "PNG")
                parts[i]["sha256"] = hashlib.sha256(buffer.getvalue()).hexdigest()
                lab.bytes[parts[i]["sha256"]] = buffer.getvalue()

        return edited(sent, swap)

    def dot(x, y):
        return lambda picture: picture.putpixel((x, y), (1, 2, 3) if picture.mode == "RGB" else 7)

    pixels = lab.evidence(tmp_path / "pixels")
    assert lab.certify(first, tagged, pixels=pixels).altered
    outside = lab.certify(first, forged(tagged, "t3", dot(47, 40)), pixels=pixels)
    assert outside.difference == "image 4: pixels differ outside the stamp"
    inside = lab.certify(first, forged(tagged, "t3", dot(1, 1)), pixels=pixels)
    assert inside.matched
    assert inside.unaltered == ("identity: image 4: it is not what its record makes of the stored image",)
    for name in ("scramble", "phase", "decoy"):
        second = lab.send(items, f"pixels+{name}")
        assert lab.certify(first, second, pixels=pixels).altered
        found = lab.certify(first, forged(second, "t5", dot(20, 20)), pixels=pixels)
        assert found.matched
        assert found.unaltered == ("modality: image 1: it is not what its record makes of the stored image",)
    other_seed = edited(lab.send(items, "pixels+scramble"), params(of("image", "t5"), seed="another"))
    assert not lab.certify(first, other_seed, pixels=pixels).altered


def test_flat_images_have_no_other_phase(lab, store, turn, tmp_path):
    buffer = io.BytesIO()
    PillowImage.new("RGB", (40, 30), (9, 99, 200)).save(buffer, "PNG")
    flat, photo = store.add(buffer.getvalue()), store.draw(40, 30)
    pixels = lab.evidence(tmp_path / "pixels")
    for images, altered in (((flat,), False), ((flat, photo), True)):
        items = [turn(1, "look", *images)]
        for name in ("phase", "scramble"):
            found = lab.certify(lab.send(items), lab.send(items, f"pixels+{name}"), pixels=pixels)
            assert (found.matched, found.altered) == (True, altered)
    assert found.unaltered == ()


def test_prepared_checks_are_all_that_a_certificate_asks(lab, history, tmp_path):
    first = lab.send(history[:5], "pixels+tag")
    pairs = [(first, lab.send(history[:5], f"pixels+tag+{token}")) for token in ("phase", "notag", "tagconst", "s24")]
    pixels = lab.evidence(tmp_path / "pixels")
    names = [variables(a.row, b.row, lab.deliveries) for a, b in pairs]
    checks = [
        check
        for pair, declared in zip(pairs, names, strict=True)
        for check in pixel_checks(*pair, declared, lab.deliveries)
    ]
    pixels.prepare(checks)
    lab.bytes.clear()
    lab.store.data.clear()
    for pair in pairs:
        found = lab.certify(*pair, pixels=pixels)
        assert (found.matched, found.altered) == (True, True)


def test_items_of_two_lengths_are_other_items_whatever_their_ids(lab, store, turn):
    short = [turn(1, "One", store.draw(), date="2024/05/12"), turn(2, "Two", date="2024/05/13")]
    long = [turn(1, "Another one", date="2023/01/01"), turn(2, "Two", store.draw(310), date="2024/05/13")]
    found = lab.certify(lab.send(short, "deployed", short, length="1x"), lab.send(long, "deployed", long, length="8x"))
    assert (found.variables, found.matched, found.difference, found.altered) == (("length",), True, "", True)
    same = lab.certify(lab.send(short, "deployed", short, length="1x"), lab.send(short, "deployed", short, length="8x"))
    assert same.unaltered == ("length: both deliver the same texts",)
