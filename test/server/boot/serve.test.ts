import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { type ServeOptions, startServer } from '../../../src/server/boot/serve.ts'
import type { Config } from '../../../src/server/config.ts'
import { createLogger } from '../../../src/server/log.ts'
import { openDatabase, sqliteFile } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass } from '../../storage/fixtures.ts'
import { sandboxChain } from '../../support/chains.ts'
import { testConfig } from '../../support/config.ts'
import { dialects, emptyDatabase, migratedDatabase } from '../../support/databases.ts'
import { freePort } from '../../support/ports.ts'

function startWith(settings: Parameters<typeof testConfig>[0], options: Partial<ServeOptions> = {}) {
  const config = testConfig({
    role: 'api',
    platforms: ['apple'],
    sandboxFolder: inject('sandboxFolder'),
    ...settings,
  })
  return startServer({ log: createLogger('silent'), config, ...options })
}

test('the first token is made when it can be shown, and each start mentions it until a token is used', async () => {
  const databaseUrl = await migratedDatabase('sqlite')
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const start = (port: number) => startWith({ databaseUrl, port })
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

test('a start that cannot show a token creates none, and the next one that can does', async () => {
  const databaseUrl = await migratedDatabase('sqlite')
  const silent = await startWith({ databaseUrl }, { makesFirstToken: false })
  expect(silent).toMatchObject({ firstToken: undefined, lacksToken: true })
  await silent.close()
  const shown = await startWith({ databaseUrl })
  expect(shown.firstToken).toMatch(/^psk_/)
  await shown.close()
})

test('the server is ready only after the first token is stored', async () => {
  const port = await freePort()
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  let stored: { token: string; isReady: boolean } | undefined
  const onFirstToken = async (token: string) => {
    stored = { token, isReady: await isReady() }
  }
  const server = await startWith({ databaseUrl: await migratedDatabase('sqlite'), port }, { onFirstToken })
  onTestFinished(() => server.close())
  expect(stored).toEqual({ token: server.firstToken, isReady: false })
  expect(await isReady()).toBe(true)
})

test('a start that is stopped before it serves creates no token', async () => {
  const databaseUrl = await emptyDatabase('sqlite')
  const stop = new AbortController()
  const clock = () => {
    // The migration is complete when the start first reads the time.
    stop.abort()
    return new Date()
  }
  await expect(startWith({ databaseUrl }, { stop: stop.signal, clock })).rejects.toThrow('aborted')
  const server = await startWith({ databaseUrl })
  expect(server.firstToken).toMatch(/^psk_/)
  await server.close()
})

describe('rejects a start that would lose phones:', () => {
  test.each([
    ['no public URL', undefined],
    ['a public URL that is not https', 'http://passes.example.com'],
  ])('in production %s', async (_, publicUrl) => {
    const apple = await credentialsFor('pass.com.example.tickets')
    const databaseUrl = await emptyDatabase('sqlite')
    for (const role of ['api', 'worker'] as const) {
      await expect(startWith({ databaseUrl, isProduction: true, publicUrl, apple, role })).rejects.toThrow(
        '--production needs an https --public-url',
      )
    }
    expect(existsSync(sqliteFile(databaseUrl)!)).toBe(false)
    const server = await startWith({ databaseUrl, isProduction: true, publicUrl: 'https://passes.example.com', apple })
    await server.close()
  })

  test.each(dialects)(
    'a certificate for another pass type once phones hold passes, on %s; before that it can change',
    async (dialect) => {
      const databaseUrl = await migratedDatabase(dialect)
      const serverKey = 'ab'.repeat(32)
      const start = async (passType: string | undefined) => {
        const apple = passType ? await credentialsFor(passType) : {}
        const server = await startWith({ databaseUrl, serverKey, apple })
        await server.close()
      }
      await start(undefined)
      await register(databaseUrl, 'a phone of the sandbox')
      await start('pass.com.example.tickets')
      await expect(start('pass.com.other')).rejects.toThrow(
        /identifier pass\.com\.other, but phones hold passes of pass\.com\.example\.tickets, .* Start with a certificate for/,
      )
      await expect(start(undefined)).rejects.toThrow(/^Without credentials, .* pass\.com\.example\.tickets/)
      await start('pass.com.example.tickets')

      await unregister(databaseUrl)
      await start('pass.com.other')
      await register(databaseUrl, 'a phone')
      await expect(start('pass.com.example.tickets')).rejects.toThrow('phones hold passes of pass.com.other')
    },
  )
})

test('reports a key of another certificate before a missing --apple-wwdr', async () => {
  const databaseUrl = await migratedDatabase('sqlite')
  const { certificate, key } = await credentialsFor('pass.com.example.tickets')
  const { key: otherKey } = await credentialsFor('pass.com.other')
  const start = (apple: Config['apple']) => startWith({ databaseUrl, apple })
  await expect(start({ certificate, key: otherKey })).rejects.toThrow('does not belong')
  await expect(start({ certificate, key })).rejects.toThrow('--apple-wwdr is missing')
})

const credentials = new Map<string, Promise<Config['apple']>>()

function credentialsFor(passTypeIdentifier: string): Promise<Config['apple']> {
  const known = credentials.get(passTypeIdentifier)
  if (known) return known
  const made = sandboxChain({ passTypeIdentifier, teamIdentifier: 'TEAM000001' }).then(
    ({ certificatePem, keyPem, wwdrPem }) => ({ certificate: certificatePem, key: keyPem, wwdr: wwdrPem }),
  )
  credentials.set(passTypeIdentifier, made)
  return made
}

async function register(databaseUrl: string, deviceId: string): Promise<void> {
  const database = openDatabase(databaseUrl)
  const store = createStore(database)
  const workspaceId = await insertWorkspace(store, deviceId)
  const [passId] = await insertPasses(store, workspaceId, [newPass(await insertTemplate(store, workspaceId))])
  const registration = { passId: passId!, deviceId, pushToken: 'token' }
  await store.transaction((tx) => tx.registrations.insert(workspaceId, registration, new Date()))
  await database.close()
}

async function unregister(databaseUrl: string): Promise<void> {
  const database = openDatabase(databaseUrl)
  await database.writer('apple_registrations').delete()
  await database.close()
}
