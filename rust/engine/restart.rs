// SPDX-License-Identifier: GPL-2.0

//! Keeps commands running across a `write()` that the kernel restarts.
//!
//! A writer that is frozen, stopped or traced, or has task work to do, must first leave the kernel.
//! Its `write()` then returns `ERESTARTSYS`, and the kernel calls again with the same arguments,
//! unless a signal handler ran that ends system calls. In between the command continues here
//! without its writer: [`Restarts::wait`] leaves it here, and [`Restarts::take`] picks it up again.
//!
//! A writer may also never come back: it was killed, its handler did not return or ended the call,
//! or its `write()` came from io_uring. Then the command ends as it does on a signal. Three parties
//! ensure this: the release of the file, the next command of the same task, and a thread that
//! checks, while the command waits here, whether the task still exists.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        errors::Errno,
        worker::ThreadName, //
    },
    kernel_ext::{
        completion::{
            Completion,
            Waited, //
        },
        kthread::run_detached,
        module::ModuleRef,
        procfs::FileId,
        signal::{
            Caller,
            Disturbance, //
        },
        time::Deadline, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Interval in ms for checking on a writer that is to come back.
const LOOK_MS: u32 = 100;

/// Timeout in ms for a writer that could come back, but does not.
const RETURN_MS: u32 = 10_000;

/// A running command that a `write()` waits for.
pub(crate) trait Awaited: Send + Sync {
    /// Waits for the end of the command, and returns its result; `None` if something disturbs the
    /// calling task first. May sleep.
    fn wait(&self) -> Option<Result>;

    /// Ends the command because of a signal, and returns its result. Sleeps until it has ended.
    fn interrupt(&self, why: Disturbance) -> Result;
}

/// Command that a `write()` waits for; `None` if the command continues without its writer.
pub(crate) type Waiting = Option<Arc<dyn Awaited>>;

/// The `write()` of a command.
pub(crate) struct Write {
    /// File that was written to.
    pub(crate) file: FileId,
    /// Text that was written.
    pub(crate) text: KVec<u8>,
    /// Keeps the module loaded.
    pub(crate) in_use: ModuleRef,
}

/// A command whose `write()` will be restarted.
#[pin_data]
struct Left {
    awaited: Arc<dyn Awaited>,
    writer: Caller,
    write: Write,
    /// Completed when somebody has taken the command.
    #[pin]
    taken: Completion,
}

/// The commands that wait for their writers.
#[pin_data]
pub(crate) struct Restarts {
    #[pin]
    left: Mutex<KVec<Arc<Left>>>,
}

impl Restarts {
    /// Creates an empty list.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                left <- new_mutex!(KVec::new(), "krping_restarts"),
            }),
            GFP_KERNEL,
        )
    }

    /// Waits for the end of a command. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// The error of the command; `ERESTARTSYS` if the writer must first do something that does not
    /// end a system call.
    pub(crate) fn wait(self: &Arc<Self>, awaited: Arc<dyn Awaited>, write: Write) -> Result {
        if let Some(result) = awaited.wait() {
            return result;
        }
        let mut why = Disturbance::pending();
        if why == Disturbance::Passing {
            match self.leave(awaited.clone(), write) {
                Ok(()) => return Err(ERESTARTSYS),
                Err(error) => {
                    pr_err!("a disturbed command cannot go on: {}\n", Errno(error));
                    why = Disturbance::Signal;
                }
            }
        }
        awaited.interrupt(why)
    }

    fn leave(self: &Arc<Self>, awaited: Arc<dyn Awaited>, write: Write) -> Result {
        let module = write.in_use.another()?;
        let left = Arc::pin_init(
            pin_init!(Left {
                awaited,
                writer: Caller::current(),
                write,
                taken <- Completion::new(),
            }),
            GFP_KERNEL,
        )?;
        self.left.lock().push(left.clone(), GFP_KERNEL)?;
        let (restarts, watched) = (self.clone(), left.clone());
        run_detached(fmt!("{}", ThreadName(0)), module, move || {
            restarts.watch(&watched)
        })
        .inspect_err(|_| {
            self.remove(|each| Arc::ptr_eq(each, &left));
        })
    }

    /// Takes the command that the calling task left when it wrote `text` to `file`. Ends a
    /// different command that the task left. May sleep.
    pub(crate) fn take(&self, file: FileId, text: &[u8]) -> Waiting {
        let left = self.remove(|left| left.writer.is_current())?;
        if left.write.file == file && *left.write.text == *text {
            return Some(left.awaited.clone());
        }
        left.abandon();
        None
    }

    /// Ends the commands that were left by writes to `file`. Sleeps until they have ended.
    pub(crate) fn released(&self, file: FileId) {
        while let Some(left) = self.remove(|left| left.write.file == file) {
            left.abandon();
        }
    }

    /// Removes the first command that `is` accepts. The caller owns it then.
    fn remove(&self, is: impl Fn(&Arc<Left>) -> bool) -> Option<Arc<Left>> {
        let mut all = self.left.lock();
        let index = all.iter().position(is)?;
        let left = all.remove(index).ok()?;
        left.taken.complete_all();
        Some(left)
    }

    /// Ends `left` if its writer does not come back. The body of the command's watcher thread.
    fn watch(&self, left: &Arc<Left>) {
        let mut returns = Deadline::after_ms(RETURN_MS);
        while left.taken.wait_interruptible(Deadline::after_ms(LOOK_MS)) != Waited::Completed {
            if left.writer.is_halted() {
                returns = Deadline::after_ms(RETURN_MS);
            } else if left.writer.is_exiting() || returns.passed() {
                if let Some(left) = self.remove(|each| Arc::ptr_eq(each, left)) {
                    left.abandon();
                }
                return;
            }
        }
    }
}

impl Left {
    /// Ends the command, because its writer does not come back.
    fn abandon(&self) {
        // No writer is left to return the result to; it is in the log.
        let _ = self.awaited.interrupt(Disturbance::Signal);
    }
}
