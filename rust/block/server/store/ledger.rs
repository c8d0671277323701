// SPDX-License-Identifier: GPL-2.0

//! What stores have failed to keep, and which clients have been told.
//!
//! The kernel tells of a failed write-back once for each open file, and a store is one open file
//! for all of its clients. So a store has a [`Ledger`], in which each failure has a number, and
//! each client the number of the last failure that it is known to have been told of. A flush or FUA
//! of a client succeeds only if that is the last one that there is.
//!
//! Ledgers belong to the module, not to a command: a server that is started anew on the same store
//! goes on with the ledger of the one before, as long as a client may come back that knows of
//! neither.
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

/// The most clients that a ledger has which are not there.
const MOST_AWAY: usize = 1024;

/// How long a store that another server has is waited for, in ms: that one may be about to end.
const PATIENCE_MS: u32 = 2000;

/// Between two lines in the log of failures of one store, in ms.
const QUIET_MS: u32 = 10_000;

/// The ledgers of this module.
#[pin_data]
pub(crate) struct Ledgers {
    #[pin]
    all: Mutex<KVec<Arc<Ledger>>>,
}

impl Ledgers {
    /// None yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                all <- new_mutex!(KVec::new(), "krping_ledgers"),
            }),
            GFP_KERNEL,
        )
    }

    /// The ledger of `store`, for a server that has opened it as `file`, to write to it unless it
    /// is `read_only`. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` where another server writes to it; `EINTR`; `ENOMEM`.
    pub(super) fn open(
        self: &Arc<Self>,
        store: u64,
        file: &OpenFile,
        read_only: bool,
    ) -> Result<Hold> {
        self.purge();
        let ledger = self.ledger(store, file)?;
        let deadline = Deadline::after_ms(PATIENCE_MS);
        while !ledger.take(read_only) {
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

    /// Forgets ledgers that nobody can ask for any more.
    fn purge(&self) {
        self.all.lock().retain(|ledger| ledger.is_wanted());
    }
}

struct State {
    /// What of the kernel's errors has been looked at.
    errors: WritebackErrors,
    /// Servers that have the store open.
    holders: u32,
    /// Whether one of them writes to it.
    written: bool,
    clients: KVec<(Arc<Account>, Option<Deadline>)>,
    /// Until when the log is not told of a further failure.
    quiet: Option<Deadline>,
}

/// The number of a store's last failure; 0 where there was none. Changed with the ledger locked.
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
    /// A server has closed the store.
    #[pin]
    freed: Completion,
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
                        quiet: None,
                    },
                    "krping_ledger"
                ),
                freed <- Completion::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Notes how making something of `file` durable has ended, and any failure that the kernel
    /// has told somebody else of. Sleeps.
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
                error.to_errno().saturating_neg()
            );
        }
    }

    /// Takes the store for a server, unless another one has it.
    fn take(&self, read_only: bool) -> bool {
        let mut state = self.state.lock();
        if state.written && !read_only {
            return false;
        }
        state.written |= !read_only;
        state.holders = state.holders.wrapping_add(1);
        true
    }

    fn release(&self, read_only: bool) {
        let mut state = self.state.lock();
        state.written &= read_only;
        state.holders = state.holders.wrapping_sub(1);
        drop(state);
        self.freed.complete();
    }

    /// Whether a server has it, or a client may come back.
    fn is_wanted(&self) -> bool {
        let mut state = self.state.lock();
        state
            .clients
            .retain(|(_, until)| until.is_none_or(|until| !until.passed()));
        state.holders > 0 || !state.clients.is_empty()
    }

    /// The account of client `disk`. One that has never written to the store is not concerned by
    /// what it has lost so far; one that has is, where nothing is known of it.
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

    /// Keeps the account of `disk` for `patience_ms` ms; 0 forgets it.
    fn leave(&self, disk: u64, patience_ms: u32) {
        let mut state = self.state.lock();
        let away = |(_, until): &(Arc<Account>, Option<Deadline>)| until.is_some();
        let full = state.clients.iter().filter(|client| away(client)).count() >= MOST_AWAY;
        if patience_ms == 0 || full {
            state.clients.retain(|(account, _)| account.disk != disk);
            return;
        }
        for (account, until) in &mut state.clients {
            if account.disk == disk {
                *until = Some(Deadline::after_ms(patience_ms));
            }
        }
    }
}

/// A server's use of a store, until it is dropped.
pub(crate) struct Hold {
    ledgers: Arc<Ledgers>,
    ledger: Arc<Ledger>,
    read_only: bool,
}

impl Hold {
    /// What the store has failed to keep.
    pub(super) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.ledger.release(self.read_only);
        self.ledgers.purge();
    }
}

/// What one client has been told of the failures of a store.
pub(crate) struct Account {
    disk: u64,
    failures: Arc<Failures>,
    told: Atomic<u64>,
}

impl Account {
    /// Whether a flush of the client may succeed.
    ///
    /// # Errors
    ///
    /// `EIO` where it is not known to have been told of all failures.
    pub(super) fn check(&self) -> Result {
        if self.told.load(Relaxed) == self.failures.number() {
            Ok(())
        } else {
            Err(EIO)
        }
    }

    /// Up to which failure an answer tells that is given now. Any context.
    pub(crate) fn telling(&self) -> u64 {
        self.failures.number()
    }

    /// Notes that the client has been told of all up to `number`. Any context.
    pub(crate) fn tell(&self, number: u64) {
        raise(&self.told, number);
    }
}

/// A client's place in the ledger of a store, until it is dropped.
pub(crate) struct Seat {
    ledger: Arc<Ledger>,
    account: Arc<Account>,
    /// How long it may take to come back, in ms.
    patience_ms: u32,
}

impl Seat {
    /// That of client `disk`, which has written to the store before unless it `is_new`, and may be
    /// gone for `patience_ms` ms. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        ledger: &Arc<Ledger>,
        disk: u64,
        is_new: bool,
        patience_ms: u32,
    ) -> Result<Self> {
        Ok(Self {
            account: ledger.account(disk, is_new)?,
            ledger: ledger.clone(),
            patience_ms,
        })
    }

    /// What the client has been told.
    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The client does not come back.
    pub(crate) fn give_up(&mut self) {
        self.patience_ms = 0;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.ledger.leave(self.account.disk, self.patience_ms);
    }
}
