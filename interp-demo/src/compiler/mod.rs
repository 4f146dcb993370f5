//! The compiler: source text to bytecode in one pass, with no tree in between.
//!
//! The parser (`stat`, `loops`, `func`, `expr`) reads a construct and at once emits its code. An expression under way is an
//! [`expdesc::ExpDesc`]: it says where the value will be, and it's put into a register as late as possible (`value`), so
//! that constants, fields and comparisons reach the instruction that uses them as its operands (`operators`). Jumps whose
//! target is not known yet are linked through their own operands (`jumps`). `scope` keeps blocks and variables, `labels`
//! the gotos, `state` the function under way, `emit` appends instructions, `finish` mends those that depend on the whole.
//!
//! The code is the same as that of Lua 5.4. Recursion is bounded: nesting past `MAX_DEPTH` is an error, as it is there.

mod emit;
mod expdesc;
mod expr;
mod finish;
mod fold;
mod func;
mod jumps;
mod labels;
mod loops;
mod operators;
mod scope;
mod stat;
mod state;
mod value;

use std::sync::Arc;

use crate::lexer::{GoesOn, Lexer, Payload, Result, Symbol, Token};
use crate::proto::Proto;

pub use crate::lexer::SyntaxError;
use labels::{Goto, Label};
use scope::Variable;
use state::FuncState;
pub(crate) use value::MAX_SHORT_BYTES;

/// How deeply constructs may be nested.
const MAX_DEPTH: u32 = 196;

/// Compiles a source text to its main function: one of variable arguments with the one upvalue `_ENV`.
///
/// `chunk_name` is `@file`, `=name`, or the text itself; see [`crate::proto::chunk_id`] for how messages show it.
///
/// # Errors
/// When the text is no Lua, or goes past a limit.
///
/// ```
/// # use interp_demo::compiler::compile;
/// let main = compile(b"return 1 + x", b"=sum")?;
/// assert!(main.is_vararg);
/// let error = compile(b"x =", b"@a.lua").unwrap_err();
/// assert_eq!(error.to_string(), "a.lua:1: unexpected symbol near <eof>");
/// assert!(error.incomplete);
/// # Ok::<(), interp_demo::compiler::SyntaxError>(())
/// ```
pub fn compile(source: &[u8], chunk_name: &[u8]) -> std::result::Result<Arc<Proto>, SyntaxError> {
    compile_while(source, chunk_name, &|_| true)
}

/// [`compile`] for a program that may have to stop, or run out of memory: goes on while `goes_on` says so, which is told how many
/// bytes compiling takes so far.
///
/// # Errors
/// As [`compile`], and when it was told to stop.
pub fn compile_while(
    source: &[u8],
    chunk_name: &[u8],
    goes_on: GoesOn<'_>,
) -> std::result::Result<Arc<Proto>, SyntaxError> {
    let mut compiler = Compiler::new(source, chunk_name);
    compiler.lexer.set_goes_on(goes_on);
    compiler
        .main_function()
        .map(Arc::new)
        .map_err(|error| *error)
}

/// The text of a script file without what Lua does not read: a byte order mark and a first line that starts with `#`.
/// The end of that line stays, so that lines are numbered as in the file, but not before a chunk that was dumped.
#[must_use]
pub fn file_text(bytes: &[u8]) -> &[u8] {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.first() == Some(&b'#') {
        let end = text
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(text.len());
        match &text[end..] {
            [b'\n', dumped @ ..] if dumped.starts_with(b"\x1b") => dumped,
            rest => rest,
        }
    } else {
        text
    }
}

/// A compilation under way.
struct Compiler<'s> {
    lexer: Lexer<'s>,
    /// The function under way.
    fs: FuncState,
    /// The functions around it, innermost last.
    outer: Vec<FuncState>,
    /// The active variables of all of them.
    vars: Vec<Variable>,
    /// The gotos whose label has not come yet.
    gotos: Vec<Goto>,
    /// The labels that are visible.
    labels: Vec<Label>,
    depth: u32,
    env_name: Symbol,
    break_name: Symbol,
    chunk_name: Arc<[u8]>,
}

impl<'s> Compiler<'s> {
    fn new(source: &'s [u8], chunk_name: &'s [u8]) -> Self {
        let mut lexer = Lexer::new(source, chunk_name);
        let env_name = lexer.intern(b"_ENV");
        // No label has this name: it is reserved.
        let break_name = lexer.intern(b"break");
        let chunk_name: Arc<[u8]> = chunk_name.into();
        let fs = FuncState::new(Arc::clone(&chunk_name), 0, 0, 0);
        Compiler {
            lexer,
            fs,
            outer: Vec::new(),
            vars: Vec::new(),
            gotos: Vec::new(),
            labels: Vec::new(),
            depth: 0,
            env_name,
            break_name,
            chunk_name,
        }
    }

    fn token(&self) -> Token {
        self.lexer.current.token
    }

    /// Skips the current token if it is this one.
    fn skip_if(&mut self, token: Token) -> Result<bool> {
        let found = self.token() == token;
        if found {
            self.lexer.advance()?;
        }
        Ok(found)
    }

    fn check(&self, token: Token) -> Result<()> {
        if self.token() == token {
            Ok(())
        } else {
            Err(self.expected(token))
        }
    }

    fn expect(&mut self, token: Token) -> Result<()> {
        self.check(token)?;
        self.lexer.advance()
    }

    /// Expects the token that closes what `opener` opened at `line`.
    fn expect_match(&mut self, token: Token, opener: Token, line: u32) -> Result<()> {
        if self.skip_if(token)? {
            return Ok(());
        }
        if line == self.lexer.line {
            return Err(self.expected(token));
        }
        let (token, opener) = (token.describe(), opener.describe());
        Err(self.lexer.syntax_error(format!(
            "{token} expected (to close {opener} at line {line})"
        )))
    }

    #[cold]
    fn expected(&self, token: Token) -> Box<SyntaxError> {
        self.lexer
            .syntax_error(format!("{} expected", token.describe()))
    }

    /// An error of meaning, which is not near any token.
    #[cold]
    fn semantic_error(&self, message: &str) -> Box<SyntaxError> {
        self.lexer.error(message.as_bytes(), None)
    }

    /// The same, with a name in the message after `before`.
    #[cold]
    fn name_error(&self, before: &str, name: Symbol, after: &str) -> Box<SyntaxError> {
        let name = self.lexer.symbols.text(name);
        self.lexer
            .error(&[before.as_bytes(), name, after.as_bytes()].concat(), None)
    }

    fn expect_name(&mut self) -> Result<Symbol> {
        self.check(Token::Name)?;
        let name = self.text_payload();
        self.lexer.advance()?;
        Ok(name)
    }

    /// The symbol of the current token, a name or a string.
    fn text_payload(&self) -> Symbol {
        match self.lexer.current.payload {
            Payload::Text(symbol) => symbol,
            _ => self.env_name,
        }
    }

    /// Counts one more level of nesting. Each success must be followed by [`Compiler::leave_level`].
    fn enter_level(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = b"C stack overflow".to_vec();
            return Err(Box::new(SyntaxError {
                message,
                incomplete: false,
            }));
        }
        Ok(())
    }

    fn leave_level(&mut self) {
        self.depth -= 1;
    }

    /// An error if `count` things exceed what the function under way may have.
    fn check_limit(&self, count: usize, limit: usize, what: &str) -> Result<()> {
        self.check_limit_at(self.fs.proto.line_defined, count, limit, what)
    }

    /// An error if `count` things exceed what the function defined at `line` may have.
    fn check_limit_at(&self, line: u32, count: usize, limit: usize, what: &str) -> Result<()> {
        if count <= limit {
            return Ok(());
        }
        let place = match line {
            0 => "main function".to_owned(),
            line => format!("function at line {line}"),
        };
        Err(self
            .lexer
            .syntax_error(format!("too many {what} (limit is {limit}) in {place}")))
    }
}
