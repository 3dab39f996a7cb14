import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/server/boot/log.ts'
import { startServer } from '../../../src/server/boot/serve.ts'
import { emptyDatabase } from '../../support/databases.ts'

test('the first token is made when it can be shown, and until one is used the next start says that none was', async () => {
  const databaseUrl = await emptyDatabase('sqlite')
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const start = (port: number) =>
    startServer({
      log: createLogger('silent'),
      config: {
        host: '127.0.0.1',
        port,
        databaseUrl,
        role: 'api',
        isProduction: false,
        platforms: ['apple'],
        previousServerKeys: [],
        rateLimit: 0,
        rateBurst: 0,
        maxConnections: 1_000,
        linkTtlDays: 400,
        allowInsecureWebhooks: false,
        trustedProxies: 0,
        sandboxFolder: inject('sandboxFolder'),
        faults: [],
        apple: {},
        google: {},
        retention: { deliveriesDays: 30, auditDays: 365 },
      },
    })
  await expect(start((taken.address() as AddressInfo).port)).rejects.toThrow('it is in use')

  const first = await start(0)
  expect(first).toMatchObject({
    firstToken: expect.stringMatching(/^psk_/),
    firstTokenEnds: expect.any(Date),
    lacksToken: false,
  })
  await first.close()

  const second = await start(0)
  expect(second).toMatchObject({ firstToken: undefined, lacksToken: true })
  const headers = { authorization: `Bearer ${first.firstToken}` }
  expect((await fetch(`${second.url}/v1/tokens/current`, { headers })).status).toBe(200)
  await second.close()

  const third = await start(0)
  expect(third.lacksToken).toBe(false)
  await third.close()
})
