// SPDX-License-Identifier: GPL-2.0

//! What is said of a device: its claims, its port, and what commands can ask for.

use crate::logic::{
    device::{
        caps::{
            Caps,
            Kernel,
            Limits,
            Management, //
        },
        claims::{
            Atomics,
            Claims,
            Feature,
            Features,
            Port, //
        },
        preflight::{
            Attempt,
            Item,
            Preflight, //
        }, //
    },
    text::{
        json::Object,
        Text, //
    }, //
};
use serde_json::{
    json,
    Value, //
};

/// A kernel that has everything.
const ALL: Kernel = Kernel {
    takes_bio_vecs: true,
    tells_programs: true,
};

fn claims(features: &[Feature]) -> Claims {
    let mut set = Features::default();
    features.iter().for_each(|feature| set.insert(*feature));
    Claims {
        firmware: Text::new("1.2.3").unwrap(),
        node_guid: 0x0123_4567_89ab_cdef,
        vendor_id: 0x2c9,
        vendor_part_id: 4121,
        hw_ver: 1,
        ports: 2,
        max_qp: 1000,
        max_qp_wr: 32768,
        max_srq: 960,
        max_srq_wr: 1024,
        max_cq: 1001,
        max_cqe: 65535,
        max_mr: 1002,
        max_pd: 1003,
        max_mcast_grp: 8192,
        max_mcast_qp_attach: 240,
        max_send_sge: 30,
        max_recv_sge: 32,
        max_sge_rd: 1,
        max_qp_rd_atom: 16,
        max_qp_init_rd_atom: 128,
        max_fast_reg_pages: 512,
        max_mr_size: u64::MAX,
        page_size_cap: 0xffff_f000,
        device_cap_flags: 1 << 41,
        features: set,
        atomics: Atomics::Device,
    }
}

const PORT: Port = Port {
    number: 1,
    state: 4,
    ethernet: true,
    max_mtu: 4096,
    active_mtu: 1024,
    max_message: 1 << 31,
    rate: 100_000,
};

/// With the most of each item.
fn preflight(bytes: u32, requests: u32, sge: u32, inline: u32, depth: u32) -> Preflight {
    let mut preflight = Preflight::default();
    for (item, made) in [
        (Item::MostBytes, bytes),
        (Item::MostRequests, requests),
        (Item::MostSge, sge),
        (Item::MostInline, inline),
        (Item::MostDepth, depth),
    ] {
        preflight.note(item, Attempt::of(made, 0));
    }
    preflight
}

fn written(caps: &Caps) -> Value {
    let mut text = String::new();
    let mut object = Object::new(&mut text).unwrap();
    caps.write(&mut object).unwrap();
    object.finish().unwrap();
    let found: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    found["caps"].clone()
}

#[test]
fn all_of_it_in_a_result() {
    let claims = claims(&[
        Feature::VirtDma,
        Feature::MemMgtExtensions,
        Feature::SendWithInv,
    ]);
    let preflight = preflight(2 << 20, 1026, 16, 828, 512);
    let limits = Limits::new(&claims, &preflight, false, 2, ALL);
    let caps = Caps {
        claims,
        port: PORT,
        management: Management::Answers,
        preflight,
        limits: Some(limits),
    };
    let found = written(&caps);
    assert_eq!(
        found["device"],
        json!({
            "firmware": "1.2.3", "node_guid": "0123:4567:89ab:cdef", "vendor_id": 0x2c9,
            "vendor_part_id": 4121, "hw_ver": 1, "ports": 2,
        })
    );
    assert_eq!(
        found["port"],
        json!({
            "number": 1, "state": "ACTIVE", "link_layer": "Ethernet", "max_mtu_bytes": 4096,
            "active_mtu_bytes": 1024, "max_message_bytes": 1u32 << 31, "rate_mbit_per_s": 100_000,
        })
    );
    assert_eq!(found["connection_management"], "answers");
    assert_eq!(
        found["claims"],
        json!({
            "max_qp": 1000, "max_qp_wr": 32768, "max_cq": 1001, "max_cqe": 65535, "max_srq": 960,
            "max_srq_wr": 1024, "max_mr": 1002,
            "max_pd": 1003, "max_mcast_grp": 8192, "max_mcast_qp_attach": 240,
            "max_send_sge": 30, "max_recv_sge": 32, "max_sge_rd": 1,
            "max_qp_rd_atom": 16, "max_qp_init_rd_atom": 128, "max_fast_reg_pages": 512,
            "max_mr_size_bytes": u64::MAX, "page_size_cap": "0xfffff000",
            "device_cap_flags": "0x20000000000", "atomics": "hca",
            "features": ["mem_mgt_extensions", "send_with_inv", "virt_dma"],
        })
    );
    let no_read_inv = "read_inv: only iWARP devices have READ_WITH_INV, and this is none";
    assert_eq!(
        found["limits"],
        json!({
            "size_dma_bytes": 2 << 20, "size_reg_bytes": 2 << 20, "txdepth": 1024, "qps": 256,
            "sge": 16, "sge_read": 1, "inline_bytes": 828, "depth": 512,
            "server_inv": {"supported": true},
            "read_inv": {"supported": false, "reason": no_read_inv},
            "imm": {"supported": true},
            "fetch_add": {"supported": true},
            "compare_swap": {"supported": true},
            "qp_uc": {"supported": true},
            "qp_ud": {"supported": true},
            "mcast": {"supported": true},
            "mtu": {"supported": true},
            "blk": {"supported": true},
            "biovec": {"supported": true},
            "comm": {"supported": true},
        })
    );
    assert_eq!(found["preflight"].as_array().unwrap().len(), 5);
    // Where something failed that must work.
    let caps = Caps {
        limits: None,
        ..caps
    };
    assert_eq!(written(&caps).get("limits"), None);
}

#[test]
fn what_iwarp_lacks() {
    let claims = claims(&[Feature::MemMgtExtensions, Feature::ReadWithInv]);
    let preflight = preflight(1 << 20, 66, 4, 0, 1024);
    let caps = Caps {
        claims,
        port: PORT,
        management: Management::Answers,
        preflight,
        limits: Some(Limits::new(&claims, &preflight, true, 2, ALL)),
    };
    let limits = written(&caps)["limits"].clone();
    for (name, supported) in [
        ("server_inv", true),
        ("read_inv", true),
        ("imm", false),
        ("qp_uc", false),
        ("qp_ud", false),
        ("mtu", false),
        ("blk", true),
    ] {
        assert_eq!(limits[name]["supported"], supported, "{name}");
        let reason = limits[name]["reason"].as_str();
        assert_eq!(
            reason.is_some_and(|text| text.contains("iWARP")),
            !supported
        );
    }
    assert_eq!(limits["depth"], 1002);
}

#[test]
fn a_device_with_little_of_everything() {
    let mut few = claims(&[]);
    few.max_mr = 20;
    few.atomics = Atomics::None;
    few.max_mcast_grp = 0;
    let preflight = preflight(0, 1, 1, 0, 1024);
    let old = Kernel {
        takes_bio_vecs: false,
        tells_programs: false,
    };
    let limits = Limits::new(&few, &preflight, false, 2, old);
    let said = limits.to_string();
    // Two regions for each queue pair, and one for each request of a disk.
    assert_eq!(
        said,
        "size_dma_bytes=0 size_reg_bytes=0 txdepth=0 qps=10 sge=1 sge_read=1 inline_bytes=0 \
         depth=20 server_inv=no read_inv=no imm=yes fetch_add=no compare_swap=no \
         qp_uc=yes qp_ud=yes mcast=no mtu=yes blk=no biovec=no comm=no"
    );
    for (change, qps) in [
        (Claims { max_qp: 3, ..few }, 3),
        (Claims { max_cq: 4, ..few }, 4),
        (Claims { max_pd: 5, ..few }, 5),
        (
            Claims {
                max_mr: 5000,
                ..few
            },
            256,
        ),
    ] {
        let said = Limits::new(&change, &preflight, false, 2, ALL).to_string();
        assert!(said.contains(&format!(" qps={qps} ")), "{said}");
    }
}

#[test]
fn lines_for_the_log() {
    let all = claims(&[Feature::LocalDmaLkey, Feature::SgGaps, Feature::Xrc]);
    let said = all.to_string();
    assert!(said.starts_with("max_qp=1000 max_qp_wr=32768 "), "{said}");
    assert!(
        said.ends_with(
            "max_mr_size_bytes=18446744073709551615 atomics=hca features=local_dma_lkey+sg_gaps+xrc"
        ),
        "{said}"
    );
    assert_eq!(
        PORT.to_string(),
        "port 1 is ACTIVE, Ethernet, MTU 1024 of 4096"
    );
    for (state, name) in [(0, "NOP"), (1, "DOWN"), (5, "ACTIVE_DEFER"), (6, "unknown")] {
        let port = Port { state, ..PORT };
        assert!(port.to_string().contains(&format!("is {name},")), "{port}");
    }
    // One line of the kernel's log has some 1000 characters at most.
    let many = [
        Feature::MemMgtExtensions,
        Feature::SendWithInv,
        Feature::ReadWithInv,
        Feature::LocalDmaLkey,
        Feature::SgGaps,
        Feature::IntegrityHandover,
        Feature::OnDemandPaging,
        Feature::MemWindow,
        Feature::MemWindowType2A,
        Feature::MemWindowType2B,
        Feature::AtomicWrite,
        Feature::FlushGlobal,
        Feature::FlushPersistent,
        Feature::RcRnrNakGen,
        Feature::AutoPathMig,
        Feature::SrqResize,
        Feature::Xrc,
        Feature::VirtDma,
    ];
    let said = claims(&many).to_string();
    assert_eq!(said.split('=').next_back().unwrap().split('+').count(), 18);
    assert!(said.len() < 900, "{}", said.len());
}

#[test]
fn each_mtu_has_its_bytes() {
    let bytes: Vec<_> = (0..8).map(Port::mtu).collect();
    assert_eq!(bytes, [0, 256, 512, 1024, 2048, 4096, 0, 0]);
}
