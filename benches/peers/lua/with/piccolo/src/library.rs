//! What the programs call and piccolo's standard library lacks, as far as it takes a few lines: without `tonumber`, not one of
//! them would begin.

use piccolo::{Callback, CallbackReturn, Context, InvalidTableKey, Table, Value};
use std::io::{self, Write};

/// Adds it to the globals.
pub fn open<'gc>(ctx: Context<'gc>) -> Result<(), InvalidTableKey> {
    let to_number = Callback::from_fn(&ctx, |ctx, _, mut stack| {
        let number = match stack.get(0) {
            Value::String(text) => number_of(&text.to_str_lossy()),
            number @ (Value::Integer(_) | Value::Number(_)) => number,
            _ => Value::Nil,
        };
        stack.replace(ctx, number);
        Ok(CallbackReturn::Return)
    });
    ctx.set_global("tonumber", to_number)?;
    if let Value::Table(string) = ctx.get_global("string") {
        string.set(
            ctx,
            "format",
            Callback::from_fn(&ctx, |ctx, _, mut stack| {
                let values: Vec<Value> = stack.drain(..).collect();
                let text = format(&values)?;
                stack.replace(ctx, ctx.intern(&text));
                Ok(CallbackReturn::Return)
            }),
        )?;
    }
    if let Value::Table(table) = ctx.get_global("table") {
        table.set(
            ctx,
            "insert",
            Callback::from_fn(&ctx, |ctx, _, mut stack| {
                let (list, value): (Table, Value) = stack.consume(ctx)?;
                list.set(ctx, list.length() + 1, value)?;
                Ok(CallbackReturn::Return)
            }),
        )?;
        table.set(
            ctx,
            "remove",
            Callback::from_fn(&ctx, |ctx, _, mut stack| {
                let list: Table = stack.consume(ctx)?;
                let last = list.length();
                let value = list.get(ctx, last);
                if last > 0 {
                    list.set(ctx, last, Value::Nil)?;
                }
                stack.replace(ctx, value);
                Ok(CallbackReturn::Return)
            }),
        )?;
        table.set(
            ctx,
            "concat",
            Callback::from_fn(&ctx, |ctx, _, mut stack| {
                let (list, between): (Table, Value) = stack.consume(ctx)?;
                let mut text = Vec::new();
                for i in 1..=list.length() {
                    if let (Value::String(between), 2..) = (between, i) {
                        text.extend_from_slice(between.as_bytes());
                    }
                    list.get(ctx, i).display(&mut text)?;
                }
                stack.replace(ctx, ctx.intern(&text));
                Ok(CallbackReturn::Return)
            }),
        )?;
    }
    Ok(())
}

/// The number that a text shows; nil if it shows none.
fn number_of<'gc>(text: &str) -> Value<'gc> {
    let text = text.trim();
    match (text.parse(), text.parse()) {
        (Ok(int), _) => Value::Integer(int),
        (_, Ok(float)) => Value::Number(float),
        _ => Value::Nil,
    }
}

/// A format with its values: `%d`, `%s` and `%.Nf`, which is what the programs use.
fn format(values: &[Value<'_>]) -> io::Result<Vec<u8>> {
    let unknown = || io::Error::other("a format that is not known");
    let Some((Value::String(format), mut values)) = values.split_first() else {
        return Err(unknown());
    };
    let mut text = Vec::new();
    let mut parts = format.to_str_lossy().into_owned();
    while let Some((before, rest)) = parts.split_once('%') {
        text.extend_from_slice(before.as_bytes());
        let end = rest.find(char::is_alphabetic).ok_or_else(unknown)?;
        let (value, others) = values.split_first().ok_or_else(unknown)?;
        let digits = rest[..end].split_once('.').map_or("", |(_, digits)| digits);
        match (&rest[end..=end], value) {
            ("f", Value::Number(float)) => {
                let digits = digits.parse().map_err(io::Error::other)?;
                write!(text, "{float:.digits$}")?;
            }
            ("d" | "s", value) if end == 0 => value.display(&mut text)?,
            _ => return Err(unknown()),
        }
        (parts, values) = (rest[end + 1..].to_owned(), others);
    }
    text.extend_from_slice(parts.as_bytes());
    Ok(text)
}
