"""A matplotlib figure that a notebook shows, also without `%matplotlib inline`."""

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure with the representation that IPython looks for."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
