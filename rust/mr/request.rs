// SPDX-License-Identifier: GPL-2.0

//! Block requests as memory that a region can be mapped over.

use crate::{
    bindings,
    kernel_ext::blk::request::{
        Direction,
        Request, //
    },
    rdma::memory::{
        DmaDirection,
        ForeignMemory, //
    }, //
};
use kernel::prelude::*;

// SAFETY: The memory of a started request stays until the request is ended, which takes the
// `Request`; where that is dropped, it ends the request.
unsafe impl ForeignMemory for Request {
    fn direction(&self) -> Option<DmaDirection> {
        Request::direction(self).map(|direction| match direction {
            Direction::Out => DmaDirection::ToDevice,
            Direction::In => DmaDirection::FromDevice,
        })
    }

    fn fill(&self, list: &mut [bindings::scatterlist]) -> Result<usize> {
        Request::fill(self, list)
    }
}
