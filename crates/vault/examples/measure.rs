//! Times one sync: `measure CONFIG_DIR STATE_DIR [verify]`. For figures beside `zstd -1` of the same files.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a stopwatch, not the program")]

use std::time::Instant;

use agents::claude::ConfigDir;
use store::StateDir;
use vault::{SyncOptions, Vault};

fn main() {
    let mut args = std::env::args().skip(1);
    let config = ConfigDir::new(args.next().unwrap());
    let state = args.next().unwrap();
    let start = Instant::now();
    let vault = Vault::open(&StateDir::open(state).unwrap()).unwrap();
    let report = vault.sync(&[config], &SyncOptions::at(jiff::Timestamp::now()), &|_| {}).unwrap();
    println!(
        "sync {:?}: {} files, {} changed, {} bytes read, {} stored",
        start.elapsed(),
        report.files,
        report.changed,
        report.bytes_read,
        report.bytes_stored
    );
    if args.next().is_some() {
        let start = Instant::now();
        let report = vault.verify().unwrap();
        println!("verify {:?}: {} bytes, {} damaged", start.elapsed(), report.bytes, report.damage.len());
    }
}
