import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'

import { conversation, fixtures, orphan } from '../support/fixtures.mjs'
import { World, lines, rekindle, rowsOf, walk } from '../support/world.mjs'

const { scan, repair } = rekindle
const idOf = (path) => basename(path, '.jsonl')

test('the seven fixtures', async (t) => {
  const world = new World(t)
  const expected = {
    'healthy.jsonl': ['already_healthy', 0, 10],
    'corrupted-shallow.jsonl': ['repaired', 1, 40],
    'corrupted-deep.jsonl': ['repaired', 1, 120],
    'corrupted-multiple.jsonl': ['repaired', 3, 60],
    'malformed.jsonl': ['repaired', 0, 20],
    'empty.jsonl': ['failed', 0, 0],
    'large.jsonl': ['already_healthy', 0, 4000],
  }
  const names = Object.keys(expected)
  const made = fixtures(world)
  const paths = names.map((name) => world.write(made[name][1], made[name][0]))
  const before = paths.map((path) => readFileSync(path))
  const results = await Promise.all(paths.map(repair))
  for (const [at, name] of names.entries()) {
    const { sessionId, status, orphansFixed, newChainDepth, backupPath, reason, resumeId } = results[at]
    assert.deepEqual([status, orphansFixed, newChainDepth], expected[name], `${name}: ${reason}`)
    assert.deepEqual([sessionId, resumeId], [made[name][0], made[name][0]])
    const after = readFileSync(paths[at])
    if (status === 'repaired') {
      assert.ok(readFileSync(backupPath).equals(before[at]), `${name}: the backup is another file`)
      assert.ok(!after.equals(before[at]), `${name} is as it was`)
      assert.deepEqual(walk(rowsOf(after.toString())), { depth: newChainDepth, whole: true }, name)
      const scanned = await scan(paths[at])
      assert.deepEqual([scanned.status, scanned.orphanCount, scanned.chainDepth], ['healthy', 0, newChainDepth])
    } else {
      assert.equal(backupPath, undefined)
      assert.ok(after.equals(before[at]), `${name} was changed`)
    }
    assert.equal(typeof reason, status === 'failed' ? 'string' : 'undefined')
  }
})

test('orphans go to the row before them, and nothing else changes', async (t) => {
  const world = new World(t)
  const whole = conversation(world, 60)
  const broken = orphan(structuredClone(whole), 3, 20, 41)
  const path = world.write(broken)
  assert.equal((await repair(path)).orphansFixed, 3)
  assert.equal(readFileSync(path, 'utf8'), lines(whole))
})

test("a progress row whose parent is in a subagent's file", async (t) => {
  const world = new World(t)
  const id = randomUUID()
  const rows = conversation(world, 20, { id })
  const [inSubagent, progress, system] = [randomUUID(), randomUUID(), randomUUID()]
  const base = { isSidechain: false, userType: 'external', cwd: world.project, sessionId: id, version: '2.1.31', gitBranch: '' }
  rows.push(
    { ...base, parentUuid: inSubagent, type: 'progress', data: { type: 'hook_progress' }, uuid: progress, timestamp: '2026-11-01T11:00:00.000Z' },
    { ...base, parentUuid: progress, type: 'system', subtype: 'turn_duration', durationMs: 5, uuid: system, timestamp: '2026-11-01T11:00:01.000Z' },
  )
  const path = world.write(rows, id)
  mkdirSync(join(world.folder, id, 'subagents'), { recursive: true })
  writeFileSync(
    join(world.folder, id, 'subagents', 'agent-aprompt_suggestion-abc123.jsonl'),
    lines([{ ...base, parentUuid: null, isSidechain: true, type: 'user', message: { role: 'user', content: 'x' }, uuid: inSubagent, timestamp: '2026-11-01T10:59:00.000Z' }]),
  )
  const before = await scan(path)
  assert.deepEqual([before.status, before.chainDepth, before.orphanCount], ['corrupted', 2, 1])
  const result = await repair(path)
  assert.equal(result.status, 'repaired', result.reason)
  const mended = rowsOf(readFileSync(path, 'utf8'))
  assert.ok(walk(mended).whole)
  assert.deepEqual(mended.map(({ parentUuid, ...rest }) => rest), rows.map(({ parentUuid, ...rest }) => rest))
  assert.equal((await scan(path)).status, 'healthy')
})

test('a repair is idempotent', async (t) => {
  const world = new World(t)
  const path = world.write(orphan(conversation(world, 30), 4))
  assert.equal((await repair(path)).status, 'repaired')
  const once = readFileSync(path)
  const again = await repair(path)
  assert.deepEqual(again, {
    sessionId: idOf(path), status: 'already_healthy', orphansFixed: 0, newChainDepth: 30, resumeId: idOf(path),
  })
  assert.ok(readFileSync(path).equals(once))
})

test('repairs of one file at the same time do it once', async (t) => {
  const world = new World(t)
  const path = world.write(orphan(conversation(world, 30), 4))
  const results = await Promise.all([repair(path), repair(path), repair(path)])
  const words = results.map(({ status }) => status).sort()
  assert.deepEqual(words, ['already_healthy', 'already_healthy', 'repaired'])
})

test('many repairs take no longer than one', async (t) => {
  const world = new World(t)
  const paths = Array.from({ length: 40 }, () => world.write(orphan(conversation(world, 20), 4)))
  const since = performance.now()
  const results = await Promise.all(paths.map(repair))
  assert.ok(results.every(({ status }) => status === 'repaired'))
  assert.deepEqual(results.map(({ sessionId }) => sessionId), paths.map(idOf))
  // Each is watched for two seconds; one after the other they would take eighty.
  assert.ok(performance.now() - since < 40_000)
})

test('the backup stands before the change, is private and no transcript', async (t) => {
  const world = new World(t)
  const path = world.write(orphan(conversation(world, 30), 4))
  const { mtimeMs, mode } = statSync(path)
  const { backupPath } = await repair(path)
  assert.ok(backupPath.startsWith(world.state))
  assert.ok(!backupPath.endsWith('.jsonl'))
  assert.equal(statSync(backupPath).mode & 0o077, 0)
  const after = statSync(path)
  assert.deepEqual([after.mtimeMs, after.mode], [mtimeMs, mode])
  assert.deepEqual(readdirSync(world.folder), [basename(path)], 'something is left beside the transcript')
})

test('a live owner: failed, with the reason, and not one byte changed', async (t) => {
  const world = new World(t)
  const path = world.write(orphan(conversation(world, 30), 4))
  const before = readFileSync(path)
  const owner = await world.owner(idOf(path))
  const refused = await repair(path)
  assert.equal(refused.status, 'failed')
  assert.match(refused.reason, new RegExp(`process ${owner.pid} owns it`))
  assert.deepEqual([refused.backupPath, refused.orphansFixed, refused.newChainDepth], [undefined, 0, 4])
  assert.ok(readFileSync(path).equals(before))
  await owner.end()
  assert.equal((await repair(path)).status, 'repaired')
})

test('what cannot be repaired fails with a reason', async (t) => {
  const world = new World(t)
  const garbage = world.write('no JSON\nat all\n')
  const pipe = join(world.root, 'pipe.jsonl')
  execFileSync('mkfifo', [pipe])
  const stub = world.write([{ type: 'summary', summary: 'About nothing', leafUuid: randomUUID() }])
  for (const path of [world.path(), world.root, pipe, '/dev/null', '', '/tmp/a\0b.jsonl', garbage, stub]) {
    const { status, reason, backupPath, orphansFixed, newChainDepth } = await repair(path)
    assert.deepEqual([status, backupPath, orphansFixed, newChainDepth], ['failed', undefined, 0, 0], path)
    assert.ok(reason.length > 10, path)
  }
  assert.equal(readFileSync(garbage, 'utf8'), 'no JSON\nat all\n')
})

test('without a state directory nothing is changed', async (t) => {
  const world = new World(t)
  const path = world.write(orphan(conversation(world, 6), 2))
  const before = readFileSync(path)
  for (const [name, value] of [['REKINDLE_STATE_DIR', '/dev/null/state'], ['REKINDLE_CONFIG', world.root]]) {
    const kept = process.env[name]
    process.env[name] = value
    const { status, reason } = await repair(path)
    assert.equal(status, 'failed')
    assert.match(reason, /^cannot /)
    assert.ok(readFileSync(path).equals(before))
    if (kept === undefined) delete process.env[name]
    else process.env[name] = kept
  }
})

test('a deleted conversation comes back from the vault, whole', async (t) => {
  const world = new World(t)
  const whole = conversation(world, 12)
  const path = world.write(orphan(structuredClone(whole), 3), whole[0].sessionId)
  assert.equal((await repair(path)).status, 'repaired') // which mirrors it
  rmSync(path)
  assert.equal((await scan(path)).status, 'missing')
  const { status, newChainDepth, reason } = await repair(path)
  assert.deepEqual([status, newChainDepth], ['repaired', 12], reason)
  assert.match(reason, /of the vault was put back/)
  assert.equal(readFileSync(path, 'utf8'), lines(whole))
  // The beginning of its id is another path, and nobody's.
  assert.equal((await repair(world.path(whole[0].sessionId.slice(0, 8)))).status, 'failed')
})

test('the file behind a link is mended and the link stays', async (t) => {
  const world = new World(t)
  const whole = conversation(world, 12)
  const path = world.write(orphan(structuredClone(whole), 3))
  const link = join(world.root, basename(path))
  symlinkSync(path, link)
  assert.equal((await repair(link)).status, 'repaired')
  assert.equal(readFileSync(path, 'utf8'), lines(whole))
  assert.equal(dirname(path), world.folder)
})

test('a large broken file', async (t) => {
  const world = new World(t)
  const whole = conversation(world, 4000, { size: 1500 })
  const path = world.write(orphan(structuredClone(whole), 3, 2001))
  assert.ok(statSync(path).size > 5 * 1024 * 1024)
  const { status, orphansFixed, newChainDepth, reason } = await repair(path)
  assert.deepEqual([status, orphansFixed, newChainDepth], ['repaired', 2, 4000], reason)
  assert.equal(readFileSync(path, 'utf8'), lines(whole))
})
