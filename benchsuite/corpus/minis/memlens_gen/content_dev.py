"""What the dev half says and shows: eight image templates, text facts, questions."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.chatter_dev import CHATTER, NOTED, SEEN, VAGUE
from benchsuite.corpus.minis.memlens_gen.longer_dev import FILLER
from benchsuite.corpus.minis.memlens_gen.specs import (
    Bridge,
    Compare,
    Content,
    Fact,
    Field,
    Moment,
    Template,
)

CAFE = Template(
    id="dev-cafe",
    kind="receipt",
    layout="till-slip",
    caption="a receipt",
    plain="CAFE RECEIPT",
    subtitle="Thank you for coming",
    footer="See you soon",
    fields=(
        Field("Table", "one:Window|Terrace|Corner|Counter"),
        Field(
            "Order number",
            "count:3100-9800",
            ask="What is the order number on the receipt from {entity}?",
        ),
        Field(
            "Tip",
            "money:2-9",
            ask="What tip does the receipt from {entity} show?",
        ),
        Field(
            "Total",
            "money:14-96",
            ask="What is the total on the receipt from {entity}?",
            reword="How much did I end up paying at {entity}?",
            current="What is the total on the corrected receipt from {entity}?",
        ),
    ),
    entities=("Bramble Cafe", "Copper Kettle", "Olive Corner", "Lemon Street Bakery", "Tin Roof Diner"),
    others=("Salt House", "Cloud Nine Coffee", "Pepper Lane", "Harvest Table", "Blue Door Tearoom"),
    tells=(
        "I had lunch at {entity}, here is the receipt. <image>",
        "The bill from {entity}, for my expenses folder. <image>",
        "Keeping this receipt from {entity}. <image>",
    ),
    hints=("One more receipt for the folder. <image>", "Lunch again, keep this one too. <image>"),
    old="First receipt from {entity}, I think they got it wrong. <image>",
    new="{entity} printed a corrected receipt for me. <image>",
    absent=(
        "What discount does the receipt from {entity} show?",
        "Which waiter is named on the receipt from {entity}?",
    ),
    compare=Compare(
        "Total",
        highest="What is the highest total on my receipts from {a} and {b}?",
        lowest="What is the lowest total on my receipts from {a} and {b}?",
        total="What do the totals on the receipts from {a} and {b} add up to? Answer like $12.34.",
        higher="Is the total on the receipt from {a} higher than the one from {b}? Answer Yes or No.",
    ),
)

SOLAR = Template(
    id="dev-solar",
    kind="dashboard",
    layout="tile-board",
    caption="a dashboard",
    plain="Energy overview",
    subtitle="Today so far",
    footer="",
    fields=(
        Field(
            "Solar output",
            "tenth:11-48 kWh",
            ask="What solar output does the dashboard of {entity} show?",
            reword="How much did the panels of {entity} produce?",
            current="What is the latest solar output on the dashboard of {entity}?",
        ),
        Field("Battery level", "percent", ask="What battery level does the dashboard of {entity} show?"),
        Field("Grid import", "tenth:50-99 kWh", ask="What grid import does the dashboard of {entity} show?"),
        Field("Panel temperature", "tenth:21-49 C"),
    ),
    entities=("Meadow House", "the boat shed", "Quarry Farm", "the garden studio", "Mill Cottage"),
    others=("the town hall", "Elm Court", "the sports barn", "Riverside School", "the old chapel"),
    tells=(
        "This is the energy dashboard of {entity}. <image>",
        "Look how {entity} is doing today. <image>",
        "I opened the energy page of {entity} for you. <image>",
    ),
    hints=("Another look at the energy page. <image>",),
    old="Energy dashboard of {entity}, before the repair. <image>",
    new="Energy dashboard of {entity} after the repair, so this is the latest. <image>",
    absent=("What wind speed does the dashboard of {entity} show?",),
)

PANTRY = Template(
    id="dev-pantry",
    kind="label",
    layout="boxed-label",
    caption="a label on a jar",
    plain="PANTRY LABEL",
    subtitle="Keep cool and dry",
    footer="",
    fields=(
        Field(
            "Lot",
            "code",
            ask="What is the lot on the label of the {entity}?",
            current="What is the lot on the newest label of the {entity}?",
        ),
        Field("Packed on", "past", ask="When was the {entity} packed, going by its label? Answer as YYYY/MM/DD."),
        Field("Energy", "unit:210-890 kcal", ask="How much energy does the label of the {entity} state?"),
        Field(
            "Net weight",
            "unit:310-980 g",
            ask="What is the net weight on the label of the {entity}?",
            reword="How heavy is the content of the {entity} jar?",
        ),
    ),
    entities=("fig jam", "buckwheat honey", "pear chutney", "lentil mix", "almond butter"),
    others=("quince jelly", "dried thyme", "pickled beets", "cocoa nibs", "rye flour"),
    tells=(
        "I photographed the label of the {entity}. <image>",
        "Here is what it says on the {entity} in my pantry. <image>",
        "Label of the {entity}, so that I can throw the box away. <image>",
    ),
    hints=("One more label from the pantry shelf. <image>",),
    old="Label of the {entity} that I am finishing now. <image>",
    new="I opened a new jar of {entity}, this is its label. <image>",
    absent=("Which allergens does the label of the {entity} name?",),
    bridges=(
        Bridge(
            "fig jam",
            "I set the fig jam aside as a present for my neighbour.",
            "What is the lot on the label of the jar that I set aside for my neighbour?",
            "Lot",
        ),
    ),
)

MUSEUM = Template(
    id="dev-museum",
    kind="ticket",
    layout="left-stub",
    caption="a ticket",
    plain="DAY TICKET",
    subtitle="Admit one",
    footer="Please keep this ticket",
    fields=(
        Field(
            "Valid on",
            "day",
            ask="On which date is the ticket for {entity} valid? Answer as YYYY/MM/DD.",
            reword="When did I visit {entity}, going by the ticket? Answer as YYYY/MM/DD.",
        ),
        Field("Entry time", "clock:9-17", ask="What entry time is on the ticket for {entity}?"),
        Field(
            "Ticket no",
            "code",
            ask="What is the ticket no for {entity}?",
            current="What is the ticket no on the replacement ticket for {entity}?",
        ),
        Field("Price", "money:6-38", ask="What price is printed on the ticket for {entity}?"),
    ),
    entities=("the Clock Museum", "Fern Glasshouse", "the Maritime Hall", "Castle Tower", "the Puppet House"),
    others=("Hill Observatory", "the Print Gallery", "Moss Caves", "the Tram Depot", "Lake Aquarium"),
    tells=(
        "My ticket for {entity} came by mail. <image>",
        "I booked {entity} in advance, here is the ticket. <image>",
        "Ticket for {entity}, please remember it. <image>",
    ),
    hints=("The ticket that I told you about. <image>", "Another ticket for the scrapbook. <image>"),
    old="My ticket for {entity}, a bit torn. <image>",
    new="They gave me a replacement ticket for {entity}. <image>",
    absent=("Which audio guide number is on the ticket for {entity}?",),
    bridges=(
        Bridge(
            "Castle Tower",
            "My cousin and I decided that Castle Tower is where we celebrate her exam.",
            "On which date is the ticket valid for the place where we celebrate my cousin's exam? "
            "Answer as YYYY/MM/DD.",
            "Valid on",
        ),
    ),
)

FERRY = Template(
    id="dev-ferry",
    kind="ticket",
    layout="left-stub",
    caption="a ticket",
    plain="FERRY TICKET",
    subtitle="Foot passenger",
    footer="Gate closes early",
    fields=(
        Field(
            "Sailing date",
            "spelled",
            ask="What is the sailing date of the ferry to {entity}? Answer as YYYY/MM/DD.",
        ),
        Field("Boarding", "clock:6-21", ask="At what time is boarding for the ferry to {entity}?"),
        Field("Cabin", "seat", ask="Which cabin is on the ferry ticket to {entity}?"),
        Field("Fare", "money:21-88"),
    ),
    entities=("Port Ansel", "Gull Island", "Norhaven", "Skerry Bay", "Eastmoor"),
    others=("Lund Pier", "Tarn Point", "Whitsand", "Cape Oriel", "Hallow Quay"),
    tells=(
        "The ferry to {entity} is booked. <image>",
        "Here is the ferry ticket to {entity}. <image>",
        "I will sail to {entity}, this is the ticket. <image>",
    ),
    hints=("The crossing is booked as well. <image>",),
    absent=("What vehicle plate is on the ferry ticket to {entity}?",),
)

CLUB = Template(
    id="dev-club",
    kind="screen",
    layout="list-screen",
    caption="a screenshot",
    plain="My membership",
    subtitle="Account details",
    footer="Manage",
    fields=(
        Field("Plan", "one:Basic|Family|Student|Senior"),
        Field(
            "Membership fee",
            "money:11-79",
            ask="What is the membership fee for {entity}?",
            reword="How much does {entity} charge me?",
            current="What is the membership fee for {entity} now?",
        ),
        Field("Points balance", "count:1100-9800", ask="What is the points balance at {entity}?"),
        Field("Next payment", "day", ask="When is the next payment for {entity}? Answer as YYYY/MM/DD."),
    ),
    entities=("Pulse Gym", "Orbit Pool", "Chess Circle", "Ridge Climbing", "Anchor Rowing"),
    others=("Tempo Dance", "Willow Yoga", "Bolt Cycling", "Harbor Sauna", "Keystone Bowling"),
    tells=(
        "My account at {entity}, as it looks in the app. <image>",
        "I took a screenshot of my {entity} membership. <image>",
        "This is the {entity} account page. <image>",
    ),
    hints=("The account page that you asked for. <image>",),
    old="My membership at {entity}, the old contract. <image>",
    new="{entity} changed my contract, this is the page now. <image>",
    absent=("What locker number does the account page of {entity} show?",),
    compare=Compare(
        "Membership fee",
        highest="What is the highest membership fee among {a} and {b}?",
        lowest="What is the lowest membership fee among {a} and {b}?",
        total="What do the membership fees of {a} and {b} add up to? Answer like $12.34.",
        higher="Is the membership fee of {a} higher than that of {b}? Answer Yes or No.",
    ),
)

STICKY = Template(
    id="dev-sticky",
    kind="note",
    layout="sticky-note",
    caption="a handwritten note",
    plain="To do",
    subtitle="do not forget",
    footer="",
    fields=(
        Field(
            "Paint budget",
            "money:31-240",
            ask="What is the paint budget on the note about {entity}?",
            reword="How much money may go into colour for {entity}?",
        ),
        Field(
            "Delivery day",
            "day",
            ask="What delivery day is on the note about {entity}? Answer as YYYY/MM/DD.",
        ),
        Field(
            "Shelf width",
            "unit:110-290 cm",
            ask="What shelf width is on the note about {entity}?",
            current="What shelf width is on the latest note about {entity}?",
        ),
    ),
    entities=("the hallway", "the attic room", "the laundry corner", "the nursery", "the cellar"),
    others=("the balcony", "the bike room", "the pantry door", "the music room", "the entrance"),
    tells=(
        "I wrote a note about {entity}. <image>",
        "My note for {entity}, before I lose it. <image>",
        "This paper is about {entity}. <image>",
    ),
    hints=("Found this note on the fridge. <image>",),
    old="My first note about {entity}. <image>",
    new="I measured again, so here is a new note about {entity}. <image>",
    absent=("How many nails does the note about {entity} list?",),
)

LOANS = Template(
    id="dev-loans",
    kind="chart",
    layout="column-chart",
    caption="a chart",
    plain="Loans by subject",
    subtitle="loans by subject",
    footer="",
    fields=(
        Field("Poetry", "count:120-980", ask="How many loans does the chart of {entity} show for Poetry?"),
        Field("History", "count:120-980", ask="How many loans does the chart of {entity} show for History?"),
        Field("Cooking", "count:120-980"),
        Field("Travel", "count:120-980"),
        Field("Comics", "count:120-980", ask="How many loans does the chart of {entity} show for Comics?"),
    ),
    entities=("Northside Library", "Harbour Library", "Castle Library", "Station Library", "Park Library"),
    others=("Bridge Library", "Market Library", "Abbey Library", "Lakeside Library", "Tower Library"),
    tells=(
        "The yearly chart of {entity} is out. <image>",
        "I made this chart for {entity}. <image>",
        "A chart of the loans at {entity}. <image>",
    ),
    hints=("And the chart for the next branch. <image>",),
    absent=("How many loans does the chart of {entity} show for Science?",),
)

FACTS = (
    Fact(
        "information_extraction",
        "pin",
        "The code of the garage door is {value}, please keep it for me.",
        "The code of the garden gate is {value}.",
        "What is the code of the garage door?",
    ),
    Fact(
        "information_extraction",
        "money:210-890",
        "I paid {value} for the second-hand piano.",
        "The piano tuner wants {value}.",
        "How much did I pay for the second-hand piano?",
    ),
    Fact(
        "temporal_reasoning",
        "day",
        "My appointment with the eye doctor is on {value}.",
        "The appointment for the car is on {value}.",
        "On which date is my appointment with the eye doctor? Answer as YYYY/MM/DD.",
    ),
    Fact(
        "multi_session_reasoning",
        "pin",
        "The cupboard with the red handle opens with {value}.",
        "The cupboard with the white handle opens with {value}.",
        "What opens the cupboard where I keep the passports?",
        link="I put the passports into the cupboard with the red handle.",
    ),
    Fact(
        "knowledge_update",
        "money:410-980",
        "My rent for the workshop is {value} a month.",
        "The rent for the parking space is {value} a month.",
        "What is my current rent for the workshop?",
        later="The landlord changed my rent for the workshop, it is now {value} a month.",
    ),
)

MOMENTS = (
    Moment(
        "We finally adopted a kitten from the shelter, she is asleep on my lap.",
        "When did I tell you that we adopted a kitten? Answer as YYYY/MM/DD.",
    ),
)

DEV = Content(
    split="dev",
    templates=(CAFE, SOLAR, PANTRY, MUSEUM, FERRY, CLUB, STICKY, LOANS),
    faces=("aileron", "inconsolata"),
    facts=FACTS,
    moments=MOMENTS,
    chatter=CHATTER,
    vague=VAGUE,
    seen=SEEN,
    noted=NOTED,
    order_ask="",
    longer_ask="",
    longer_said=(),
    filler=FILLER,
)
