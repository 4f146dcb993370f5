//! The lexer: source bytes to tokens.
//!
//! It reads one token ahead at most. The bytes of the token under way stand in a buffer, from which error messages quote it.

mod error;
mod string;
mod symbols;
mod token;

pub use error::SyntaxError;
pub use symbols::{Symbol, Symbols};
pub use token::{Lexeme, Payload, Token};

use crate::proto::chunk_id;
use crate::text::number::{self, Number};

/// The result of everything that reads source text; the error is boxed because it is rare and large.
pub type Result<T> = std::result::Result<T, Box<SyntaxError>>;

/// The last line number that is counted.
const MAX_LINE: u32 = i32::MAX as u32;

/// After so many tokens the lexer asks whether to read on: some 50 µs.
const TOKENS: u32 = 1 << 10;

/// Within a token, or between two, it asks after so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// What the compiler makes of a token: half an instruction and its line, in vectors that may be twice as large.
const MADE_BYTES: usize = 8;

/// Told how many bytes compiling takes so far; whether to read on.
pub type GoesOn<'s> = &'s dyn Fn(usize) -> bool;

/// Reads tokens from a source text.
pub struct Lexer<'s> {
    source: &'s [u8],
    position: usize,
    /// The token under way, for values and messages.
    buffer: Vec<u8>,
    /// The current token.
    pub current: Lexeme,
    ahead: Option<Lexeme>,
    /// The line of the current token's end.
    pub line: u32,
    /// The line of the end of the token before.
    pub last_line: u32,
    /// All names and strings met so far.
    pub symbols: Symbols,
    chunk_name: &'s [u8],
    /// Asked now and then whether to read on.
    goes_on: GoesOn<'s>,
    /// Tokens until it is asked again.
    tokens_left: u32,
    /// The position from which on it is asked within a token.
    look_at: usize,
    /// What the compiler has made of the tokens so far, roughly.
    made_bytes: usize,
}

impl<'s> Lexer<'s> {
    /// A lexer at the start of `source`; its first token comes with the first [`Lexer::advance`].
    #[must_use]
    pub fn new(source: &'s [u8], chunk_name: &'s [u8]) -> Self {
        Lexer {
            source,
            position: 0,
            buffer: Vec::new(),
            current: Lexeme::plain(Token::Eof),
            ahead: None,
            line: 1,
            last_line: 1,
            symbols: Symbols::default(),
            chunk_name,
            goes_on: &|_| true,
            tokens_left: TOKENS,
            look_at: PIECE_BYTES,
            made_bytes: 0,
        }
    }

    /// Reads on only while `goes_on` says so.
    pub fn set_goes_on(&mut self, goes_on: GoesOn<'s>) {
        self.goes_on = goes_on;
    }

    /// Goes on to the next token.
    ///
    /// # Errors
    /// When the bytes are no token, or when it is told to stop.
    pub fn advance(&mut self) -> Result<()> {
        self.last_line = self.line;
        self.tokens_left -= 1;
        if self.tokens_left == 0 {
            self.tokens_left = TOKENS;
            self.made_bytes += TOKENS as usize * MADE_BYTES;
            self.look(0)?;
        }
        self.current = match self.ahead.take() {
            Some(lexeme) => lexeme,
            None => self.scan()?,
        };
        Ok(())
    }

    /// The token after the current one.
    ///
    /// # Errors
    /// When the bytes are no token.
    pub fn peek(&mut self) -> Result<Token> {
        if self.ahead.is_none() {
            self.ahead = Some(self.scan()?);
        }
        Ok(self.ahead.map_or(Token::Eof, |lexeme| lexeme.token))
    }

    /// The symbol of these bytes.
    pub fn intern(&mut self, bytes: &[u8]) -> Symbol {
        self.symbols.intern(bytes)
    }

    /// An error at the current line, near the given token if any.
    #[cold]
    pub fn error(&self, what: &[u8], near: Option<Token>) -> Box<SyntaxError> {
        let mut message = chunk_id(self.chunk_name);
        message.extend_from_slice(format!(":{}: ", self.line).as_bytes());
        message.extend_from_slice(what);
        match near {
            // A zero byte is shown as no token at all, as in C Lua.
            None | Some(Token::Byte(0)) => {}
            Some(Token::Name | Token::Str | Token::Float | Token::Int) => {
                let shown = self
                    .buffer
                    .split(|&byte| byte == 0)
                    .next()
                    .unwrap_or_default();
                message.extend_from_slice(b" near '");
                message.extend_from_slice(shown);
                message.push(b'\'');
            }
            Some(token) => {
                message.extend_from_slice(b" near ");
                message.extend_from_slice(token.describe().as_bytes());
            }
        }
        Box::new(SyntaxError {
            message,
            incomplete: near == Some(Token::Eof),
        })
    }

    /// An error near the current token.
    #[cold]
    pub fn syntax_error(&self, what: impl AsRef<[u8]>) -> Box<SyntaxError> {
        self.error(what.as_ref(), Some(self.current.token))
    }

    /// Asks whether to read on, where `more` bytes are about to be taken.
    fn look(&mut self, more: usize) -> Result<()> {
        self.look_at = self.position + PIECE_BYTES;
        // A buffer that grows is copied.
        let capacity = self.buffer.capacity();
        let buffer_bytes =
            match self.buffer.len() + PIECE_BYTES > capacity && capacity > PIECE_BYTES {
                true => 3 * capacity,
                false => capacity,
            };
        if !(self.goes_on)(self.made_bytes + buffer_bytes + self.symbols.bytes() + more) {
            return Err(self.error(b"reading was stopped", None));
        }
        Ok(())
    }

    /// [`Lexer::look`] where a token or a gap has become long.
    fn look_within(&mut self) -> Result<()> {
        if self.position < self.look_at {
            return Ok(());
        }
        self.look(0)
    }

    /// The symbol of a string that may be long.
    fn intern_text(&mut self, start: usize, end: usize) -> Result<Symbol> {
        if end - start > PIECE_BYTES {
            self.look(end - start)?;
        }
        Ok(self.symbols.intern(&self.buffer[start..end]))
    }

    fn byte(&self) -> Option<u8> {
        self.source.get(self.position).copied()
    }

    fn skip(&mut self) {
        self.position += 1;
    }

    /// Moves the current byte, if there is one, to the buffer.
    fn save(&mut self) {
        if let Some(byte) = self.byte() {
            self.buffer.push(byte);
            self.position += 1;
        }
    }

    /// Skips the current byte if it is `byte`.
    fn skip_if(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        if found {
            self.position += 1;
        }
        found
    }

    /// Saves the current byte if it is one of `set`.
    fn save_if(&mut self, set: &[u8]) -> bool {
        let found = self.byte().is_some_and(|byte| set.contains(&byte));
        if found {
            self.save();
        }
        found
    }

    /// Skips `\n`, `\r`, `\r\n` or `\n\r`, which are one line end each.
    fn skip_line_end(&mut self) -> Result<()> {
        let first = self.byte();
        self.skip();
        if let (Some(b'\n'), Some(b'\r')) | (Some(b'\r'), Some(b'\n')) = (first, self.byte()) {
            self.skip();
        }
        if self.line >= MAX_LINE {
            return Err(self.error(b"chunk has too many lines", None));
        }
        self.line += 1;
        self.look_within()
    }

    fn scan(&mut self) -> Result<Lexeme> {
        self.buffer.clear();
        loop {
            let Some(byte) = self.byte() else {
                return Ok(Lexeme::plain(Token::Eof));
            };
            let token = match byte {
                b'\n' | b'\r' => {
                    self.skip_line_end()?;
                    continue;
                }
                b' ' | b'\t' | 0x0b | 0x0c => {
                    self.skip();
                    self.look_within()?;
                    continue;
                }
                b'-' => {
                    self.skip();
                    if !self.skip_if(b'-') {
                        Token::Byte(b'-')
                    } else {
                        self.skip_comment()?;
                        continue;
                    }
                }
                b'[' => match self.long_bracket() {
                    Some(level) => return self.long_string(level),
                    None if self.buffer.len() == 1 => Token::Byte(b'['),
                    None => {
                        return Err(self.error(b"invalid long string delimiter", Some(Token::Str)));
                    }
                },
                b'=' => self.one_or_two(b'=', &[(b'=', Token::Eq)]),
                b'<' => self.one_or_two(b'<', &[(b'=', Token::Le), (b'<', Token::Shl)]),
                b'>' => self.one_or_two(b'>', &[(b'=', Token::Ge), (b'>', Token::Shr)]),
                b'/' => self.one_or_two(b'/', &[(b'/', Token::IDiv)]),
                b'~' => self.one_or_two(b'~', &[(b'=', Token::Ne)]),
                b':' => self.one_or_two(b':', &[(b':', Token::DoubleColon)]),
                b'"' | b'\'' => return self.quoted_string(byte),
                b'.' => {
                    self.save();
                    if self.skip_if(b'.') {
                        if self.skip_if(b'.') {
                            Token::Dots
                        } else {
                            Token::Concat
                        }
                    } else if let Some(first @ b'0'..=b'9') = self.byte() {
                        self.save();
                        return self.numeral(first);
                    } else {
                        Token::Byte(b'.')
                    }
                }
                b'0'..=b'9' => {
                    self.save();
                    return self.numeral(byte);
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => return Ok(self.name()),
                _ => {
                    self.skip();
                    Token::Byte(byte)
                }
            };
            return Ok(Lexeme::plain(token));
        }
    }

    fn one_or_two(&mut self, first: u8, seconds: &[(u8, Token)]) -> Token {
        self.skip();
        for &(second, token) in seconds {
            if self.skip_if(second) {
                return token;
            }
        }
        Token::Byte(first)
    }

    fn skip_comment(&mut self) -> Result<()> {
        if self.byte() == Some(b'[') {
            let level = self.long_bracket();
            self.buffer.clear();
            if let Some(level) = level {
                self.long_text(level, "comment")?;
                self.buffer.clear();
                return Ok(());
            }
        }
        while self
            .byte()
            .is_some_and(|byte| byte != b'\n' && byte != b'\r')
        {
            self.skip();
            self.look_within()?;
        }
        Ok(())
    }

    fn name(&mut self) -> Lexeme {
        let start = self.position;
        while self
            .byte()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            self.skip();
        }
        let text = &self.source[start..self.position];
        self.buffer.extend_from_slice(text);
        match Token::reserved(text) {
            Some(token) => Lexeme::plain(token),
            None => Lexeme {
                token: Token::Name,
                payload: Payload::Text(self.symbols.intern(text)),
            },
        }
    }

    /// Reads a numeral whose first byte, `first`, is saved. Takes in all that could belong to one, so that `3x` is an
    /// error and not a number and a name.
    fn numeral(&mut self, first: u8) -> Result<Lexeme> {
        let mut exponent: &[u8] = b"eE";
        if first == b'0' && self.save_if(b"xX") {
            exponent = b"pP";
        }
        loop {
            if self.save_if(exponent) {
                self.save_if(b"+-");
            } else if self
                .byte()
                .is_some_and(|byte| byte.is_ascii_hexdigit() || byte == b'.')
            {
                self.save();
            } else {
                break;
            }
        }
        if self
            .byte()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        {
            self.save();
        }
        match number::parse(&self.buffer) {
            Some(Number::Int(value)) => Ok(Lexeme {
                token: Token::Int,
                payload: Payload::Int(value),
            }),
            Some(Number::Float(value)) => Ok(Lexeme {
                token: Token::Float,
                payload: Payload::Float(value),
            }),
            None => Err(self.error(b"malformed number", Some(Token::Float))),
        }
    }
}
