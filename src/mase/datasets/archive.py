"""Archives read member by member: nothing is extracted to disk."""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO

from mase.errors import DataError

__all__ = ["members"]


def members(archive: IO[bytes], pattern: str) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the match of the name and the content of each regular file of a tar.gz whose whole name matches `pattern`.

    Raises
    ------
    DataError
        If the archive is cut short or is not a tar.gz.
    """
    wanted = re.compile(pattern)
    try:
        with tarfile.open(fileobj=archive, mode="r:gz") as tar:
            for member in tar:
                match = wanted.fullmatch(member.name.removeprefix("./"))
                if match and member.isfile():
                    content = tar.extractfile(member)
                    assert content is not None  # a regular file always has content
                    yield match, content.read()
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"the archive is not a whole tar.gz ({error}); download it again") from error
