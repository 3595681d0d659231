"""Check that a tokenizer is given for an object that needs one, and for no other."""

from mase.errors import OptionError

__all__ = ["check_no_tokenizer", "check_tokenizer"]


def check_tokenizer(module: object, tokenizer: object) -> None:
    """Check that a module has a tokenizer.

    Raises
    ------
    OptionError
        If `tokenizer` is None.
    """
    if tokenizer is None:
        raise OptionError(
            f"{type(module).__name__} has no tokenizer, expected Explainer(model, tokenizer) for a Hugging Face "
            "model, or mase.models.TorchModule(module, tokenize=..., labels=[...]) for any other"
        )


def check_no_tokenizer(what: str, tokenizer: object) -> None:
    """Check that no tokenizer is given beside an object that reads texts by itself.

    Raises
    ------
    OptionError
        If `tokenizer` is not None.
    """
    if tokenizer is not None:
        raise OptionError(
            f"tokenizer is of type {type(tokenizer).__name__} beside {what}, expected None, because {what} reads texts "
            "by itself; leave the tokenizer out"
        )
