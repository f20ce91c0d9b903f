'use strict'

const native = require('./rekindle.node')

function text(value, name) {
  if (typeof value !== 'string') {
    throw new TypeError(`${name} must be a string, not ${value === null ? 'null' : typeof value}`)
  }
  return value
}

// Async, so that a wrong argument is a rejected promise too.
exports.scan = async function scan(filePath) {
  return native.scan(text(filePath, 'filePath'))
}

exports.repair = async function repair(filePath) {
  return native.repair(text(filePath, 'filePath'))
}

exports.scanBatch = async function scanBatch(filePaths) {
  if (!Array.isArray(filePaths)) throw new TypeError('filePaths must be an array of strings')
  // Array.from: a hole in the array is an undefined path, not one to skip.
  return native.scanBatch(Array.from(filePaths, (filePath, at) => text(filePath, `filePaths[${at}]`)))
}
