// SPDX-License-Identifier: GPL-2.0

//! Lists of alternatives in sentences: `a, b or c`.

use core::fmt::{
    self,
    Display, //
};

/// Shows the items of an iterator as `a, b or c`.
pub(crate) struct Alternatives<I>(pub(crate) I);

impl<I: Iterator<Item: Display> + Clone> Display for Alternatives<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items = self.0.clone();
        let mut separator = "";
        while let Some(item) = items.next() {
            write!(f, "{separator}{item}")?;
            let mut after_next = items.clone().skip(1);
            separator = if after_next.next().is_some() {
                ", "
            } else {
                " or "
            };
        }
        Ok(())
    }
}
