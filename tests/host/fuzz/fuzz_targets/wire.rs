// SPDX-License-Identifier: GPL-2.0

//! Messages, as any peer may send them: what decodes encodes to the same bytes,
//! and what does not has a sentence.

use crate::logic::{
    block::{
        answer::{
            DataAnswer,
            Response, //
        },
        check,
        survey::Survey,
        Action,
        BareWrite,
        MessageError,
        Request, //
    },
    pingpong::check_request,
    wire::{
        control::Control,
        extensions::Extensions,
        hello::{
            announced,
            Geometry,
            Hello, //
        },
        Advertisement,
        PrivateData,
        Reject, //
    }, //
};

/// What disks, taps and their servers send each other.
fn blocks(bytes: &[u8]) {
    let whole = bytes.get(..PrivateData::LEN);
    match Hello::decode(bytes) {
        Ok(hello) => {
            assert_eq!(whole, Some(&hello.encode()[..]));
            assert_eq!(announced(bytes), Ok(Some(hello.test)));
        }
        Err(error) => assert!(error.to_string().len() > 30, "{error}"),
    }
    let geometry = Geometry::decode(bytes);
    match geometry {
        Ok(geometry) => {
            assert_eq!(whole, geometry.encode().get(..PrivateData::LEN));
            assert_eq!(geometry.continues(&geometry), None);
        }
        Err(error) => assert!(error.to_string().len() > 30, "{error}"),
    }
    // The geometry of a store, then a request to it.
    let (limits, message) = match geometry {
        Ok(geometry) => (Some(geometry.limits()), &bytes[PrivateData::LEN..]),
        Err(_) => (None, bytes),
    };
    let len = message.len() as u32;
    if let Some(header) = message.first_chunk() {
        match Request::decode(header, len) {
            Ok(request) => {
                assert_eq!(request.encode(), *header);
                let follows = request.inline && request.action == Action::Write;
                assert_eq!(len, 32 + if follows { request.bytes() } else { 0 });
                assert!(!request.inline || request.bytes() <= Request::INLINE);
                assert!(DataAnswer::to(&request).answers(request.seq));
                if let Some(limits) = limits {
                    let end = request.offset.checked_add(request.bytes().into());
                    let inside = end.is_some_and(|end| end <= limits.size);
                    let touches = !request.action.is_control()
                        && !matches!(request.action, Action::Flush | Action::Note);
                    assert!(check(&request, &limits).is_err() || inside || !touches);
                }
            }
            Err(error) => assert!(error.to_string().starts_with("sent "), "{error}"),
        }
    }
    match Response::count(len) {
        Ok(count) => {
            let responses = message.chunks_exact(Response::LEN);
            assert_eq!(responses.len(), count);
            responses.for_each(response);
        }
        Err(error) => assert!(error.to_string().starts_with("sent "), "{error}"),
    }
}

/// The list of what a server has, for a disk whose depth comes before it.
fn survey(bytes: &[u8]) {
    let Some(([high, low], message)) = bytes.split_first_chunk() else {
        return;
    };
    let depth = u16::from_be_bytes([*high, *low]) % 1024 + 1;
    let mut whole = [0; Survey::MOST];
    for (byte, sent) in whole.iter_mut().zip(message) {
        *byte = *sent;
    }
    let len = message.len() as u32;
    match Survey::decode(&whole, len, depth) {
        Ok(survey) => {
            assert!(Survey::may_be(len) && Response::count(len).is_err());
            assert_eq!(survey.encode(), whole);
            assert!((depth..=u16::MAX).all(|tag| !survey.has(tag)));
        }
        Err(error) => assert!(error.to_string().starts_with("sent "), "{error}"),
    }
    let extensions = Extensions::decode(bytes);
    if let Some(private) = bytes.first_chunk() {
        assert_eq!(Extensions::decode(&extensions.encode(*private)), extensions);
    }
}

/// One of the answers in a message.
fn response(bytes: &[u8]) {
    let bytes = bytes.first_chunk().unwrap();
    match Response::decode(bytes) {
        Ok(response) => assert_eq!(response.encode(), *bytes),
        Err(error) => assert!(error.to_string().starts_with("sent "), "{error}"),
    }
}

/// What comes with messages that are nothing but data: an immediate, how much
/// data, and to whom.
fn immediates(bytes: &[u8]) {
    let Some((immediate, rest)) = bytes.split_first_chunk() else {
        return;
    };
    let immediate = u32::from_be_bytes(*immediate);
    let answer = DataAnswer::decode(immediate);
    assert_eq!(answer.encode(), immediate);
    assert!(answer.answers(immediate));
    let Some((size, rest)) = rest.split_first_chunk() else {
        return;
    };
    let size = u32::from_be_bytes(*size);
    let Some((depth, rest)) = rest.split_first_chunk() else {
        return;
    };
    let bare = BareWrite::new(u16::from_be_bytes(*depth));
    match bare.decode(immediate, size) {
        Ok(write) => {
            let again = bare.encode(write.tag, write.offset, write.bytes());
            assert_eq!(again, Some(immediate));
            let len = Request::LEN as u32 + size;
            assert_eq!(Request::decode(&write.encode(), len), Ok(write));
        }
        Err(error) => assert_eq!(error, MessageError::Length(size, Request::INLINE)),
    }
    // Then what somebody would write.
    let Some((tag, rest)) = rest.split_first_chunk() else {
        return;
    };
    let tag = u16::from_be_bytes(*tag);
    if let Some(offset) = rest.first_chunk() {
        let offset = u64::from_be_bytes(*offset);
        if let Some(immediate) = bare.encode(tag, offset, size) {
            let write = bare.decode(immediate, size).unwrap();
            assert_eq!((write.tag, write.offset), (tag, offset));
        }
    }
}

/// Decodes `bytes` as each message.
pub(crate) fn fuzz(bytes: &[u8]) {
    blocks(bytes);
    survey(bytes);
    immediates(bytes);
    match PrivateData::decode(bytes) {
        Ok(Some(data)) => {
            assert_eq!(bytes.get(..PrivateData::LEN), Some(&data.encode()[..]));
            if let Err(violation) = check_request(&data) {
                assert!(violation.to_string().len() > 20, "{violation}");
            }
        }
        Ok(None) => assert!(!bytes.starts_with(b"krpg")),
        Err(error) => assert!(error.to_string().len() > 30, "{error}"),
    }
    if let Some(reject) = Reject::decode(bytes) {
        assert_eq!(Reject::decode(&reject.encode()), Some(reject));
        assert!(reject.to_string().len() > 20, "{reject}");
    }
    if let Some(message) = bytes.first_chunk() {
        if let Some(control) = Control::decode(message) {
            assert_eq!(control.encode(), *message);
        }
    }
    if let Some(message) = bytes.first_chunk() {
        assert_eq!(Advertisement::decode(message).encode(), *message);
    }
}
