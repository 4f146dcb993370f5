-- utf8.*
print(utf8.char(), utf8.char(72, 228, 8364, 128512), utf8.char(0x7FFFFFFF):byte(1, -1))
print(utf8.len("aäö€😀"), utf8.len(""), utf8.len("\xff"), utf8.len("a\x80b"), utf8.len("äöü", 3), utf8.len("äöü", 3, 4), utf8.len("äöü", -2), utf8.len("abc", 4))
print(utf8.codepoint("aä€", 1, -1)) print(utf8.codepoint("ä")) print(utf8.codepoint("abc", 2)) print(utf8.codepoint("abc", 3, 2))
print(utf8.offset("aä€", 1), utf8.offset("aä€", 2), utf8.offset("aä€", 3), utf8.offset("aä€", 4), utf8.offset("aä€", 5), utf8.offset("aä€", -1), utf8.offset("aä€", -3), utf8.offset("aä€", -4), utf8.offset("aä€", 0, 3))
for p, c in utf8.codes("aä€😀") do io.write(p, ":", c, " ") end print()
print(pcall(function() for _ in utf8.codes("a\xffb") do end end))

print(utf8.len("\u{D7FF}"), utf8.len("\xed\xa0\x80"), utf8.len("\xed\xa0\x80", 1, -1, true), utf8.len("\xf4\x90\x80\x80"), utf8.len("\xf4\x90\x80\x80", 1, -1, true), utf8.len("\xc0\x80"))
print(utf8.codepoint("\u{7FFFFFFF}", 1, 1, true), pcall(utf8.codepoint, "\u{7FFFFFFF}"))
for c in ("aä€"):gmatch(utf8.charpattern) do io.write(#c, " ") end print(#utf8.charpattern)
