"""Models by their URL or by a file that describes them, in Python and on the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.servers import KSERVE, TEI, V2, probabilities, served

from mase import Explainer
from mase.cli import main
from mase.errors import DataError, OptionError, ServiceError, UnknownNameError
from mase.models import KServe, TextEmbeddingsInference, load

TEXT = "A superb cast, but not dull."
TOKEN = "s3cr3t-of-the-user"


@pytest.fixture(scope="module")
def url():
    routes = TEI | V2 | {"POST /classify": lambda body: {"scores": probabilities(body["texts"])}}
    with served(routes) as (address, _):
        yield address


@pytest.fixture
def described(tmp_path):
    def write(**description):
        path = tmp_path / "model.json"
        path.write_text(json.dumps(description))
        return str(path)

    return write


def test_the_protocol_is_recognised(url):
    assert isinstance(load(url), TextEmbeddingsInference)
    assert isinstance(load(url + "/predict"), TextEmbeddingsInference)
    assert isinstance(load(url + KSERVE), KServe)
    assert np.allclose(Explainer(url).model.predict([TEXT]), probabilities([TEXT]))
    with pytest.raises(UnknownNameError, match=r"the protocol of .*/other is not known, expected /v2/models/NAME"):
        load(url + "/other")
    with pytest.raises(ServiceError, match="cannot be reached"):
        load("http://127.0.0.1:9/")


def test_a_description(url, described, monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    options = {"labels": ["a", "b", "c"], "token_env": "OUR_TOKEN", "timeout": 9}
    service = described(url=url + "/classify", protocol="json", request={"texts": "$inputs"}, rows="/scores", **options)
    assert load(service).labels == ("a", "b", "c")
    assert np.allclose(load(service).predict([TEXT]), probabilities([TEXT]))
    assert isinstance(load(described(url=url, raw_scores=False, retries=1)), TextEmbeddingsInference)
    assert isinstance(load(described(url=url, protocol="kserve", model="sentiment")), KServe)


@pytest.mark.parametrize(
    ("description", "kind", "message"),
    [
        ({"protocol": "json"}, DataError, "expected an object with its 'url'"),
        ({"url": 3}, DataError, "expected an object with its 'url'"),
        ({"url": "http://127.0.0.1:9", "protocol": "jsn"}, UnknownNameError, "did you mean 'json'"),
        (
            {"url": "http://127.0.0.1:9", "protocol": "json", "rowz": ""},
            OptionError,
            "'rowz' is not an option of JSONS.*'batch_size'",  # in quotes, which the command leaves as they are
        ),
        ({"url": "http://127.0.0.1:9", "protocol": "json", "token_env": 3}, OptionError, "does not name environment"),
    ],
)
def test_descriptions_that_are_wrong(described, description, kind, message):
    with pytest.raises(kind, match=message):
        load(described(**description))


SECRETS = ["http://me:hidden@127.0.0.1:9/", "http://127.0.0.1:9/x?key=hidden", "http://127.0.0.1:9/#hidden"]
UNREADABLE = ["http://", "http://127.0.0.1:port/hidden", "https://a b/hidden", "http://[hidden/", "http://a\n/hidden"]


@pytest.mark.parametrize("secret", SECRETS + UNREADABLE)
def test_urls_that_are_refused_are_not_shown(secret):
    with pytest.raises(OptionError, match="the URL of the model") as caught:
        load(secret)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [["explain", TEXT, "-m"], ["run", __file__, "-o", "never", "-m"], ["serve", "--no-browser", "-m"], ["models"]],
    ids=lambda command: command[0],
)
def test_no_command_shows_a_credential(command):
    result = CliRunner().invoke(main, [*command, SECRETS[0]])
    assert result.exit_code != 0
    assert "the URL of the model" in result.output
    assert "hidden" not in result.output


def test_the_command(url, described, tmp_path):
    result = CliRunner().invoke(main, ["explain", "-m", url, "--n-samples", "32", "--json", "superb"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["model"]["name"], found["prediction"]["label"]) == ("owner/sentiment", "pos")
    service = described(url=url + "/classify", protocol="json", request={"texts": "$inputs"}, rows="/scores")
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["explain", "-m", service, "--n-samples", "32", "--html", page, TEXT])
    assert (result.exit_code, page.is_file()) == (0, True)
    result = CliRunner().invoke(main, ["models", url + KSERVE])
    assert result.output.splitlines() == [url + KSERVE, "  behind a URL, KServe", "  labels   0, 1, 2"]


@pytest.mark.parametrize("option", [["--device", "cpu"], ["--download"], ["--trust-remote-code"]])
def test_options_that_do_not_apply(url, option):
    result = CliRunner().invoke(main, ["explain", "-m", url, *option, TEXT])
    assert result.exit_code == 2
    assert f"got {option[0]} with a model behind a URL" in result.stderr
    with pytest.raises(OptionError, match="with a URL"):
        load(url, download=True)


def test_a_server_that_is_gone_fails_each_text(tmp_path, described):
    with served(dict(TEI)) as (url, double):
        del double.routes["POST /predict"]
        path = tmp_path / "found.jsonl"
        model = described(url=url, retries=0)
        texts = tmp_path / "texts.txt"
        texts.write_text("one text\nanother\n")
        result = CliRunner().invoke(main, ["explain", "-m", model, "-i", str(texts), "-o", str(path)])
    assert result.exit_code == 1
    errors = [json.loads(line) for line in path.read_text().splitlines()]
    assert [error["error"] for error in errors] == ["ServiceError"] * 2
