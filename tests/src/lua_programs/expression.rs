//! Expressions of all kinds.

use super::{Generator, Kind};

/// Integers at the corners of what operators do.
const INTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "10",
    "31",
    "63",
    "64",
    "127",
    "128",
    "-128",
    "255",
    "256",
    "65535",
    "0x7fffffff",
    "math.maxinteger",
    "math.mininteger",
    "0xffffffffffffffff",
    "9007199254740993",
    "(math.maxinteger - 1)",
];

const FLOATS: &[&str] = &[
    "0.0",
    "-0.0",
    "0.5",
    "1.0",
    "2.0",
    "-1.5",
    "3.25",
    "1e15",
    "2^53",
    "2^63",
    "-2^63",
    "1e308",
    "5e-324",
    "1e100",
    "math.huge",
    "-math.huge",
    "(0/0)",
    "math.pi",
    "0x1p-2",
    ".5",
    "3.",
    "1e-5",
    "123456789012345678",
];

const STRINGS: &[&str] = &[
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "'hello world'",
    "\"10\"",
    "\"0x10\"",
    "\"1e1\"",
    "\" 5 \"",
    "\"-3\"",
    "\"x=1, y=2\"",
    "\"\\1z\"",
    "\"a\\nb\"",
    "([[long]])",
    "\"\\u{20ac}uro\"",
    "\"abcabcabc\"",
    "\"  trim me \"",
    "\"nan\"",
    "\"inf\"",
    "\"9223372036854775808\"",
    "\"1.\"",
    "'%d'",
];

impl Generator {
    /// An expression of a kind, now and then of any other.
    pub(super) fn expression(&mut self, kind: Kind, depth: usize) -> String {
        let kind = match kind {
            Kind::Any => self.any_kind(),
            _ if self.once_in(60) => self.any_kind(),
            kind => kind,
        };
        let mut text = match kind {
            Kind::Int => self.int(depth),
            Kind::Num => self.number(depth),
            Kind::Str => self.string(depth),
            Kind::Bool => self.boolean(depth),
            Kind::List => self.list(depth),
            Kind::Box => self.boxed(depth),
            Kind::Func => self.function_value(depth),
            Kind::Any => self.anything(depth),
        };
        if self.many_lines && depth > 1 && self.once_in(50) {
            text = format!("({text}\n)");
        }
        text
    }

    fn any_kind(&mut self) -> Kind {
        const KINDS: &[Kind] = &[
            Kind::Int,
            Kind::Int,
            Kind::Num,
            Kind::Str,
            Kind::Str,
            Kind::Bool,
            Kind::List,
            Kind::Box,
            Kind::Func,
            Kind::Any,
            Kind::Any,
        ];
        KINDS[self.random.usize(0..KINDS.len())]
    }

    /// A variable of the kind, or else a constant.
    fn leaf(&mut self, kind: Kind) -> String {
        if !self.once_in(3)
            && let Some(variable) = self.variable(kind, false)
        {
            return variable.name;
        }
        match kind {
            Kind::Int => self.pick(INTS).to_owned(),
            Kind::Num if self.random.bool() => self.pick(INTS).to_owned(),
            Kind::Num => self.pick(FLOATS).to_owned(),
            Kind::Str => self.pick(STRINGS).to_owned(),
            Kind::Bool => self.pick(&["true", "false", "nil"]).to_owned(),
            Kind::List => self
                .pick(&["list", "GT", "{}", "{1, 2, 3}", "{\"a\", \"b\"}"])
                .to_owned(),
            Kind::Box => self
                .pick(&[
                    "box(1)",
                    "box(2.5)",
                    "box(\"s\")",
                    "object(\"o\")",
                    "proxy({4, 5})",
                ])
                .to_owned(),
            Kind::Func => self
                .pick(&["id", "thrice", "tostring", "type", "show"])
                .to_owned(),
            Kind::Any => self
                .pick(&[
                    "nil",
                    "undefined",
                    "true",
                    "1",
                    "\"s\"",
                    "GT.k",
                    "GT.none.x",
                    "_ENV.G1",
                ])
                .to_owned(),
        }
    }

    fn int(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(Kind::Int);
        }
        let d = depth - 1;
        match self.random.u32(0..16) {
            0..3 => self.leaf(Kind::Int),
            3..9 => {
                let op = self.pick(&["+", "-", "*", "//", "%", "&", "|", "~", "<<", ">>"]);
                let (a, b) = (self.expression(Kind::Int, d), self.expression(Kind::Int, d));
                format!("({a} {op} {b})")
            }
            9 => format!("-{}", self.operand(Kind::Int, d)),
            10 => format!("~{}", self.operand(Kind::Int, d)),
            11 => {
                let kind = if self.random.bool() {
                    Kind::List
                } else {
                    Kind::Str
                };
                format!("#{}", self.operand(kind, d))
            }
            12 => format!("math.tointeger({})", self.expression(Kind::Num, d)),
            13 => format!("select(\"#\"{})", self.more_arguments(d)),
            _ => self.int_call(d),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(Kind::Num);
        }
        let d = depth - 1;
        match self.random.u32(0..14) {
            0..3 => self.leaf(Kind::Num),
            3..8 => {
                let op = self.pick(&["+", "-", "*", "/", "//", "%", "^"]);
                let (a, b) = (self.expression(Kind::Num, d), self.expression(Kind::Num, d));
                format!("({a} {op} {b})")
            }
            8 => format!("-{}", self.operand(Kind::Num, d)),
            9 => {
                let (list, index) = (self.operand(Kind::List, d), self.expression(Kind::Int, 0));
                format!("{list}[{index}]")
            }
            10 => self.int(depth),
            11 => {
                // A string where a number is wanted is converted.
                let (a, b) = (self.expression(Kind::Str, 0), self.expression(Kind::Num, d));
                format!("({a} + {b})")
            }
            _ => self.number_call(d),
        }
    }

    fn string(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(Kind::Str);
        }
        let d = depth - 1;
        match self.random.u32(0..12) {
            0..3 => self.leaf(Kind::Str),
            3 => {
                let (a, b) = (self.operand(Kind::Str, d), self.operand(Kind::Str, d));
                format!("short({a} .. {b})")
            }
            4 => {
                let (a, b, c) = (
                    self.operand(Kind::Str, 0),
                    self.operand(Kind::Num, 0),
                    self.operand(Kind::Str, d),
                );
                format!("short({a} .. ({b}) .. {c})")
            }
            5 => format!("text({}, 1)", self.expression(Kind::Any, d)),
            _ => self.string_call(d),
        }
    }

    fn boolean(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(Kind::Bool);
        }
        let d = depth - 1;
        match self.random.u32(0..12) {
            0 => self.leaf(Kind::Bool),
            1..5 => {
                let kind = match self.random.u32(0..8) {
                    0 | 1 => Kind::Str,
                    2 => Kind::Box,
                    3 => Kind::Int,
                    _ => Kind::Num,
                };
                let op = self.pick(&["<", "<=", ">", ">=", "==", "~="]);
                let (a, b) = (self.expression(kind, d), self.expression(kind, d));
                format!("({a} {op} {b})")
            }
            5 => {
                let (a, b) = (self.expression(Kind::Any, d), self.expression(Kind::Any, 0));
                let op = self.pick(&["==", "~="]);
                format!("({a} {op} {b})")
            }
            6 => format!("not {}", self.operand(Kind::Any, d)),
            7..10 => {
                let op = self.pick(&["and", "or"]);
                let (a, b) = (
                    self.expression(Kind::Bool, d),
                    self.expression(Kind::Bool, d),
                );
                format!("({a} {op} {b})")
            }
            10 => format!(
                "rawequal({}, {})",
                self.leaf(Kind::Any),
                self.leaf(Kind::Any)
            ),
            _ => format!("math.ult({}, {})", self.int(d), self.leaf(Kind::Int)),
        }
    }

    pub(super) fn list(&mut self, depth: usize) -> String {
        if depth == 0 || self.once_in(3) {
            return self.leaf(Kind::List);
        }
        let d = depth - 1;
        match self.random.u32(0..8) {
            0..4 => {
                let count = self.random.usize(0..5);
                let mut items: Vec<String> = (0..count).map(|_| self.not_nil(d)).collect();
                if self.once_in(3) {
                    items.push(format!("k = {}", self.expression(Kind::Any, d)));
                }
                if self.once_in(3) {
                    items.push(format!("[{}] = {}", self.leaf(Kind::Str), self.not_nil(0)));
                }
                if self.once_in(4) {
                    items.push(format!("table.unpack(dense({}))", self.open_call(d)));
                }
                let separators: &[&str] = if self.many_lines {
                    &[", ", "; ", ",\n"]
                } else {
                    &[", ", "; "]
                };
                let separator = self.pick(separators);
                format!("{{{}}}", items.join(separator))
            }
            4 => format!("dense({})", self.arguments(d)),
            5 if self.has_varargs() => "dense(...)".to_owned(),
            6 => format!(
                "table.move({}, 1, 3, {}, {{}})",
                self.expression(Kind::List, d),
                self.random.u32(1..3)
            ),
            _ => format!("{{table.unpack({}, 1, 4)}}", self.expression(Kind::List, d)),
        }
    }

    /// A value that leaves no hole in a list.
    fn not_nil(&mut self, depth: usize) -> String {
        let kind = [Kind::Int, Kind::Num, Kind::Str, Kind::List][self.random.usize(0..4)];
        match kind {
            Kind::Num if depth == 0 => self.pick(FLOATS).to_owned(),
            kind if depth == 0 => self.leaf(kind),
            kind => {
                let item = self.expression(kind, depth);
                format!("({item} or 0)")
            }
        }
    }

    fn boxed(&mut self, depth: usize) -> String {
        if depth == 0 || self.once_in(2) {
            return self.leaf(Kind::Box);
        }
        let d = depth - 1;
        match self.random.u32(0..5) {
            0 => format!("box({})", self.expression(Kind::Any, d)),
            1 => format!("proxy({})", self.expression(Kind::List, d)),
            2 => {
                let op = self.pick(&[
                    "+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>", "..",
                ]);
                let (a, b) = (self.operand(Kind::Box, d), self.operand(Kind::Any, 0));
                if self.random.bool() {
                    format!("({a} {op} {b})")
                } else {
                    format!("({b} {op} {a})")
                }
            }
            3 => format!("-{}", self.operand(Kind::Box, d)),
            _ => format!("object({})", self.expression(Kind::Str, d)),
        }
    }

    fn anything(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(Kind::Any);
        }
        let d = depth - 1;
        match self.random.u32(0..12) {
            0..2 => self.leaf(Kind::Any),
            2 => {
                let op = self.pick(&["and", "or"]);
                let (a, b) = (self.expression(Kind::Any, d), self.expression(Kind::Any, d));
                format!("({a} {op} {b})")
            }
            3 => {
                let (a, b, c) = (
                    self.expression(Kind::Bool, d),
                    self.expression(Kind::Any, d),
                    self.expression(Kind::Any, d),
                );
                format!("({a} and {b} or {c})")
            }
            4 => format!("({})", self.open_call(d)),
            5 => {
                let object = self.operand(Kind::Box, 0);
                let field = self.pick(&["v", "none", "name", "n", "extra", "last", "absent"]);
                format!("{object}.{field}")
            }
            6 => {
                let (object, key) = (self.operand(Kind::Box, 0), self.expression(Kind::Any, d));
                format!("{object}[{key}]")
            }
            7 => format!("#{}", self.operand(Kind::Box, d)),
            8 => format!(
                "{}[{}]",
                self.operand(Kind::List, d),
                self.expression(Kind::Any, d)
            ),
            9 => {
                let op = self.pick(&["+", "..", "<", "&", "//", "%", "==", "*", "^"]);
                let (a, b) = (self.operand(Kind::Any, d), self.operand(Kind::Any, 0));
                format!("({a} {op} {b})")
            }
            10 => format!(
                "{}.{}",
                self.operand(Kind::Any, d),
                self.pick(&["x", "k", "v"])
            ),
            _ => self.call_of_variable(d),
        }
    }

    /// An expression that an operator, an index or a call may follow.
    pub(super) fn operand(&mut self, kind: Kind, depth: usize) -> String {
        let text = self.expression(kind, depth);
        let is_name = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && !matches!(text.as_str(), "nil" | "true" | "false");
        if is_name { text } else { format!("({text})") }
    }
}
