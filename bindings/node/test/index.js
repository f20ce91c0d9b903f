// `node --test test` runs every file in the folder up to Node 20; since then it runs the folder, which is this file.
const { readdirSync } = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')

if (process.argv[1] === __dirname) {
  const tests = readdirSync(__dirname).filter((name) => name.endsWith('.test.mjs'))
  Promise.all(tests.map((name) => import(pathToFileURL(join(__dirname, name)))))
}
