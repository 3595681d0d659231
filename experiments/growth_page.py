"""The texts of the pages of `growth.py`, without their figures."""

from textwrap import fill

__all__ = ["PAGES", "wrapped"]

LSTMS = """\
# Scores as a model grows

Made by `python experiments/growth.py DATA_DIR`; its first lines say what it does.
[Transformers](transformers.md) have a page of their own. The LSTM of Reuters (46 topics) is trained with a quarter of
the widths of the bundled model (32), with its widths (128) and with twice those (256), each with the training seeds 0
and 1, on {n_training} stories. The recipe is that of the bundled model but for the widths and the number of epochs:
{epochs} instead of 20, to keep the trainings short. So the models of the bundled size are less accurate than the
bundled one (.88 on the validation part). That of seed 0 has the weights that `mase train lstm-reuters --epochs
{epochs}` writes. As in the recipe, the epoch with the best validation accuracy is kept.

The texts are the first {n} stories of the validation part that all six models classify correctly: {topics}. They are
easier than the others. Explained is the margin of the true topic, by `mase` and by `{rival}`, each with as many
samples as `n_samples="auto"` gives (350 and 2 for each word) and with the seeds 0 and 1 of the samples. In
brackets: 95 % intervals, a bootstrap over the texts; those of differences are paired. They do not include how much six
other trainings would differ.

What this run shows: two runs of either method agree less for the quarter than for the larger models. From the bundled
size to twice that, two runs of the rival agree more on the ranks; of `mase` no difference can be detected. The highest
words of both sizes are equally stable within the noise. `mase` is more stable than the rival at every size, and its
Delta Accuracy is higher. Two trainings of one size agree less than two runs for one training: models of equal size
differ in what they read. Twice the bundled size adds nothing detectable to that. The quarter differs more, from the
others and between its own trainings. It is also the least accurate, and size and accuracy cannot be told apart here.
Over the epochs, the scores settle about as the validation accuracy does.

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


TRANSFORMERS = """\
# Scores as a transformer grows

Made by `python experiments/growth.py DATA_DIR --family transformers`. [LSTMs](growth.md) have a page of
their own. Here the models are BERTs with two, four and six layers, fine-tuned on {n_training} stories of Reuters (46
topics). The one with six layers is the bundled `bert-reuters`. The others begin as the first two and the first four
layers of the same pretrained MiniLM, and are fine-tuned with the same recipe and the same number of epochs (`mase train
bert-reuters --base FOLDER`).

There is one training of each size, with seed 0. So a difference between two sizes may be one between two trainings:
two LSTMs of one size agree less on the scores than two runs for one LSTM. And a model with fewer layers also lacks what
pretraining stored in the others.

The texts are the first {n} stories of the validation part with at least 12 words that all three models classify
correctly: {topics}. They are easier than the others. Explained is the margin of the true topic, by `mase` and by
`{rival}`, each with as many samples as `n_samples="auto"` gives (350 and 2 for each word) and with the seeds 0 and 1 of
the samples. Words that the models do not read, those after the first 128 tokens, have no scores. In brackets: 95 %
intervals, a bootstrap over the texts; those of differences are paired. They do not include how much other trainings
would differ.

The models are evaluated in bfloat16, which is faster here. The library takes float32 where that is too noisy; it did
so in {n_full} of the {n_all} explanations. Delta Accuracy is measured in float32. The first {n_exact} texts were
explained in both precisions with six layers and seed 0. The two agree with a mean rank correlation and a mean overlap
of the {top} highest words of {exact}. Later rows of `mase` depend on earlier answers, so that rounding changes them,
too.

What this run shows: the agreement of two runs does not rise or fall steadily with the number of layers. On the ranks it
is lowest with four layers, by either method. With six it is higher than with two by the rival; by `mase` the two do not
differ detectably. Nor does the overlap of the highest words with six layers differ from that with fewer. `mase` is more
stable than the rival at every size, and its Delta Accuracy is higher. Two sizes agree clearly less than two runs for
one model: models that are right about the same texts differ in what they read, be it for their size or for their
training.

## The models

{models}

Accuracies are of the weights rounded to float16, on {n_validation} and {n_test} stories, with Wilson's intervals. The
epoch was chosen on the validation part. Training the two small models takes about half an hour of CPU time; the
explanations take about as long.

## Two runs with other samples

Spearman's rank correlation of all scores, and the overlap (Jaccard) of the {top} highest words, of two explanations of
the same model whose samples have other seeds.

{stability}

## Two models

Two sizes, explained with different seeds of the samples. Below each pair: its agreement minus the mean of those of two
runs for either size, which is about the most that can be reached. Rank correlation of all scores:

{rank}

Overlap of the {top} highest words:

{overlap}

## Delta Accuracy

The share of predictions that change when the k highest words become the mask token, the mean over k = {ks} and over the
seeds of the samples.

{faithfulness}

{versions}; two cores of an Intel Xeon with AMX, one thread per process.
"""

PAGES = {"growth": LSTMS, "transformers": TRANSFORMERS}


def wrapped(paragraph: str) -> str:
    """Return a paragraph in lines of at most 120 characters; what is not prose is returned as it is."""
    prose = not paragraph.startswith(("|", "#", "!"))
    return fill(paragraph, 120, break_long_words=False, break_on_hyphens=False) if prose else paragraph
