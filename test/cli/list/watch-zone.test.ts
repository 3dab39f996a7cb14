import { expect, test } from 'vitest'
import { watchZone } from '../../../src/cli/list/watch-zone.ts'
import type { Client } from '../../../src/client/client.ts'
import { ConnectionError } from '../../../src/client/client-errors.ts'

const gone = new ConnectionError('http://127.0.0.1:1', new Error('gone'))
const deleted = new Error('Zone not found.')

test('shows each change of the number inside, also after an outage, until the zone is deleted', async () => {
  const responses = [7, 7, 8, gone, gone, 8, 12, deleted]
  const get = async () => {
    const next = responses.shift()!
    if (next instanceof Error) throw next
    return { inside: next }
  }
  const notes: string[] = []
  const shown: number[] = []
  const client = { zones: { get } } as unknown as Client
  const options = { note: (message: string) => notes.push(message), wait: async () => undefined }
  await expect(async () => {
    for await (const { inside } of watchZone(client, 'hall', options)) shown.push(inside)
  }).rejects.toThrow(deleted)
  expect(shown).toEqual([7, 8, 12])
  expect(notes).toEqual([`${gone.message}; waiting for the server`, 'The server is back'])
})
