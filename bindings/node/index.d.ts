export interface SessionScanResult {
  /** The file's name without its extension. */
  sessionId: string
  /** The path as it was given. */
  filePath: string
  /**
   * `corrupted`: a repair would change it. `empty`: nothing was ever said in it.
   * `unrecoverable`: something was said, and neither the file nor the vault has it.
   * `unreadable`: it cannot be opened, is no regular file, or no row of it parses.
   */
  status: 'healthy' | 'corrupted' | 'empty' | 'unrecoverable' | 'missing' | 'unreadable'
  /** Whether an agent is in this conversation right now. */
  live: boolean
  /** Rows from the last message to the root, or to where the chain breaks. */
  chainDepth: number
  /** Rows whose parent is not in the file. */
  orphanCount: number
  /** Bytes. */
  fileSize: number
  /** Rows with a uuid. */
  messageCount: number
  /** What is wrong or worth knowing; empty where nothing is. */
  findings: Finding[]
}

export interface Finding {
  /** The id of the kind of damage, such as `B1`. */
  class: string
  /** Which rows, counted from 1; the first hundred. */
  rows: number[]
  /** How many rows in all. */
  count: number
  /** What a resume would lose because of it. */
  loses: string
  /** What a repair does about it. */
  repair: string
}

export interface SessionRepairResult {
  sessionId: string
  status: 'repaired' | 'already_healthy' | 'failed'
  /** Where the bytes are as they were, if something was changed. */
  backupPath?: string
  orphansFixed: number
  newChainDepth: number
  /** What to pass to `--resume`: another id only where the conversation had to come back beside the old one. */
  resumeId: string
  /** Why, where it failed or a guard refused it; what was put back, where that was the repair. */
  reason?: string
}

export interface SessionScanner {
  /** Checks a transcript. The file is not changed. */
  scan(filePath: string): Promise<SessionScanResult>
  /** Mends a transcript. Every byte that was there is kept; safe to call on healthy files. */
  repair(filePath: string): Promise<SessionRepairResult>
  /** Checks transcripts in parallel; the results are in the order of the paths. */
  scanBatch(filePaths: string[]): Promise<SessionScanResult[]>
}

export const scan: SessionScanner['scan']
export const repair: SessionScanner['repair']
export const scanBatch: SessionScanner['scanBatch']
