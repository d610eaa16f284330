"""Reads corpus/*.txt into intents and draws conversations from them."""

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from wordings import normalise, pseudo_word, vary

FOLDER = Path(__file__).parent / "corpus"
SUBJECTS = ["latency", "load", "hardware", "memory", "model", "product", "chat", "more-wordings", "held-out"]


@dataclass
class Intent:
    """One thing a user may want to know, with its one answer."""

    name: str
    questions: list = field(default_factory=list)
    topics: list = field(default_factory=list)
    kinds: list = field(default_factory=list)
    pairs: list = field(default_factory=list)
    development: list = field(default_factory=list)
    test: list = field(default_factory=list)
    answer: str = ""
    more: str = ""
    example: str = ""
    templated: list = field(default_factory=list)
    need: float = 1.0  # running loss of the first answer tokens in training

    @property
    def held_out(self):
        """All wordings that training never sees."""
        return self.development + self.test

    @property
    def short(self):
        """The first sentence of the answer: what "in one sentence" gives."""
        return re.split(r"(?<=[.!?])\s|:\n", self.answer, maxsplit=1)[0].rstrip(":")


def _sections(path):
    """Files of [section] headings with one entry a line."""
    out, current = {}, None
    for line in path.read_text("utf-8").splitlines():
        if re.fullmatch(r"\[[\w-]+\]", line):
            current = out.setdefault(line[1:-1], [])
        elif line and not line.startswith("# "):
            current.append(line)
    return out


def _read_subject(path, known):
    """Adds the intents of one file to `known`; a name that is known already gets more wordings."""
    intents, block = [], None
    for line in path.read_text("utf-8").splitlines():
        key, _, rest = line.partition(":")
        rest = rest.strip()
        if line.startswith("== "):
            name = line[3:].strip()
            intents.append(known.setdefault(name, Intent(name)))
            block = None
        elif not intents or not line and not block:
            continue
        elif block and not (key in ("more", "example") and not rest):
            text = getattr(intents[-1], block)
            setattr(intents[-1], block, text + "\n" + line if text else line)
        elif key == "topic":
            intents[-1].topics += [t.strip() for t in rest.split("|")]
        elif key == "pair":
            intents[-1].pairs.append(tuple(t.strip() for t in rest.split("|")))
        elif key == "kinds":
            intents[-1].kinds += rest.split()
        elif key == "q":
            intents[-1].questions.append(rest)
        elif key == "h":
            (intents[-1].test if path.stem == "held-out" else intents[-1].development).append(rest)
        elif key in ("a", "more", "example"):
            block = {"a": "answer"}.get(key, key)


class Corpus:
    """All intents, and the ways to ask, to go on and to set the scene."""

    def __init__(self, folder=FOLDER):
        self.by_name = {}
        for subject in SUBJECTS:
            _read_subject(folder / f"{subject}.txt", self.by_name)
        self.intents = list(self.by_name.values())
        self.templates = _sections(folder / "templates.txt")
        self.followups = _sections(folder / "followups.txt")
        self.systems = _sections(folder / "systems.txt")
        self.slots = {k.strip(): [w.strip() for w in v.split("|")] for k, v in
                      (line.split(":", 1) for line in (folder / "slots.txt").read_text("utf-8").splitlines() if line)}
        for intent in self.intents:
            intent.answer, intent.more, intent.example = (t.strip() for t in (intent.answer, intent.more, intent.example))
            for kind in intent.kinds:
                intent.templated += [t.replace("{t}", x) for t in self.templates[kind] for x in intent.topics]
            for a, b in intent.pairs:
                for t in self.templates["diff"]:
                    intent.templated += [t.replace("{a}", x).replace("{b}", y) for x, y in ((a, b), (b, a))]
        self.held = {normalise(h) for i in self.intents for h in i.held_out}
        self.held |= {normalise(h) for k, v in self.followups.items() if k.startswith("h-") for h in v}
        for intent in self.intents:
            intent.questions = [q for q in intent.questions if normalise(q) not in self.held]
            intent.templated = [t for t in intent.templated if normalise(t) not in self.held]
        self.first_questions = {i.name: i.questions[0] if i.questions else i.templated[0] for i in self.intents}

    def _fill(self, text, rng):
        def value(match):
            name = match.group(1)
            if name == "n":
                return str(rng.randrange(10 ** rng.choice([1, 1, 2, 2, 3])))
            return pseudo_word(rng) if rng.random() < 0.15 else rng.choice(self.slots[name])
        return re.sub(r"\{(\w+)\}", value, text)

    def question(self, intent, rng):
        """A training wording of the intent; never a held-out one."""
        while True:
            pool = intent.questions
            if intent.templated and (not pool or rng.random() < 0.5):
                pool = intent.templated
            text = vary(self._fill(rng.choice(pool), rng), rng)
            if normalise(text) not in self.held:
                return text

    def pick(self, rng):
        """An intent; those that are still answered badly more often, and off-topic ones, because their subjects have no end."""
        if rng.random() < 0.05:
            return self.by_name["offtopic"]
        if rng.random() < 0.5:
            return rng.choice(self.intents)
        return rng.choices(self.intents, [i.need for i in self.intents])[0]

    def fallback(self, intent, kind):
        """The answer to "more" or "example" where none was written: names what to ask next."""
        at = self.intents.index(intent)
        following = self.first_questions[self.intents[(at + 1) % len(self.intents)].name]
        following = self._fill(following, random.Random(at))
        following = following[0].upper() + following[1:]
        lead = "I have told you what I know about that." if kind == "more" else "I have no example for that one."
        return f"{lead} You could ask me next: *{following}*"

    def followup_answer(self, intent, kind):
        """What the follow-up `kind` gives after an answer on `intent`."""
        if kind == "short":
            return intent.short
        return getattr(intent, kind) or self.fallback(intent, kind)

    def long_system(self, rng, sentences):
        """A long system prompt: paragraphs and facts in random order."""
        parts = rng.sample(self.systems["long"], k=min(len(self.systems["long"]), rng.randrange(3, 14)))
        while len(parts) < sentences:
            intent = self.pick(rng)
            parts.append(intent.answer if rng.random() < 0.6 else intent.short)
        rng.shuffle(parts)
        return "\n\n".join([rng.choice(self.systems["plain"])] + parts)

    def choice(self, rng, system=None):
        """(intent, conversation) of one turn: what `head` rows are made of."""
        intent = self.pick(rng)
        talk = [("user", self.question(intent, rng)), ("assistant", intent.answer)]
        return intent, [("system", system)] + talk if system else talk

    def conversation(self, rng, turns=1, system=None, brief=False):
        """A list of (role, text), `turns` questions long."""
        talk = [("system", system)] if system else []
        intent = None
        while turns > 0:
            if intent and not brief and rng.random() < 0.5:
                kind = rng.choice(["more", "short", "example"])
                text = vary(rng.choice(self.followups[kind]), rng)
                if normalise(text) in self.held:
                    continue
                answer = self.followup_answer(intent, kind)
            else:
                intent = self.pick(rng)
                text, answer = self.question(intent, rng), intent.short if brief else intent.answer
            talk += [("user", text), ("assistant", answer)]
            turns -= 1
        return talk

    def texts(self, rng, per_intent=60):
        """Text on which the tokenizer is trained."""
        for intent in self.intents:
            yield from [intent.answer] * 4 + [intent.more, intent.example] + intent.questions
            yield from (self.question(intent, rng) for _ in range(per_intent))
        for group in (self.slots, self.systems, self.followups):
            yield from (" " + line for name, lines in group.items() if not name.startswith("h-") for line in lines)


def check(corpus):
    """Fails where a wording stands for two intents or a held-out wording is in training."""
    seen, faults = {}, []
    for intent in corpus.intents:
        if min(len(intent.development), len(intent.test)) < 2 or not intent.answer:
            faults.append(f"{intent.name}: needs an answer and two held-out wordings of either kind")
        for text in intent.questions + intent.templated:
            key = normalise(text)
            if key in corpus.held:
                faults.append(f"{intent.name}: held-out wording in training: {text}")
            if key and seen.setdefault(key, intent.name) != intent.name:
                faults.append(f"{text!r}: {seen[key]} and {intent.name}")
        if len(intent.questions) + len(intent.templated) < 12:
            faults.append(f"{intent.name}: fewer than 12 wordings")
    return faults


if __name__ == "__main__":
    loaded = Corpus()
    print(*check(loaded), sep="\n")
    print(len(loaded.intents), "intents,", sum(len(i.questions) for i in loaded.intents), "written,",
          sum(len(i.templated) for i in loaded.intents), "templated,", sum(len(i.held_out) for i in loaded.intents), "held out")
    draw = random.Random(1)
    for _ in range(12):
        print(loaded.conversation(draw, turns=draw.choice([1, 2])))
