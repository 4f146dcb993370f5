//! Names and strings of one source text, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

/// A name or string: two are equal if and only if their bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Symbol(u32);

/// The table of all of them.
#[derive(Default)]
pub struct Symbols {
    numbers: HashMap<Arc<[u8]>, Symbol>,
    texts: Vec<Arc<[u8]>>,
    /// Bytes of all texts.
    bytes: usize,
}

impl Symbols {
    /// The symbol of these bytes.
    ///
    /// # Panics
    /// After 2^32 different strings, for which no source text is long enough in memory.
    pub fn intern(&mut self, bytes: &[u8]) -> Symbol {
        if let Some(symbol) = self.numbers.get(bytes) {
            return *symbol;
        }
        let symbol = Symbol(u32::try_from(self.texts.len()).expect("fewer than 2^32 strings"));
        let text: Arc<[u8]> = bytes.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, symbol);
        self.bytes += bytes.len();
        symbol
    }

    /// What the table takes, roughly, with the constants that are made of it.
    pub(super) fn bytes(&self) -> usize {
        /// A text's header, its places in the table, and its places among a function's constants.
        const ENTRY_BYTES: usize = 144;
        self.bytes + self.texts.len() * ENTRY_BYTES
    }

    /// The bytes of a symbol of this table.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &Arc<[u8]> {
        &self.texts[symbol.0 as usize]
    }
}
