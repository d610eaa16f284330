"""Turns one written question into many: synonyms, politeness, telegraph style, typos, case."""

import random
import re

PREFIXES = ["hey, ", "hi, ", "hello, ", "please, ", "ok, ", "okay so ", "so ", "and ", "quick question: ", "question: ", "well, ",
            "can you tell me ", "could you tell me ", "please tell me ", "i have a question: ", "i wonder, ", "i'd like to know: ",
            "i want to know ", "in your words, ", "simple question, ", "sorry, ", "just curious, ", "for my report: ", "one more: ",
            "now ", "also, ", "hey tutor, ", "i'm new here, ", "my colleague asks: ", "let me ask: "]
SUFFIXES = [" please", " thanks", ", please", " in simple words", " for a beginner", " exactly", " really", " here", " in llms",
            " for llms", " in the browser", " in this context", " then", " again", " actually", ", in plain words", " to a beginner",
            " with language models", " when running a model", " briefly"]

# Each row holds words that may stand for each other in a question.
SYNONYMS = [
    ["how do i", "how can i", "how to", "how would i", "how could i", "how should i", "how might one", "what is the way to", "how do you", "how do we"],
    ["what is", "what's", "what does one call", "whats", "what do you call"], ["explain", "describe", "clarify", "outline", "walk me through"],
    ["reduce", "lower", "cut", "decrease", "shrink", "bring down"], ["improve", "better", "optimise", "optimize", "tune"],
    ["increase", "raise", "boost", "grow", "push up"], ["fast", "quick", "speedy", "rapid"], ["faster", "quicker", "speedier"],
    ["slow", "sluggish", "laggy"], ["slower", "less quick"], ["slowly", "sluggishly"], ["high", "large", "big", "bad"],
    ["why is", "how come", "why's", "what is the reason that", "for what reason is"], ["why does", "how come", "for what reason does"],
    ["why do", "how come", "for what reason do"], ["answer", "reply", "response", "output"], ["show", "display", "tell me", "present"],
    ["model", "llm", "language model", "network"], ["prompt", "input", "question"], ["gpu", "graphics card", "video card"],
    ["big", "large", "huge"], ["small", "tiny", "little"], ["difference", "distinction", "contrast"], ["wait", "waiting time", "delay", "pause"],
    ["appears", "shows up", "is there", "arrives", "is visible"], ["start", "begin"], ["starts", "begins"], ["happens", "goes on", "occurs"],
    ["tell me", "let me know", "say"], ["measured", "determined", "taken"], ["calculate", "compute", "work out", "figure out"],
    ["important", "relevant", "useful", "significant"], ["matter", "count", "play a role"], ["use", "employ", "work with"],
    ["many", "lots of", "several"], ["make", "get"], ["need", "require", "must i have"], ["picked", "chosen", "selected"],
    ["chosen", "selected", "picked", "decided"], ["stored", "kept", "saved", "held"], ["keep", "hold", "store"], ["split", "divide", "cut", "break up"],
    ["work", "function", "operate"], ["called", "named", "known as"], ["limits", "holds back", "restricts", "bounds"],
    ["whole", "entire", "complete", "full"], ["between", "from one to another of"], ["together", "at once", "jointly", "at the same time"],
    ["page", "website", "web page", "site"], ["computer", "machine", "device"], ["machine", "computer", "device", "server"],
    ["users", "people", "clients", "visitors"], ["requests", "calls", "queries"], ["text", "words", "sentence"], ["word", "token", "piece of text"],
    ["meaning", "sense", "definition"], ["mean", "stand for", "signify"], ["good", "decent", "fine", "acceptable"], ["better", "preferable", "superior"],
    ["speed up", "accelerate", "make faster"], ["does it", "will it", "can it"], ["is there", "do you have", "have you got"], ["best", "top", "ideal"],
    ["purpose", "point", "aim", "goal"], ["benefit", "gain", "advantage", "upside"], ["first", "very first", "initial"], ["guess", "guessing", "draft"],
    ["compare", "contrast", "put side by side"], ["write", "compose", "create", "produce", "give me"], ["recommend", "suggest", "advise"],
]
FILLER = {"a", "an", "the", "is", "do", "does", "i", "my", "to", "of", "it", "you", "me", "so", "in", "for", "are", "please", "that", "there"}

_TABLE = {}
for _row in SYNONYMS:
    for _word in _row:
        _TABLE.setdefault(_word, [])
        _TABLE[_word] += [w for w in _row if w != _word]
_PATTERN = re.compile(r"\b(" + "|".join(sorted(map(re.escape, _TABLE), key=len, reverse=True)) + r")\b")


def normalise(text):
    """Lower case, letters, digits and signs only: used to compare wordings."""
    return " ".join(re.sub(r"[^\w+*/%-]+", " ", text.lower()).split())


def _synonyms(text, rng):
    return _PATTERN.sub(lambda m: rng.choice(_TABLE[m.group(0)]) if rng.random() < 0.35 else m.group(0), text)


def _drop_words(text, rng):
    """Telegraph style: leaves out small words, or one word at random."""
    words = text.split(" ")
    if len(words) < 4:
        return text
    if rng.random() < 0.7:
        kept = [w for w in words if w.lower() not in FILLER or rng.random() < 0.4]
    else:
        gone = rng.randrange(len(words))
        kept = [w for i, w in enumerate(words) if i != gone]
    return " ".join(kept) if len(kept) >= 2 else text


def _typo(text, rng):
    """One slip of the finger in one longer word."""
    words = text.split(" ")
    places = [i for i, w in enumerate(words) if len(w) >= 5]
    if not places:
        return text
    i = rng.choice(places)
    word = words[i]
    at = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(3)
    if kind == 0:
        word = word[:at] + word[at + 1] + word[at] + word[at + 2:]
    elif kind == 1:
        word = word[:at] + word[at + 1:]
    else:
        word = word[:at] + word[at] + word[at:]
    words[i] = word
    return " ".join(words)


def _case_and_mark(text, rng):
    mark = text[-1] if text and text[-1] in "?!." else ""
    body = text.rstrip("?!. ") or text
    draw = rng.random()
    if draw < 0.4:
        body = body.lower()
    elif draw < 0.9:
        body = body[:1].upper() + body[1:]
    elif draw < 0.93:
        body = body.upper()
    draw = rng.random()
    if draw < 0.55:
        return body + (mark or "?")
    if draw < 0.65:
        return body + rng.choice([".", "!", "??", " ?"])
    return body


def vary(text, rng):
    """One more wording of `text`, drawn with `rng`; about a third stay as written but for case and mark."""
    if len(text) > 6 and any(c.isalpha() for c in text):
        if rng.random() < 0.5:
            text = _synonyms(text, rng)
        if rng.random() < 0.15:
            text = _drop_words(text, rng)
        if rng.random() < 0.18 and len(text) > 10:
            text = rng.choice(PREFIXES) + text
        if rng.random() < 0.15 and len(text) > 10:
            end = text[-1] if text[-1] in "?!." else ""
            text = text.rstrip("?!.") + rng.choice(SUFFIXES) + end
        if rng.random() < 0.12:
            text = _typo(text, rng)
    return _case_and_mark(text, rng)


def pseudo_word(rng):
    """A word that means nothing, so that unknown words are learned as an unknown subject."""
    return "".join(rng.choice(["b", "br", "k", "d", "f", "gl", "h", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w", "z"])
                   + rng.choice(["a", "e", "i", "o", "u", "ea", "ou"]) + rng.choice(["", "", "n", "r", "l", "s", "m"])
                   for _ in range(rng.choice([2, 2, 3]))) 
