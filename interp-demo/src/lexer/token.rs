//! Tokens and their spelling in messages.

use super::symbols::Symbol;

macro_rules! tokens {
    (reserved { $($word:ident = $word_text:literal,)* } other { $($other:ident = $other_text:literal,)* }) => {
        /// What kind of token it is.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(missing_docs, reason = "each is spelled as in `text`")]
        pub enum Token {
            $($word,)*
            $($other,)*
            /// An operator or mark of one byte, or a byte that no token starts with.
            Byte(u8),
        }

        impl Token {
            /// The reserved word spelled so.
            pub(super) fn reserved(name: &[u8]) -> Option<Token> {
                match std::str::from_utf8(name) {
                    $(Ok($word_text) => Some(Token::$word),)*
                    _ => None,
                }
            }

            /// The spelling; classes of tokens are spelled in angle brackets.
            fn text(self) -> &'static str {
                match self {
                    $(Token::$word => $word_text,)*
                    $(Token::$other => $other_text,)*
                    Token::Byte(_) => "",
                }
            }
        }
    };
}

tokens! {
    reserved {
        And = "and", Break = "break", Do = "do", Else = "else", ElseIf = "elseif", End = "end", False = "false",
        For = "for", Function = "function", Goto = "goto", If = "if", In = "in", Local = "local", Nil = "nil",
        Not = "not", Or = "or", Repeat = "repeat", Return = "return", Then = "then", True = "true",
        Until = "until", While = "while",
    }
    other {
        IDiv = "//", Concat = "..", Dots = "...", Eq = "==", Ge = ">=", Le = "<=", Ne = "~=", Shl = "<<",
        Shr = ">>", DoubleColon = "::", Eof = "<eof>", Float = "<number>", Int = "<integer>", Name = "<name>",
        Str = "<string>",
    }
}

impl Token {
    /// The token as messages show it: quoted, unless it is a class of tokens or the end.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Token::Byte(byte @ b' '..=b'~') => format!("'{}'", char::from(byte)),
            Token::Byte(byte) => format!("'<\\{byte}>'"),
            Token::Eof | Token::Float | Token::Int | Token::Name | Token::Str => {
                self.text().to_owned()
            }
            _ => format!("'{}'", self.text()),
        }
    }
}

/// What a token stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Payload {
    /// Nothing but itself.
    None,
    /// An integer numeral.
    Int(i64),
    /// A float numeral.
    Float(f64),
    /// A name or the contents of a string.
    Text(Symbol),
}

/// A token with its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lexeme {
    /// Its kind.
    pub token: Token,
    /// Its value.
    pub payload: Payload,
}

impl Lexeme {
    /// A token without a value.
    pub(super) const fn plain(token: Token) -> Self {
        Lexeme {
            token,
            payload: Payload::None,
        }
    }
}
