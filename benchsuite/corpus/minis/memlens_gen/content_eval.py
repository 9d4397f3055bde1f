"""What the eval half says and asks apart from its image templates."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.chatter_eval import CHATTER, NOTED, SEEN, VAGUE
from benchsuite.corpus.minis.memlens_gen.longer_eval import FILLER
from benchsuite.corpus.minis.memlens_gen.specs import Content, Fact, Moment
from benchsuite.corpus.minis.memlens_gen.templates_eval import TEMPLATES

FACTS = (
    Fact(
        "information_extraction",
        "pin",
        "For the record, the alarm at the workshop is switched off with {value}.",
        "The alarm at the summer cabin is switched off with {value}.",
        "With which number is the alarm at the workshop switched off?",
    ),
    Fact(
        "information_extraction",
        "money:310-960",
        "The plumber charged me {value} for the burst pipe.",
        "The electrician charged me {value} for the new socket.",
        "How much did the plumber charge me for the burst pipe?",
    ),
    Fact(
        "information_extraction",
        "unit:120-480 cm",
        "The canvas I ordered for the landing measures {value} across.",
        "The mirror I ordered for the landing measures {value} across.",
        "How wide is the canvas that I ordered for the landing?",
    ),
    Fact(
        "information_extraction",
        "code",
        "My frequent traveller number with Skylark is {value}.",
        "My library card number is {value}.",
        "What is my frequent traveller number with Skylark?",
    ),
    Fact(
        "temporal_reasoning",
        "day",
        "The surgery of my aunt is planned for {value}.",
        "The housewarming of my aunt's friend is planned for {value}.",
        "For which date is the surgery of my aunt planned? Give it as YYYY/MM/DD.",
    ),
    Fact(
        "multi_session_reasoning",
        "unit:1200-9800 km",
        "The silver van has {value} on the clock.",
        "The blue scooter has {value} on the clock.",
        "What does the clock of the vehicle show that I lent to the band?",
        link="I lent the silver van to the band for their tour.",
    ),
    Fact(
        "multi_session_reasoning",
        "money:61-190",
        "A night at the Fernhill guesthouse costs {value}.",
        "A night at the Rosewood hostel costs {value}.",
        "What does a night cost at the place where Priya and I will stay?",
        link="Priya and I chose the Fernhill guesthouse for our stay.",
    ),
    Fact(
        "knowledge_update",
        "unit:110-480 kg",
        "The trailer may carry {value}.",
        "The roof rack of the jeep may carry {value}.",
        "How much may the trailer carry at present?",
        later="After the inspection they told me that the trailer may now carry {value}.",
    ),
    Fact(
        "knowledge_update",
        "money:310-990",
        "The nursery fee for Theo comes to {value} each term.",
        "The music school fee for Theo comes to {value} each term.",
        "What does the nursery fee for Theo come to these days?",
        later="They changed the nursery fee for Theo, from now on it comes to {value} each term.",
    ),
)

MOMENTS = (
    Moment(
        "Big news, I handed in my notice at the shipyard this morning.",
        "When did I mention handing in my notice at the shipyard? Give it as YYYY/MM/DD.",
    ),
    Moment(
        "The stork was quick, my niece Odile was born last night.",
        "When did I share the news of my niece's birth with you? Give it as YYYY/MM/DD.",
    ),
)

EVAL = Content(
    split="eval",
    templates=TEMPLATES,
    faces=("cabin", "junction", "liberation-mono"),
    facts=FACTS,
    moments=MOMENTS,
    chatter=CHATTER,
    vague=VAGUE,
    seen=SEEN,
    noted=NOTED,
    order_ask=(
        "Put my train rides into the order of their travel dates, earliest first. "
        "(1) {a} (2) {b} (3) {c} Reply like (2)(1)(3)."
    ),
    longer_ask=("Did I stay longer at the Bellweather farm (A) or at the Tamarind farm (B)? Reply with the letter."),
    longer_said=(
        "I arrived at the Bellweather farm on {start} and left it on {end}.",
        "My stay at the Tamarind farm began on {start} and ended on {end}.",
    ),
    filler=FILLER,
)
