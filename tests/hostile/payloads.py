"""Strings that try to become markup, script, style, a link or a command of the terminal."""

__all__ = ["PAYLOADS"]

_EVENTS = ("onerror", "onload", "onclick", "onmouseover", "onfocus", "ontoggle", "onanimationstart", "onpointerenter")
_TAGS = (
    "<script>{x}</script>", "<ScRiPt>{x}</sCrIpT>", "<script src=//x.invalid></script>", "<script/src=data:,{x}>",
    "<scr<script>ipt>{x}</scr</script>ipt>", "<svg><script>{x}</script></svg>", "<svg/onload={x}>", "<svg><style>{x}</style>",
    "<math><mi xlink:href='javascript:{x}'>", "<iframe src=javascript:{x}>", "<iframe srcdoc='<script>{x}</script>'>",
    "<object data=javascript:{x}>", "<embed src=javascript:{x}>", "<applet code=x>", "<base href=//x.invalid/>",
    "<link rel=stylesheet href=//x.invalid/a.css>", "<style>@import '//x.invalid/a.css';</style>",
    "<style>body{{background:url(//x.invalid)}}</style>", "<meta http-equiv=refresh content='0;url=//x.invalid'>",
    "<meta http-equiv=Content-Security-Policy content=''>", "<form action=//x.invalid><input type=submit></form>",
    "<input autofocus>", "<button formaction=javascript:{x}>", "<a href=javascript:{x}>good</a>",
    "<a href='java&#115;cript:{x}'>good</a>", "<img src=x>", "<img src=//x.invalid/{x}>", "<image href=//x.invalid>",
    "<video><source src=x></video>", "<audio src=x>", "<table background=//x.invalid>", "<body style='display:none'>",
    "<marquee>good</marquee>", "<details open>good</details>", "<template><script>{x}</script></template>",
    "<noscript><p title='</noscript><script>{x}</script>'>", "<textarea></textarea><script>{x}</script>",
    "<title></title><script>{x}</script>", "<xmp><script>{x}</script></xmp>", "<plaintext>", "<frameset><frame src=x>",
    "<dialog open>good</dialog>", "<portal src=//x.invalid>", "<slot name=x>", "<x-y is=z>good</x-y>",
)  # fmt: skip
_BREAKS = (
    '"><script>{x}</script>', "'><script>{x}</script>", "`><script>{x}</script>", "--><script>{x}</script>", "</style><script>{x}</script>",
    "</title><script>{x}</script>", "</s></b></i></mark></span></p></td></table></main></body></html><script>{x}</script>",
    "]]><script>{x}</script>", "<![CDATA[<script>{x}</script>]]>", "<!--<script>{x}</script>", "<!-- --!><script>{x}</script>",
    "<!doctype html><script>{x}</script>", "<?xml version=1?><script>{x}</script>", "<?php {x} ?>", "<% {x} %>",
    "&lt;script&gt;{x}&lt;/script&gt;", "&#60;script&#62;{x}&#60;/script&#62;", "&amp;lt;script&amp;gt;", "&#x3c;svg onload={x}&#x3e;",
    "\\u003cscript\\u003e{x}\\u003c/script\\u003e", "\\x3cscript\\x3e{x}", "%3Cscript%3E{x}%3C/script%3E", "+ADw-script+AD4-{x}",
    "＜script＞{x}＜/script＞", "<\u200bscript>{x}", "<\x00script>{x}</script>", "<scr\x00ipt>{x}</scr\x00ipt>", "< script>{x}</ script>",
    "<\nscript\n>{x}</script\n>", "<script\t>{x}</script >", "\ufeff<script>{x}</script>", "\u2028<script>{x}</script>",
    "{{{{ {x} }}}}", "{{% import os %}}{{{{ os }}}}", "${{{x}}}", "#{{{x}}}", "{{{{''.__class__.__mro__}}}}", "%(x)s{{0.__class__}}",
    "javascript:{x}", "data:text/html,<script>{x}</script>", "vbscript:{x}", "expression({x})", "url(javascript:{x})", ";}} * {{display:none}}",
)  # fmt: skip
_TERMINAL = (
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;Y2FsYw==\x07",
    "\x1bP$q\x1b\\", "\x9b31m", "\x9d0;title\x9c", "\x90$q\x9c", "\x07\x08\x7f", "\r overwritten", "\x0e\x0f\x1bc", "\u202egnp.exe\u202c",
    "\u2066hidden\u2069\u200f", "[bold red]good[/bold red]", "[link=http://x.invalid]good[/link]", "[/]", "\x1b_Gf=100;AAAA\x1b\\",
)  # fmt: skip

# Every one holds the word "good", so that there is something to explain.
PAYLOADS: tuple[str, ...] = tuple(
    f"good {payload}"
    for payload in (
        *(tag.format(x="alert(1)") for tag in (*_TAGS, *_BREAKS)),
        *(f"<img src=x {event}=alert(1)>" for event in _EVENTS),
        *(f'" {event}="alert(1)" x="' for event in _EVENTS),
        *_TERMINAL,
    )
)
