import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'

import { conversation, fixtures, orphan } from '../support/fixtures.mjs'
import { World, lines, rekindle, walk } from '../support/world.mjs'

const { scan, scanBatch } = rekindle

test('a healthy file', async (t) => {
  const world = new World(t)
  const [id, rows] = fixtures(world)['healthy.jsonl']
  const path = world.write(rows, id)
  assert.deepEqual(await scan(path), {
    sessionId: id, filePath: path, status: 'healthy', live: false, chainDepth: 10, orphanCount: 0,
    fileSize: statSync(path).size, messageCount: 10, findings: [],
  })
})

test('the seven fixtures', async (t) => {
  const world = new World(t)
  const expected = {
    'healthy.jsonl': ['healthy', 10, 0, 10],
    'corrupted-shallow.jsonl': ['corrupted', 2, 1, 40],
    'corrupted-deep.jsonl': ['corrupted', 50, 1, 120],
    'corrupted-multiple.jsonl': ['corrupted', 3, 3, 60],
    'malformed.jsonl': ['corrupted', 20, 0, 20], // some rows parse, so it can be mended
    'empty.jsonl': ['unreadable', 0, 0, 0],
    'large.jsonl': ['healthy', 4000, 0, 4000],
  }
  for (const [name, [id, content]] of Object.entries(fixtures(world))) {
    const path = world.write(content, id)
    const before = readFileSync(path)
    const { status, chainDepth, orphanCount, messageCount, fileSize, sessionId } = await scan(path)
    assert.deepEqual([status, chainDepth, orphanCount, messageCount], expected[name], name)
    assert.deepEqual([fileSize, sessionId], [before.length, id], name)
    assert.ok(readFileSync(path).equals(before), `${name} was changed`)
  }
  const large = fixtures(world)['large.jsonl'][1]
  assert.ok(lines(large).length > 5 * 1024 * 1024)
})

test('orphans are found, and told as findings', async (t) => {
  const world = new World(t)
  const { status, findings } = await scan(world.write(orphan(conversation(world, 12), 5)))
  assert.equal(status, 'corrupted')
  const dangling = findings.find((finding) => finding.class === 'B1')
  assert.deepEqual(dangling.rows, [8])
  assert.equal(dangling.count, 1)
  assert.ok(dangling.loses.length > 0 && dangling.repair.length > 0)
})

test('the chain is as deep as the design walks it', async (t) => {
  const world = new World(t)
  for (const depths of [[], [1], [2], [7], [30], [4, 9]]) {
    const rows = orphan(conversation(world, 30), ...depths)
    const { chainDepth } = await scan(world.write(rows))
    assert.equal(chainDepth, walk(rows).depth, `orphans at ${depths}`)
  }
})

test('a missing file', async (t) => {
  const path = new World(t).path('gone')
  assert.deepEqual(await scan(path), {
    sessionId: 'gone', filePath: path, status: 'missing', live: false, chainDepth: 0, orphanCount: 0,
    fileSize: 0, messageCount: 0, findings: [],
  })
  assert.equal((await scan('')).status, 'missing')
  assert.equal((await scan('nowhere')).status, 'missing')
})

test('what is no transcript is unreadable', async (t) => {
  const world = new World(t)
  const pipe = join(world.root, 'pipe.jsonl')
  execFileSync('mkfifo', [pipe])
  const paths = {
    'malformed JSON': world.write('{"type":\nnonsense\n{{{{\n'),
    'binary': world.write('\u0000\u0001\ufffd'.repeat(500)),
    'a directory': world.root,
    'a pipe': pipe,
    'a device': '/dev/zero',
    'a path with U+0000': '/tmp/a\0b.jsonl',
    'a path that is too long': `/${'x'.repeat(5000)}.jsonl`,
  }
  for (const [what, path] of Object.entries(paths)) {
    const { status, chainDepth, filePath } = await scan(path)
    assert.deepEqual([status, chainDepth, filePath], ['unreadable', 0, path], what)
  }
})

test('a file that may not be read is unreadable', { skip: process.getuid() === 0 && 'root may read anything' }, async (t) => {
  const world = new World(t)
  const path = world.write(conversation(world, 4))
  chmodSync(path, 0)
  assert.equal((await scan(path)).status, 'unreadable')
})

test('a conversation of which only metadata is left is unrecoverable', async (t) => {
  const world = new World(t)
  const path = world.write([{ type: 'summary', summary: 'About nothing', leafUuid: conversation(world, 1)[0].uuid }])
  assert.equal((await scan(path)).status, 'unrecoverable')
})

test('a conversation that an agent is in is live', async (t) => {
  const world = new World(t)
  const path = world.write(conversation(world, 4))
  const owner = await world.owner(basename(path, '.jsonl'))
  const during = await scan(path)
  assert.deepEqual([during.status, during.live], ['healthy', true])
  await owner.end()
  assert.equal((await scan(path)).live, false)
})

test('files outside of any configuration directory, odd names and links', async (t) => {
  const world = new World(t)
  for (const name of ['plain.jsonl', 'no-extension', '.hidden.jsonl', 'ü 🜂 #(x).jsonl', `${'n'.repeat(210)}.jsonl`]) {
    const path = join(world.root, name)
    writeFileSync(path, lines(conversation(world, 6)))
    const { status, sessionId } = await scan(path)
    assert.deepEqual([status, sessionId], ['healthy', name.replace(/\.jsonl$/, '')], name)
  }
  const link = join(world.root, 'link.jsonl')
  symlinkSync(join(world.root, 'plain.jsonl'), link)
  assert.equal((await scan(link)).status, 'healthy')
})

test('a scan needs no state directory', async (t) => {
  const world = new World(t)
  const path = world.write(orphan(conversation(world, 6), 2))
  for (const [name, value] of [['REKINDLE_STATE_DIR', '/dev/null/state'], ['REKINDLE_CONFIG', world.root]]) {
    process.env[name] = value
    assert.equal((await scan(path)).status, 'corrupted', name)
  }
})

test('rows that no parser should follow', async (t) => {
  const world = new World(t)
  const [first] = conversation(world, 1)
  const holding = (open, close) => {
    const [before, after] = JSON.stringify({ ...first, message: { role: 'user', content: 'HERE' } }).split('"HERE"')
    return `${before}${open.repeat(300_000)}1${close.repeat(300_000)}${after}`
  }
  const contents = {
    'lists in lists': holding('[', ']'),
    'objects in objects': holding('{"a":', '}'),
    'never closed': '['.repeat(1_000_000),
    'one row of 16 MB': JSON.stringify({ ...first, message: { role: 'user', content: 'q'.repeat(16 << 20) } }),
    'a million empty lines': '\n'.repeat(1_000_000),
  }
  const paths = Object.values(contents).map((content) => world.write(`${content}\n`))
  const scans = await scanBatch(paths)
  const repairs = await Promise.all(paths.map(rekindle.repair))
  for (const [at, what] of Object.keys(contents).entries()) {
    t.diagnostic(`${what}: ${scans[at].status}, ${repairs[at].status} ${repairs[at].reason ?? ''}`)
    assert.ok(['healthy', 'corrupted', 'unrecoverable', 'unreadable'].includes(scans[at].status), what)
    assert.ok(['repaired', 'already_healthy', 'failed'].includes(repairs[at].status), what)
  }
})

test('a batch keeps the order, whatever is in it', async (t) => {
  const world = new World(t)
  const kinds = [
    ['healthy', () => world.write(conversation(world, 8))],
    ['corrupted', () => world.write(orphan(conversation(world, 8), 3))],
    ['missing', () => world.path()],
    ['unreadable', () => world.write('')],
    ['unreadable', () => world.root],
  ]
  const wanted = Array.from({ length: 200 }, (_, at) => kinds[(at * 7) % kinds.length])
  const paths = wanted.map(([, make]) => make())
  const results = await scanBatch(paths)
  assert.deepEqual(results.map((result) => result.status), wanted.map(([status]) => status))
  assert.deepEqual(results.map((result) => result.filePath), paths)
  assert.deepEqual(await Promise.all(paths.map(scan)), results)
  assert.deepEqual(await scanBatch([]), [])
})

test('wrong arguments are rejected, never thrown and never a crash', async (t) => {
  new World(t)
  for (const bad of [undefined, null, 42, 4n, true, {}, [], Symbol('s'), () => {}, new Date()]) {
    for (const call of [scan, rekindle.repair, scanBatch]) {
      if (call === scanBatch && Array.isArray(bad)) continue
      const promise = call(bad)
      assert.ok(promise instanceof Promise)
      await assert.rejects(promise, TypeError)
    }
  }
  await assert.rejects(scan(), TypeError)
  await assert.rejects(scanBatch(['/a', 7]), { name: 'TypeError', message: /filePaths\[1\]/ })
  await assert.rejects(scanBatch(new Array(3)), TypeError)
  await assert.rejects(scanBatch('/a'), TypeError)
})

test('the addon itself survives wrong arguments too', async (t) => {
  new World(t)
  const { createRequire } = await import('node:module')
  const native = createRequire(import.meta.url)('../rekindle.node')
  for (const bad of [[], [42], [null], [{}], [[1, 2]], [[{}]]]) {
    for (const call of [native.scan, native.repair, native.scanBatch]) {
      if (call === native.scanBatch && bad.length === 0) continue
      assert.throws(() => call(...bad))
    }
  }
  mkdirSync(join(process.env.HOME, 'still-here'))
})
