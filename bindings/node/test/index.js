// `node --test test` runs every file in the folder up to Node 20, and only this one since.
const { readdirSync } = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')

if (Number.parseInt(process.versions.node, 10) > 20) {
  const tests = readdirSync(__dirname).filter((name) => name.endsWith('.test.mjs'))
  Promise.all(tests.map((name) => import(pathToFileURL(join(__dirname, name)))))
}
