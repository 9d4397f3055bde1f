"""Certificates: proof from two requests as sent that they differ in the declared variables and in nothing else.

The leg ``matched`` masks what the declared variables may change and compares all the rest; the leg ``altered`` asks of
each of them whether it really changed. Both read skeletons (``benchsuite.models.wire.skeleton``), that is digests and
sizes; what these cannot tell is asked of :class:`~benchsuite.delivery.certificates.evidence.PixelEvidence`. Of a cell
at a conversation state, which asks again after each tool, the first request is certified (matched to step 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchsuite.delivery.certificates.altered import recorded_checks, why_unaltered
from benchsuite.delivery.certificates.conversation import conversation_difference, whole
from benchsuite.delivery.certificates.evidence import Check, PixelEvidence
from benchsuite.delivery.certificates.matched import first_difference
from benchsuite.delivery.certificates.sent import Deliveries, Part, Rules, SentRequest, read_request, rules_of
from benchsuite.delivery.certificates.sent import Sent as Sent
from benchsuite.delivery.spec import differing

_TELLING = ("length", "state", "summary", "summariser", "retention")  # where the conversations have other texts


@dataclass(frozen=True, slots=True)
class Certificate:
    """Of a pair of requests. ``difference`` is the first one outside the declared ``variables`` (empty: none);
    ``unaltered`` are those of them that did not change, each with why.

    ``tokens``: what the server's counts and names say against what the change predicts (empty: nothing), and
    ``token_difference`` the prompt tokens of the second request less those of the first; neither is part of a leg.
    """

    variables: tuple[str, ...]
    matched: bool
    difference: str
    altered: bool
    unaltered: tuple[str, ...]
    tokens: str
    token_difference: int | None


def variables(a: Mapping[str, Any], b: Mapping[str, Any], deliveries: Deliveries) -> tuple[str, ...]:
    """The variables in which the arms of two outcome rows differ: axes, and for ``delivery`` the fields of
    :class:`~benchsuite.delivery.spec.Delivery` on which something else is sent."""
    found: list[str] = []
    for key in dict.fromkeys([*a, *b]):
        if not key.startswith("arm.") or a.get(key) == b.get(key):
            continue
        if key == "arm.delivery":
            found += differing(deliveries(str(a[key])), deliveries(str(b[key])))
        else:
            found.append(key.removeprefix("arm."))
    return tuple(found)


def certify(
    a: Sent, b: Sent, declared: Sequence[str], deliveries: Deliveries, pixels: PixelEvidence | None = None
) -> Certificate:
    """The certificate of a pair. Without ``pixels`` digests and sizes alone speak.

    Raises BenchError for a declared axis that has no certificate.
    """
    rules = rules_of(a.row, b.row, declared, deliveries)
    first, second = (read_request(each.call, rules.at_state) for each in (a, b))
    difference = first_difference(a, b, first, second, rules)
    if rules.at_state and not difference:
        difference = conversation_difference(a, b, first, second, rules)
    if pixels is not None and not difference:
        for mine, theirs in _stamped_apart(first, second, rules):
            if problem := pixels.outside_box(mine, theirs, str(a.row["corpus"])):
                difference = f"image {first.number(mine)}: {problem}"
                break
    reasons = {name: why_unaltered(name, a, b, first, second, rules, pixels) for name in declared}
    unaltered = tuple(f"{name}: {reason}" for name, reason in reasons.items() if reason)
    tokens, count = _tokens(a.row, b.row, first, second, rules)
    return Certificate(
        tuple(declared), not difference, difference, bool(declared) and not unaltered, unaltered, tokens, count
    )


def pixel_checks(a: Sent, b: Sent, declared: Sequence[str], deliveries: Deliveries) -> Iterator[Check]:
    """What :func:`certify` asks of the pixels, for ``PixelEvidence.prepare``; it may ask less."""
    rules = rules_of(a.row, b.row, declared, deliveries)
    first, second = (read_request(each.call, rules.at_state) for each in (a, b))
    yield from (("outside", pair, str(a.row["corpus"])) for pair in _stamped_apart(first, second, rules))
    for name in declared:
        yield from recorded_checks(name, first, str(a.row["corpus"]), rules)
        yield from recorded_checks(name, second, str(b.row["corpus"]), rules)


def _stamped_apart(first: SentRequest, second: SentRequest, rules: Rules) -> Iterator[tuple[Part, Part]]:
    """Images of one slot that may differ by their stamps alone."""
    others = rules.moved or rules.declares("modality", "binding", "side", "codec")
    if rules.declares("identity") and rules.both_show and not others:
        for mine, theirs in zip(first.images, second.images, strict=False):
            if mine["sha256"] != theirs["sha256"]:
                yield mine, theirs


def _tokens(
    a: Mapping[str, Any], b: Mapping[str, Any], first: SentRequest, second: SentRequest, rules: Rules
) -> tuple[str, int | None]:
    """What speaks against the prediction, and the count: equal texts and image sizes cost the same, and of requests
    that differ in images alone the one with images costs more."""
    remarks: list[str] = []
    same_model = not rules.declares("model")
    for name, what in (("model_served", "model served"), ("fingerprint", "fingerprint")):
        given = [str(row[name]) for row in (a, b)]
        if same_model and bool(given[0]) != bool(given[1]):
            remarks.append(f"one reply names no {what}")
        elif same_model and name == "fingerprint" and given[0] != given[1]:
            remarks.append("the server's fingerprints differ")
    mine, theirs = (_prompt_tokens(row, rules) for row in (a, b))
    if mine is None or theirs is None:
        return "; ".join([*remarks, "no count of prompt tokens"]), None
    found = theirs - mine
    if first.conversation != second.conversation:
        if rules.declares(*_TELLING):
            return "; ".join(remarks), found
        first, second = whole(first), whole(second)
    if same_model and _texts(first) == _texts(second):
        shapes, others = (Counter((part["w"], part["h"]) for part in each.images) for each in (first, second))
        more = shapes.total() < others.total()
        if shapes == others and found:
            remarks.append(f"{found:+d} prompt tokens where none are predicted")
        elif not rules.both_show and shapes != others and (found <= 0 if more else found >= 0):
            remarks.append(f"{found:+d} prompt tokens with {'more' if more else 'fewer'} images")
    return "; ".join(remarks), found


def _prompt_tokens(row: Mapping[str, Any], rules: Rules) -> int | None:
    """Of the request that is certified: at a state the first of several, whose own count the row has beside the sum."""
    if rules.at_state and row.get("n_calls", 1) != 1:
        count = row.get("scores.eit_probe")
        return None if count is None else int(count)
    return None if row["usage.prompt"] is None else int(row["usage.prompt"])


def _texts(request: SentRequest) -> Counter[str]:
    """Every text of a request, whatever its place."""
    found = Counter(part["sha256"] for parts in request.items.values() for part in parts if part["kind"] != "image")
    found.update(part[2] for part in request.frame)
    return found
