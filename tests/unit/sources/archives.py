"""Archives of data sets, made by hand."""

import io
import tarfile


def packed(*entries):
    """Return a tar.gz of (TarInfo or name, content)."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for entry, content in entries:
            info = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            if isinstance(entry, str):
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return target.getvalue()


def tar_gz(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return target.getvalue()


def story(number: int, topics: list[str], text: str) -> str:
    """Return one story, marked up as the SGML files are."""
    tags = "".join(f"<D>{topic}</D>" for topic in topics)
    head = f'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="{number + 7}" NEWID="{number}">\n<DATE>1-JAN-1987</DATE>\n'
    unknown = "<PLACES><D>atlantis</D></PLACES>\n<UNKNOWN>\n&#5;&#5;&#5;C T\n&#22;f0704&#31;reute\n</UNKNOWN>\n"
    return f"{head}<TOPICS>{tags}</TOPICS>\n{unknown}{text}\n</REUTERS>\n"


def sgml(*parts: str) -> bytes:
    return ('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(parts)).encode("latin-1")


REVIEWS = {
    "aclImdb/README": b"not a review",
    "aclImdb/train/unsup/0_0.txt": b"no label",
    "aclImdb/train/pos/10_9.txt": b" A duck<br /><br />in a hat. ",
    "aclImdb/train/pos/9_10.txt": "Un chef-d'œuvre".encode(),
    "aclImdb/train/neg/0_1.txt": b"A hat without a duck.",
    "aclImdb/test/neg/3_4.txt": b"Dull.",
    "aclImdb/test/pos/4_7.txt": b"Fine.",
    "aclImdb/train/pos/../../../evil_1.txt": b"outside",
}


IMDB_ROWS = [
    {"split": "test", "id": 3, "label": "neg", "rating": 4, "text": "Dull."},
    {"split": "test", "id": 4, "label": "pos", "rating": 7, "text": "Fine."},
    {"split": "train", "id": 0, "label": "neg", "rating": 1, "text": "A hat without a duck."},
    {"split": "train", "id": 9, "label": "pos", "rating": 10, "text": "Un chef-d'œuvre"},
    {"split": "train", "id": 10, "label": "pos", "rating": 9, "text": " A duck<br /><br />in a hat. "},
]
