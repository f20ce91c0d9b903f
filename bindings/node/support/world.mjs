// A world of its own for each test: home, state and project directory that go away with it.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const rekindle = createRequire(import.meta.url)('../index.js')

const FOREIGN = ['CLAUDE_CONFIG_DIR', 'REKINDLE_CONFIG', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME']

export class World {
  constructor(test) {
    this.test = test
    this.root = realpathSync(mkdtempSync(join(tmpdir(), 'rekindle-node-')))
    this.home = join(this.root, 'home')
    this.state = join(this.root, 'state')
    this.project = join(this.root, 'project')
    this.folder = join(this.home, '.claude', 'projects', this.project.replace(/[^a-zA-Z0-9]/g, '-'))
    for (const path of [this.project, this.folder]) mkdirSync(path, { recursive: true })
    for (const name of FOREIGN) delete process.env[name]
    Object.assign(process.env, { HOME: this.home, REKINDLE_STATE_DIR: this.state })
    test.after(() => rmSync(this.root, { recursive: true, force: true }))
  }

  path(id = randomUUID()) {
    return join(this.folder, `${id}.jsonl`)
  }

  /** Writes a transcript: rows, or text as it is. Returns its path. */
  write(content, id) {
    const path = this.path(id)
    writeFileSync(path, typeof content === 'string' ? content : lines(content))
    return path
  }

  /** A process whose arguments say that it is in this conversation, alive until the test is over. */
  async owner(id) {
    const forever = 'setInterval(() => {}, 1000)'
    const child = spawn(process.execPath, ['-e', forever, '--', '--resume', id], { stdio: 'ignore' })
    await once(child, 'spawn')
    const end = async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
    }
    this.test.after(end)
    return { pid: child.pid, end }
  }
}

export function lines(rows) {
  return rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join('')
}

export function rowsOf(text) {
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
}

/** The walk from the last message, as the design has it: how many rows, and whether it ends at a root. */
export function walk(rows) {
  const byId = new Map(rows.filter((row) => row.uuid).map((row) => [row.uuid, row]))
  let row = rows.findLast((row) => row.uuid)
  let depth = 0
  while (row) {
    depth += 1
    if (row.parentUuid === null) return { depth, whole: true }
    row = byId.get(row.parentUuid)
  }
  return { depth, whole: false }
}
