"""Look for words and turns of phrase that this project does not use, in comments, messages, docs.

python docs/check_words.py            # prints path:line, the words, and what to write instead

The list has private words for which the field has a term, and ways of speaking that a reader whose
first language is another has to read twice. What is found is rewritten, not excused.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# What is found, and what to write instead.
WORDS = {
    r"wild\b": "outlier",
    r"told\b(?! :)": "output, reported, informed",
    r"of late": "recent, recently, exponentially weighted",
    r"anew": "again",
    r"runners?": "candidate",
    r"handicap": "penalty",
    r"(?<!-)blind": "constant expert",
    r"columns? of nothing|says? nothing|saying nothing": "irrelevant, no information",
    r"bumps?": "Gaussian test functions",
    r"handover": "lock",
    r"journals?": "undo log",
    r"twins?": "same basis",
    r"foresees?|foreseen|foresight": "prefetch",
    r"lens(?:es)?": "preprocessing, embedding",
    r"takes? down|taken down": "record",
    r"wish(?:es)?": "option",
    r"go(?:es)? on\b(?! the)|going on": "continue, resume",
    r"suits? itself|suit themselves": "selects by held-out error",
    r"brought nearer|tamed": "winsorized, clipped",
    r"believes?|believed|believing": "used, trusted, given weight",
    r"patience|patient": "limit, interval",
    r"heeds?": "warn",
    r"and (?:its|their) kin": "name them",
    r"next to nothing": "near zero, negligible",
    r"turned around": "with the sign flipped",
    r"so many": "n",
    r"some (?:ten|twenty|thirty|forty|fifty|sixty|tens|hundreds?|thousands?|\d[\d,.]*)": "about",
    r"hardly": "rarely, barely, almost no",
    r"all but(?! (?:a|all|one|the)\b)": "nearly",
    r"worth a word|in vain|for ever|nonetheless|the likes? of": "plain words",
    r"not worse than": "no worse than",
}
# The beginning of a sentence.
STARTS = {
    r"Who\b": "the caller, a thread, a reader: name it",
    r"Of (?!the Earth)[a-z]": "subject first: 'The error of ...', not 'Of ... the error'",
}
FORBIDDEN = re.compile(rf"(?<![\w`])(?:{'|'.join(WORDS)})(?!\w)")
START = re.compile(rf"(?:(?<=^)|(?<=[.:;!?] ))(?:{'|'.join(STARTS)})")
REMEDIES = [(re.compile(p), remedy) for p, remedy in (WORDS | STARTS).items()]

# Names of code for which the same holds.
NAMES = ["go_on", "[Tt]old", "wishes", "journal", "foresee", "foresight", "[Ll]ens", "handicap"]
NAME = re.compile(rf"\b(?:{'|'.join(NAMES)})\b")

# Names in backquotes or braces are code.
CODE = re.compile(r"`[^`]*`|\{[^{}]*\}")


def of_rust(text: str) -> Iterator[tuple[int, str]]:
    """Give comments and string literals with their lines."""
    for match in re.finditer(r'//[/!]?[ \t]?(.*)|"((?:[^"\\\n]|\\.)*)"', text):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2] or ""


def of_python(text: str) -> Iterator[tuple[int, str]]:
    """Give comments and strings, line by line."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            words = token.string.lstrip("# ").lstrip("\"'")
            yield from enumerate(map(str.strip, words.split("\n")), token.start[0])


def of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines without marks of lists, emphasis and tables."""
    for number, line in enumerate(text.split("\n"), 1):
        yield number, line.strip(" -*|")


READERS = {".rs": of_rust, ".py": of_python, ".pyi": of_python, ".md": of_markdown}


def remedy_of(found: str) -> str:
    """Give what to write instead of words, or of a name that is made of them."""
    spoken = found.replace("_", " ")
    options = (found, spoken, spoken.lower())
    return next(remedy for words, remedy in REMEDIES if any(map(words.match, options)))


def files() -> Iterator[Path]:
    """Give what people read: sources, tests and pages."""
    for folder in ("src", "python", "tests", "benches", "benchmarks", "examples", "fuzz", "docs"):
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in READERS)
    yield from sorted(ROOT.glob("*.md"))


def main() -> int:
    """Print what is found."""
    found = 0
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        built = {"target", "gallery", "generated"} & set(path.parts)
        if built or path == Path(__file__):
            continue
        whole = path.read_text(encoding="utf-8")
        for match in NAME.finditer(whole) if path.suffix != ".md" else ():
            number = whole.count("\n", 0, match.start()) + 1
            print(f"{name}:{number}: the name {match[0]!r}: write {remedy_of(match[0])}")
            found += 1
        for number, text in READERS[path.suffix](whole):
            line = CODE.sub("``", re.sub(r"\(Self::\w+\)", "", text))
            for match in [*FORBIDDEN.finditer(line), *START.finditer(line)]:
                remedy = remedy_of(match[0])
                print(f"{name}:{number}: {match[0]!r}: write {remedy}    {line.strip()[:90]}")
                found += 1
    print(f"words: {found} to rewrite" if found else "words: none that this project does not use")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
