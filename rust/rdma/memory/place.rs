// SPDX-License-Identifier: GPL-2.0

//! Indices into the lists of one owner, which name nothing in the lists of another.

/// Bits of a place that are the index. Those above are the number of the owner: at one owner a
/// microsecond there are enough for half a year.
const INDEX_BITS: u32 = 20;

/// The largest number of an owner.
const LAST_OWNER: u64 = u64::MAX >> INDEX_BITS;

/// The number by which an owner tells its own places from those of others. No other has had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

/// An index into a list of one owner. As short as an index and a number can be, since each request
/// names several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Owner {
    /// Returns the owner with a `number`; `None` beyond the last one.
    pub(crate) fn of_number(number: u64) -> Option<Self> {
        (number <= LAST_OWNER).then_some(Self(number))
    }

    /// Returns the place at `index` of one of its lists; `None` beyond what a place can name.
    pub(crate) fn place(self, index: usize) -> Option<Place> {
        let index = u64::try_from(index).ok()?;
        (index >> INDEX_BITS == 0).then_some(Place(self.0 << INDEX_BITS | index))
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

    /// Returns the index that `place` is; `None` where it is another owner's.
    pub(crate) fn index(self, place: Place) -> Option<usize> {
        let own = place.0 >> INDEX_BITS == self.0;
        own.then_some((place.0 & ((1 << INDEX_BITS) - 1)) as usize)
    }
}
