"""The other image templates of the eval half: app screens, notes, jars and charts."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.specs import Bridge, Field, Template

SUBSCRIPTION = Template(
    id="eval-subscription",
    kind="screen",
    layout="dark-cards",
    caption="a phone screenshot",
    plain="Subscription",
    subtitle="Billing and usage",
    footer="Change  -  Pause  -  Cancel",
    fields=(
        Field(
            "Monthly price",
            "money:4-39",
            ask="Which monthly price does the {entity} subscription screen show?",
            reword="What does {entity} take from my account each month?",
            current="Which monthly price does {entity} show at present?",
        ),
        Field("Member ID", "code", ask="Which member ID does the {entity} subscription screen show?"),
        Field(
            "Renews on",
            "day",
            ask="Which day is given for 'Renews on' at {entity}? Give it as YYYY/MM/DD.",
            reword="When will {entity} prolong itself? Give it as YYYY/MM/DD.",
            current="Which day does {entity} now give for 'Renews on'? Give it as YYYY/MM/DD.",
        ),
    ),
    entities=("Cloudbox", "Novareel", "Tunestream", "Pagefold", "Mealcrate", "Lingopal"),
    others=("Fitloop", "Vaultkey", "Newsbrook", "Pixelary", "Plantmate", "Podgarden"),
    tells=(
        "Screenshot of my {entity} plan. <image>",
        "That is how {entity} looks for me. <image>",
        "I pay for {entity}, see the settings. <image>",
    ),
    hints=("Straight from my settings. <image>", "Do I still need this subscription? <image>"),
    old="My {entity} plan in the introductory phase. <image>",
    new="{entity} moved me to another plan, that is how it stands. <image>",
    absent=("Which family code does the {entity} subscription screen show?",),
)

LOCKER = Template(
    id="eval-locker",
    kind="screen",
    layout="dark-cards",
    caption="a phone screenshot",
    plain="Parcel waiting",
    subtitle="Self-service pickup",
    footer="Open the door from here",
    fields=(
        Field(
            "Pickup code",
            "pin",
            ask="Which pickup code belongs to the parcel at the {entity} locker?",
            current="Which pickup code belongs to the {entity} locker after the change?",
        ),
        Field(
            "Held until",
            "day",
            ask="Until which day is the parcel at the {entity} locker held? Give it as YYYY/MM/DD.",
        ),
        Field("Parcel weight", "tenth:11-29 kg", ask="Which parcel weight is shown for the {entity} locker?"),
    ),
    entities=("Heron Street", "Foundry Lane", "Abbey Square", "Tollgate", "Canal Wharf", "Orchard Hill"),
    others=("Mill Pond", "Beacon Road", "Quay Side", "Cedar Court", "Fountain Row", "Railway Arch"),
    tells=(
        "A parcel waits at the {entity} locker. <image>",
        "The app tells me to go to {entity}. <image>",
        "Another delivery, this time to {entity}. <image>",
    ),
    hints=("A parcel is waiting for me. <image>",),
    old="Locker message for {entity}. <image>",
    new="They sent the {entity} locker message once more because the code had to change. <image>",
    absent=("Which sender is named for the parcel at the {entity} locker?",),
    bridges=(
        Bridge(
            "Foundry Lane",
            "The present for my godson was sent to the Foundry Lane locker.",
            "Which pickup code belongs to the parcel with my godson's present?",
            "Pickup code",
        ),
        Bridge(
            "Abbey Square",
            "The replacement lens for my camera ended up at Abbey Square.",
            "Which parcel weight is shown for the replacement lens of my camera?",
            "Parcel weight",
        ),
    ),
)

PLAN = Template(
    id="eval-plan",
    kind="note",
    layout="ruled-sheet",
    caption="a page of a notebook",
    plain="Planning page",
    subtitle="my own estimate",
    footer="",
    fields=(
        Field(
            "Seed budget",
            "money:24-160",
            ask="Which seed budget did I write on the page for the {entity}?",
            reword="What am I willing to spend on sowing in the {entity}?",
        ),
        Field(
            "Bed length",
            "unit:210-890 cm",
            ask="Which bed length did I write on the page for the {entity}?",
            current="Which bed length did I settle on for the {entity}?",
        ),
        Field(
            "Plant out on",
            "day",
            ask="Which day follows 'Plant out on' for the {entity}? Give it as YYYY/MM/DD.",
        ),
    ),
    entities=("greenhouse", "school garden", "rooftop patch", "herb spiral", "courtyard", "rose border"),
    others=("water garden", "front yard", "bee meadow", "hop trellis", "vine slope", "rain garden"),
    tells=(
        "My page about the {entity}. <image>",
        "Tore out the notebook page with the {entity}. <image>",
        "Thoughts on the {entity}, scribbled down. <image>",
    ),
    hints=("Scribbled this over breakfast. <image>",),
    old="First page about the {entity}. <image>",
    new="Rewrote the page about the {entity} after measuring properly. <image>",
    absent=("How many watering cans did I write on the page for the {entity}?",),
)

PAINT = Template(
    id="eval-paint",
    kind="label",
    layout="grid-plate",
    caption="a photo of a tin",
    plain="PAINT TIN",
    subtitle="Stir before use",
    footer="Water based",
    fields=(
        Field(
            "Batch",
            "code",
            ask="Name the batch on the tin of {entity}.",
            reword="Which production run is the {entity} from?",
        ),
        Field("Coverage", "tenth:105-190 m2", ask="Which coverage is on the tin of {entity}?"),
        Field(
            "Use before",
            "day",
            ask="Which day is given for 'Use before' on the tin of {entity}? Give it as YYYY/MM/DD.",
        ),
        Field(
            "Volume",
            "unit:1050-4900 ml",
            ask="Which volume is on the tin of {entity}?",
            current="Which volume is on the tin of {entity} that replaced the dried one?",
        ),
    ),
    entities=("Slate Mist", "Coral Dawn", "Forest Hush", "Butter Silk", "Midnight Plum", "Sea Glass"),
    others=("Clay Pot", "Ivory Wing", "Rust Ember", "Sage Leaf", "Storm Petrel", "Linen Fold"),
    tells=(
        "The tin of {entity} is in the shed. <image>",
        "Bought {entity} for the walls, tin attached. <image>",
        "In case we need more {entity}, this is the tin. <image>",
    ),
    hints=("In case we ever need more of that colour. <image>",),
    old="Tin of {entity}, sadly dried up. <image>",
    new="Replaced the dried tin of {entity} by this one. <image>",
    absent=("Which gloss level is on the tin of {entity}?",),
)

STALL = Template(
    id="eval-stall",
    kind="chart",
    layout="bar-rows",
    caption="a diagram",
    plain="Sales by product",
    subtitle="units sold by product",
    footer="",
    fields=(
        Field("Cider", "count:210-990", ask="What does the diagram of the {entity} give for Cider?"),
        Field("Honeycomb", "count:210-990", ask="What does the diagram of the {entity} give for Honeycomb?"),
        Field("Beeswax", "count:210-990"),
        Field("Marmalade", "count:210-990", ask="What does the diagram of the {entity} give for Marmalade?"),
        Field("Walnuts", "count:210-990"),
    ),
    entities=("harbour stall", "castle fair", "winter market", "village fete", "station kiosk", "farm gate"),
    others=("church bazaar", "night market", "campus stand", "ferry shop", "spa kiosk", "airfield fair"),
    tells=(
        "How we sold at the {entity}, as a diagram. <image>",
        "Diagram for the {entity}, fresh from the spreadsheet. <image>",
        "The {entity} went well. <image>",
    ),
    hints=("Drew up the figures of another weekend. <image>",),
    absent=("What does the diagram of the {entity} give for Lavender?",),
)

MORE = (SUBSCRIPTION, LOCKER, PLAN, PAINT, STALL)
