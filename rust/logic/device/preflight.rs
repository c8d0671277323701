// SPDX-License-Identifier: GPL-2.0

//! The preflight of a device, whatever it claims: records which objects of given sizes the device
//! has made, and searches for the largest that it makes.

use crate::logic::{
    failure::errno,
    text::json::Object, //
};
use core::fmt;

/// An item of the preflight. The first four must work for any run; of the others the most is
/// searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Item {
    /// A protection domain.
    ProtectionDomain,
    /// Entries of the completion queue of a plain run.
    Completions,
    /// Requests of the send queue of a plain run.
    Requests,
    /// Bytes of a plain run's buffer, with a region over it.
    Region,
    /// Bytes of the largest buffer, with a region over it.
    MostBytes,
    /// Requests of the largest send queue.
    MostRequests,
    /// Scatter/gather elements of a request.
    MostSge,
    /// Bytes that a request holds itself.
    MostInline,
    /// Requests that a disk has in flight.
    MostDepth,
}

/// All items, in the order in which they are tried, with their names.
const ITEMS: [(Item, &str); Item::COUNT] = [
    (Item::ProtectionDomain, "pd"),
    (Item::Completions, "cq_entries"),
    (Item::Requests, "send_requests"),
    (Item::Region, "mr_bytes"),
    (Item::MostBytes, "most_mr_bytes"),
    (Item::MostRequests, "most_send_requests"),
    (Item::MostSge, "most_send_sge"),
    (Item::MostInline, "most_inline_bytes"),
    (Item::MostDepth, "most_disk_requests"),
];

impl Item {
    /// The number of items.
    const COUNT: usize = 9;

    /// Returns the action that tries it, for the sentence about a failure.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::ProtectionDomain => "allocating a protection domain",
            Self::Completions => "allocating a completion queue",
            Self::Region | Self::MostBytes => "allocating and mapping a region",
            Self::Requests
            | Self::MostRequests
            | Self::MostSge
            | Self::MostInline
            | Self::MostDepth => "creating a queue pair",
        }
    }
}

/// The result of trying one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The amount that was asked for first: what a plain run needs, or the most that makes sense.
    pub(crate) asked: u32,
    /// The amount that the device made; 0 where it made nothing.
    pub(crate) made: u32,
    /// The errno, positive, of asking for `asked`; 0 where that was made.
    pub(crate) errno: i32,
}

impl Attempt {
    /// Returns the result of asking for `asked` alone, which ended with `errno`, or 0.
    pub(crate) const fn of(asked: u32, errno: i32) -> Self {
        let made = if errno == 0 { asked } else { 0 };
        Self { asked, made, errno }
    }

    /// Searches for the largest amount that works, from `asked` downwards; 0 is taken to work, and
    /// so is all below an amount that works. `attempt` returns the errno, positive, or 0. It is
    /// called 33 times at most.
    ///
    /// # Errors
    ///
    /// What `attempt` returns where the search is to end.
    pub(crate) fn most<E>(
        asked: u32,
        mut attempt: impl FnMut(u32) -> Result<i32, E>,
    ) -> Result<Self, E> {
        let errno = if asked == 0 { 0 } else { attempt(asked)? };
        if errno == 0 {
            return Ok(Self::of(asked, errno));
        }
        // `made` works, `above` does not.
        let (mut made, mut above) = (0u32, asked);
        while above.saturating_sub(made) > 1 {
            let middle = made.saturating_add(above.saturating_sub(made) / 2);
            match attempt(middle)? {
                0 => made = middle,
                _ => above = middle,
            }
        }
        Ok(Self { asked, made, errno })
    }

    fn status(&self) -> &'static str {
        match (self.errno, self.made) {
            (0, _) => "ok",
            (_, 0) => "failed",
            _ => "less",
        }
    }

    fn errno_name(&self) -> &'static str {
        errno::name(self.errno).unwrap_or("unknown")
    }
}

/// The results of all items; `None` for those that have not been tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preflight([Option<Attempt>; Item::COUNT]);

impl Preflight {
    /// Stores the result of `item`.
    pub(crate) fn note(&mut self, item: Item, attempt: Attempt) {
        if let Some(place) = self.0.get_mut(item as usize) {
            *place = Some(attempt);
        }
    }

    /// Returns the amount of `item` that the device made; 0 where that was not tried.
    pub(crate) fn made(&self, item: Item) -> u32 {
        self.attempt(item).map_or(0, |attempt| attempt.made)
    }

    fn attempt(&self, item: Item) -> Option<&Attempt> {
        self.0.get(item as usize)?.as_ref()
    }

    /// Returns the results of the items that were tried, with their names.
    fn tried(&self) -> impl Iterator<Item = (&'static str, &Attempt)> {
        ITEMS
            .iter()
            .filter_map(|(item, name)| Some((*name, self.attempt(*item)?)))
    }

    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut array = object.array("preflight")?;
        for (name, attempt) in self.tried() {
            let mut entry = array.object()?;
            entry
                .str("item", name)?
                .str("status", attempt.status())?
                .num("asked", attempt.asked)?
                .num("made", attempt.made)?;
            if attempt.errno != 0 {
                entry
                    .str("errno", attempt.errno_name())?
                    .num("errno_number", attempt.errno)?;
            }
            entry.finish()?;
        }
        array.finish()
    }
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (name, attempt) in self.tried() {
            write!(f, "{between}{name}={}", attempt.made)?;
            between = " ";
            if attempt.errno != 0 {
                write!(f, " ({} for {})", attempt.errno_name(), attempt.asked)?;
            }
        }
        Ok(())
    }
}
