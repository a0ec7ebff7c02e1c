//! Prints the table of operations in `COMPAT.md`; run by `cargo xtask codegen`.
#![allow(clippy::print_stdout)] // printing is all it does

use muster_wire::operations::{Comparison, OPERATIONS, Row, Verdict};

fn main() {
    let of = |verdict| OPERATIONS.iter().filter_map(verdict_of).filter(|found| *found == verdict).count();
    let (all, built) = (OPERATIONS.len(), OPERATIONS.iter().filter(|row| row.is_built()).count());
    let (exact, better, partly) = (of(Verdict::Exact), of(Verdict::Better), of(Verdict::Partly));
    let missing = all - built;
    println!("{built} of {all} are built: {exact} exact, {better} better, {partly} partly. {missing} are missing.\n");
    println!("| Operation | Now | Remarks |");
    println!("|---|---|---|");
    OPERATIONS.iter().for_each(print_row);
}

fn verdict_of(row: &Row) -> Option<Verdict> {
    row.comparison.as_ref().map(|comparison| comparison.verdict)
}

fn print_row(row: &Row) {
    let Some(Comparison { verdict, remark }) = &row.comparison else {
        println!("| {} | missing | |", row.name);
        return;
    };
    let now = match verdict {
        Verdict::Exact => "exact",
        Verdict::Better => "better",
        Verdict::Partly => "partly",
    };
    println!("| {} | {now} | {remark} |", row.name);
}
