"""The text of the page of `growth.py`, without its figures."""

from textwrap import fill

__all__ = ["PAGE", "wrapped"]

PAGE = """\
# Scores as a model grows

Made by `python experiments/growth.py DATA_DIR`; its first lines say what it does. The LSTM of Reuters (46 topics) is
trained with a quarter of the widths of the bundled model, with its widths and with twice those, each with the training
seeds 0 and 1, on {n_training} stories. The recipe is that of the bundled model but for the widths and the number of
epochs: {epochs} instead of 20, to keep the trainings short. So the models of the bundled size are less accurate than
the bundled one (.88 on the validation part). That of seed 0 has the weights that `mase train lstm-reuters --epochs
{epochs}` writes. As in the recipe, the epoch with the best validation accuracy is kept.

The texts are the first {n} stories of the validation part that all six models classify correctly: {topics}. They are
easier than the others. Explained is the margin of the true topic, by `mase` with its present default, the Gaussian
process, and by `{rival}`, each with as many samples as `n_samples="auto"` gives (350 and 2 for each word) and with the
seeds 0 and 1 of the samples. In brackets: 95 % intervals, a bootstrap over the texts; those of differences are paired.
They do not include how much six other trainings would differ.

What this run shows: the larger the model, the more two runs of either method agree on the ranks; the highest words of
the bundled size and of twice that are equally stable within the noise. `mase` is more stable than the rival at every
size, and its Delta Accuracy is higher. Two trainings of one size agree less than two runs for one training: models of
equal size differ in what they read. Twice the bundled size adds nothing detectable to that. The quarter differs more,
from the others and between its own trainings. It is also the least accurate, and size and accuracy cannot be told apart
here. Over the epochs, the scores settle about as the validation accuracy does.

## The models

{models}

Accuracies are of the weights rounded to float16, on {n_validation} and {n_test} stories, with Wilson's intervals. The
epoch was chosen on the validation part. All trainings together took {minutes} minutes of CPU time; the explanations
take about five.

## Two runs with other samples

Spearman's rank correlation of all scores, and the overlap (Jaccard) of the {top} highest words, of two explanations of
the same model whose samples have other seeds; means over the two trainings.

{stability}

## Two models

*Another training seed* compares two models of one size, the other rows two sizes with different training seeds. Below
each pair of sizes: its agreement minus the mean of those of the two sizes with another training seed; below each size:
its agreement minus that of two runs above, which is about the most that can be reached, as the samples always have
other seeds. Rank correlation of all scores:

{rank}

Overlap of the {top} highest words:

{overlap}

## Delta Accuracy

The share of predictions that change when the k highest words become the unknown token, the mean over k = {ks}, over
trainings and seeds of the samples.

{faithfulness}

## Over the epochs of training

The middle size with training seed 0, explained by `mase` after every epoch, always for the true topic. The scores of an
epoch (seed 0 of the samples) are compared with those of the last one (seed 1), so the last row is what two runs for one
model agree, and *behind* is by how much the rank correlation is below it. The probability of the true topic is a mean
over the {n} texts.

{by_epoch}

![Scores of words over the epochs of training](epochs.svg)

The first two of the {n} stories that have at least 40 words and different topics: {stories}. Drawn are the {n_words}
words with the largest absolute scores after the last epoch, strongest first, for the topic (blue) or against it
(orange); each row has a scale of its own. Bands are 1.96 standard errors wide on either side.

{versions}; two cores of an AMD EPYC, one thread per process.
"""


def wrapped(paragraph: str) -> str:
    """Return a paragraph in lines of at most 120 characters; what is not prose is returned as it is."""
    prose = not paragraph.startswith(("|", "#", "!"))
    return fill(paragraph, 120, break_long_words=False, break_on_hyphens=False) if prose else paragraph
