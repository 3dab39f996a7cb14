import { expect, test } from 'vitest'
import { planApply } from '../../../src/cli/apply/plan.ts'
import type { Client } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/client-errors.ts'

/** Deletes the only webhook that the files do not contain. The server responds with this error. */
async function prune(error: Error) {
  const webhook = { id: 'w', url: 'https://hooks.example/a' }
  const list = async () => ({ items: [webhook], total: 1, hasMore: false, nextCursor: null })
  const client = { webhooks: { list, delete: () => Promise.reject(error) } } as unknown as Client
  const options = { prune: true, publish: false, secrets: {} as never }
  const [step] = await planApply(client, { webhooks: [], ignored: [] }, options)
  return step!.carryOut!()
}

const apiError = (status: number) =>
  new ApiError({
    status,
    code: 'X',
    message: `status ${status}`,
    correlationId: 'c',
    details: {},
    request: { method: 'DELETE', path: '/v1/webhooks/w' },
  })

test('pruning counts missing resources as deleted, and fails with any other error', async () => {
  expect(await prune(apiError(404))).toBe('deleted')
  for (const error of [apiError(403), apiError(409), apiError(500), new Error('no connection')])
    await expect(prune(error)).rejects.toBe(error)
})
