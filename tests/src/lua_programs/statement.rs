//! Statements and blocks.

use std::ops::Range;

use super::scope::Scope;
use super::{Generator, Kind};

const MAX_DEPTH: usize = 5;

impl Generator {
    /// The statements of a function's body, with its `return`.
    pub(super) fn body(&mut self, count: Range<usize>) {
        self.line("tick()");
        for _ in 0..self.random.usize(count) {
            self.statement();
        }
        match self.random.u32(0..5) {
            0 => {}
            1 => {
                let call = self.open_call(2);
                self.line(&format!("return {call}"));
            }
            _ => {
                let values = self.arguments(2);
                self.line(&format!("return {values}"));
            }
        }
    }

    /// A block of its own scope, already begun by a line.
    fn block(&mut self, scope: Scope, count: Range<usize>) {
        self.scopes.push(scope);
        self.statements(count);
        self.scopes.pop();
    }

    fn statements(&mut self, count: Range<usize>) {
        self.depth += 1;
        self.indent += 1;
        for _ in 0..self.random.usize(count) {
            self.statement();
        }
        self.indent -= 1;
        self.depth -= 1;
    }

    fn statement(&mut self) {
        let choice = if self.depth >= MAX_DEPTH {
            self.random.u32(0..26)
        } else {
            self.random.u32(0..54)
        };
        match choice {
            0..6 => self.local(),
            6..11 => self.assignment(),
            11..16 => {
                let values = self.arguments(3);
                self.line(&format!("show({values})"));
            }
            16..19 => self.call_statement(),
            19..21 => self.list_statement(),
            21 => self.table_store(),
            22 if self.is_in_loop() => {
                let condition = self.expression(Kind::Bool, 2);
                self.line(&format!("if {condition} then break end"));
            }
            23 if self.once_in(4) => {
                let value = self.expression(Kind::Any, 2);
                let level = self.pick(&["", ", 0", ", 1", ", 2"]);
                self.line(&format!("if {value} then error({value}{level}) end"));
            }
            24 => self.close_variable(),
            22..26 => {
                let value = self.expression(Kind::Any, 3);
                self.line(&format!("show({value})"));
            }
            26..31 => self.branch(),
            31..37 => self.numeric_loop(),
            37..40 => self.generic_loop(),
            40..43 => self.while_loop(),
            43..47 => self.local_function(),
            47..50 => self.protected_block(),
            50 => {
                self.line("do");
                self.block(Scope::default(), 1..5);
                self.line("end");
            }
            51 => self.goto_loop(),
            52 => self.coroutine_block(),
            _ => self.loaded_chunk(),
        }
    }

    fn local(&mut self) {
        match self.random.u32(0..8) {
            0 => {
                let names: Vec<String> = (0..self.random.usize(2..4))
                    .map(|_| self.fresh("v"))
                    .collect();
                let values = self.arguments(2);
                let values = if values.is_empty() {
                    String::new()
                } else {
                    format!(" = {values}")
                };
                self.line(&format!("local {}{values}", names.join(", ")));
                for name in &names {
                    self.declare(name, Kind::Any, true);
                }
            }
            1 => {
                let name = self.fresh("c");
                let kind = [Kind::Int, Kind::Str, Kind::Num, Kind::Any][self.random.usize(0..4)];
                let value = self.expression(kind, 1);
                self.line(&format!("local {name} <const> = {value}"));
                self.declare(&name, kind, false);
            }
            _ => {
                let name = if self.once_in(5) {
                    self.variable(Kind::Any, false)
                        .map_or_else(|| "v".to_owned(), |variable| variable.name)
                } else {
                    self.fresh("v")
                };
                let name = if name.contains('G') {
                    self.fresh("v")
                } else {
                    name
                };
                const KINDS: &[Kind] = &[
                    Kind::Int,
                    Kind::Num,
                    Kind::Str,
                    Kind::Bool,
                    Kind::List,
                    Kind::Box,
                    Kind::Func,
                    Kind::Any,
                ];
                let kind = KINDS[self.random.usize(0..KINDS.len())];
                let value = self.expression(kind, 3);
                self.line(&format!("local {name} = {value}"));
                self.declare(&name, kind, kind != Kind::List);
            }
        }
    }

    fn assignment(&mut self) {
        if self.once_in(4) {
            // Several targets at once, which may depend on one another.
            let mut targets = Vec::new();
            for _ in 0..self.random.usize(2..4) {
                let target = match self.random.u32(0..3) {
                    0 => {
                        let index = self.expression(Kind::Int, 1);
                        format!("GT[\"k\" .. ({index})]")
                    }
                    1 => format!("GT.{}", self.pick(&["k", "x", "y"])),
                    _ => self
                        .variable(Kind::Any, true)
                        .map_or_else(|| "G3".to_owned(), |variable| variable.name),
                };
                targets.push(target);
            }
            let values = self.arguments(2);
            let values = if values.is_empty() {
                "nil".to_owned()
            } else {
                values
            };
            self.line(&format!("{} = {values}", targets.join(", ")));
            return;
        }
        const KINDS: &[Kind] = &[
            Kind::Int,
            Kind::Num,
            Kind::Str,
            Kind::Bool,
            Kind::Any,
            Kind::Any,
        ];
        let kind = KINDS[self.random.usize(0..KINDS.len())];
        match self.variable(kind, true) {
            Some(variable) => {
                let value = self.expression(variable.kind, 3);
                self.line(&format!("{} = {value}", variable.name));
            }
            None => self.local(),
        }
    }

    fn call_statement(&mut self) {
        let call = match self.random.u32(0..3) {
            0 => self.call_of_variable(2),
            1 => {
                let argument = self.expression(Kind::Any, 2);
                format!("object(\"m\"):greet({argument})")
            }
            _ => format!(
                "show(pcall({}, {}))",
                self.expression(Kind::Func, 2),
                self.expression(Kind::Any, 1)
            ),
        };
        // What begins with a parenthesis would go on the line before.
        self.line(&format!(";{call}"));
    }

    fn list_statement(&mut self) {
        let list = self.operand(Kind::List, 0);
        let (index, value) = (self.expression(Kind::Int, 1), self.expression(Kind::Any, 2));
        let line = match self.random.u32(0..8) {
            0 | 1 => format!("table.insert({list}, ({value}) or 1)"),
            2 => format!("table.insert({list}, {index}, ({value}) or 2)"),
            3 => format!("show(table.remove({list}))"),
            // Releases of PUC Lua number the argument differently in the message.
            4 => format!("show((pcall(table.remove, {list}, {index})))"),
            5 => format!("show(#{list}, {list}[#{list}])"),
            6 => format!("show(pcall(table.sort, {list}))"),
            _ => {
                let numbers = self.random.usize(2..30);
                let numbers: Vec<String> = (0..numbers)
                    .map(|_| self.random.i32(-50..50).to_string())
                    .collect();
                let order = self.pick(&[
                    "",
                    ", function(a, b) tick() return a > b end",
                    ", function(a, b) return a % 7 < b % 7 end",
                ]);
                format!(
                    "do local s = {{{}}} table.sort(s{order}) show(table.concat(s, \" \")) end",
                    numbers.join(", ")
                )
            }
        };
        self.line(&line);
    }

    fn table_store(&mut self) {
        let (object, value) = (self.operand(Kind::Box, 0), self.expression(Kind::Any, 2));
        let key = match self.random.u32(0..3) {
            0 => format!("[{}]", self.expression(Kind::Any, 1)),
            _ => format!(".{}", self.pick(&["v", "name", "x", "last"])),
        };
        self.line(&format!(";({object}){key} = {value}"));
    }

    fn close_variable(&mut self) {
        let name = self.fresh("h");
        let value = match self.random.u32(0..8) {
            0 => format!("closer({}, true)", self.expression(Kind::Str, 0)),
            1 => "nil".to_owned(),
            2 => self.expression(Kind::Any, 1),
            3 => "box(7)".to_owned(),
            _ => format!("closer({})", self.expression(Kind::Str, 0)),
        };
        if self.once_in(5) {
            let other = self.fresh("v");
            self.line(&format!("local {other}, {name} <close> = 1, {value}"));
        } else {
            self.line(&format!("local {name} <close> = {value}"));
        }
        self.declare(&name, Kind::Any, false);
    }

    fn branch(&mut self) {
        let condition = self.expression(Kind::Bool, 3);
        self.line(&format!("if {condition} then"));
        self.block(Scope::default(), 1..4);
        for _ in 0..self.random.usize(0..3) {
            let condition = self.expression(Kind::Any, 2);
            self.line(&format!("elseif {condition} then"));
            self.block(Scope::default(), 1..3);
        }
        if self.random.bool() {
            self.line("else");
            self.block(Scope::default(), 1..4);
        }
        self.line("end");
    }

    fn loop_scope() -> Scope {
        Scope {
            in_loop: true,
            ..Scope::default()
        }
    }

    fn numeric_loop(&mut self) {
        let name = self.fresh("i");
        let range = match self.random.u32(0..12) {
            0..5 => format!("1, {}", self.random.u32(0..7)),
            5 => format!("{}, 1, -1", self.random.u32(0..6)),
            6 => "math.maxinteger - 2, math.maxinteger".to_owned(),
            7 => "math.mininteger + 1, math.mininteger, -1".to_owned(),
            8 => format!(
                "{}, {}, {}",
                self.leaf_number(),
                self.leaf_number(),
                self.leaf_number()
            ),
            9 => format!("1.0, 3, {}", self.pick(&["0.5", "0.75", "0", "-1", "1e-1"])),
            10 => format!("{}, {}", self.leaf_number(), self.leaf_number()),
            _ => format!(
                "{}, {}",
                self.expression(Kind::Int, 1),
                self.expression(Kind::Any, 1)
            ),
        };
        self.line(&format!("for {name} = {range} do"));
        self.scopes.push(Self::loop_scope());
        self.declare(&name, Kind::Num, self.depth.is_multiple_of(2));
        self.loop_body();
        self.scopes.pop();
        self.line("end");
    }

    fn leaf_number(&mut self) -> String {
        self.expression(Kind::Num, 0)
    }

    /// The body of a loop, which may end in a label to go on at.
    fn loop_body(&mut self) {
        self.indent += 1;
        self.line("tick()");
        self.indent -= 1;
        if self.once_in(5) {
            // What jumps may not come into the scope of a variable.
            let label = self.fresh("l");
            let condition = self.expression(Kind::Bool, 2);
            self.indent += 1;
            self.line("do");
            self.line(&format!("if {condition} then goto {label} end"));
            self.indent -= 1;
            self.scopes.push(Scope::default());
            self.statements(1..4);
            self.scopes.pop();
            self.indent += 1;
            self.line("end");
            self.line(&format!("::{label}::"));
            self.indent -= 1;
            return;
        }
        self.statements(1..5);
        if self.once_in(4) {
            // Closures over what each turn makes anew.
            self.scopes.push(Scope::of_function(false));
            let (value, counter) = (self.expression(Kind::Any, 1), self.fresh("u"));
            self.scopes.pop();
            self.indent += 1;
            self.line(&format!("local {counter} = 0"));
            self.line(&format!(
                "fs[#fs % 5 + 1] = function() tick() {counter} = {counter} + 1 return {counter}, {value} end"
            ));
            self.indent -= 1;
        }
    }

    fn generic_loop(&mut self) {
        let (key, value) = (self.fresh("k"), self.fresh("w"));
        let iterator = match self.random.u32(0..9) {
            0..3 => format!("ipairs({})", self.expression(Kind::List, 2)),
            3 => format!("pairs({{{}}})", self.expression(Kind::Any, 2)),
            4 => format!("({}):gmatch(\".\")", self.expression(Kind::Str, 1)),
            5 => "coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i, i * 2) end end)"
                .to_owned(),
            6 => format!("next, {{{}}}", self.expression(Kind::Int, 1)),
            7 => {
                "function(s, c) tick() if c < s then return c + 1, c end end, 3, 0, closer(\"for\")"
                    .to_owned()
            }
            _ => format!("ipairs({})", self.expression(Kind::Box, 1)),
        };
        self.line(&format!("for {key}, {value} in {iterator} do"));
        self.scopes.push(Self::loop_scope());
        self.declare(&key, Kind::Any, true);
        self.declare(&value, Kind::Any, true);
        self.loop_body();
        self.scopes.pop();
        self.line("end");
    }

    fn while_loop(&mut self) {
        let counter = self.fresh("n");
        self.line(&format!("local {counter} = 0"));
        let condition = self.expression(Kind::Bool, 1);
        if self.random.bool() {
            let most = self.random.u32(1..5);
            self.line(&format!(
                "while {counter} < {most} and ({condition} or true) do"
            ));
            self.scopes.push(Self::loop_scope());
            self.indent += 1;
            self.line(&format!("{counter} = {counter} + 1"));
            self.indent -= 1;
            self.loop_body();
            self.scopes.pop();
            self.line("end");
            return;
        }
        self.line("repeat");
        self.scopes.push(Self::loop_scope());
        self.indent += 1;
        let last = self.fresh("r");
        self.line("tick()");
        self.line(&format!("{counter} = {counter} + 1"));
        let value = self.expression(Kind::Int, 1);
        self.line(&format!("local {last} = {counter} + ({value}) * 0"));
        self.indent -= 1;
        self.statements(1..4);
        self.scopes.pop();
        let most = self.random.u32(1..5);
        self.line(&format!("until {last} > {most} or {condition}"));
    }

    fn local_function(&mut self) {
        let name = self.fresh("f");
        let vararg = self.random.bool();
        let mut names: Vec<String> = (0..self.random.usize(0..4))
            .map(|_| self.fresh("p"))
            .collect();
        let parameters = names.clone();
        if vararg {
            names.push("...".to_owned());
        }
        if self.once_in(6) {
            self.line(&format!("function GT.{name}({})", names.join(", ")));
        } else if self.once_in(6) {
            self.line(&format!("function GT:{name}({})", names.join(", ")));
        } else {
            self.line(&format!("local function {name}({})", names.join(", ")));
            self.declare(&name, Kind::Func, false);
        }
        self.scopes.push(Scope::of_function(vararg));
        for parameter in &parameters {
            self.declare(parameter, Kind::Any, true);
        }
        self.indent += 1;
        self.depth += 1;
        self.body(1..5);
        self.depth -= 1;
        self.indent -= 1;
        self.scopes.pop();
        self.line("end");
    }

    fn protected_block(&mut self) {
        let handler = self.once_in(3);
        self.line(if handler {
            "show(xpcall(function(...)"
        } else {
            "show(pcall(function(...)"
        });
        self.scopes.push(Scope::of_function(true));
        self.indent += 1;
        self.depth += 1;
        self.body(1..5);
        self.depth -= 1;
        self.indent -= 1;
        self.scopes.pop();
        let arguments = self.more_arguments(1);
        if handler {
            let handler = self.pick(&[
                "function(m) return \"handled \" .. text(m, 1) end",
                "function(m) error(m) end",
                "text",
                "function(m) return (debug.traceback(\"tb\", 1):gsub(\"\\n.*\", \"\")) end",
            ]);
            self.line(&format!("end, {handler}{arguments}))"));
        } else {
            self.line(&format!("end{arguments}))"));
        }
    }

    /// A loop made of `goto`.
    fn goto_loop(&mut self) {
        let (label, counter) = (self.fresh("l"), self.fresh("n"));
        self.line("do");
        self.indent += 1;
        self.line(&format!("local {counter} = 0"));
        self.line(&format!("::{label}::"));
        self.line("tick()");
        self.line(&format!("{counter} = {counter} + 1"));
        self.line("do");
        self.indent -= 1;
        self.scopes.push(Scope::default());
        self.statements(1..4);
        self.scopes.pop();
        self.indent += 1;
        let captured = self.fresh("x");
        self.line(&format!("local {captured} = {counter}"));
        self.line(&format!(
            "fs[{counter}] = function() {captured} = {captured} + 1 return {captured} end"
        ));
        self.line("end");
        let most = self.random.u32(1..4);
        self.line(&format!("if {counter} < {most} then goto {label} end"));
        self.indent -= 1;
        self.line("end");
    }

    fn coroutine_block(&mut self) {
        let name = self.fresh("co");
        self.line(&format!("local {name} = coroutine.create(function(...)"));
        self.scopes.push(Scope::of_function(true));
        self.indent += 1;
        self.depth += 1;
        self.line("tick()");
        for _ in 0..self.random.usize(1..4) {
            let values = self.arguments(2);
            let target = self.fresh("v");
            self.line(&format!("local {target} = coroutine.yield({values})"));
            self.declare(&target, Kind::Any, true);
            self.statement();
        }
        self.depth -= 1;
        self.indent -= 1;
        self.scopes.pop();
        self.line("end)");
        for _ in 0..self.random.usize(1..5) {
            let values = self.more_arguments(1);
            self.line(&format!(
                "show(coroutine.status({name}), coroutine.resume({name}{values}))"
            ));
        }
        if self.random.bool() {
            self.line(&format!(
                "show(coroutine.close({name}), coroutine.status({name}))"
            ));
        }
    }

    fn loaded_chunk(&mut self) {
        let scopes = std::mem::replace(&mut self.scopes, vec![Scope::of_function(true)]);
        let expression = self.expression(Kind::Any, 2);
        self.scopes = scopes;
        let damage = self.pick(&[
            "", "", "", "", " +", " end", " x", "(", ")", " = 1", " 'open",
        ]);
        self.line(&format!("show(pcall(load([==[return {expression}{damage}]==], \"=chunk\", \"t\", {{id = id, GT = GT}}) or print))"));
        self.line(&format!(
            "show(select(2, load([==[local a = {expression}{damage}]==], \"=chunk\")))"
        ));
    }
}
