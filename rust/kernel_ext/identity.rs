// SPDX-License-Identifier: GPL-2.0

//! Identity of files and block devices, by which they are recognized when they are opened again.

use super::{
    file::{
        Kind,
        OpenFile, //
    },
    medium::Medium, //
};
use crate::bindings;
use core::ptr::NonNull;

/// Identity of a file, unique on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A regular file: the device that it is on, its inode number, and the generation of the inode.
    File(u32, u64, u32),
    /// A block device: the medium that it has at present.
    Device(Medium),
}

impl OpenFile {
    /// Returns the identity of the file. It changes if a file is removed and created again, on file
    /// systems that count generations, and if a device gets another medium. Process context; may
    /// sleep.
    pub(crate) fn identity(&self) -> Identity {
        // SAFETY: By the type invariant the file is open, so its inode and the file
        // system of that are there; these members of theirs never change.
        unsafe {
            let inode = (*self.as_ptr()).f_inode;
            let bdev = match self.kind() {
                Kind::Regular => None,
                Kind::Block => NonNull::new(bindings::rust_helper_file_bdev(self.as_ptr())),
            };
            match bdev {
                Some(bdev) => Identity::Device(Medium::of(bdev)),
                None => Identity::File(
                    (*(*inode).i_sb).s_dev,
                    (*inode).i_ino,
                    (*inode).i_generation,
                ),
            }
        }
    }
}
