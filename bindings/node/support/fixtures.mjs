// Seven files, from healthy to large, made anew for each test.
import { randomUUID } from 'node:crypto'

const START = Date.parse('2026-11-01T10:00:00.000Z')

/** Prompts and answers by turns, each the child of the one before. */
export function conversation(world, count, { id = randomUUID(), size = 0 } = {}) {
  const rows = []
  for (let at = 0; at < count; at += 1) {
    const mine = at % 2 === 0
    const text = `${mine ? 'question' : 'answer'} ${at} "quoted" \\ ü 🜂 ${'x'.repeat(size)}`
    const message = mine
      ? { role: 'user', content: text }
      : {
          id: `msg_${at}`, type: 'message', role: 'assistant', model: 'claude-opus-4-1',
          content: [{ type: 'text', text }], stop_reason: 'end_turn', stop_sequence: null,
          usage: { input_tokens: 3, output_tokens: 5 },
        }
    rows.push({
      parentUuid: at === 0 ? null : rows[at - 1].uuid,
      isSidechain: false, userType: 'external', cwd: world.project, sessionId: id, version: '2.1.100',
      gitBranch: '', type: mine ? 'user' : 'assistant', message, uuid: randomUUID(),
      timestamp: new Date(START + at * 1000).toISOString(),
    })
  }
  return rows
}

/** Makes the rows at these distances from the end (1 is the last) point to rows that do not exist. */
export function orphan(rows, ...depths) {
  for (const depth of depths) rows.at(-depth).parentUuid = randomUUID()
  return rows
}

/** Every fixture by its name, as `[id, content]`. */
export function fixtures(world) {
  const make = (content) => {
    const id = randomUUID()
    return [id, content(id)]
  }
  const spoilt = (id) => {
    const rows = conversation(world, 20, { id })
    rows.splice(15, 0, '{"type":"user","message":{"role":"us', 'not JSON at all')
    return rows
  }
  return {
    'healthy.jsonl': make((id) => conversation(world, 10, { id })),
    'corrupted-shallow.jsonl': make((id) => orphan(conversation(world, 40, { id }), 2)),
    'corrupted-deep.jsonl': make((id) => orphan(conversation(world, 120, { id }), 50)),
    'corrupted-multiple.jsonl': make((id) => orphan(conversation(world, 60, { id }), 3, 20, 41)),
    'malformed.jsonl': make(spoilt),
    'empty.jsonl': make(() => ''),
    'large.jsonl': make((id) => conversation(world, 4000, { id, size: 1500 })),
  }
}
