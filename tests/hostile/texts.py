"""Awkward texts. `READABLE` have words that every model must read; `SILENT` may be refused for having none."""

__all__ = ["NOT_TEXTS", "READABLE", "SILENT", "TEXTS"]

_REVIEW = "The cast is superb, but the plot is dull and far too long."

READABLE: dict[str, str] = {
    "plain": _REVIEW,
    "one word": "good",
    "one letter": "a",
    "one word and a full stop": "good.",
    "leading and trailing spaces": "   good film   ",
    "tabs and line ends": "good\tfilm\r\nbad\nend\x0bpage\x0cthe end",
    "line separators": "good\u2028film\u2029the\x85end\x1cof\x1dit\x1eall",
    "unusual spaces": "good\u00a0film\u2003the\u3000end\u202fof\u1680it",
    "repeated word": "good " * 60,
    "ten thousand words": "the good film " * 3334,
    "one word of 100,000 characters": "a" * 100_000,
    "a word of 100,000 combining marks": "a" + "\u0301" * 100_000 + " good",
    "5,000 full stops": "good" + "." * 5000,
    "emoji with joiners": "good \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 film "
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "flags and skin tones": "good \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 \U0001f44d\U0001f3fd film",
    "right to left": "\u05d4\u05e1\u05e8\u05d8 \u05d8\u05d5\u05d1 good "
    "\u0627\u0644\u0641\u064a\u0644\u0645 \u062c\u064a\u062f",
    "Arabic with marks": "\u0627\u0644\u0652\u0641\u0650\u064a\u0644\u0652\u0645\u064f "
    "\u062c\u064e\u064a\u0651\u0650\u062f\u064c",
    "combining marks": "go\u0308o\u0308d fi\u0300\u0301\u0302lm e\u0301t\u00e9",
    "NUL": "good\x00film \x00 end",
    "control characters": "good\x01\x02\x07\x08film \x1b[31mred\x1b[0m \x7f\x9b31m end",
    "ANSI and OSC sequences": "good \x1b]0;title\x07 \x1b[2J\x1b[1;1H \x1b]8;;http://x.invalid\x1b\\link film",
    "bidirectional overrides": "good \u202egnp.exe\u202c film \u2066isolate\u2069 \u200f end",
    "zero width": "go\u200bod fi\u200clm t\u200dhe \u2060end\ufeff",
    "byte order mark": "\ufeffgood film",
    "soft hyphens": "ex\u00adcel\u00adlent film",
    "HTML": "<script>alert(1)</script> good <b>film</b> &amp; &lt;end&gt;",
    "formula of a spreadsheet": '=HYPERLINK("http://x.invalid";"good") +1 -2 @SUM(1) film',
    "template": "{{ 7*7 }} ${7*7} <%= 7 %> {% raw %} good #{film}",
    "percent and braces": "%s %d %(x)s {0} {} {x!r} good film %n",
    "rich markup": "[bold red]good[/] [link=http://x.invalid]film[/link] [/nothing] \\[",
    "shell": "$(touch x) `id` ; rm -rf / && good | film > /dev/null",
    "path": "../../etc/passwd /dev/stdin C:\\good\\film",
    "JSON": '{"text": "good film", "label": ["bad", null, 1e999]}',
    "SQL": 'good\'; DROP TABLE films; -- "film"',
    "special tokens": "[CLS] good [SEP] film [MASK] [PAD] <s> </s> <unk> <pad> <|endoftext|> [UNK]",
    "mixed scripts": "good \u043a\u0438\u043d\u043e \u03c4\u03b1\u03b9\u03bd\u03af\u03b1 "
    "\u0444\u0456\u043b\u044c\u043c \u5f71\u753b film",
    "Chinese": "这部电影很好看，但是太长了。",
    "Japanese": "この映画はとても面白かったです。ｶﾀｶﾅ",
    "Korean": "이 영화는 아주 좋았습니다",
    "Thai": "ภาพยนตร์เรื่องนี้ดีมาก",
    "Devanagari": "यह फ़िल्म बहुत अच्छी है",
    "outside the basic plane": "good \U00020000\U0002a6d6 \U0001d4d6\U0001d4f8\U0001d4f8\U0001d4ed film \U00010348",
    "noncharacters and private use": "good \ufffe\uffff \ufdd0 \ue000 \U0010ffff film",
    "numbers": "1,234,567.89 3.14e-10 0x1F 10% 2026-01-31 ½ ² Ⅷ ٣ good",
    "addresses": "https://user:pw@x.invalid:80/a/b?c=d&e=f#g mail@x.invalid good film",
    "ligatures": "ﬁlm oﬀer ﬃ Ǆ ŉ ẞ good",
    "Turkish i": "İstanbul ISPARTA ığdır iyi film \u0130\u0307",
    "case that changes length": "ß SS İ i̇ ΑΣ ὈΔΥΣΣΕΎΣ good",
    "full width": "Ｇｏｏｄ　ｆｉｌｍ！１２３",
    "hyphens and apostrophes": "open-source well\u2013known don't ’tis rock’n’roll — good",
    "underscores": "_ __ snake_case __init__ good",
    "one word per line": "good\n" * 50,
    "only digits": "0 1 2 3 4 5 6 7 8 9",
    "line breaks of IMDB": "good<br /><br />film<BR>end",
    "3,000 emoji": "good " + "\U0001f600" * 3000,
    "replacement characters": "good \ufffd\ufffd film",
}

SILENT: dict[str, str] = {
    "empty": "",
    "spaces": "     ",
    "line ends": "\n\r\n\t\n",
    "zero-width only": "\u200b\u200d\ufeff",
    "full stops only": "... !!! ???",
    "emoji only": "\U0001f600 \U0001f469\u200d\U0001f680",
    "NUL only": "\x00",
    "combining marks only": "\u0301\u0302",
    "lone surrogate": "good \ud800 film",
    "two halves of a pair": "good \udc00\ud800 film",
}

TEXTS: dict[str, str] = READABLE | SILENT

# What is no text, though a programmer may well pass it: none of these may be explained as something else.
NOT_TEXTS: dict[str, object] = {
    "three texts": ("The film is good.", "The film is bad.", "The film is long."),
    "an empty dictionary": {},
    "a dictionary with None": {"text": None},
    "bytes": b"The film is good.",
    "None": None,
    "a number": 5,
    "a list with None": [None],
    "a list with a number": [5],
    "a list of lists": [["The film is good."]],
    "a list of bytes": [b"The film is good."],
}
