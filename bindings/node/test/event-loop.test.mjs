import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

import { conversation, orphan } from '../support/fixtures.mjs'
import { World, lines, rekindle } from '../support/world.mjs'

const { scan, repair, scanBatch } = rekindle
const INDEX = fileURLToPath(new URL('../index.js', import.meta.url))

test('the event loop stays responsive during a large scan', async (t) => {
  const world = new World(t)
  const path = world.write(lines(conversation(world, 4000, { size: 8_000 })))
  // As many as take a second or more: a shorter pause than a third of that is no matter of luck.
  const alone = performance.now()
  await scan(path)
  const count = Math.ceil(2000 / (performance.now() - alone)) + 4
  let [ticks, longest, last] = [0, 0, performance.now()]
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    ticks += 1
  }, 1)
  const since = performance.now()
  const results = await scanBatch(Array(count).fill(path))
  const took = performance.now() - since
  longest = Math.max(longest, performance.now() - last)
  clearInterval(timer)
  assert.ok(results.every(({ status, chainDepth }) => status === 'healthy' && chainDepth === 4000))
  t.diagnostic(`${Math.round(took)} ms, ${ticks} ticks, the longest pause ${Math.round(longest)} ms`)
  // Relative to the scan itself, because a busy machine is slow at everything.
  assert.ok(ticks >= 10, `${ticks} ticks`)
  assert.ok(longest < took / 3, `a pause of ${longest} ms in ${took} ms`)
})

test('a thousand scans at once', async (t) => {
  const world = new World(t)
  const healthy = world.write(conversation(world, 50))
  const broken = world.write(orphan(conversation(world, 50), 7))
  const gone = world.path()
  const paths = Array.from({ length: 1000 }, (_, at) => [healthy, broken, gone][at % 3])
  const results = await Promise.all(paths.map(scan))
  const words = ['healthy', 'corrupted', 'missing']
  assert.ok(results.every(({ status, filePath }, at) => status === words[at % 3] && filePath === paths[at]))
})

test("repairs leave Node's own threads alone", async (t) => {
  const world = new World(t)
  const paths = Array.from({ length: 8 }, () => world.write(orphan(conversation(world, 10), 2)))
  const order = []
  const repairs = Promise.all(paths.map(repair)).then(() => order.push('repairs'))
  const reads = Promise.all(Array.from({ length: 50 }, () => readFile(INDEX))).then(() => order.push('reads'))
  const scans = scan(paths[0]).then(() => order.push('scan'))
  await Promise.all([repairs, reads, scans])
  assert.equal(order.at(-1), 'repairs')
})

test('a worker thread can use it, and be ended in the middle', async (t) => {
  const world = new World(t)
  const path = world.write(lines(conversation(world, 2000, { size: 5000 })))
  const code = `
    const { scan } = require(${JSON.stringify(INDEX)})
    const { parentPort } = require('node:worker_threads')
    scan(${JSON.stringify(path)}).then((result) => parentPort.postMessage(result.status))`
  const worker = new Worker(code, { eval: true })
  assert.deepEqual(await once(worker, 'message'), ['healthy'])
  await worker.terminate()
  const endless = `
    const { scanBatch } = require(${JSON.stringify(INDEX)})
    require('node:worker_threads').parentPort.postMessage('on')
    for (let at = 0; at < 20; at += 1) scanBatch(Array(5).fill(${JSON.stringify(path)}))`
  const ended = new Worker(endless, { eval: true })
  await once(ended, 'message')
  await ended.terminate()
  assert.equal((await scan(path)).status, 'healthy')
})

test('a process can leave in the middle, and does not leave before the answer', (t) => {
  const world = new World(t)
  const path = world.write(lines(conversation(world, 1000, { size: 5000 })))
  const run = (code) => {
    const script = `const { scan, scanBatch } = require(${JSON.stringify(INDEX)}); const path = ${JSON.stringify(path)}; ${code}`
    const { status, signal, stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: 120_000 })
    return { status, signal, stdout }
  }
  const left = run('scanBatch(Array(20).fill(path)); setTimeout(() => process.exit(7), 20)')
  assert.deepEqual(left, { status: 7, signal: null, stdout: '' })
  const answered = run('scan(path).then((result) => process.stdout.write(result.status))')
  assert.deepEqual(answered, { status: 0, signal: null, stdout: 'healthy' })
})
