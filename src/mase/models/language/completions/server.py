"""A server that is asked in one dialect: rows are put into requests, and come back in their order."""

from collections.abc import Sequence
from dataclasses import dataclass

from mase.models.http.client import Client
from mase.models.language.completions.dialect import Dialect, Output, Row
from mase.models.language.completions.splitting import Splitting

__all__ = ["Server"]


@dataclass(frozen=True, slots=True)
class Server:
    """A server, its dialect, how texts become tokens for it, and how many rows a request has."""

    client: Client
    dialect: Dialect
    splitting: Splitting
    batch_size: int

    def scores(self, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities of the tokens of n answers, which are asked for side by side.

        Raises
        ------
        ServiceError
            If a request fails, or an answer does not have a number for each token.
        """
        starts = range(0, len(rows), self.batch_size)
        batches = [rows[start : start + self.batch_size] for start in starts]
        answers = self.client.post(self.dialect.path, [self.dialect.score_body(batch) for batch in batches])
        found: list[list[float]] = []
        for batch, answer in zip(batches, answers, strict=True):
            found += self.dialect.scores(answer, batch)
        return found

    def generated(self, prompts: Sequence[tuple[int, ...] | str], max_new_tokens: int) -> list[Output]:
        """Return the greedy continuations of n prompts.

        Raises
        ------
        ServiceError
            If a request fails, or an answer does not have the form of the dialect.
        """
        bodies = [self.dialect.generate_body(prompt, max_new_tokens) for prompt in prompts]
        return [self.dialect.generated(answer) for answer in self.client.post(self.dialect.path, bodies)]
