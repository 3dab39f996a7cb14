import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { DiscardError } from '../../../src/core/errors.ts'
import { eventually, gate, openServices } from './fixtures.ts'

test('a batch ends after its jobs of every kind, even if those of one kind cannot be released', async () => {
  const services = await openServices('sqlite')
  const { store } = services
  const held = gate()
  const order: string[] = []
  let givenUp = 0
  const worker = services.work({
    handlers: {
      'update-google': () => Promise.reject(new DiscardError('never')),
      'expire-google': async (jobs) => {
        await held.pass()
        await store.statement((tx) => tx.jobs.complete(jobs))
        order.push('done')
      },
    },
    onDiscard: {
      'update-google': () => {
        givenUp += 1
        return Promise.reject(new Error('out of order'))
      },
    },
  })
  const jobs = (['update-google', 'expire-google'] as const).map((kind) => {
    return { workspaceId: services.workspaceId, kind, subject: randomUUID(), correlationId: null }
  })
  await store.transaction((tx) => tx.jobs.insert(jobs, services.clock()))
  await eventually(() => expect([held.waiting(), givenUp]).toEqual([1, 1]))
  const stopped = worker.stop().then(() => order.push('stopped'))
  // This statement comes after the failed transaction.
  await store.transaction(async (tx) => tx.jobs.hasLapsed(services.clock()))
  held.open()
  await stopped
  expect(order).toEqual(['done', 'stopped'])
})
