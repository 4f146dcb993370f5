//! The form of a dumped function.
//!
//! The header is that of Lua 5.4, with its check of sizes and byte order; the body is our own:
//!
//! ```text
//! header     "\x1bLua" 0x54 0 "\x19\x93\r\n\x1a\n" 4 8 8, 0x5678 (i64), 370.5 (f64)
//! body       "sleepy" VERSION, function
//! function   source, line_defined, last_line_defined, num_params (u8), is_vararg (u8), max_stack (u8),
//!            code (u32 each), constants, upvalues, functions, lines (differences), local variables
//! ```
//!
//! Numbers are little-endian. Counts and lines are LEB128; a text is its length plus one (0: none) and its bytes. The
//! source of an inner function that has the same one as its outer function is left out.

/// The first bytes of each dump.
pub(super) const SIGNATURE: &[u8] = b"\x1bLua";
/// What follows the signature: version, format, bytes that text conversions would spoil, and sizes.
pub(super) const HEADER: &[u8] = b"\x54\x00\x19\x93\r\n\x1a\n\x04\x08\x08";
/// An integer that shows its byte order.
pub(super) const CHECK_INT: i64 = 0x5678;
/// A float that shows its format.
pub(super) const CHECK_FLOAT: f64 = 370.5;
/// What tells our body from that of C Lua, with the version of the instruction set.
pub(super) const BODY: &[u8] = b"sleepy\x01";

/// Kinds of constants.
pub(super) mod constant {
    pub const NIL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const STR: u8 = 5;
}
