//! The variables that a place sees.

use super::Kind;

/// A local variable.
#[derive(Clone)]
pub(super) struct Variable {
    pub name: String,
    pub kind: Kind,
    /// Whether it can be assigned to.
    pub writable: bool,
}

/// The variables of a block.
#[derive(Default)]
pub(super) struct Scope {
    pub variables: Vec<Variable>,
    /// Whether it is a function's, and `...` is there.
    pub function: Option<bool>,
    /// Whether `break` has a loop to end.
    pub in_loop: bool,
}

impl Scope {
    pub fn of_function(vararg: bool) -> Scope {
        Scope {
            function: Some(vararg),
            ..Scope::default()
        }
    }

    /// What the prelude declares.
    pub fn of_prelude() -> Scope {
        let variable = |name: &str, kind, writable| Variable {
            name: name.to_owned(),
            kind,
            writable,
        };
        Scope {
            variables: vec![
                variable("g1", Kind::Int, true),
                variable("g2", Kind::Str, true),
                variable("g3", Kind::Num, true),
                variable("list", Kind::List, false),
                variable("GT", Kind::List, false),
                variable("G1", Kind::Int, true),
                variable("G2", Kind::Str, true),
                variable("id", Kind::Func, false),
                variable("thrice", Kind::Func, false),
            ],
            function: Some(true),
            in_loop: false,
        }
    }
}

impl super::Generator {
    pub(super) fn declare(&mut self, name: &str, kind: Kind, writable: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.push(Variable {
                name: name.to_owned(),
                kind,
                writable,
            });
        }
    }

    /// A variable of a kind (of any, for [`Kind::Any`]), if there is one.
    pub(super) fn variable(&mut self, kind: Kind, writable: bool) -> Option<Variable> {
        let fits = |variable: &&Variable| {
            let same = match kind {
                Kind::Any => true,
                Kind::Num => matches!(variable.kind, Kind::Num | Kind::Int),
                kind => variable.kind == kind,
            };
            same && (variable.writable || !writable)
        };
        let all: Vec<&Variable> = self
            .scopes
            .iter()
            .flat_map(|scope| &scope.variables)
            .filter(fits)
            .collect();
        if all.is_empty() {
            return None;
        }
        // The youngest are the most interesting ones.
        let at = self.random.usize(0..all.len());
        let at = at.max(self.random.usize(0..all.len()));
        Some(all[at].clone())
    }

    /// Whether `...` may be used.
    pub(super) fn has_varargs(&self) -> bool {
        let function = self.scopes.iter().rev().find_map(|scope| scope.function);
        function.unwrap_or(false)
    }

    /// Whether `break` may be used.
    pub(super) fn is_in_loop(&self) -> bool {
        for scope in self.scopes.iter().rev() {
            if scope.in_loop {
                return true;
            }
            if scope.function.is_some() {
                return false;
            }
        }
        false
    }
}
