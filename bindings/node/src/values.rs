//! The objects of the interface; `index.d.ts` says the same to TypeScript.

use std::path::{Path, PathBuf};

use napi_derive::napi;
use repair::{RepairOutcome, RepairStatus, SessionScan};
use transcript::Scan;

/// What one transcript is like.
#[napi(object)]
pub(crate) struct SessionScanResult {
    pub session_id: String,
    pub file_path: String,
    pub status: String,
    pub live: bool,
    pub chain_depth: f64,
    pub orphan_count: f64,
    pub file_size: f64,
    pub message_count: f64,
    pub findings: Vec<Finding>,
}

/// One kind of damage.
#[napi(object)]
pub(crate) struct Finding {
    pub class: String,
    pub rows: Vec<f64>,
    pub count: f64,
    pub loses: String,
    pub repair: String,
}

/// What came of one repair.
#[napi(object)]
pub(crate) struct SessionRepairResult {
    pub session_id: String,
    pub status: String,
    pub backup_path: Option<String>,
    pub orphans_fixed: f64,
    pub new_chain_depth: f64,
    pub resume_id: String,
    pub reason: Option<String>,
}

impl SessionScanResult {
    /// With the owner and the vault asked.
    pub(crate) fn of_session(path: &str, scan: SessionScan) -> SessionScanResult {
        SessionScanResult {
            session_id: session_id(path),
            file_path: path.to_owned(),
            status: scan.status.word().to_owned(),
            live: scan.live,
            chain_depth: number(scan.chain_depth),
            orphan_count: number(scan.orphan_count),
            file_size: number(scan.file_size),
            message_count: number(scan.message_count),
            findings: scan.findings.into_iter().map(Finding::of).collect(),
        }
    }

    /// By the file alone.
    pub(crate) fn of_file(path: &str, scan: Scan) -> SessionScanResult {
        SessionScanResult {
            session_id: session_id(path),
            file_path: path.to_owned(),
            status: scan.status.word().to_owned(),
            live: false,
            chain_depth: number(scan.chain_depth),
            orphan_count: number(scan.orphan_count),
            file_size: number(scan.file_size),
            message_count: number(scan.message_count),
            findings: scan.findings.into_iter().map(Finding::of).collect(),
        }
    }
}

impl Finding {
    fn of(finding: transcript::Finding) -> Finding {
        Finding {
            class: finding.class.id().to_owned(),
            rows: finding.rows.into_iter().map(number).collect(),
            count: number(finding.count),
            loses: finding.loses,
            repair: finding.repair,
        }
    }
}

impl SessionRepairResult {
    /// `depth` is the chain's in the file as it stands, for outcomes that did not measure it.
    pub(crate) fn of(path: &str, outcome: RepairOutcome, depth: u64) -> SessionRepairResult {
        // The interface has no word for a refusal: its reason says which guard said no.
        let status = match outcome.status {
            RepairStatus::Repaired => "repaired",
            RepairStatus::AlreadyHealthy => "already_healthy",
            RepairStatus::Refused | RepairStatus::Failed => "failed",
        };
        let measured = Some(outcome.new_chain_depth).filter(|depth| *depth > 0);
        SessionRepairResult {
            session_id: session_id(path),
            status: status.to_owned(),
            backup_path: outcome.backup.map(text),
            orphans_fixed: number(outcome.orphans_fixed),
            new_chain_depth: number(measured.unwrap_or(depth)),
            resume_id: outcome.resume_id.as_str().to_owned(),
            reason: outcome.reason,
        }
    }

    /// Nothing was changed.
    pub(crate) fn failed(path: &str, reason: String, depth: u64) -> SessionRepairResult {
        SessionRepairResult {
            session_id: session_id(path),
            status: "failed".to_owned(),
            backup_path: None,
            orphans_fixed: 0.0,
            new_chain_depth: number(depth),
            resume_id: session_id(path),
            reason: Some(reason),
        }
    }
}

/// The session's id is the file's stem.
pub(crate) fn session_id(path: &str) -> String {
    Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned())
}

/// A JavaScript number is exact up to 2^53, more than any file has bytes.
fn number(count: u64) -> f64 {
    count as f64
}
