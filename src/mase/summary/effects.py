"""Effects of words and phrases over the texts of a run, and their differences between sets of texts."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Direction", "Example", "Family", "GroupDifference", "PhraseEffect", "PushDifference", "WordEffect"]

Direction = Literal["towards", "away"]


@dataclass(frozen=True, slots=True)
class Example:
    """An occurrence in context: up to 40 characters `before` and `after` it, and its score.

    `text` is as in the document, not in lower case. If the run holds no texts, it is the word or phrase of the row, and
    `before` and `after` are empty. `id` and `row` name the text. A context that was cut does not begin or end with an
    ellipsis; `cut_before` and `cut_after` say so.
    """

    id: str
    row: int
    before: str
    text: str
    after: str
    score: float
    cut_before: bool = False
    cut_after: bool = False


@dataclass(frozen=True, slots=True)
class WordEffect:
    """A word (in lower case) that pushes towards a response or away from it.

    Attributes
    ----------
    response
        The response, such as a class, of which the texts were explained.
    direction
        ``"towards"`` if the word increases the response on average, else ``"away"``.
    n_texts, n_occurrences
        Different texts with the word, and its occurrences in them.
    effect, low, high
        Mean effect with a 95 % interval: the mean score over the occurrences in a text, then the mean over the texts.
        In the unit of the response.
    share_top
        Share of these texts in which an occurrence has one of the five highest scores of the text ("towards"), or one
        of the five lowest ("away").
    p_value, q_value
        The larger of the p-values of two t-tests over texts: of the effect against 0, and against the mean score of all
        units of the same text. The q-value controls the false discovery rate over all words of all responses.
    examples
        At most three occurrences: of the strongest score in the direction, of the score nearest to the mean effect, and
        of the weakest score.
    """

    response: str
    direction: Direction
    word: str
    n_texts: int
    n_occurrences: int
    effect: float
    low: float
    high: float
    share_top: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class PhraseEffect:
    """Two neighbouring words (in lower case, joined by a space) whose effect differs from that of the words elsewhere.

    Attributes
    ----------
    response, direction, n_texts, n_occurrences, p_value, q_value, examples
        As of `WordEffect`. The p-value is the largest of those of the effect and of `difference`.
    phrase
        The two words.
    effect, low, high
        Mean effect with a 95 % interval: the sum of the scores of the two words, its mean over the occurrences in a
        text, then over the texts.
    expected
        Sum of the mean effects that the two words have in the texts without the phrase.
    difference, difference_low, difference_high
        `effect` minus `expected`, with a 95 % interval.
    share_top
        Share of the texts in which a word of an occurrence has one of the five highest (lowest) scores of the text.
    """

    response: str
    direction: Direction
    phrase: str
    n_texts: int
    n_occurrences: int
    effect: float
    low: float
    high: float
    expected: float
    difference: float
    difference_low: float
    difference_high: float
    share_top: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class PushDifference:
    """A word whose push differs between some of the texts with a prediction and the rest of them.

    The push of a word in a text is the sum of its scores for the predicted class; it is 0 in a text without the word.
    For wrong predictions, the texts are those whose label is another class and the words push towards the predicted
    class more than in right predictions. For low-confidence predictions, the words push towards it less than in the
    others.

    Attributes
    ----------
    prediction
        The predicted class.
    word
        The word, in lower case.
    n_texts, n_others
        Wrong (low-confidence) predictions with the word, and other predictions of the class with it.
    share, share_others
        The same as shares of all wrong (low-confidence) and of all other predictions of the class.
    effect, effect_others
        Mean effect of the word where it occurs, in these texts and in the others (NaN if it occurs in none).
    difference, low, high
        Mean push in these texts minus mean push in the others, with Welch's 95 % interval.
    p_value, q_value
        The larger of the p-values of Welch's test for the push and for the push relative to the mean score of the text.
        The q-value controls the false discovery rate over all words and classes of the table.
    examples
        As of `WordEffect`, from these texts.
    """

    prediction: str
    word: str
    n_texts: int
    n_others: int
    share: float
    share_others: float
    effect: float
    effect_others: float
    difference: float
    low: float
    high: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """A word whose mean effect on a response in the texts of one group differs from that in all other groups.

    `difference` is `effect` (of the texts of the group with the word) minus `effect_others` (of the other texts with
    it), with Welch's 95 % interval. The other fields are as in `PushDifference`. The examples are of the group.
    """

    response: str
    group: str
    word: str
    n_texts: int
    n_others: int
    effect: float
    effect_others: float
    difference: float
    low: float
    high: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """The tests of one table: how many words or phrases were tested, and how many passed before `top` cut the list."""

    table: str
    n_tested: int
    n_found: int
