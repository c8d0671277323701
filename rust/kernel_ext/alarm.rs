// SPDX-License-Identifier: GPL-2.0

//! A timer that calls a function while another one runs.
//!
//! The kernel crate's `HrTimer` calls back on data that lives for ever or is counted. Here the
//! function may borrow from its caller, as the timer is gone when [`with_alarm`] returns.
//!
//! C header: `include/linux/hrtimer.h`

use super::time::monotonic_ns;
use kernel::{
    impl_has_hr_timer,
    prelude::*,
    time::{
        hrtimer::{
            HrTimer,
            HrTimerCallback,
            HrTimerCallbackContext,
            HrTimerExpires,
            HrTimerRestart,
            RelativePinnedSoftMode,
            ScopedHrTimerPointer, //
        },
        Delta,
        Monotonic, //
    }, //
};

/// A timer, and the function that it calls.
///
/// # Invariants
///
/// While the timer is started, `call` may be called with `function`.
#[pin_data]
struct Alarm {
    #[pin]
    timer: HrTimer<Self>,
    /// Calls `function`.
    call: unsafe fn(*const ()) -> Option<u64>,
    function: *const (),
}

// SAFETY: `function` points to what is `Sync`, see `with_alarm`.
unsafe impl Send for Alarm {}
// SAFETY: As above.
unsafe impl Sync for Alarm {}

impl Alarm {
    fn new(call: unsafe fn(*const ()) -> Option<u64>, function: *const ()) -> impl PinInit<Self> {
        pin_init!(Self {
            timer <- HrTimer::new(),
            call,
            function,
        })
    }
}

impl HrTimerCallback for Alarm {
    type Pointer<'a> = Pin<&'a Self>;

    fn run(this: Pin<&Self>, mut context: HrTimerCallbackContext<'_, Self>) -> HrTimerRestart {
        // SAFETY: By the type invariant, as the timer that calls this is started.
        let Some(next) = (unsafe { (this.call)(this.function) }) else {
            return HrTimerRestart::NoRestart;
        };
        let expired = this.timer.expires();
        let ahead = ahead_of(next, u64::try_from(expired.as_nanos()).unwrap_or(0));
        context.forward(expired, ahead);
        HrTimerRestart::Restart
    }
}

impl_has_hr_timer! {
    impl HasHrTimer<Self> for Alarm {
        mode: RelativePinnedSoftMode<Monotonic>, field: self.timer
    }
}

/// Returns the time from `now` to `moment`, both in nanoseconds; at least 1 ns.
fn ahead_of(moment: u64, now: u64) -> Delta {
    let ns = i64::try_from(moment.saturating_sub(now)).unwrap_or(i64::MAX);
    Delta::from_nanos(ns.max(1))
}

/// Calls `f`. Until that returns, a timer on this CPU calls `ring` in a softirq: first at the
/// moment `first` of [`monotonic_ns`], and then at the moment that `ring` returned, unless that is
/// `None`. Process context; may sleep.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn with_alarm<R, F>(first: u64, ring: &F, f: impl FnOnce() -> R) -> Result<R>
where
    F: Fn() -> Option<u64> + Sync,
{
    /// # Safety
    ///
    /// `function` points to an `F` that outlives the call.
    unsafe fn call<F: Fn() -> Option<u64>>(function: *const ()) -> Option<u64> {
        // SAFETY: By this function's contract.
        let ring = unsafe { &*function.cast::<F>() };
        ring()
    }
    // INVARIANT: `ring` is borrowed until this function returns. `start_scoped` starts the timer,
    // and before it returns, it stops it and waits until the function does not run any more.
    let alarm = KBox::pin_init(
        Alarm::new(call::<F>, core::ptr::from_ref(ring).cast()),
        GFP_KERNEL,
    )?;
    Ok(alarm
        .as_ref()
        .start_scoped(ahead_of(first, monotonic_ns()), f))
}
