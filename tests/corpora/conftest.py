import pytest
from tests.corpora.runs import files, run


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """The files of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("expected")
    run(folder / "run")
    return files(folder / "run")
