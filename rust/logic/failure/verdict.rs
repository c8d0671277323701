// SPDX-License-Identifier: GPL-2.0

//! The result of a run that was expected to fail.

use super::Failure;

/// Returns the result of a run that ended with `result` and whose command has `expect=`: the
/// failure that was expected, or `None` where it ended well.
///
/// # Errors
///
/// The failure, or [`Failure::Unexpected`] where one was expected that did not come.
pub(crate) fn apply_expectation(
    expect: Option<i32>,
    result: Result<(), Failure>,
) -> Result<Option<Failure>, Failure> {
    match (expect.filter(|number| *number != 0), result) {
        (None, result) => result.map(|()| None),
        (Some(number), Ok(())) => Err(Failure::Unexpected(number)),
        (Some(number), Err(failure)) if failure.errno() == number => Ok(Some(failure)),
        (Some(_), Err(failure)) => Err(failure),
    }
}
