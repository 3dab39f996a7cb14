import { expect, test } from 'vitest'
import type { PassJson } from '../../../src/cli/device/apple-pass-json.ts'
import type { Client } from '../../../src/client/client.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { pendingMigrations } from '../../../src/storage/db/migrate.ts'
import { dialects, migratedDatabase } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { databaseBefore } from '../../support/older-database.ts'
import { issuedPass } from '../support/passes.ts'
import { listenForPushes, newPhone, saveOnAndroid } from '../support/phone.ts'
import { run } from '../support/program.ts'
import { hostServer, sandboxFolder } from '../support/server.ts'

async function passTypeOf({ passes }: Client, id: string): Promise<string> {
  const preview = await passes.preview({ params: { id }, query: { platform: 'apple' } })
  return (preview as unknown as { apple: PassJson }).apple.passTypeIdentifier
}

test.each(dialects)(
  'on %s passes from before there were identities stay those of the server, and go on in both wallets',
  async (dialect) => {
    const env = { PASSES_SANDBOX_DIR: sandboxFolder(), PASSES_SERVER_KEY: 'upgrade-'.repeat(6) }
    const before = await hostServer({ database: await migratedDatabase(dialect), env })
    const pass = await issuedPass(before.client)
    const phone = await newPhone(before, pass.id, 'device')
    expect(await phone.register(before)).toBe(201)
    const saved = await (await saveOnAndroid(before, pass.hostedLinks.google!)).look()
    const type = await passTypeOf(before.client, pass.id)
    const { token } = before
    await before.stop()
    const database = await databaseBefore('0061', before.database, dialect)

    const server = await hostServer({ database, token, env })
    const migrated = openDatabase(database)
    expect(await pendingMigrations(migrated)).toEqual([])
    const columns = ['apple_identity_id', 'google_identity_id', 'imported_serial_number', 'google_object_id']
    expect(await migrated.reader('passes').select(columns)).toEqual([
      Object.fromEntries(columns.map((column) => [column, null])),
    ])
    await migrated.close()
    const { client } = server
    expect(await phone.register(server)).toBe(200)

    // Made from now on under another, which is no matter of the passes that are there.
    const operator = { env: { ...env, PASSES_DATABASE_URL: database } }
    const apple = ['--pass-type', 'pass.test.acme', '--team', 'ACME000001']
    const google = ['--issuer', '3388000000000000001']
    for (const [platform, named] of Object.entries({ apple, google })) {
      const args = ['identity', 'add', platform, '--name', `acme-${platform}`, '--sandbox', ...named]
      const { exitCode, stderr } = await run([...args, '--workspace', 'default'], undefined, operator)
      expect([exitCode, stderr]).toEqual([0, ''])
    }
    expect(await passTypeOf(client, (await issuedPass(client)).id)).toBe('pass.test.acme')
    expect(await passTypeOf(client, pass.id)).toBe(type)

    const pushes = await listenForPushes(server, phone)
    await client.passes.update({ params: { id: pass.id }, body: { label: 'Grace Hopper' } })
    await eventually(async () => {
      expect(pushes.count()).toBeGreaterThan(0)
      const { apple, google } = await client.passes.wallets({ params: { id: pass.id } })
      expect([apple[0]?.lastError, google?.lastError, google?.state]).toEqual([null, null, 'current'])
    })
    expect((await phone.listChanged(server))?.serialNumbers).toEqual([pass.id])
    const fetched = await phone.fetch(server)
    expect([fetched?.content.passTypeIdentifier, JSON.stringify(fetched?.content)]).toEqual([
      type,
      expect.stringContaining('Grace Hopper'),
    ])
    // The same object in the same class, and nobody's but the server's.
    const { hostedLinks } = await client.passes.get({ params: { id: pass.id } })
    const shown = await (await saveOnAndroid(server, hostedLinks.google!)).look()
    expect(shown).toMatchObject({ object: { id: saved.object.id }, class: { id: saved.class.id } })
    expect(JSON.stringify(shown.object)).toContain('Grace Hopper')
  },
)
