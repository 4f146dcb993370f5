//! Calls of the string library.

use super::{Generator, Kind};

/// Pieces of which patterns are put together.
const PATTERN_PIECES: &[&str] = &[
    "a", "b", "c", ".", "%a", "%d", "%s", "%w", "%l", "%u", "%p", "%W", "[abc]", "[^b]", "[a-c]",
    "[%w_]", "%%", " ", "l+", "a*", ".-", ".*", "%d+", "%s*", "b?", "[%a]+", "()", "(a)", "(.)",
    "(%w+)", "(.-)", "%b()", "%f[%w]", "x=", "o", "z*",
];

const ODD_PATTERNS: &[&str] = &[
    "%", "[a", "(", ")", "%b", "%1", "[%", "(()", "%f", "^*", "[]]", "[^]]", "$", "^", "a$b", "-",
    "[a-]", "(%1)",
];

/// Formats and the kinds of their arguments.
const FORMATS: &[(&str, Kind)] = &[
    ("%d", Kind::Int),
    ("%5d|", Kind::Int),
    ("%-5d|", Kind::Int),
    ("%05d", Kind::Int),
    ("%+d", Kind::Int),
    ("%x", Kind::Int),
    ("%#X", Kind::Int),
    ("%o", Kind::Int),
    ("%u", Kind::Int),
    ("%c", Kind::Int),
    ("%i", Kind::Num),
    ("%.3f", Kind::Num),
    ("%10.2f|", Kind::Num),
    ("%e", Kind::Num),
    ("%.0e", Kind::Num),
    ("%g", Kind::Num),
    ("%.14g", Kind::Num),
    ("%.17g", Kind::Num),
    ("%a", Kind::Num),
    ("%s", Kind::Any),
    ("%10s|", Kind::Str),
    ("%-10s|", Kind::Str),
    ("%.2s", Kind::Str),
    ("%q", Kind::Str),
    ("%q", Kind::Num),
    ("%%", Kind::Str),
    ("%y", Kind::Int),
    ("%", Kind::Int),
    ("%123d", Kind::Int),
    ("%.123f", Kind::Num),
    ("% d", Kind::Int),
    ("%#.3x", Kind::Int),
];

impl Generator {
    fn pattern(&mut self) -> String {
        if self.once_in(12) {
            return format!("\"{}\"", self.pick(ODD_PATTERNS));
        }
        let mut pattern = String::from("\"");
        if self.once_in(6) {
            pattern.push('^');
        }
        for _ in 0..self.random.usize(1..4) {
            pattern.push_str(self.pick(PATTERN_PIECES));
        }
        if self.once_in(6) {
            pattern.push('$');
        }
        pattern.push('"');
        pattern
    }

    fn replacement(&mut self) -> String {
        match self.random.u32(0..6) {
            0 => "{a = \"A\", b = true, c = false}".to_owned(),
            1 => format!("function(...) tick() return {} end", self.random.u32(0..3)),
            2 => "string.upper".to_owned(),
            3 => format!(
                "\"{}\"",
                self.pick(&["%0", "<%1>", "%2", "%", "%%", "%1%1"])
            ),
            4 => self.expression(Kind::Any, 0),
            _ => self.expression(Kind::Str, 0),
        }
    }

    /// A call whose results are what a pattern found.
    pub(super) fn pattern_call(&mut self, depth: usize) -> String {
        let (subject, pattern) = (self.expression(Kind::Str, depth), self.pattern());
        match self.random.u32(0..4) {
            0 => format!("string.find({subject}, {pattern})"),
            1 => format!(
                "string.match({subject}, {pattern}, {})",
                self.random.i32(-2..4)
            ),
            2 => format!("string.gsub({subject}, {pattern}, {})", self.replacement()),
            _ => format!(
                "string.find({subject}, {pattern}, {}, {})",
                self.random.i32(-4..9),
                self.random.bool()
            ),
        }
    }

    pub(super) fn string_call(&mut self, depth: usize) -> String {
        let subject = self.operand(Kind::Str, depth);
        match self.random.u32(0..17) {
            0 => format!(
                "{subject}:sub({}, {})",
                self.random.i32(-5..6),
                self.random.i32(-5..9)
            ),
            1 => format!("{subject}:upper()"),
            2 => format!("{subject}:reverse()"),
            3 => format!(
                "{subject}:rep({}, {})",
                self.random.i32(-1..4),
                self.expression(Kind::Str, 0)
            ),
            4 => format!("tostring({})", self.number_or_box(depth)),
            5 | 6 => self.format_call(depth),
            7 => format!(
                "(string.gsub({subject}, {}, {}))",
                self.pattern(),
                self.replacement()
            ),
            8 => format!("({subject}:match({}))", self.pattern()),
            9 => format!("type({})", self.expression(Kind::Any, depth)),
            10 => format!(
                "table.concat({}, {})",
                self.expression(Kind::List, depth),
                self.expression(Kind::Str, 0)
            ),
            11 => format!("string.char({} % 256)", self.expression(Kind::Int, depth)),
            12 => {
                let layout = self.pick(&[
                    "<i4", ">i2", "z", "s1", "<d", "b", "!4 i1 i4", "<I3", "j", "i17", "<f", "x",
                    "s2",
                ]);
                format!(
                    "string.pack(\"{layout}\", {})",
                    self.expression(Kind::Any, 0)
                )
            }
            13 => format!("{subject}:lower():len() .. \"\""),
            14 => format!("utf8.char({} & 0xffff)", self.expression(Kind::Int, depth)),
            15 => format!(
                "(function(s) local r = {{}} for a, b in s:gmatch({}) do tick() r[#r + 1] = text(a, 1) .. text(b, 1) end return short(table.concat(r, \"|\")) end)({subject})",
                self.pattern()
            ),
            _ => format!(
                "tostring(string.unpack(\"{}\", {subject}))",
                self.pick(&["<i2", "z", "b", "s1", ">I3", "<d", "B"])
            ),
        }
    }

    fn number_or_box(&mut self, depth: usize) -> String {
        let kind = [Kind::Num, Kind::Int, Kind::Bool][self.random.usize(0..3)];
        if self.once_in(4) {
            return "box(1)".to_owned();
        }
        self.expression(kind, depth)
    }

    fn format_call(&mut self, depth: usize) -> String {
        let mut format = String::new();
        let mut arguments = String::new();
        for _ in 0..self.random.usize(1..4) {
            let (piece, kind) = FORMATS[self.random.usize(0..FORMATS.len())];
            format.push_str(piece);
            if piece == "%s" {
                arguments.push_str(", ");
                arguments.push_str(&format!("text({}, 1)", self.expression(kind, depth)));
            } else if piece != "%%" {
                arguments.push_str(", ");
                arguments.push_str(&self.expression(kind, depth));
            }
        }
        format!("string.format(\"{format}\"{arguments})")
    }
}
