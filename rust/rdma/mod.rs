// SPDX-License-Identifier: GPL-2.0

//! The kernel's verbs: devices, completion queues, queue pairs and work requests.

pub(crate) mod cq;
pub(crate) mod device;
pub(crate) mod qp;
pub(crate) mod wr;
