"""Prices: the user's own, LiteLLM's where it is installed, else unknown."""

import pytest

from evals.errors import WorkbenchError
from evals.prices import OPENAI_URL, Price, Prices, price_from_dict, read_prices

OPENAI = {"endpoint": OPENAI_URL}


def test_the_users_file_decides_first(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('["openai/gpt-5-nano"]\ninput = 1\noutput = 2.5\n["my-model"]\ninput = 0\noutput = 0\n')
    prices = Prices(path)
    assert prices.of("openai/gpt-5-nano", OPENAI) == Price(1.0, 2.5, "p.toml")
    assert prices.of("my-model") == Price(0.0, 0.0, "p.toml")
    assert Prices(environ={"SALIENCE_PRICES": str(path)}).of("my-model") is not None
    assert Price(1.0, 2.5, "").of(2_000_000, 400_000) == 3.0


def test_what_runs_in_this_process_is_free_and_what_is_not_known_is_unknown():
    prices = Prices(environ={})
    for name in ("embedded/smollm2", "gguf:x.gguf", "scripted/x", "baseline/rules"):
        assert prices.of(name).of(10, 10) == 0
    for name in ("ollama/llama", "mystery", "openai/gpt-5-nano", "litellm/nobody/nothing"):
        assert prices.of(name, {"endpoint": "http://localhost:8000/v1"}) is None


def test_openai_itself_and_litellm_are_looked_up_in_its_table():
    """OpenAI's list price of gpt-4o-mini is $0.15 and $0.60 a million tokens since July 2024."""
    prices = Prices(environ={})
    for found in (prices.of("openai/gpt-4o-mini", OPENAI), prices.of("litellm/openai/gpt-4o-mini")):
        assert (found.input, found.output) == (0.15, 0.6)
    assert prices.of("openai/gpt-4o-mini", {"endpoint": "https://proxy.example/v1"}) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "is not TOML"),
        ("x = 3", r"p.toml: x: must be a table \[\"x\"\]"),
        ("[x]\ninput = 1", "p.toml: x.output: must be a number of dollars a million tokens from 0 up, got None"),
        ("[x]\ninput = -1\noutput = 1", "x.input: must be a number .* got -1"),
        ("[x]\ninput = true\noutput = 1", "got True"),
        ("[x]\ninput = nan\noutput = 1", "got nan"),
        ("[x]\ninput = 1\noutput = 1\ncached = 2", "x.cached: is not a field of a price; allowed: input, output"),
    ],
)
def test_a_faulty_file_names_file_model_and_field(tmp_path, text, message):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(WorkbenchError, match=message):
        read_prices(tmp_path / "p.toml")
    with pytest.raises(WorkbenchError, match="cannot be read"):
        read_prices(tmp_path / "absent.toml")


def test_a_price_survives_the_manifest():
    assert price_from_dict(Price(1.0, 2.0, "s").to_dict()) == Price(1.0, 2.0, "s")
    assert price_from_dict(None) is None
