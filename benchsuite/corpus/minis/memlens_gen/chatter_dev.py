"""Small talk of the dev half: (user, assistant) pairs and stock sentences, none with a figure in it."""

from __future__ import annotations

VAGUE = (
    "Here is the photo that I promised. <image>",
    "This is it. <image>",
    "Sorry for the delay, here you go. <image>",
    "<image> As discussed.",
)
SEEN = (
    "Thanks, I have it.",
    "Got it, I will remember this picture.",
    "Saved. Ask me whenever you need it.",
    "I can see it clearly, thank you.",
    "All right, I keep that in mind.",
)
NOTED = (
    "Noted.",
    "I will remember that.",
    "Understood, thank you for telling me.",
    "Good to know.",
)
CHATTER = (
    ("My sourdough starter smells like apples today.", "That is a healthy sign. Feed it and bake tomorrow."),
    (
        "Any idea how to get candle wax out of a tablecloth?",
        "Freeze it, scrape it, then iron it through paper.",
    ),
    ("The tomatoes are still green, I am losing patience.", "Give them warm nights and a little less water."),
    ("I started a novel about a lighthouse keeper.", "That sounds calm. Do you like it so far?"),
    ("My knee hurts after running downhill.", "Shorten your steps and rest it for some days."),
    ("Could you suggest a name for a grey rabbit?", "Ash or Pebble would suit a grey rabbit."),
    ("The choir is looking for a new tenor.", "Maybe a notice at the music shop helps."),
    ("I cannot decide between a blue and a green rug.", "Green goes well with wooden floors."),
    ("Our neighbour plays the trumpet in the evening.", "Perhaps you can agree on quiet hours."),
    ("How do I keep basil alive indoors?", "Bright light, water from below, and cut it often."),
    ("I dreamt about missing a bus again.", "Such dreams are common in busy weeks."),
    ("The kids want to build a kite.", "Light sticks, thin paper, and a long tail will do."),
    ("I am learning to whistle with my fingers.", "Wet lips and patience are the trick."),
    ("My bike makes a clicking noise.", "Check the pedals and the chain first."),
    ("We watched an old film about a train robbery.", "A classic. The silent ones are fun too."),
    ("Is it rude to leave a party early?", "Not if you thank the host before you go."),
    ("I want to write more letters by hand.", "Start with one friend and a nice pen."),
    ("The dog is afraid of the vacuum cleaner.", "Let him sniff it while it is off, with treats."),
    ("What goes well with roasted pumpkin?", "Sage, butter and a sharp cheese."),
    ("I forgot my umbrella and got soaked.", "A hot tea and dry socks, then."),
    ("My sister moves to the coast.", "That gives you a good reason to visit the sea."),
    ("I repaired the squeaky door with soap.", "A neat trick, and it smells nice."),
    ("The radio in the kitchen only gets one station.", "Try moving the aerial near the window."),
    ("I am thinking about a pottery course.", "It is relaxing, and you get mugs out of it."),
    ("Our meeting was moved again, nobody knows why.", "Ask for the reason in writing, kindly."),
    ("Can you explain what a fugue is?", "A melody that enters again and again in other voices."),
    ("I saw a heron by the canal this morning.", "They stand still for ages. Lucky you."),
    ("My handwriting gets worse every year.", "Slow down and hold the pen loosely."),
    ("I found a box of old postcards.", "Sort them by place, they make a lovely wall."),
    ("Which soup is good for a cold?", "Chicken broth with ginger and plenty of garlic."),
    ("The moon looked orange last night.", "Dust in the air does that near the horizon."),
    ("I would like to wake up without an alarm.", "Go to bed at the same hour and open the curtains."),
)
