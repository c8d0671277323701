// SPDX-License-Identifier: GPL-2.0

//! Places in the lists of an owner, which name nothing in those of another one.

/// The number by which an owner tells its own places from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) u32);

/// A place in a list of some owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    owner: Owner,
    index: u32,
}

impl Owner {
    /// The place at `index` of one of its lists; `None` beyond what a place can name.
    pub(crate) fn place(self, index: usize) -> Option<Place> {
        let index = u32::try_from(index).ok()?;
        Some(Place { owner: self, index })
    }

    /// The element of `list`, which is the owner's, at `place`; `None` where that is another
    /// owner's or beyond the list.
    pub(crate) fn get<T>(self, list: &[T], place: Place) -> Option<&T> {
        self.index(place).and_then(|index| list.get(index))
    }

    /// As [`Self::get`], to be changed.
    pub(crate) fn get_mut<T>(self, list: &mut [T], place: Place) -> Option<&mut T> {
        self.index(place).and_then(|index| list.get_mut(index))
    }

    fn index(self, place: Place) -> Option<usize> {
        (place.owner == self).then_some(place.index as usize)
    }
}
