// SPDX-License-Identifier: GPL-2.0

//! Writes JSON key by key.
//!
//! ```text
//! let mut run = Object::new(&mut out)?;
//! run.num("id", 7)?.str("role", "client")?;
//! let mut latency = run.object("latency")?;
//! latency.num("p99_ns", 29_420)?;
//! latency.finish()?;
//! run.finish()?;
//! ```
//!
//! writes `{"id":7,"role":"client","latency":{"p99_ns":29420}}`, to any [`fmt::Write`] and without
//! memory of its own. Not supported: reading, and remembering which keys were written.

use core::fmt::{
    self,
    Display,
    Write, //
};

/// An object that is being written; nothing may be written around it until it is finished.
#[must_use = "an object that is not finished lacks its closing brace"]
pub(crate) struct Object<'w> {
    out: &'w mut dyn Write,
    comma: bool,
}

impl<'w> Object<'w> {
    /// Opens an object.
    pub(crate) fn new(out: &'w mut dyn Write) -> Result<Self, fmt::Error> {
        out.write_char('{')?;
        Ok(Self { out, comma: false })
    }

    /// Writes a string; it may hold anything.
    pub(crate) fn str(&mut self, key: &str, value: impl Display) -> Result<&mut Self, fmt::Error> {
        self.key(key)?;
        string(self.out, value)?;
        Ok(self)
    }

    /// Writes an integer.
    pub(crate) fn num(&mut self, key: &str, value: impl Display) -> Result<&mut Self, fmt::Error> {
        self.raw(key, value)
    }

    /// Writes `true` or `false`.
    pub(crate) fn bool(&mut self, key: &str, value: bool) -> Result<&mut Self, fmt::Error> {
        self.raw(key, value)
    }

    /// Writes what is JSON already.
    pub(crate) fn raw(&mut self, key: &str, value: impl Display) -> Result<&mut Self, fmt::Error> {
        self.key(key)?;
        write!(self.out, "{value}")?;
        Ok(self)
    }

    /// Opens an object within this one.
    pub(crate) fn object(&mut self, key: &str) -> Result<Object<'_>, fmt::Error> {
        self.key(key)?;
        Object::new(self.out)
    }

    /// Opens an array within this object.
    pub(crate) fn array(&mut self, key: &str) -> Result<Array<'_>, fmt::Error> {
        self.key(key)?;
        Array::new(self.out)
    }

    /// Closes the object.
    pub(crate) fn finish(self) -> fmt::Result {
        self.out.write_char('}')
    }

    fn key(&mut self, key: &str) -> fmt::Result {
        separate(self.out, &mut self.comma)?;
        string(self.out, key)?;
        self.out.write_char(':')
    }
}

/// An array that is being written; nothing may be written around it until it is finished.
#[must_use = "an array that is not finished lacks its closing bracket"]
pub(crate) struct Array<'w> {
    out: &'w mut dyn Write,
    comma: bool,
}

impl<'w> Array<'w> {
    fn new(out: &'w mut dyn Write) -> Result<Self, fmt::Error> {
        out.write_char('[')?;
        Ok(Self { out, comma: false })
    }

    /// Writes an integer.
    pub(crate) fn num(&mut self, value: impl Display) -> Result<&mut Self, fmt::Error> {
        separate(self.out, &mut self.comma)?;
        write!(self.out, "{value}")?;
        Ok(self)
    }

    /// Writes a string; it may hold anything.
    pub(crate) fn str(&mut self, value: impl Display) -> Result<&mut Self, fmt::Error> {
        separate(self.out, &mut self.comma)?;
        string(self.out, value)?;
        Ok(self)
    }

    /// Opens an object within this array, on a line of its own.
    pub(crate) fn line(&mut self) -> Result<Object<'_>, fmt::Error> {
        separate(self.out, &mut self.comma)?;
        self.out.write_char('\n')?;
        Object::new(self.out)
    }

    /// Opens an object within this array.
    pub(crate) fn object(&mut self) -> Result<Object<'_>, fmt::Error> {
        separate(self.out, &mut self.comma)?;
        Object::new(self.out)
    }

    /// Opens an array within this one.
    pub(crate) fn array(&mut self) -> Result<Array<'_>, fmt::Error> {
        separate(self.out, &mut self.comma)?;
        Array::new(self.out)
    }

    /// Closes the array.
    pub(crate) fn finish(self) -> fmt::Result {
        self.out.write_char(']')
    }
}

/// Writes the comma before every member but the first.
fn separate(out: &mut dyn Write, comma: &mut bool) -> fmt::Result {
    if core::mem::replace(comma, true) {
        out.write_char(',')?;
    }
    Ok(())
}

/// Writes `value` as a string.
fn string(out: &mut dyn Write, value: impl Display) -> fmt::Result {
    out.write_char('"')?;
    write!(Escape(out), "{value}")?;
    out.write_char('"')
}

/// Passes text on, with what a JSON string cannot hold escaped.
struct Escape<'w>(&'w mut dyn Write);

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| self.write_char(c))
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        match c {
            '"' | '\\' => {
                self.0.write_char('\\')?;
                self.0.write_char(c)
            }
            '\0'..='\x1f' => write!(self.0, "\\u{:04x}", u32::from(c)),
            _ => self.0.write_char(c),
        }
    }
}
