//! Strings: quoted ones with their escapes, and long brackets.

use super::{Lexeme, Lexer, Payload, Result, SyntaxError, Token};

impl Lexer<'_> {
    /// Saves `[`, `=`…, and the second `[` if there is one: then it is a long bracket of that level. If not, more than
    /// one saved byte tells that a `=` followed.
    pub(super) fn long_bracket(&mut self) -> Option<usize> {
        self.bracket(b'[')
    }

    fn bracket(&mut self, mark: u8) -> Option<usize> {
        self.save();
        let mut level = 0;
        while self.save_if(b"=") {
            level += 1;
        }
        if self.byte() == Some(mark) {
            Some(level)
        } else {
            None
        }
    }

    /// Reads the rest of a long string whose opening bracket, but for its last byte, stands in the buffer.
    pub(super) fn long_string(&mut self, level: usize) -> Result<Lexeme> {
        self.long_text(level, "string")?;
        let frame = level + 2;
        let text = self.intern_text(frame, self.buffer.len() - frame)?;
        Ok(Lexeme {
            token: Token::Str,
            payload: Payload::Text(text),
        })
    }

    pub(super) fn long_text(&mut self, level: usize, what: &str) -> Result<()> {
        let start_line = self.line;
        self.save();
        if matches!(self.byte(), Some(b'\n' | b'\r')) {
            self.skip_line_end()?;
        }
        loop {
            match self.byte() {
                None => {
                    let message = format!("unfinished long {what} (starting at line {start_line})");
                    return Err(self.error(message.as_bytes(), Some(Token::Eof)));
                }
                Some(b']') => {
                    if self.bracket(b']') == Some(level) {
                        self.save();
                        return Ok(());
                    }
                }
                Some(b'\n' | b'\r') => {
                    self.buffer.push(b'\n');
                    self.skip_line_end()?;
                }
                Some(_) => self.save(),
            }
            self.look_within()?;
        }
    }

    /// Reads a string in quotes. Each escape stands in the buffer as written until it is known to be right.
    pub(super) fn quoted_string(&mut self, quote: u8) -> Result<Lexeme> {
        self.save();
        loop {
            match self.byte() {
                None => return Err(self.error(b"unfinished string", Some(Token::Eof))),
                Some(b'\n' | b'\r') => {
                    return Err(self.error(b"unfinished string", Some(Token::Str)));
                }
                Some(b'\\') => self.escape()?,
                Some(byte) => {
                    self.save();
                    if byte == quote {
                        break;
                    }
                }
            }
            self.look_within()?;
        }
        let text = self.intern_text(1, self.buffer.len() - 1)?;
        Ok(Lexeme {
            token: Token::Str,
            payload: Payload::Text(text),
        })
    }

    fn escape(&mut self) -> Result<()> {
        let start = self.buffer.len();
        self.save();
        let value = match self.byte() {
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 0x0b,
            Some(byte @ (b'\\' | b'"' | b'\'')) => byte,
            Some(b'\n' | b'\r') => {
                self.buffer.truncate(start);
                self.buffer.push(b'\n');
                return self.skip_line_end();
            }
            Some(b'x') => {
                self.save();
                let high = self.hex_digit()?;
                let low = self.hex_digit()?;
                self.buffer.truncate(start);
                self.buffer.push((high << 4 | low) as u8);
                return Ok(());
            }
            Some(b'u') => return self.utf8_escape(start),
            Some(b'z') => {
                self.buffer.truncate(start);
                self.skip();
                return self.skip_space();
            }
            Some(b'0'..=b'9') => return self.decimal_escape(start),
            // The loop of the caller reports the end of the text.
            None => return Ok(()),
            Some(_) => return Err(self.escape_error("invalid escape sequence")),
        };
        self.skip();
        self.buffer.truncate(start);
        self.buffer.push(value);
        Ok(())
    }

    fn skip_space(&mut self) -> Result<()> {
        loop {
            match self.byte() {
                Some(b'\n' | b'\r') => self.skip_line_end()?,
                Some(b' ' | b'\t' | 0x0b | 0x0c) => self.skip(),
                _ => return Ok(()),
            }
        }
    }

    fn hex_digit(&mut self) -> Result<u32> {
        match self.byte().and_then(|byte| char::from(byte).to_digit(16)) {
            Some(digit) => {
                self.save();
                Ok(digit)
            }
            None => Err(self.escape_error("hexadecimal digit expected")),
        }
    }

    fn decimal_escape(&mut self, start: usize) -> Result<()> {
        let mut value = 0;
        for _ in 0..3 {
            let Some(digit) = self.byte().and_then(|byte| char::from(byte).to_digit(10)) else {
                break;
            };
            value = value * 10 + digit;
            self.save();
        }
        let Ok(value) = u8::try_from(value) else {
            return Err(self.escape_error("decimal escape too large"));
        };
        self.buffer.truncate(start);
        self.buffer.push(value);
        Ok(())
    }

    fn utf8_escape(&mut self, start: usize) -> Result<()> {
        self.save();
        if self.byte() != Some(b'{') {
            return Err(self.escape_error("missing '{'"));
        }
        self.save();
        let mut value = self.hex_digit()?;
        while let Some(digit) = self.byte().and_then(|byte| char::from(byte).to_digit(16)) {
            if value > 0x7fff_ffff >> 4 {
                return Err(self.escape_error("UTF-8 value too large"));
            }
            self.save();
            value = value << 4 | digit;
        }
        if self.byte() != Some(b'}') {
            return Err(self.escape_error("missing '}'"));
        }
        self.skip();
        self.buffer.truncate(start);
        push_utf8(&mut self.buffer, value);
        Ok(())
    }

    /// An error in an escape, quoting the string up to the byte that is wrong.
    #[cold]
    fn escape_error(&mut self, what: &str) -> Box<SyntaxError> {
        self.save();
        self.error(what.as_bytes(), Some(Token::Str))
    }
}

/// Appends a code of up to 31 bits in the original UTF-8, of up to six bytes.
fn push_utf8(buffer: &mut Vec<u8>, code: u32) {
    if code < 0x80 {
        buffer.push(code as u8);
        return;
    }
    let mut continuation = 1;
    while code >> (6 * continuation) >= 0x40 >> continuation {
        continuation += 1;
    }
    let lead = 0xfe << (6 - continuation);
    buffer.push((lead | code >> (6 * continuation)) as u8);
    for shift in (0..continuation).rev() {
        buffer.push((0x80 | code >> (6 * shift) & 0x3f) as u8);
    }
}
