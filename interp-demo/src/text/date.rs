//! Calendar dates: from and to seconds since the epoch, and `strftime`, in the C locale.
//!
//! The C library does the calendar, since `os.date` and `os.time` are defined by its `localtime`, `mktime` and `strftime`,
//! whatever the time zone database of the machine says.

use std::ffi::CString;
use std::mem::MaybeUninit;

use thiserror::Error;

/// A conversion that `strftime` does not have; holds what follows the percent sign.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("invalid conversion specifier '%{0}'")]
pub struct InvalidConversion(String);

/// Conversions of C99 that stand alone, after `E`, and after `O`.
const PLAIN: &[u8] = b"aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%";
const AFTER_E: &[u8] = b"cCxXyY";
const AFTER_O: &[u8] = b"deHImMSuUVwWy";

/// A calendar date with a time of day. Fields count as C does: months and days of the year from 0, years from 1900.
#[derive(Clone, Copy)]
pub struct Date(libc::tm);

impl Date {
    /// A date from its fields; they may lie outside their ranges until [`timestamp`](Self::timestamp) normalises them.
    /// `is_dst`: whether daylight saving is in effect, if known.
    #[must_use]
    pub fn new(
        year: i32,
        month: i32,
        day: i32,
        hour: i32,
        minute: i32,
        second: i32,
        is_dst: Option<bool>,
    ) -> Self {
        let mut tm = empty();
        tm.tm_year = year;
        tm.tm_mon = month;
        tm.tm_mday = day;
        tm.tm_hour = hour;
        tm.tm_min = minute;
        tm.tm_sec = second;
        tm.tm_isdst = is_dst.map_or(-1, i32::from);
        Self(tm)
    }

    /// The date of a time stamp in the local time zone; `None` if the year does not fit.
    #[must_use]
    pub fn local(timestamp: i64) -> Option<Self> {
        let mut tm = MaybeUninit::uninit();
        // SAFETY: both pointers are to valid memory of the right type.
        let done = unsafe { libc::localtime_r(&timestamp, tm.as_mut_ptr()) };
        // SAFETY: not null means that the structure was filled.
        (!done.is_null()).then(|| Self(unsafe { tm.assume_init() }))
    }

    /// The date of a time stamp in UTC; `None` if the year does not fit.
    #[must_use]
    pub fn utc(timestamp: i64) -> Option<Self> {
        let mut tm = MaybeUninit::uninit();
        // SAFETY: both pointers are to valid memory of the right type.
        let done = unsafe { libc::gmtime_r(&timestamp, tm.as_mut_ptr()) };
        // SAFETY: not null means that the structure was filled.
        (!done.is_null()).then(|| Self(unsafe { tm.assume_init() }))
    }

    /// The time stamp of a local date, whose fields are brought into their ranges; `None` if it cannot be represented.
    pub fn timestamp(&mut self) -> Option<i64> {
        // `mktime` sets the day of the week whenever it succeeds, which tells -1 as a time from -1 as a failure.
        self.0.tm_wday = -1;
        // SAFETY: the structure is valid and all fields are set.
        let timestamp = unsafe { libc::mktime(&mut self.0) };
        (timestamp != -1 || self.0.tm_wday != -1).then_some(timestamp)
    }

    /// Seconds, 0 to 60.
    #[must_use]
    pub const fn second(&self) -> i32 {
        self.0.tm_sec
    }

    /// Minutes, 0 to 59.
    #[must_use]
    pub const fn minute(&self) -> i32 {
        self.0.tm_min
    }

    /// Hours, 0 to 23.
    #[must_use]
    pub const fn hour(&self) -> i32 {
        self.0.tm_hour
    }

    /// Day of the month, from 1.
    #[must_use]
    pub const fn day(&self) -> i32 {
        self.0.tm_mday
    }

    /// Month, from 0.
    #[must_use]
    pub const fn month(&self) -> i32 {
        self.0.tm_mon
    }

    /// Years since 1900.
    #[must_use]
    pub const fn year(&self) -> i32 {
        self.0.tm_year
    }

    /// Days since Sunday.
    #[must_use]
    pub const fn weekday(&self) -> i32 {
        self.0.tm_wday
    }

    /// Days since the first of January.
    #[must_use]
    pub const fn year_day(&self) -> i32 {
        self.0.tm_yday
    }

    /// Whether daylight saving is in effect, if known.
    #[must_use]
    pub const fn is_dst(&self) -> Option<bool> {
        match self.0.tm_isdst {
            0 => Some(false),
            1.. => Some(true),
            _ => None,
        }
    }

    /// Appends the date by a `strftime` format.
    ///
    /// # Errors
    /// When the format has a conversion that C99 does not know.
    pub fn format(&self, out: &mut Vec<u8>, format: &[u8]) -> Result<(), InvalidConversion> {
        let mut rest = format;
        while let Some(percent) = memchr::memchr(b'%', rest) {
            out.extend_from_slice(&rest[..percent]);
            rest = &rest[percent + 1..];
            let size = match rest {
                [plain, ..] if PLAIN.contains(plain) => 1,
                [b'E', letter, ..] if AFTER_E.contains(letter) => 2,
                [b'O', letter, ..] if AFTER_O.contains(letter) => 2,
                _ => {
                    return Err(InvalidConversion(
                        String::from_utf8_lossy(rest).into_owned(),
                    ));
                }
            };
            self.convert(out, &rest[..size]);
            rest = &rest[size..];
        }
        out.extend_from_slice(rest);
        Ok(())
    }

    /// Appends one conversion, given without its percent sign.
    fn convert(&self, out: &mut Vec<u8>, conversion: &[u8]) {
        // Longer than any single conversion gets in the C locale, names of time zones included.
        let mut buffer = [0_u8; 256];
        let mut text = vec![b'%'];
        text.extend_from_slice(conversion);
        // A checked conversion has no zero byte.
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the buffer has the size that is told, the format ends in a zero byte, and the structure is valid.
        let size = unsafe {
            libc::strftime(
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                text.as_ptr(),
                &self.0,
            )
        };
        out.extend_from_slice(&buffer[..size]);
    }
}

fn empty() -> libc::tm {
    // SAFETY: integers and a pointer, for which all zeros are valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(timestamp: i64, format: &str) -> Result<String, String> {
        let mut out = Vec::new();
        Date::utc(timestamp)
            .unwrap()
            .format(&mut out, format.as_bytes())
            .map_err(|e| e.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn strftime() {
        // By `lua5.4 -e 'print(os.date("!…", 1700000000))'`.
        let cases = [
            ("%c", "Tue Nov 14 22:13:20 2023"),
            ("%Y-%m-%d %H:%M:%S", "2023-11-14 22:13:20"),
            ("%x %X %p", "11/14/23 22:13:20 PM"),
            (
                "%a %A %b %B %j %U %w %W %y",
                "Tue Tuesday Nov November 318 46 2 46 23",
            ),
            (
                "%D %e %F %g %G %h %I %R %T %u %V",
                "11/14/23 14 2023-11-14 23 2023 Nov 10 22:13 22:13:20 2 46",
            ),
            ("%EY %Od %%", "2023 14 %"),
            ("plain", "plain"),
            ("", ""),
        ];
        for (format, text) in cases {
            assert_eq!(
                shown(1_700_000_000, format).as_deref(),
                Ok(text),
                "{format}"
            );
        }
    }

    #[test]
    fn unknown_conversions() {
        for (format, rest) in [
            ("%", ""),
            ("%9", "9"),
            ("a%Ez b", "Ez b"),
            ("%O", "O"),
            ("%Q", "Q"),
        ] {
            assert_eq!(
                shown(0, format),
                Err(format!("invalid conversion specifier '%{rest}'"))
            );
        }
    }

    #[test]
    fn there_and_back() {
        let mut date = Date::local(1_700_000_000).unwrap();
        assert_eq!(date.timestamp(), Some(1_700_000_000));
        let mut overflowing = Date::new(123, 10, 14, 22, 13, 20 + 60, None);
        let mut plain = Date::new(123, 10, 14, 22, 14, 20, None);
        assert_eq!(overflowing.timestamp(), plain.timestamp());
        assert_eq!((overflowing.minute(), overflowing.second()), (14, 20));
        assert!(Date::utc(i64::MAX).is_none());
    }
}
