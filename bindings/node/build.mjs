// Builds the addon and puts it beside index.js: node build.mjs [--release]
import { spawnSync } from 'node:child_process'
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const unknown = process.argv.slice(2).filter((argument) => argument !== '--release')
if (unknown.length > 0) {
  console.error(`build.mjs: unknown argument ${unknown[0]}; the only one is --release`)
  process.exit(2)
}
const profile = process.argv.includes('--release') ? ['--release'] : []
const here = fileURLToPath(new URL('.', import.meta.url))
// Cargo says where it put the library: the target directory may be anywhere.
const build = spawnSync(
  process.env.CARGO ?? 'cargo',
  ['build', '-p', 'rekindle-node', ...profile, '--message-format=json-render-diagnostics'],
  { cwd: here, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: 1 << 30 },
)
if (build.error) console.error(`build.mjs: cannot run cargo: ${build.error.message}`)
if (build.status !== 0) process.exit(build.status ?? 1)
const library = build.stdout
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .filter((message) => message.reason === 'compiler-artifact' && message.target.name === 'rekindle_node')
  .flatMap((message) => message.filenames)
  .find((name) => /\.(so|dylib|dll)$/.test(name))
if (!library) {
  console.error('build.mjs: cargo built no library')
  process.exit(1)
}
// Renamed into place: overwriting a library that a process has loaded would crash that process.
const made = join(here, `rekindle.${process.pid}.new`)
copyFileSync(library, made)
renameSync(made, join(here, 'rekindle.node'))
