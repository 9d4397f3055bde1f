"""The leg ``altered`` of a certificate: each declared variable really changed, or why it did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, pairwise

from benchsuite.delivery.certificates.conversation import SHOWN, untold, whole
from benchsuite.delivery.certificates.evidence import Check, PixelEvidence
from benchsuite.delivery.certificates.sent import (
    ITEM_AXES,
    STATE_AXES,
    Part,
    Rules,
    Sent,
    SentRequest,
    shown,
    steps_of,
)
from benchsuite.delivery.spec import CONTROLS


def why_unaltered(
    name: str, a: Sent, b: Sent, first: SentRequest, second: SentRequest, rules: Rules, pixels: PixelEvidence | None
) -> str:
    """Why the declared variable ``name`` did not change; empty where it did."""
    if rules.at_state:
        if name in ("state", *STATE_AXES):
            return untold(name, a, b, first, second)
        if name == "form":
            return "a conversation has one form"
        if name in (*SHOWN, "length"):
            first, second = whole(first), whole(second)
    if name == "order":
        return _same_order(first, second, rules)
    if name == "length":  # ids number the items of one history
        return "both deliver the same texts" if first.digests("text") == second.digests("text") else ""
    if name in ITEM_AXES:
        same = set(first.places) == set(second.places) if rules.declares("order") else first.places == second.places
        return "both deliver the same items" if same else ""
    if name == "repeat":
        return "both requests have the same key" if a.call["key"] == b.call["key"] else ""
    if name == "judge":
        return "the same calls were made" if a.row["requests"] == b.row["requests"] else ""
    if name == "model":
        same = (a.call["model"], a.row["model_served"]) == (b.call["model"], b.row["model_served"])
        return f"both ask {a.call['model']}" if same else ""
    if name == "form":
        return "the messages have the same roles" if first.roles == second.roles else ""
    if name == "time":
        return _same_dates(first, second, rules)
    reason = _same_images(name, first, second, rules)
    if reason or pixels is None:
        return reason
    return _as_before(name, first, str(a.row["corpus"]), rules, pixels) or _as_before(
        name, second, str(b.row["corpus"]), rules, pixels
    )


def recorded_checks(name: str, request: SentRequest, corpus: str, rules: Rules) -> Iterator[Check]:
    """What is asked of the pixels of one request about a declared variable."""
    every = whole(request) if request.conversation and name in SHOWN else request
    return (("recorded", (part,), corpus) for part in _treated(name, every, rules))


def _as_before(name: str, request: SentRequest, corpus: str, rules: Rules, pixels: PixelEvidence) -> str:
    """Why the images that a declared variable made are not what their records say, or none is another picture."""
    treated = _treated(name, request, rules)
    for part in treated:
        if problem := pixels.as_recorded(part, corpus):
            return f"image {request.number(part)}: {problem}"
    unchanged = [pixels.unchanged(part, corpus) for part in treated] if name == "modality" else []
    return unchanged[0] if unchanged and all(unchanged) else ""


def _treated(name: str, request: SentRequest, rules: Rules) -> list[Part]:
    if name == "modality" and rules.both_show:
        return [part for part in request.images if "control" in part["params"]]
    if name == "identity":
        return [part for part in request.images if "tag" in part["params"]]
    return [part for part in request.images if part["transform"]] if name == "side" else []


def _same_order(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    mine = [item for item in first.places if item in second.items]
    theirs = [item for item in second.places if item in first.items]
    if mine != theirs or (rules.axes and len(mine) < 2):
        return ""
    return "one item alone has no order" if len(mine) == 1 else "the items stand in the same order"


def _same_dates(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    every = [list(chain.from_iterable(each.digests("date"))) for each in (first, second)]
    if not any(every):
        return "no item has a date"
    if bool(every[0]) != bool(every[1]):
        return ""
    mine, theirs = ({item: _digests(each, item, "date") for item in each.places} for each in (first, second))
    if _differ(mine, theirs):
        return ""
    if "permuted" in rules.times and len(set(every[0])) == 1:
        return "one date alone cannot change places" if len(every[0]) == 1 else "all dates are equal"
    return "the dates are where they were"


def _digests(request: SentRequest, item: str, kind: str) -> list[str]:
    return [part["sha256"] for part in request.items[item] if part["kind"] == kind]


def _differ(mine: Mapping[str, object], theirs: Mapping[str, object]) -> bool:
    """Whether anything that is in both differs, or nothing is in both."""
    shared = mine.keys() & theirs.keys()
    return not shared or any(mine[name] != theirs[name] for name in shared)


def _same_images(name: str, first: SentRequest, second: SentRequest, rules: Rules) -> str:
    if name == "modality":
        return _same_modality(first, second, rules)
    if not (first.images or second.images):
        return "no image is shown"
    if name == "identity":
        return _same_tags(first, second, rules)
    if name == "binding":
        return _same_binding(first, second)
    if name == "side":
        mine, theirs = ({shown(part): (part["w"], part["h"]) for part in each.images} for each in (first, second))
        return "" if _differ(mine, theirs) else "every image has the same size"
    if name == "codec":
        sent, others = ({shown(part): part["sha256"] for part in each.images} for each in (first, second))
        return "" if _differ(sent, others) else "every image has the same bytes"
    return "no image gains or loses a label" if _labels(first) == _labels(second) else ""


def _labels(request: SentRequest) -> int:
    """Notes that stand before an image."""
    pairs = chain.from_iterable(pairwise(parts) for parts in request.items.values())
    return sum(note["kind"] == "note" and image["kind"] == "image" for note, image in pairs)


def _same_modality(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    if not rules.both_show:
        if bool(first.images) != bool(second.images):
            return ""
        if first.images:
            return "both show images"
        if rules.a.shows_images or rules.b.shows_images:
            return "no image is shown"
        return "no caption stands in an image's place" if first.digests("note") == second.digests("note") else ""
    if not (first.images and second.images):
        return "no image is shown"
    for delivery, request in ((rules.a, first), (rules.b, second)):
        for number, part in enumerate(request.images, start=1):
            if delivery.modality in CONTROLS and steps_of(part["transform"])[1] != delivery.modality:
                return f"image {number}: no {delivery.modality} image stands in its place"
            if delivery.modality == "decoy" and part["source"] == shown(part):
                return f"image {number}: the decoy is the image that it replaces"
    mine, theirs = ([part["sha256"] for part in each.images] for each in (first, second))
    return "every image has the same bytes" if mine == theirs else ""


def _same_tags(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    names, others = first.digests("tag"), second.digests("tag")
    if not any(chain(*names, *others, first.tags(), second.tags())):
        return "no tag is named or stamped"
    tagged = [len({part["item"] for part in each.images}) for each in (first, second)]
    unmoved = "one tag alone cannot change places" if 1 in tagged else "the tags are where they were"
    if rules.moved and rules.stamped == "permuted":  # what goes by place differs anyhow
        return "" if any(map(_is_off_place, (first, second))) else unmoved
    return unmoved if names == others and list(first.tags()) == list(second.tags()) else ""


def _is_off_place(request: SentRequest) -> bool:
    """Whether a tag is not that of its place."""
    where = {item: f"M{place}" for place, item in enumerate(request.places, start=1)}
    return any(part["params"].get("tag") != where[part["item"]] for part in request.images)


def _same_binding(first: SentRequest, second: SentRequest) -> str:
    if not (first.images and second.images):  # told by the images that are gone
        return ""
    mine, theirs = (_bound(each) for each in (first, second))
    if _differ(mine, theirs):
        return ""
    if len(first.images) == 1:
        return "one image alone cannot change places"
    if len({shown(part) for part in first.images}) == 1:
        return "all images are equal"
    return "all images belong to one item" if len(mine) == 1 else "the images are where they were"


def _bound(request: SentRequest) -> dict[str, Counter[str]]:
    """The images of each item that has some."""
    found: dict[str, Counter[str]] = {}
    for part in request.images:
        found.setdefault(part["item"], Counter())[shown(part)] += 1
    return found
