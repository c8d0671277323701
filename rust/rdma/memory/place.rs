// SPDX-License-Identifier: GPL-2.0

//! Indices into the lists of one owner, which name nothing in the lists of another.

/// The number by which an owner tells its own places from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) u32);

/// An index into a list of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    owner: Owner,
    index: u32,
}

impl Owner {
    /// Returns the place at `index` of one of its lists; `None` beyond what a place can name.
    pub(crate) fn place(self, index: usize) -> Option<Place> {
        let index = u32::try_from(index).ok()?;
        Some(Place { owner: self, index })
    }

    /// Returns the element of `list`, which is the owner's, at `place`; `None` where that is
    /// another owner's or beyond the list.
    pub(crate) fn get<T>(self, list: &[T], place: Place) -> Option<&T> {
        self.index(place).and_then(|index| list.get(index))
    }

    /// Returns the element of `list`, which is the owner's, at `place`, to be changed; `None`
    /// where that is another owner's or beyond the list.
    pub(crate) fn get_mut<T>(self, list: &mut [T], place: Place) -> Option<&mut T> {
        self.index(place).and_then(|index| list.get_mut(index))
    }

    fn index(self, place: Place) -> Option<usize> {
        (place.owner == self).then_some(place.index as usize)
    }
}
