// SPDX-License-Identifier: GPL-2.0

//! Records of the failures of stores to keep data, and of the clients that have been told.
//!
//! The kernel reports a writeback error once per open file, and all clients of a store share one
//! open file. So a store has a [`Ledger`] that numbers its failures, and holds for each client the
//! number of the last failure that the client is known to have been told of. A flush or FUA of a
//! client succeeds only if that is the last failure of the store.
//!
//! Ledgers belong to the module, not to a command. A server that is restarted on the same store
//! continues with the ledger of the previous one, as long as a client of that one may come back. A
//! ledger with failures that such a client has not been told of keeps the module loaded.
//!
//! Lock order: the table, then a ledger.

#![forbid(unsafe_code)]

use crate::kernel_ext::{
    atomic::raise,
    completion::{
        Completion,
        Waited, //
    },
    file::{
        OpenFile,
        WritebackErrors, //
    },
    kthread::run_detached,
    module::ModuleRef,
    time::Deadline, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// Maximum number of absent clients in a ledger.
const MOST_AWAY: usize = 1024;

/// Time that a server waits for a store that another server writes to, in ms. The other one may be
/// about to end.
const PATIENCE_MS: u32 = 2000;

/// Minimum time between two lines of a kind in the log about one store, in ms.
const QUIET_MS: u32 = 10_000;

/// The ledgers of this module.
#[pin_data]
pub(crate) struct Ledgers {
    #[pin]
    all: Mutex<KVec<Arc<Ledger>>>,
}

impl Ledgers {
    /// Creates an empty table of ledgers. May sleep.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                all <- new_mutex!(KVec::new(), "krping_ledgers"),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns the ledger of `store` for a server that has opened it as `file`, and holds it for
    /// the server, which writes to the store unless `read_only`. A server that writes waits a while
    /// for another one to end that does. `module` is this one. Process context of the writer;
    /// sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` if both this server and another one want to write to the store; `EINTR`; `ENOMEM`.
    pub(super) fn open(
        self: &Arc<Self>,
        store: u64,
        file: &OpenFile,
        read_only: bool,
        module: &'static ThisModule,
    ) -> Result<Hold> {
        self.purge();
        let ledger = self.ledger(store, file)?;
        let deadline = Deadline::after_ms(PATIENCE_MS);
        while !ledger.take(file, read_only) {
            match ledger.freed.wait_interruptible(deadline) {
                Waited::Completed => {}
                Waited::TimedOut => return Err(EBUSY),
                Waited::Interrupted => return Err(EINTR),
            }
        }
        Ok(Hold {
            ledgers: self.clone(),
            ledger,
            read_only,
            module,
        })
    }

    fn ledger(&self, store: u64, file: &OpenFile) -> Result<Arc<Ledger>> {
        let mut all = self.all.lock();
        if let Some(known) = all.iter().find(|ledger| ledger.store == store) {
            return Ok(known.clone());
        }
        let ledger = Ledger::new(store, file.unseen_errors())?;
        all.push(ledger.clone(), GFP_KERNEL)?;
        Ok(ledger)
    }

    /// Drops the ledgers that have neither servers nor clients that may come back.
    fn purge(&self) {
        self.all.lock().retain(|ledger| ledger.is_wanted());
    }
}

struct State {
    /// Position up to which the kernel's writeback errors have been checked.
    errors: WritebackErrors,
    /// Number of servers that have the store open.
    holders: u32,
    /// True if one of these servers writes to the store.
    written: bool,
    clients: KVec<(Arc<Account>, Option<Deadline>)>,
    /// True while a thread keeps the module for the ledger.
    keeps_module: bool,
    /// Deadline until which further failures are not logged.
    quiet: Option<Deadline>,
    /// Deadline until which further writes without room are not logged.
    quiet_about_room: Option<Deadline>,
}

/// Number of a store's last failure; 0 if there was none. Changed only with the ledger locked.
struct Failures(Atomic<u64>);

impl Failures {
    fn number(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The failures of one store.
#[pin_data]
pub(crate) struct Ledger {
    store: u64,
    failures: Arc<Failures>,
    #[pin]
    state: Mutex<State>,
    /// Signaled when a server has closed the store.
    #[pin]
    freed: Completion,
    /// Signaled when a server has opened the store.
    #[pin]
    taken: Completion,
}

impl State {
    /// Forgets the clients that have not come back in time.
    fn purge(&mut self) {
        self.clients
            .retain(|(_, until)| until.is_none_or(|until| !until.passed()));
    }

    /// Returns the earliest deadline of the clients that have not been told of all failures, if no
    /// server has the store and there are any.
    fn untold(&mut self) -> Option<Deadline> {
        self.purge();
        let untold = |(account, until): &(Arc<Account>, Option<Deadline>)| {
            let until = account.check().is_err().then_some(*until)?;
            Some(until.unwrap_or(Deadline::never()))
        };
        let all = self.clients.iter().filter_map(untold);
        all.reduce(Deadline::sooner).filter(|_| self.holders == 0)
    }
}

impl Ledger {
    fn new(store: u64, errors: WritebackErrors) -> Result<Arc<Self>> {
        let failures = Arc::new(Failures(Atomic::new(0)), GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                store,
                failures,
                state <- new_mutex!(
                    State {
                        errors,
                        holders: 0,
                        written: false,
                        clients: KVec::new(),
                        keeps_module: false,
                        quiet: None,
                        quiet_about_room: None,
                    },
                    "krping_ledger"
                ),
                freed <- Completion::new(),
                taken <- Completion::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Records the result of a flush of `file`, and any writeback error that the kernel has
    /// reported to somebody else. Sleeps.
    pub(super) fn note(&self, file: &OpenFile, result: Result) {
        let mut state = self.state.lock();
        let found = state.errors.look(file);
        let error = match (found, result) {
            (Ok(()), Ok(())) => return,
            (Err(error), _) | (Ok(()), Err(error)) => error,
        };
        let number = self.failures.number().wrapping_add(1);
        self.failures.0.store(number, Relaxed);
        let is_quiet = state.quiet.is_some_and(|quiet| !quiet.passed());
        if !is_quiet {
            state.quiet = Some(Deadline::after_ms(QUIET_MS));
            pr_err!(
                "store {:016x}: what was written to it is lost (errno {}); each client is told by \
                 its flushes\n",
                self.store,
                -error.to_errno()
            );
        }
    }

    /// Logs that a write has found no room, unless that was logged lately. May sleep.
    pub(super) fn no_room(&self, error: Error) {
        let mut state = self.state.lock();
        if state.quiet_about_room.is_some_and(|quiet| !quiet.passed()) {
            return;
        }
        state.quiet_about_room = Some(Deadline::after_ms(QUIET_MS));
        pr_err!(
            "store {:016x}: no room for a client's write, which fails with ENOSPC (errno {} here): \
             free space in the file system that the store is on\n",
            self.store,
            -error.to_errno()
        );
    }

    /// Takes the store for a server that has opened it as `file`. Returns false if the server wants
    /// to write and another one already does.
    fn take(&self, file: &OpenFile, read_only: bool) -> bool {
        let mut state = self.state.lock();
        if state.written && !read_only {
            return false;
        }
        if state.holders == 0 {
            // Nothing was left to be written when the last server closed the store. Its inode may
            // have been another instance, the errors of which say nothing about this one.
            state.errors = file.unseen_errors();
        }
        state.written |= !read_only;
        state.holders = state.holders.wrapping_add(1);
        drop(state);
        self.taken.complete();
        true
    }

    fn release(&self, read_only: bool) {
        let mut state = self.state.lock();
        state.written &= read_only;
        state.holders = state.holders.wrapping_sub(1);
        drop(state);
        self.freed.complete();
    }

    /// Returns true if a server has the store, or a client may come back.
    fn is_wanted(&self) -> bool {
        let mut state = self.state.lock();
        state.purge();
        state.holders > 0 || !state.clients.is_empty()
    }

    /// Returns true if a client may come back.
    fn awaits_clients(&self) -> bool {
        let mut state = self.state.lock();
        state.purge();
        !state.clients.is_empty()
    }

    /// Keeps the module loaded while no server has the store and a client may come back that has
    /// not been told of all failures. May sleep.
    fn keep_module(self: &Arc<Self>, module: &'static ThisModule) {
        {
            let mut state = self.state.lock();
            if state.keeps_module || state.untold().is_none() {
                return;
            }
            state.keeps_module = true;
        }
        let kept = self.clone();
        let started = ModuleRef::get(module).and_then(|module| {
            run_detached(fmt!("krping_ledger"), module, move || {
                kept.wait_until_told();
            })
        });
        match started {
            Ok(()) => pr_warn!(
                "store {:016x}: a client that may come back has not been told of that: the module \
                 stays loaded until it has, or until it is too late for it\n",
                self.store
            ),
            Err(error) => {
                self.state.lock().keeps_module = false;
                pr_err!(
                    "store {:016x}: a client that may come back has not been told of that, and \
                     will not be if the module is unloaded now (errno {})\n",
                    self.store,
                    -error.to_errno()
                );
            }
        }
    }

    /// Waits until [`keep_module`](Self::keep_module) need not keep the module any more. The body
    /// of a thread.
    fn wait_until_told(&self) {
        loop {
            let next = {
                let mut state = self.state.lock();
                let next = state.untold();
                state.keeps_module = next.is_some();
                next
            };
            let Some(deadline) = next else {
                return;
            };
            let _ = self.taken.wait_interruptible(deadline);
        }
    }

    /// Returns the account of client `disk`. Creates it if there is none. A new client has never
    /// written to the store, so earlier failures do not concern it. Any other unknown client counts
    /// as told of nothing.
    fn account(&self, disk: u64, is_new: bool) -> Result<Arc<Account>> {
        let mut state = self.state.lock();
        for (account, until) in &mut state.clients {
            if account.disk == disk {
                *until = None;
                return Ok(account.clone());
            }
        }
        let told = if is_new { self.failures.number() } else { 0 };
        let account = Arc::new(
            Account {
                disk,
                failures: self.failures.clone(),
                told: Atomic::new(told),
            },
            GFP_KERNEL,
        )?;
        state.clients.push((account.clone(), None), GFP_KERNEL)?;
        Ok(account)
    }

    /// Keeps the account of absent client `disk` for `absence_ms` ms. Removes it for 0, or if the
    /// ledger has too many absent clients.
    fn leave(&self, disk: u64, absence_ms: u32) {
        let mut state = self.state.lock();
        let away = |(_, until): &(Arc<Account>, Option<Deadline>)| until.is_some();
        let full = state.clients.iter().filter(|client| away(client)).count() >= MOST_AWAY;
        if absence_ms == 0 || full {
            state.clients.retain(|(account, _)| account.disk != disk);
            return;
        }
        for (account, until) in &mut state.clients {
            if account.disk == disk {
                *until = Some(Deadline::after_ms(absence_ms));
            }
        }
    }
}

/// A server's use of a store, until it is dropped.
pub(crate) struct Hold {
    ledgers: Arc<Ledgers>,
    ledger: Arc<Ledger>,
    read_only: bool,
    module: &'static ThisModule,
}

impl Hold {
    /// Returns true if what was written through this hold must be flushed before it is dropped: a
    /// client may come back, and ask for that.
    pub(super) fn must_settle(&self) -> bool {
        !self.read_only && self.ledger.awaits_clients()
    }

    /// Returns the ledger of the store's failures.
    pub(super) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.ledger.release(self.read_only);
        self.ledger.keep_module(self.module);
        self.ledgers.purge();
    }
}

/// Account of one client: the failures of a store that it has been told of.
pub(crate) struct Account {
    disk: u64,
    failures: Arc<Failures>,
    told: Atomic<u64>,
}

impl Account {
    /// Checks that a flush of the client may succeed.
    ///
    /// # Errors
    ///
    /// `EIO` if the client is not known to have been told of all failures.
    pub(super) fn check(&self) -> Result {
        if self.told.load(Relaxed) == self.failures.number() {
            Ok(())
        } else {
            Err(EIO)
        }
    }

    /// Returns the number of the last failure that an answer sent now tells of. Any context.
    pub(crate) fn telling(&self) -> u64 {
        self.failures.number()
    }

    /// Records that the client has been told of all failures up to `number`. Any context.
    pub(crate) fn tell(&self, number: u64) {
        raise(&self.told, number);
    }
}

/// A client's seat in the ledger of a store. Dropping it makes the client absent.
pub(crate) struct Seat {
    ledger: Arc<Ledger>,
    account: Arc<Account>,
    /// Time that the client may take to come back, in ms.
    absence_ms: u32,
}

impl Seat {
    /// Creates the seat of client `disk`, which may be absent for `absence_ms` ms. A client that
    /// is not `is_new` has written to the store before. May sleep.
    pub(crate) fn new(
        ledger: &Arc<Ledger>,
        disk: u64,
        is_new: bool,
        absence_ms: u32,
    ) -> Result<Self> {
        Ok(Self {
            account: ledger.account(disk, is_new)?,
            ledger: ledger.clone(),
            absence_ms,
        })
    }

    /// Returns the account of the client.
    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Notes that the client does not come back: dropping the seat removes its account.
    pub(crate) fn give_up(&mut self) {
        self.absence_ms = 0;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.ledger.leave(self.account.disk, self.absence_ms);
    }
}
