"""Any rows by a column map: what each field accepts, what a row becomes, and what is said of a faulty map or row."""

import csv
import json

import pytest

from evals.cases import Evidence
from evals.cli.main import main
from evals.data.columns import ColumnMap, open_columns, with_way_out
from evals.data.files import load_dataset
from evals.data.foreign import open_foreign
from evals.errors import DataError


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def opened(tmp_path, rows, *columns):
    return open_columns(write(tmp_path / "rows.jsonl", *rows), ColumnMap.parse(["language=:en", *columns]))


def read(tmp_path, row, *columns):
    return next(opened(tmp_path, [row], *columns).read())


def counts(items):
    return {item.what: item.count for item in items}


def test_the_least_map_has_defaults(tmp_path):
    data = opened(tmp_path, [{"q": "Hi there"}, {"q": "I moved to Oulu", "m": ["The user lives in Oulu"]}], "text=q", "memories=m")
    first, second = data.read()
    assert (first.id, first.conversation, first.split, first.language, first.date, first.source) == (
        "row-1",
        "row-1",
        "dev",
        "en",
        None,
        None,
    )
    assert (first.owner.names, first.context, first.memories, first.forbidden, first.tags) == ((), (), (), (), ())
    assert first.messages == ({"role": "user", "content": "Hi there"},)
    assert second.id == "row-2"
    memory = second.memories[0]
    assert (memory.id, memory.content, memory.salience, memory.observed, memory.kind) == (
        "m1",
        "The user lives in Oulu",
        0.7,
        "stated",
        "fact",
    )
    assert memory.evidence == (Evidence(message=0, text="I moved to Oulu"),)
    assert data.silver == "salience was not in the data: every memory counts as required (0.7)."
    report = data.report()
    assert (data.name, report.cases, report.conversations, report.memories, report.negatives) == ("rows", 2, 2, 1, 1)


def test_every_field_from_a_column(tmp_path):
    row = {
        "n": 17, "talk": {"name": "t-1", "when": "2026-03-02T23:30:00-05:00"}, "part": "test", "lang": "fi", "via": "slack", "who": ["Aino", "A."],
        "before": [{"role": "Human", "content": "Hei"}, {"role": "BOT", "content": "Hei!"}],
        "turns": [
            {"role": "system", "content": "Be brief."}, {"role": "gpt", "content": ""}, {"role": "human", "content": "I eloped", "name": "Aino", "x": 1},
            {"role": "ai", "content": None}, {"role": "tool", "content": "ok"}, {"role": "assistant", "content": "Congratulations", "name": None},
        ],
        "facts": [{"t": "The user eloped", "s": 1, "e": "eloped"}, {"t": " "}, {"t": "The user is brief", "s": "0.3"}, {"t": "the user  eloped", "s": 0.5}],
        "never": [{"what": "The user is single", "why": "negated"}],
    }  # fmt: skip
    columns = [
        "id=n", "conversation=talk.name", "split=part", "language=lang", "date=talk.when", "source=via", "owner=who", "context=before",
        "messages=turns", "memories=facts", "memories.content=t", "memories.salience=s", "memories.evidence=e",
        "forbidden=never", "forbidden.content=what", "forbidden.reason=why",
    ]  # fmt: skip
    data = open_columns(write(tmp_path / "rows.jsonl", row), ColumnMap.parse(columns))
    (case,) = data.read()
    assert (case.id, case.conversation, case.split, case.language, case.date) == ("17", "t-1", "test", "fi", "2026-03-02")
    assert (case.source, case.owner.names) == ("slack", ("Aino", "A."))
    assert [message["role"] for message in case.context] == ["user", "assistant"]
    assert case.messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I eloped", "name": "Aino"},
        {"role": "tool", "content": "ok"},
        {"role": "assistant", "content": "Congratulations"},
    )
    assert [(memory.id, memory.content, memory.salience, memory.evidence[0]) for memory in case.memories] == [
        ("m1", "The user eloped", 1.0, Evidence(message=1, text="eloped")),
        ("m2", "The user is brief", 0.3, Evidence(message=0, text="Be brief.")),
    ]
    assert [(item.content, item.reason, item.contains) for item in case.forbidden] == [("The user is single", "negated", None)]
    assert data.silver == ""
    assert counts(data.report().skipped) == {"a message without text": 2, "a memory without text": 1}
    assert counts(data.report().notes) == {
        "a datetime cut to its day, as it is written, whatever its time zone": 1,
        "a memory without a salience, taken as required (0.7)": 1,
        "a memory twice in one row, merged with the higher salience": 1,
    }


def test_a_column_of_the_whole_dotted_name_wins(tmp_path):
    assert read(tmp_path, {"a.b": "whole", "a": {"b": "part"}}, "text=a.b").messages[0]["content"] == "whole"
    assert read(tmp_path, {"a": {"b": {"c": "deep"}}}, "text=a.b.c").messages[0]["content"] == "deep"


@pytest.mark.parametrize(
    ("memories", "expected"),
    [
        (None, []), ("", []), ("  ", []), ([], []), ([None, ""], []),
        ("one", ["one"]), (["one", "two"], ["one", "two"]), ('["one", "two"]', ["one", "two"]), ("[sic] one", ["[sic] one"]),
    ],
)  # fmt: skip
def test_memories_are_a_list_one_text_or_none(memories, expected, tmp_path):
    assert [memory.content for memory in read(tmp_path, {"q": "x", "m": memories}, "text=q", "memories=m").memories] == expected


@pytest.mark.parametrize(
    ("salience", "expected"),
    [(0.9, [0.9, 0.9]), ([0.1, 1], [0.1, 1.0]), ("0.4", [0.4, 0.4]), ("[0.5, null]", [0.5, 0.7]), (None, [0.7, 0.7])],
)
def test_salience_is_one_number_or_one_for_each(salience, expected, tmp_path):
    case = read(tmp_path, {"q": "x", "m": ["one", "two"], "s": salience}, "text=q", "memories=m", "salience=s")
    assert [memory.salience for memory in case.memories] == expected


def test_constants(tmp_path):
    columns = [
        "text=q",
        "memories=m",
        "salience=:0.9",
        "split=:test",
        "owner=:Aino",
        "source=:notes",
        "date=:2026-03-02",
        "conversation=:all",
    ]
    case = read(tmp_path, {"q": "x", "m": "one"}, *columns, "forbidden=f", "forbidden.reason=:overreach")
    assert (case.split, case.owner.names, case.source, case.date, case.conversation) == ("test", ("Aino",), "notes", "2026-03-02", "all")
    assert case.memories[0].salience == 0.9


def test_forbidden_texts_share_a_reason_and_secrets_have_their_string(tmp_path):
    case = read(tmp_path, {"q": "x", "f": ["a", None, "b"]}, "text=q", "forbidden=f", "forbidden.reason=:overreach")
    assert [(item.content, item.reason) for item in case.forbidden] == [("a", "overreach"), ("b", "overreach")]
    row = {"q": "x", "f": {"c": "The key is K-1", "k": "K-1"}}
    case = read(tmp_path, row, "text=q", "forbidden=f", "forbidden.content=c", "forbidden.reason=:secret", "forbidden.contains=k")
    assert case.forbidden[0].contains == "K-1"


@pytest.mark.parametrize(
    ("date", "expected"),
    [("2026-03-02", "2026-03-02"), ("2026-03-02T10:15:00Z", "2026-03-02"), ("2026-03-02 10:15", "2026-03-02"), (None, None), ("", None)],
)
def test_dates(date, expected, tmp_path):
    assert read(tmp_path, {"q": "x", "d": date}, "text=q", "date=d").date == expected


def test_rows_without_text_are_skipped_and_counted(tmp_path):
    data = opened(tmp_path, [{"q": ""}, {"q": "x"}, {}, {"q": None}], "text=q")
    assert [case.id for case in data.read()] == ["row-2"]
    assert [(item.what, item.count, item.first) for item in data.report().skipped] == [
        ("a row without any text to remember from", 3, f"{tmp_path / 'rows.jsonl'}:1")
    ]
    assert data.silver == ""


def test_rows_are_unlabelled_where_no_memories_are_mapped(tmp_path):
    path = write(tmp_path / "own.jsonl", {"q": "I moved to Oulu", "t": ["work"]}, {"q": "Hi"})
    data = open_columns(path, ColumnMap.parse(["text=q", "language=:en", "tags=t"]))
    first, second = data.read()
    assert (first.tags, second.tags) == (("work", "unlabelled"), ("unlabelled",))
    assert not first.labelled
    report = data.report()
    assert (report.cases, report.memories, report.negatives) == (2, 0, 0)
    assert counts(report.notes) == {"no memories are mapped, so the case carries the tag 'unlabelled'": 2}
    with pytest.raises(DataError, match="all 2 cases carry the tag 'unlabelled'"):
        load_dataset(str(path), ["text=q", "language=:en"]).to_score("dev")


def test_cases_without_mapped_memories_are_left_out_of_scores_and_counted(tmp_path):
    """Beside others, which a column map makes where a column tells which rows are labelled."""
    path = write(tmp_path / "own.jsonl", {"q": "I moved to Oulu", "m": ["The user lives in Oulu"]}, {"q": "Hi", "m": [], "t": "unlabelled"})
    dataset = load_dataset(str(path), ["text=q", "language=:en", "memories=m", "tags=t"]).to_score("dev")
    assert dataset.cases.ids == ["row-1"]
    assert dataset.notes[-1] == "1 of 2 cases carry the tag 'unlabelled' and are left out."


def test_converted_cases_without_mapped_memories_carry_the_tag(tmp_path, capsys):
    path = write(tmp_path / "own.jsonl", {"q": "I moved to Oulu"})
    target = tmp_path / "new.jsonl"
    assert main(["data", "convert", str(path), "--columns", "text=q", "language=:en", "tags=:work", "-o", str(target)]) == 0
    assert [json.loads(line)["tags"] for line in target.read_text().splitlines()] == [["work", "unlabelled"]]
    assert (
        "1 cases are unlabelled, and left out of scores until they are labelled: salience data review does that" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (None, ()), ("", ()), ([], ()), ("a", ("a",)), (" a , b,, a", ("a", "b")), (["a, b", " c "], ("a, b", "c")), ('["a", "b"]', ("a", "b")),
        ("[a", ("[a",)),
    ],
)  # fmt: skip
def test_tags_are_a_list_or_one_text(tags, expected, tmp_path):
    assert read(tmp_path, {"q": "x", "m": "one", "t": tags}, "text=q", "memories=m", "tags=t").tags == expected


def test_tags_may_be_a_constant_and_no_other_column_is_taken_for_them(tmp_path):
    row = {"q": "x", "m": "one", "": "index", "tags": "others"}
    assert read(tmp_path, row, "text=q", "memories=m", "tags=:a, b").tags == ("a", "b")
    assert read(tmp_path, row, "text=q", "memories=m").tags == ()


@pytest.mark.parametrize("tags", [5, ["a", 5], {"a": 1}, "[1, 2]"])
def test_faulty_tags_are_named(tags, tmp_path):
    with pytest.raises(DataError, match=r"rows.jsonl:1: tags=t: must be a list of texts, or one text with commas between them, got"):
        read(tmp_path, {"q": "x", "t": tags}, "text=q", "tags=t")


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("a.jsonl", '{"text": "Hi"}', "--columns text=text language=:en"),
        ("a.jsonl", '{"said": "Hi", "owner": "Aino"}', "--columns text=COLUMN language=:en"),
        (
            "a.jsonl",
            '{"id": "1", "language": "en", "owner": {"names": []}, "tags": [], "messages": [], "text": "x"}',
            "--columns id=id language=language tags=tags messages=messages owner=owner.names",
        ),
        ("a.jsonl", '{"text": "Hi", "memories": []}', None), ("a.jsonl", "[" * 100_000, None), ("a.jsonl", "[1]", None), ("a.jsonl", "", None),
        ("a.jsonl", "\ud800", None), ("a.csv", '{"text": "Hi"}', None),
    ],
)  # fmt: skip
def test_the_way_out_for_a_file_without_memories(name, line, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(line.encode("utf-8", "surrogatepass"))
    error = DataError("faulty")
    told = with_way_out(error, path)
    assert (told is error) == (words is None)
    assert str(told).endswith(words or "faulty")


def test_two_readings_are_equal(tmp_path):
    data = opened(tmp_path, [{"q": f"text {n}", "m": ["a", "b", ""]} for n in range(5)], "text=q", "memories=m")
    first, report = list(data.read()), data.report()
    assert list(data.read()) == first
    assert data.report() == report


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["text"], "'text' is not field=column; for example text=question"),
        (["text="], "is not field=column"),
        (["=q"], "is not field=column"),
        (["language=:"], "is not field=column"),
        (["txt=q"], "'txt=q': there is no field 'txt'; allowed: id, conversation, split, .*forbidden.contains"),
        (["text=q", "text=r"], "'text=r': text is already given as 'q'"),
        (["text=:hello"], "text cannot be a constant; those that can: conversation, split"),
        (["language=:en"], "map either text .* or messages"),
        (["text=q", "messages=m"], "map either text .* or messages"),
        (["text=q"], "language is needed: language=COLUMN, or a constant such as language=:en"),
        (["text=q", "language=:English"], "the column map: language=:English: must be an ISO 639-1 code such as en"),
        (["text=q", "language=:en", "split=:training"], "split=:training: must be one of train, dev, test"),
        (["text=q", "language=:en", "date=:May"], "date=:May: must be an ISO day"),
        (["text=q", "language=:en", "memories=m", "salience=:2"], "salience=:2: must be a number from 0 to 1, got '2'"),
        (["text=q", "language=:en", "salience=s"], "salience is given without memories"),
        (["text=q", "language=:en", "memories.content=s"], "memories.content is given without memories"),
        (["text=q", "language=:en", "memories=m", "salience=s", "memories.salience=s"], "both given"),
        (["text=q", "language=:en", "forbidden=f"], "forbidden needs a reason: .*overreach"),
        (["text=q", "language=:en", "forbidden=f", "forbidden.reason=:bad"], "forbidden.reason=:bad: must be one of hypothetical.*got 'bad'"),
    ],
)  # fmt: skip
def test_a_faulty_map_is_named(words, said):
    with pytest.raises(DataError, match=said):
        ColumnMap.parse(words)


GOOD = {
    "q": "x", "m": ["one"], "t": [{"role": "user", "content": "x"}], "s": 0.5, "i": "a", "d": "2026-03-02", "l": "en", "p": "dev", "w": "Aino", "f": [], "c": [],
}  # fmt: skip
ALL = ["id=i", "split=p", "language=l", "date=d", "owner=w", "memories=m", "salience=s", "context=c", "source=w", "forbidden=f", "forbidden.reason=:negated"]  # fmt: skip
DEEP = json.loads("[" * 900 + "]" * 900)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"q": 5}, "text=q: must be a text, got 5"),
        ({"q": ["x"]}, r"text=q: must be a text, got \['x'\]"),
        ({"q": DEEP}, "text=q: must be a text, got "),
        ({"q": float("nan")}, "text=q: must be a text, got nan"),
        ({"q": "half \ud83d"}, "holds half of a surrogate pair"),
        ({"i": None}, "id=i: must be a text that is not empty, or a whole number, got None"),
        ({"i": 1.5}, "id=i: must be"), ({"i": True}, "id=i: must be"),
        ({"l": "en-GB"}, "language=l: must be an ISO 639-1 code such as en .or give one for all, language=:en., got 'en-GB'"),
        ({"l": None}, "language=l: must be"),
        ({"p": "validation"}, "split=p: must be one of train, dev, test .or give one for all, split=:dev., got 'validation'"),
        ({"d": "02.03.2026"}, "date=d: must be an ISO day or datetime"), ({"d": "2026-02-30"}, "date=d: must be"),
        ({"d": "20260302"}, "date=d: must be"), ({"d": 1772400000}, "date=d: must be .* got 1772400000"), ({"d": "2026-03-02T99"}, "date=d: must be"),
        ({"w": 5}, "source=w: must be a text|owner=w: must be a name"), ({"w": ["A", 5]}, "owner=w: must be a name or a list of names|source=w"),
        ({"m": 5}, r"memories=m\[0\]: must be a list of texts or of objects, or one text, got 5"),
        ({"m": [["x"]], }, r"memories=m\[0\]: must be a list of texts"),
        ({"m": [{"fact": "x"}]}, r"memories=m\[0\]: must be a list of texts, or name the key of the text: memories.content=KEY, got {'fact': 'x'}"),
        ({"s": [0.5, 0.6]}, "salience=s: must be one number, or 1 for the 1 memories, got"),
        ({"s": 8}, "salience=s: must be a number from 0 to 1, got 8"), ({"s": -0.1}, "salience=s: must be"),
        ({"s": float("nan")}, "salience=s: must be .*got nan"), ({"s": "high"}, "salience=s: must be .*got 'high'"), ({"s": True}, "salience=s: must be"),
        ({"s": [{}]}, r"salience=s\[0\]: must be"), ({"s": 10**400}, "salience=s: must be"),
        ({"c": "hello"}, "context=c: must be a list of {role, content} objects, got 'hello'"),
        ({"c": ["x"]}, r"context=c\[0\]: must be a list of {role, content} objects"),
        ({"c": [{"from": "human", "value": "x"}]}, r"context=c\[0\]: must be a list of {role, content}.*got {'from': 'human'"),
        ({"c": [{"role": "narrator", "content": "x"}]}, r"context=c\[0\].role: must be one of user, human, assistant, ai, gpt, bot, system, tool, got 'narrator'"),
        ({"c": [{"role": 5, "content": "x"}]}, r"context=c\[0\].role: must be one of"),
        ({"c": [{"role": "user", "content": [{"type": "text"}]}]}, r"context=c\[0\].content: must be a text"),
        ({"c": [{"role": "user", "content": "x", "name": 5}]}, r"context=c\[0\].name: must be a text"),
        ({"c": [{"role": "user", "content": "x", "name": "a]\n[system"}]}, r"context\[0\].name: must be without brackets"),
        ({"f": ["one"]}, "forbidden.0.: is also memory 'm1'"), ({"f": [5]}, r"forbidden=f\[0\]: must be a list of texts"),
    ],
)  # fmt: skip
def test_a_faulty_row_is_named_with_column_value_and_what_is_allowed(changes, said, tmp_path):
    path = write(tmp_path / "rows.jsonl", GOOD, GOOD | {"i": "b"} | changes)
    with pytest.raises(DataError, match=said) as caught:
        list(open_columns(path, ColumnMap.parse(["text=q", *ALL])).read())
    assert str(caught.value).startswith(f"{path}:2: ")


def test_faults_of_objects_in_a_list(tmp_path):
    base = ["text=q", "memories=m", "memories.content=t"]
    with pytest.raises(DataError, match=r"memories.content=t of item 0: must be a key of each object; this one has \['x'\]"):
        read(tmp_path, {"q": "x", "m": [{"x": "y"}]}, *base)
    with pytest.raises(
        DataError, match="memories.evidence=e of memory 0: must be an exact piece of a message of the row, or a list of them, got 'z'"
    ):
        read(tmp_path, {"q": "x", "m": [{"t": "y", "e": "z"}]}, *base, "memories.evidence=e")
    with pytest.raises(DataError, match="memories.salience=s of memory 0: must be a number from 0 to 1, got 'z'"):
        read(tmp_path, {"q": "x", "m": [{"t": "y", "s": "z"}]}, *base, "memories.salience=s")
    with pytest.raises(DataError, match="forbidden.reason=r of item 0: must be one of .*, got None"):
        read(tmp_path, {"q": "x", "f": ["y"]}, "text=q", "forbidden=f", "forbidden.reason=r")


def test_a_mapped_column_that_no_row_has_is_an_error_and_not_a_set_of_negatives(tmp_path):
    data = opened(tmp_path, [{"q": "x", "facts": ["one"]}] * 2, "text=q", "memories=fact")
    with pytest.raises(DataError, match="no row has 'fact'; the last has: 'q', 'facts'"):
        list(data.read())
    sparse = opened(tmp_path, [{"q": "x", "facts": ["one"]}, {"q": "y"}], "text=q", "memories=facts")
    assert [len(case.memories) for case in sparse.read()] == [1, 0]


def test_an_id_used_twice_is_named_at_both_places(tmp_path):
    with pytest.raises(DataError, match=r"rows\.jsonl:3: id 'a' is already used at .*rows\.jsonl:1; ids must be unique"):
        list(opened(tmp_path, [{"q": "x", "i": "a"}, {"q": "y", "i": "b"}, {"q": "z", "i": "a"}], "text=q", "id=i").read())


def test_csv_json_and_jsonl_give_the_same_cases(tmp_path):
    rows = [{"id": "1", "q": 'He said "hi",\nthen left', "m": ["one", "two"], "s": 0.9}, {"id": "2", "q": "x", "m": [], "s": 0.2}]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8-sig")
    for name, delimiter in [("rows.csv", ","), ("rows.tsv", "\t")]:
        with (tmp_path / name).open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerows([["id", "q", "m", "s"], ["1", rows[0]["q"], '["one", "two"]', "0.9"], [], ["2", "x", "", "0.2"]])
    columns = ["text=q", "memories=m", "salience=s", "id=id", "language=:en"]
    expected = list(open_foreign(str(write(tmp_path / "rows.jsonl", *rows)), columns).read())
    assert [memory.salience for memory in expected[0].memories] == [0.9, 0.9]
    for name in ("rows.json", "rows.csv", "rows.tsv"):
        assert list(open_foreign(str(tmp_path / name), columns).read()) == expected


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"", "holds no case"),
        ("a.jsonl", b"[1]\n", r":1: must be a JSON object of columns, got \[1\]"),
        ("a.jsonl", b'{"q": "x"}\nnope\n', ":2: is not JSON"),
        ("a.jsonl", b"\xff\xfe\n", ":1: is not UTF-8"),
        ("a.jsonl", b"[" * 100_000 + b"\n", ":1: is nested too deeply"),
        ("a.jsonl", b'{"q": ' + b"1" * 5_000 + b"}\n", ":1: is not JSON"),
        ("a.json", b'{"q": "x"}', "must be a JSON list of objects, got"),
        ("a.json", b'[{"q": "x"}, "y"]', "row 2: must be a JSON object of columns, got 'y'"),
        ("a.csv", b"", ":1: the header must name each column once"),
        ("a.csv", b"q,q\nx,y\n", ":1: the header must name each column once"),
        ("a.csv", b"q,m\nx\n", "row 1 .to line 2.: has 1 cells, but the header has 2"),
        ("a.csv", b'q\n"x\n', "row 1: is not CSV"),
        ("a.csv", b"q\n\xff\n", "is not UTF-8"),
        ("a.csv", b"q\n" + b"x" * 200_000 + b"\n", "row 1: is not CSV: field larger than field limit"),
        ("a.txt", b"x", r"a\.txt: the name must end in \.jsonl, \.json, \.csv, \.tsv"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_rows_is_named(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        list(open_foreign(str(tmp_path / name), ["text=q", "language=:en"]).read())


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"there is no file 'extraction'; a column map goes with a \.jsonl"):
        open_foreign("extraction", ["text=q", "language=:en"])
