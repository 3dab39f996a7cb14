import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test, vi } from 'vitest'
import { onDatabase } from '../../../src/server/boot/database-error.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'
import { eventually } from '../../support/eventually.ts'
import { onServer } from '../../support/migrated.ts'
import { startPostgres } from '../../support/postgres.ts'

const cleanUp = cleanUpAfterAll()

/** Starts a PostgreSQL that requires TLS, with a certificate for `localhost` that a private CA signed. */
async function startWithTls(): Promise<{ url: string; ca: string }> {
  const folder = temporaryFolder(cleanUp)
  chmodSync(folder, 0o755)
  const file = (name: string) => join(folder, name)
  const [ca, caKey, certificate, key] = ['ca.pem', 'ca.key', 'server.pem', 'server.key'].map(file) as [
    string,
    string,
    string,
    string,
  ]
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await execa('openssl', ['req', '-x509', ...newKey, '-keyout', caKey, '-out', ca, '-subj', '/CN=Private CA'])
  const signed = ['-CA', ca, '-CAkey', caKey, '-subj', '/CN=db', '-addext', 'subjectAltName=DNS:localhost']
  await execa('openssl', ['req', '-x509', ...newKey, ...signed, '-keyout', key, '-out', certificate])
  for (const path of [ca, certificate]) chmodSync(path, 0o644)
  // PostgreSQL requires that its own user owns the key.
  if (process.getuid?.() === 0) chownSync(key, Number((await execa('id', ['-u', 'postgres'])).stdout), 0)
  const settings = ['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`]
  const { url, stop } = await startPostgres({ settings })
  cleanUp(stop)
  await onServer(
    url,
    `do $$ begin execute format('copy (select %L) to %L', 'hostssl all all all password', current_setting('hba_file')); end $$;
    select pg_reload_conf()`,
  )
  return { url: url.replace('127.0.0.1', 'localhost'), ca }
}

async function connect(url: string): Promise<unknown> {
  const database = openDatabase(url)
  try {
    const encrypted = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
    return (await onDatabase(url, () => database.reader.raw(encrypted))).rows[0]
  } finally {
    await database.close()
  }
}

test('PostgreSQL with a private CA is checked by it, and each other address says what to add', async () => {
  const { url, ca } = await startWithTls()
  const database = `${url}postgres`
  const warn = vi.spyOn(process, 'emitWarning')
  for (const sslmode of ['verify-full', 'require', 'prefer', 'verify-ca']) {
    expect(await connect(`${database}?sslmode=${sslmode}&sslrootcert=${ca}`), sslmode).toEqual({ ssl: true })
  }
  expect(await connect(`${database}?sslmode=no-verify`)).toEqual({ ssl: true })
  expect(await errorOf(connect(`${database}?sslmode=require`))).toMatchObject({
    message: expect.stringContaining('its TLS certificate is not signed by a known CA'),
    fix: expect.stringContaining('sslrootcert=FILE'),
  })
  const byAddress = database.replace('localhost', '127.0.0.1')
  expect(await errorOf(connect(`${byAddress}?sslmode=verify-full&sslrootcert=${ca}`))).toMatchObject({
    message: expect.stringContaining('its TLS certificate is for another host'),
  })
  await eventually(async () =>
    expect(await errorOf(connect(database))).toMatchObject({
      message: expect.stringMatching(/the server rejects the connection: no pg_hba.conf entry .*no encryption/),
      fix: expect.stringContaining('?sslmode=verify-full'),
    }),
  )
  expect(warn).not.toHaveBeenCalled()
})
