"""The image templates of the eval half: money, meters, plates and tickets here, the rest beside it."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.specs import Bridge, Compare, Field, Template
from benchsuite.corpus.minis.memlens_gen.templates_eval_more import MORE

SHOP = Template(
    id="eval-shop",
    kind="receipt",
    layout="leader-bill",
    caption="a photo of a receipt",
    plain="SALES RECEIPT",
    subtitle="Customer copy",
    footer="Exchange within the month",
    fields=(
        Field("Paid by", "one:Debit card|Cash|Gift card|Phone"),
        Field("Loyalty points", "count:110-980", ask="How many loyalty points does the {entity} receipt list?"),
        Field("Bag charge", "money:1-5", ask="What bag charge is on the {entity} receipt?"),
        Field(
            "Grand total",
            "money:21-188",
            ask="Please give me the grand total printed on the {entity} receipt.",
            reword="What sum left my wallet at {entity}?",
            current="Which grand total is on the reissued {entity} receipt?",
        ),
    ),
    entities=(
        "Juniper Market",
        "Stonebridge Tools",
        "Violet Books",
        "Harrow Outfitters",
        "Saffron Deli",
        "Kite Toys",
    ),
    others=(
        "Dunes Surf Shop",
        "Pine Hardware",
        "Velvet Fabrics",
        "Granite Sports",
        "Mosaic Gifts",
        "Inkwell Paper",
    ),
    tells=(
        "Could you hold on to my {entity} receipt? <image>",
        "Went shopping at {entity} today. <image>",
        "{entity} gave me this at the register. <image>",
        "Proof of purchase from {entity}, in case I return something. <image>",
    ),
    hints=(
        "Proof of purchase, in case something breaks. <image>",
        "Shopping done, see for yourself. <image>",
    ),
    old="Receipt from {entity}, although they scanned something twice. <image>",
    new="{entity} reissued the receipt after I complained. <image>",
    absent=(
        "What voucher number does the {entity} receipt list?",
        "Which cashier signed the {entity} receipt?",
    ),
    compare=Compare(
        "Grand total",
        highest="Which is the largest grand total, looking at the {a} and {b} receipts?",
        lowest="Which is the smallest grand total, looking at the {a} and {b} receipts?",
        total="Add the grand totals of the {a} and {b} receipts. Give the sum like $12.34.",
        higher="Did the {a} receipt have a larger grand total than the {b} receipt? Reply Yes or No.",
    ),
)

GARAGE = Template(
    id="eval-garage",
    kind="receipt",
    layout="leader-bill",
    caption="a photo of a bill",
    plain="REPAIR BILL",
    subtitle="Workshop copy",
    footer="Payable within the month",
    fields=(
        Field("Invoice no", "code", ask="Tell me the invoice no on the bill for the {entity}."),
        Field("Parts", "money:12-96", ask="How much do the parts come to on the bill for the {entity}?"),
        Field("Labour", "money:97-190", ask="How much does the labour come to on the bill for the {entity}?"),
        Field(
            "Amount due",
            "money:210-690",
            ask="Which amount due stands on the bill for the {entity}?",
            reword="What did getting the {entity} fixed set me back?",
            current="Which amount due stands on the revised bill for the {entity}?",
        ),
    ),
    entities=("motorboat", "lawn tractor", "camper van", "cargo bike", "snow blower", "delivery truck"),
    others=("hatchback", "tandem", "jet ski", "moped", "horse trailer", "golf cart"),
    tells=(
        "The workshop billed me for the {entity}. <image>",
        "Repair of the {entity} is done, here are the costs. <image>",
        "Bill for the {entity}, ouch. <image>",
    ),
    hints=("The workshop sent the paperwork. <image>", "Repairs are never cheap. <image>"),
    old="Bill for the {entity}, I will dispute it. <image>",
    new="The workshop revised its bill for the {entity}. <image>",
    absent=("How much tyre disposal is on the bill for the {entity}?",),
    compare=Compare(
        "Amount due",
        highest="Comparing the bills for the {a} and the {b}, what is the largest amount due?",
        lowest="Comparing the bills for the {a} and the {b}, what is the smallest amount due?",
        total="Add the amounts due on the bills for the {a} and the {b}. Give the sum like $12.34.",
        higher="Does the bill for the {a} have a larger amount due than the one for the {b}? Reply Yes or No.",
    ),
)

METER = Template(
    id="eval-meter",
    kind="dashboard",
    layout="strip-board",
    caption="a photo of a display",
    plain="Household monitor",
    subtitle="Rolling week",
    footer="",
    fields=(
        Field(
            "Electricity used",
            "tenth:31-99 kWh",
            ask="Give me the electricity used on the monitor of the {entity}.",
            reword="What was the power consumption of the {entity}?",
            current="Give me the most recent electricity used on the monitor of the {entity}.",
        ),
        Field("Water used", "unit:410-990 litres", ask="Give me the water used on the monitor of the {entity}."),
        Field("Standby draw", "unit:105-390 W", ask="Which standby draw is on the monitor of the {entity}?"),
    ),
    entities=("beach flat", "north wing", "guest annex", "penthouse", "carriage house", "loft on Vine Road"),
    others=("ground floor", "pump room", "ski chalet", "caretaker lodge", "roof terrace", "south wing"),
    tells=(
        "Monitor of the {entity} for this week. <image>",
        "I checked how thrifty the {entity} is. <image>",
        "Consumption in the {entity}, have a look. <image>",
    ),
    hints=("The weekly reading from the hallway display. <image>",),
    old="Monitor of the {entity} before we sealed the windows. <image>",
    new="Monitor of the {entity} now that the windows are sealed, this replaces the earlier one. <image>",
    absent=("Which indoor humidity is on the monitor of the {entity}?",),
)

TRAINING = Template(
    id="eval-training",
    kind="dashboard",
    layout="strip-board",
    caption="a photo of a display",
    plain="Training summary",
    subtitle="Since the start",
    footer="",
    fields=(
        Field("Distance", "tenth:110-480 km", ask="Which distance is in the training summary for the {entity}?"),
        Field("Climb", "unit:1200-6900 m", ask="Which climb is in the training summary for the {entity}?"),
        Field(
            "Resting pulse",
            "tenth:41-69 bpm",
            ask="Which resting pulse is in the training summary for the {entity}?",
            reword="How slow was my heart in the {entity} season?",
            current="Which resting pulse is in the newest training summary for the {entity}?",
        ),
    ),
    entities=("hill marathon", "triathlon", "charity ride", "canoe race", "night trail run", "ski relay"),
    others=("stair climb", "city relay", "bog run", "sprint series", "desert stage", "duathlon"),
    tells=(
        "Preparing for the {entity}, that is my summary. <image>",
        "My training for the {entity} so far. <image>",
        "Coach asked about the {entity}, so I exported the summary. <image>",
    ),
    hints=("Coach wanted to see my numbers. <image>",),
    old="Training summary for the {entity} from the early weeks. <image>",
    new="Fresh training summary for the {entity}, forget the earlier one. <image>",
    absent=("Which body weight is in the training summary for the {entity}?",),
)

DEVICE = Template(
    id="eval-device",
    kind="label",
    layout="grid-plate",
    caption="a photo of a rating plate",
    plain="RATING PLATE",
    subtitle="Do not remove",
    footer="Indoor use only",
    fields=(
        Field(
            "Serial number",
            "code",
            ask="Read me the serial number on the plate of the {entity}.",
            current="Read me the serial number on the plate of the {entity} that I use now.",
        ),
        Field("Input power", "unit:410-990 W", ask="Which input power is on the plate of the {entity}?"),
        Field("Admin PIN", "pin", ask="Which admin PIN is on the plate of the {entity}?"),
        Field("Inspected", "past", ask="On what day was the {entity} inspected? Give it as YYYY/MM/DD."),
    ),
    entities=(
        "label printer",
        "ice maker",
        "hall router",
        "sewing machine",
        "air purifier",
        "slide projector",
    ),
    others=("bread slicer", "fax modem", "water softener", "film scanner", "towel heater", "aquarium pump"),
    tells=(
        "Plate on the back of the {entity}. <image>",
        "Had to crawl behind the {entity} to capture the plate. <image>",
        "Warranty needs the plate of the {entity}. <image>",
    ),
    hints=(
        "Warranty people wanted this plate. <image>",
        "It was hard to reach, but the plate is readable. <image>",
    ),
    old="Plate of the {entity} that broke down. <image>",
    new="The {entity} was swapped, so the plate differs. <image>",
    absent=("Which fuse rating is on the plate of the {entity}?",),
    bridges=(
        Bridge(
            "sewing machine",
            "I promised the sewing machine to Matilda once she has her own flat.",
            "Read me the serial number of the machine that I promised to Matilda.",
            "Serial number",
        ),
        Bridge(
            "hall router",
            "The hall router is the thing that keeps failing during my video calls.",
            "Which admin PIN is on the plate of the device that fails during my video calls?",
            "Admin PIN",
        ),
    ),
)

TRAIN = Template(
    id="eval-train",
    kind="ticket",
    layout="right-stub",
    caption="a photo of a ticket",
    plain="RAIL TICKET",
    subtitle="Standard class",
    footer="Valid on the booked service only",
    fields=(
        Field(
            "Travel date",
            "day",
            ask="Which travel date is on the rail ticket to {entity}? Give it as YYYY/MM/DD.",
            reword="When did I ride the train to {entity}, judging by the ticket? Give it as YYYY/MM/DD.",
        ),
        Field("Departs", "clock:6-22", ask="When does the train to {entity} depart, by the clock on the ticket?"),
        Field("Coach and seat", "seat", ask="Which coach and seat are on the rail ticket to {entity}?"),
        Field("Fare paid", "money:31-190", ask="Which fare paid is on the rail ticket to {entity}?"),
    ),
    entities=("Aldwick", "Venmouth", "Carrow Junction", "Selby Heath", "Thornton", "Loch Arden"),
    others=("Penrose", "Westhaven", "Ivybridge", "Dunmere", "Ashcombe", "Marlow End"),
    tells=(
        "Off to {entity} by train, that is my ticket. <image>",
        "Rail ticket to {entity}, please store it. <image>",
        "I got a good seat on the way to {entity}. <image>",
    ),
    hints=("Got a good seat this time. <image>", "Next trip by rail is settled. <image>"),
    absent=("Which railcard discount is on the rail ticket to {entity}?",),
    bridges=(
        Bridge(
            "Venmouth",
            "Our class reunion takes place in Venmouth this year.",
            "When does the train to our class reunion depart, by the clock on the ticket?",
            "Departs",
        ),
    ),
)

CONCERT = Template(
    id="eval-concert",
    kind="ticket",
    layout="right-stub",
    caption="a photo of a ticket",
    plain="EVENT PASS",
    subtitle="General admission",
    footer="No re-entry",
    fields=(
        Field(
            "Event date",
            "spelled",
            ask="Which event date is on the pass for the {entity}? Give it as YYYY/MM/DD.",
            reword="When did I attend the {entity}, judging by the pass? Give it as YYYY/MM/DD.",
        ),
        Field(
            "Doors open",
            "clock:16-22",
            ask="At which hour do doors open according to the pass for the {entity}?",
        ),
        Field(
            "Booking ref",
            "code",
            ask="Which booking ref is on the pass for the {entity}?",
            current="Which booking ref is on the exchanged pass for the {entity}?",
        ),
    ),
    entities=("jazz gala", "puppet opera", "robot fair", "lantern parade", "cider festival", "tango night"),
    others=("opera picnic", "kite contest", "poetry slam", "magic revue", "comic fair", "harvest ball"),
    tells=(
        "My pass for the {entity} arrived. <image>",
        "Guess who goes to the {entity}! <image>",
        "Pass for the {entity}, do not let me forget it. <image>",
    ),
    hints=("Look what was in the envelope. <image>",),
    old="Pass for the {entity}, bought in a hurry. <image>",
    new="I exchanged my pass for the {entity}. <image>",
    absent=("Which parking zone is on the pass for the {entity}?",),
)

TEMPLATES = (SHOP, GARAGE, METER, TRAINING, DEVICE, TRAIN, CONCERT, *MORE)
