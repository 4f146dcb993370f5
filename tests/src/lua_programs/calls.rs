//! Calls: of the library, of functions, with arguments of all numbers.

use super::scope::Scope;
use super::{Generator, Kind};

impl Generator {
    /// Arguments of a call: a few, the last of which may have several values.
    pub(super) fn arguments(&mut self, depth: usize) -> String {
        let count = self.random.usize(0..4);
        let mut all: Vec<String> = (0..count)
            .map(|_| self.expression(Kind::Any, depth))
            .collect();
        match self.random.u32(0..6) {
            0 if self.has_varargs() => all.push("...".to_owned()),
            1 => all.push(self.open_call(depth)),
            _ => {}
        }
        all.join(", ")
    }

    /// More arguments, each with its comma before it.
    pub(super) fn more_arguments(&mut self, depth: usize) -> String {
        let arguments = self.arguments(depth);
        if arguments.is_empty() {
            return arguments;
        }
        format!(", {arguments}")
    }

    /// A call with any number of results.
    pub(super) fn open_call(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        match self.random.u32(0..12) {
            0 => format!("thrice({})", self.expression(Kind::Any, d)),
            1 => format!("id({})", self.arguments(d)),
            2 => format!("table.unpack({})", self.expression(Kind::List, d)),
            3 => format!(
                "pcall({}, {})",
                self.expression(Kind::Func, d),
                self.expression(Kind::Any, d)
            ),
            4 => format!(
                "select({}, {}{})",
                self.random.i32(-2..4),
                self.expression(Kind::Any, d),
                self.more_arguments(d)
            ),
            5 => self.pattern_call(d),
            6 => {
                let object = self.expression(Kind::Str, 0);
                format!("object({object}):greet({})", self.arguments(d))
            }
            7 => format!("{}({})", self.operand(Kind::Box, 0), self.arguments(d)),
            8 if depth > 0 => self.coroutine_call(d),
            9 => format!("pcall(error, {})", self.expression(Kind::Any, d)),
            10 => format!("math.modf({})", self.expression(Kind::Num, d)),
            _ => self.call_of_variable(d),
        }
    }

    pub(super) fn call_of_variable(&mut self, depth: usize) -> String {
        let function = self.operand(Kind::Func, 0);
        match self.random.u32(0..8) {
            0 => format!("{function}{{{}}}", self.arguments(depth)),
            1 => format!("{function}\"literal\""),
            _ => format!("{function}({})", self.arguments(depth)),
        }
    }

    /// A coroutine that is made, and resumed a few times, in one expression.
    fn coroutine_call(&mut self, depth: usize) -> String {
        self.scopes.push(Scope::of_function(true));
        let (given, result) = (
            self.expression(Kind::Any, depth),
            self.expression(Kind::Any, depth),
        );
        self.scopes.pop();
        let first = self.expression(Kind::Any, depth);
        match self.random.u32(0..4) {
            0 => format!(
                "coroutine.wrap(function(...) tick() coroutine.yield({given}) return {result}, ... end)({first})"
            ),
            1 => format!(
                "coroutine.resume(coroutine.create(function(...) tick() return {result}, ... end), {first})"
            ),
            2 => format!(
                "(function(x) local co = coroutine.create(function(...) tick() local a, b = coroutine.yield({given}, ...) return a, b, {result} end) \
                 return coroutine.resume(co, x), coroutine.status(co), coroutine.resume(co, 1, 2) end)({first})"
            ),
            _ => format!(
                "coroutine.wrap(function(...) tick() return pcall(function(...) coroutine.yield({given}) error({result}) end, ...) end)({first})"
            ),
        }
    }

    /// A function as a value.
    pub(super) fn function_value(&mut self, depth: usize) -> String {
        if depth == 0 || self.depth > 4 || self.once_in(2) {
            return match self.variable(Kind::Func, false) {
                Some(variable) => variable.name,
                None => self.pick(&["id", "thrice", "type", "tostring"]).to_owned(),
            };
        }
        let vararg = self.random.bool();
        let count = self.random.usize(0..3);
        let names: Vec<String> = (0..count).map(|_| self.fresh("p")).collect();
        self.scopes.push(Scope::of_function(vararg));
        for name in &names {
            self.declare(name, Kind::Any, true);
        }
        self.depth += 1;
        let result = match self.random.u32(0..4) {
            0 => self.open_call(depth - 1),
            1 => {
                let (a, b) = (
                    self.expression(Kind::Any, depth - 1),
                    self.expression(Kind::Any, depth - 1),
                );
                format!("{a}, {b}")
            }
            _ => self.expression(Kind::Any, depth - 1),
        };
        let effect = match self.variable(Kind::Int, true) {
            Some(variable) if self.random.bool() => {
                format!("{0} = {0} + 1 ", variable.name)
            }
            _ => String::new(),
        };
        self.depth -= 1;
        self.scopes.pop();
        let mut parameters = names;
        if vararg {
            parameters.push("...".to_owned());
        }
        format!(
            "function({}) tick() {effect}return {result} end",
            parameters.join(", ")
        )
    }

    pub(super) fn int_call(&mut self, depth: usize) -> String {
        match self.random.u32(0..9) {
            0 => format!("math.abs({})", self.expression(Kind::Int, depth)),
            1 => format!(
                "math.max({}, {})",
                self.expression(Kind::Int, depth),
                self.expression(Kind::Int, 0)
            ),
            2 => format!("math.floor({})", self.expression(Kind::Num, depth)),
            3 => format!("math.ceil({})", self.expression(Kind::Num, depth)),
            4 => format!(
                "({}):byte({})",
                self.expression(Kind::Str, depth),
                self.random.i32(-3..5)
            ),
            5 => format!(
                "tonumber({}, {})",
                self.expression(Kind::Str, 0),
                self.random.u32(2..37)
            ),
            6 => format!("rawlen({})", self.expression(Kind::List, depth)),
            7 => format!("utf8.len({})", self.expression(Kind::Str, depth)),
            _ => format!(
                "math.fmod({}, {})",
                self.expression(Kind::Int, depth),
                self.expression(Kind::Int, 0)
            ),
        }
    }

    pub(super) fn number_call(&mut self, depth: usize) -> String {
        match self.random.u32(0..8) {
            0 => format!("tonumber({})", self.expression(Kind::Str, depth)),
            1 => format!(
                "math.fmod({}, {})",
                self.expression(Kind::Num, depth),
                self.expression(Kind::Num, 0)
            ),
            2 => format!("math.sqrt({})", self.expression(Kind::Num, depth)),
            3 => format!(
                "math.min({}, {}, {})",
                self.expression(Kind::Num, depth),
                self.expression(Kind::Num, 0),
                self.expression(Kind::Int, 0)
            ),
            4 => format!("math.abs({})", self.expression(Kind::Num, depth)),
            5 => format!("math.floor({})", self.expression(Kind::Num, depth)),
            6 => format!("(math.modf({}))", self.expression(Kind::Num, depth)),
            _ => format!(
                "({} or {})",
                self.expression(Kind::Any, depth),
                self.expression(Kind::Num, 0)
            ),
        }
    }
}
