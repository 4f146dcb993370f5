//! Random Lua programs, the same for the same seed, for comparing interpreters.
//!
//! A program ends: every loop and every function spends fuel (`tick`), and when there is none left each raises an error, also
//! outside of a protected call that has caught one. What it prints depends on nothing but the language: no addresses, no time,
//! no order of hash tables. Where the reference manual leaves something open (the order of evaluation) it is generated all the
//! same, since programs rely on what PUC Lua does.
//!
//! Most expressions have the type that their place wants; some have any, so that errors and their messages are compared too.

mod calls;
mod expression;
mod scope;
mod statement;
mod text;

use scope::Scope;

/// What stands before each program.
const PRELUDE: &str = include_str!("prelude.lua");

/// The type that a place wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Int,
    Num,
    Str,
    Bool,
    List,
    Box,
    Func,
    Any,
}

/// A source of random programs.
struct Generator {
    random: fastrand::Rng,
    out: String,
    indent: usize,
    scopes: Vec<Scope>,
    names: usize,
    /// How many loops, functions and blocks are open.
    depth: usize,
    /// Whether expressions take several lines now and then.
    many_lines: bool,
}

/// How many lines stand before what a program has for itself.
#[must_use]
pub fn prelude_lines() -> usize {
    PRELUDE.lines().count()
}

/// The program of a seed; with expressions that take several lines now and then, if there are to be `many_lines` (PUC Lua 5.4.4
/// tells a wrong line of errors in them).
#[must_use]
pub fn program(seed: u64, many_lines: bool) -> String {
    let mut generator = Generator {
        random: fastrand::Rng::with_seed(seed),
        out: PRELUDE.to_owned(),
        indent: 0,
        scopes: vec![Scope::of_prelude()],
        names: 0,
        depth: 0,
        many_lines,
    };
    for unit in 0..generator.random.usize(2..5) {
        generator.unit(unit);
    }
    if generator.once_in(8) {
        // An error here ends the program with its message and a traceback.
        generator.body(1..4);
    }
    generator.out
}

impl Generator {
    /// True once in `n` times.
    fn once_in(&mut self, n: u32) -> bool {
        self.random.u32(0..n) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.random.usize(0..of.len())]
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A piece of a program that runs by itself: what it returns, or the error that ends it, is printed.
    fn unit(&mut self, number: usize) {
        let (begin, end) = match self.random.u32(0..12) {
            0 => (
                format!("try(\"unit {number}\", coroutine.wrap(function(...)"),
                "end), 1, \"arg\", nil)",
            ),
            1 => (
                "show(select(2, xpcall(function(...)".to_owned(),
                "end, function(m) return short(text(m, 0)) end, 1, \"x\")))",
            ),
            2 => (
                "show(select(2, xpcall(function(...)".to_owned(),
                "end, function(m) return type(m) == \"string\" and debug.traceback(m) or text(m, 0) end, 4)))",
            ),
            _ => (
                format!("try(\"unit {number}\", function(...)"),
                "end, 1, \"arg\", nil)",
            ),
        };
        self.line(&begin);
        self.scopes.push(Scope::of_function(true));
        self.indent += 1;
        self.body(3..8);
        self.indent -= 1;
        self.scopes.pop();
        self.line(end);
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_same_seed_makes_the_same_program() {
        assert_eq!(program(7, true), program(7, true));
        assert_ne!(program(7, true), program(8, true));
    }
}
