// SPDX-License-Identifier: GPL-2.0

//! Spinlocks that may also be taken by softirqs or by hard interrupts.
//!
//! The kernel crate's `SpinLock` only offers `spin_lock()`, which deadlocks if an interrupt on the
//! same CPU takes the lock, too.
//!
//! C header: `include/linux/spinlock.h`

use crate::bindings;
use kernel::{
    ffi::{
        c_char,
        c_ulong, //
    },
    sync::lock::{
        Backend,
        Lock, //
    }, //
};

/// A lock shared by process context and softirqs: bottom halves are disabled while it is held.
pub(crate) type SpinLockBh<T> = Lock<T, BhBackend>;

/// A lock for any context: interrupts are disabled while it is held.
pub(crate) type SpinLockIrq<T> = Lock<T, IrqBackend>;

/// `spin_lock_bh()` and `spin_unlock_bh()`.
pub(crate) struct BhBackend;

/// `spin_lock_irqsave()` and `spin_unlock_irqrestore()`.
pub(crate) struct IrqBackend;

// SAFETY: `spinlock_t` gives mutual exclusion; `relock` is the default, which
// locks in the same way.
unsafe impl Backend for BhBackend {
    type State = bindings::spinlock_t;
    type GuardState = ();

    unsafe fn init(ptr: *mut Self::State, name: *const c_char, key: *mut bindings::lock_class_key) {
        // SAFETY: The caller vouches for `ptr`, `name` and `key`.
        unsafe { bindings::__spin_lock_init(ptr, name, key) }
    }

    unsafe fn lock(ptr: *mut Self::State) {
        // SAFETY: The caller vouches that `ptr` has been initialised.
        unsafe { bindings::rust_helper_spin_lock_bh(ptr) }
    }

    unsafe fn try_lock(ptr: *mut Self::State) -> Option<()> {
        // SAFETY: The caller vouches that `ptr` has been initialised.
        (unsafe { bindings::rust_helper_spin_trylock_bh(ptr) } != 0).then_some(())
    }

    unsafe fn unlock(ptr: *mut Self::State, (): &()) {
        // SAFETY: The caller owns the lock.
        unsafe { bindings::rust_helper_spin_unlock_bh(ptr) }
    }

    unsafe fn assert_is_held(ptr: *mut Self::State) {
        // SAFETY: The caller vouches that `ptr` has been initialised.
        unsafe { bindings::spin_assert_is_held(ptr) }
    }
}

// SAFETY: As for `BhBackend`.
unsafe impl Backend for IrqBackend {
    type State = bindings::spinlock_t;
    type GuardState = c_ulong;

    unsafe fn init(ptr: *mut Self::State, name: *const c_char, key: *mut bindings::lock_class_key) {
        // SAFETY: The caller vouches for `ptr`, `name` and `key`.
        unsafe { bindings::__spin_lock_init(ptr, name, key) }
    }

    unsafe fn lock(ptr: *mut Self::State) -> c_ulong {
        // SAFETY: The caller vouches that `ptr` has been initialised.
        unsafe { bindings::rust_helper_spin_lock_irqsave(ptr) }
    }

    unsafe fn try_lock(ptr: *mut Self::State) -> Option<c_ulong> {
        let mut flags = 0;
        // SAFETY: The caller vouches that `ptr` has been initialised; `flags`
        // is valid for writes.
        (unsafe { bindings::rust_helper_spin_trylock_irqsave(ptr, &mut flags) } != 0)
            .then_some(flags)
    }

    unsafe fn unlock(ptr: *mut Self::State, flags: &c_ulong) {
        // SAFETY: The caller owns the lock, and `flags` came from taking it.
        unsafe { bindings::rust_helper_spin_unlock_irqrestore(ptr, *flags) }
    }

    unsafe fn assert_is_held(ptr: *mut Self::State) {
        // SAFETY: The caller vouches that `ptr` has been initialised.
        unsafe { bindings::spin_assert_is_held(ptr) }
    }
}
