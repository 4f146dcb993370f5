//! `lfs.attributes` and `lfs.symlinkattributes`.

use rustix::fs::{FileType, Stat};

use super::path_at;
use crate::vm::error::os_message;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::Value;

/// The attributes, in the order in which they are looked for.
const NAMES: &[&str] = &[
    "mode",
    "dev",
    "ino",
    "nlink",
    "uid",
    "gid",
    "rdev",
    "access",
    "modification",
    "change",
    "size",
    "permissions",
    "blocks",
    "blksize",
];

fn attribute<'gc>(ctx: Ctx<'gc>, stat: &Stat, name: &str) -> Value<'gc> {
    let number = |number: u64| Value::Int(number as i64);
    match name {
        "mode" => ctx.string(kind(stat).as_bytes()),
        "dev" => number(stat.st_dev),
        "ino" => number(stat.st_ino),
        "nlink" => number(stat.st_nlink),
        "uid" => number(stat.st_uid.into()),
        "gid" => number(stat.st_gid.into()),
        "rdev" => number(stat.st_rdev),
        "access" => Value::Int(stat.st_atime),
        "modification" => Value::Int(stat.st_mtime),
        "change" => Value::Int(stat.st_ctime),
        "size" => Value::Int(stat.st_size),
        "permissions" => ctx.string(permissions(stat.st_mode).as_bytes()),
        "blocks" => Value::Int(stat.st_blocks),
        "blksize" => Value::Int(stat.st_blksize),
        _ => Value::Nil,
    }
}

fn kind(stat: &Stat) -> &'static str {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        FileType::Socket => "socket",
        FileType::Fifo => "named pipe",
        FileType::CharacterDevice => "char device",
        FileType::BlockDevice => "block device",
        _ => "other",
    }
}

/// As `ls` shows them: `rwxr-xr-x`.
fn permissions(mode: u32) -> String {
    let bits = (0..9).map(|i| mode & (0o400 >> i) != 0);
    bits.zip("rwxrwxrwx".chars())
        .map(|(set, letter)| if set { letter } else { '-' })
        .collect()
}

/// `attributes(path [, name or table])`
pub(super) fn attributes<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stat = rustix::fs::stat(path_at(call, 0)?);
    ret_attributes(call, stat)
}

/// `symlinkattributes(path [, name or table])`: of a link itself; `target` is what it names
pub(super) fn symlinkattributes<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let file = path_at(call, 0)?;
    let target = rustix::fs::readlink(file, Vec::new());
    if let Value::Str(name) = call.get(1)
        && name.as_bytes() == b"target"
    {
        return match target {
            Ok(target) => {
                let target = call.ctx.string(target.as_bytes());
                call.ret1(target)
            }
            Err(error) => {
                let text = os_message(&error.into());
                let text = format!("could not obtain link target: {text}");
                let text = call.ctx.string(text.as_bytes());
                call.ret(&[Value::Nil, text, i64::from(error.raw_os_error()).into()])
            }
        };
    }
    let flow = ret_attributes(call, rustix::fs::lstat(file))?;
    if let (Ok(target), Value::Table(table)) = (target, call.get(call.len() - 1)) {
        let target = call.ctx.string(target.as_bytes());
        table.set_name(call.ctx, "target", target);
    }
    Ok(flow)
}

fn ret_attributes<'gc>(call: &mut Call<'gc>, stat: rustix::io::Result<Stat>) -> NativeResult<'gc> {
    let stat = match stat {
        Ok(stat) => stat,
        Err(error) => {
            let text = os_message(&error.into());
            let mut message = b"cannot obtain information from file '".to_vec();
            message.extend_from_slice(call.check_str(0)?.as_bytes());
            message.extend_from_slice(format!("': {text}").as_bytes());
            let message = call.ctx.string(&message);
            return call.ret(&[Value::Nil, message, i64::from(error.raw_os_error()).into()]);
        }
    };
    if let Value::Str(name) = call.get(1) {
        let known = NAMES
            .iter()
            .find(|known| known.as_bytes() == name.as_bytes());
        return match known {
            Some(known) => {
                let value = attribute(call.ctx, &stat, known);
                call.ret1(value)
            }
            None => Err(call.error(format!("invalid attribute name '{}'", name.to_text()))),
        };
    }
    let table = match call.get(1) {
        Value::Table(table) => table,
        _ => Table::new(call.ctx),
    };
    for name in NAMES {
        let value = attribute(call.ctx, &stat, name);
        table.set_name(call.ctx, name, value);
    }
    call.ret1(table)
}

#[cfg(test)]
mod tests {
    use super::permissions;

    #[test]
    fn permissions_are_shown_as_ls_does() {
        assert_eq!(permissions(0o100_754), "rwxr-xr--");
        assert_eq!(permissions(0), "---------");
        assert_eq!(permissions(0o777), "rwxrwxrwx");
    }
}
