// SPDX-License-Identifier: GPL-2.0

//! Prints the tables of tests and options, as the module does.

#![allow(dead_code)]

#[path = "../../../../rust/logic/mod.rs"]
mod logic;

fn main() {
    let mut tables = String::new();
    logic::spec::json::write(&mut tables).expect("a string takes any text");
    println!("{tables}");
}
