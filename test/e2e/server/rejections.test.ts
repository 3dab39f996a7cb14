import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { sandboxChain } from '../../support/chains.ts'
import { emptyDatabase, migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { run, spawnProgram } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

const names = { passTypeIdentifier: 'pass.com.example', teamIdentifier: 'TEAM000001' }
const serverKey = 'ab'.repeat(32)

describe('serve does not start, exits with 1, and names the file or flag for:', () => {
  test('another server key than the database was made with', async () => {
    const { database, stop } = await hostServer()
    await stop()
    await expectRefusal(database, ['--server-key', serverKey], ['server key', 'PASSES_SERVER_KEY'], {
      start: spawnProgram,
    })
  })

  test('PostgreSQL without a server key', async () => {
    const database = await emptyDatabase('postgres')
    await expectRefusal(database, [], ['PASSES_SERVER_KEY', 'openssl rand -hex 32'])
  })

  test('a server key that is too short', async () => {
    await expectRefusal(await migratedDatabase('sqlite'), ['--server-key', 'abcd'], ['server key', '2 bytes'])
  })

  test('a port that is in use', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => {
      other.close()
    })
    const { port } = other.address() as AddressInfo
    await expectRefusal(await migratedDatabase('sqlite'), ['--port', String(port)], [`127.0.0.1:${port}`, '--port'])
  })

  test('a file that is not a database', async () => {
    await expectRefusal('mysql://root@127.0.0.1/passes', [], ['sqlite:FILE', 'postgres://'], { exits: 2 })
  })

  test('a database that cannot be reached', async () => {
    await expectRefusal('postgres://postgres:hush@127.0.0.1:1/passes', [], ['127.0.0.1:1'])
  })

  test('--production with a platform in the sandbox', async () => {
    const database = await migratedDatabase('sqlite')
    const args = ['--production', '--public-url', 'https://passes.example.com']
    await expectRefusal(database, args, ['--production', 'apple and google', '--platforms'])
  })
})

describe('serve rejects Apple credentials that no phone accepts, exits with 1, and names the file for:', () => {
  let good: SandboxApple
  let other: SandboxApple
  let expired: SandboxApple
  beforeAll(async () => {
    // The same time for all runs of a year, so that they use one stored chain.
    const sixYearsAgo = new Date(Date.UTC(new Date().getUTCFullYear() - 6, 0))
    good = await sandboxChain(names)
    other = await sandboxChain({ ...names, nth: 1 })
    expired = await sandboxChain({ ...names, at: sixYearsAgo })
  })

  test('the key of another certificate', async () => {
    await expectAppleRefusal({ ...good, keyPem: other.keyPem }, [], ['pass.key', 'pass.pem'])
  })

  test('the intermediate of another chain', async () => {
    await expectAppleRefusal({ ...good, wwdrPem: other.wwdrPem }, [], ['wwdr.pem'])
  })

  test('an expired certificate', async () => {
    await expectAppleRefusal(expired, [], ['pass.pem', 'expired'])
  })

  test('a pass type identifier other than the configured one', async () => {
    await expectAppleRefusal(good, ['--apple-pass-type', 'pass.com.other'], ['pass.pem', 'pass.com.other', 'UID'])
  })

  test('a team identifier other than the configured one', async () => {
    await expectAppleRefusal(good, ['--apple-team', 'OTHER00001'], ['pass.pem', 'OTHER00001', 'OU'])
  })

  test('an encrypted key with a wrong passphrase', async () => {
    const keyPem = execFileSync('openssl', ['rsa', '-aes256', '-passout', 'pass:open sesame'], {
      input: good.keyPem,
      stdio: ['pipe', 'pipe', 'ignore'],
    }).toString()
    const wrong = ['--apple-key-passphrase', 'close sesame']
    const { stderr } = await expectAppleRefusal({ ...good, keyPem }, wrong, ['pass.key', 'passphrase'], spawnProgram)
    expect(stderr).not.toContain('sesame')
  })

  test('a certificate that Apple push does not accept', async () => {
    const folder = temporaryFolder()
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
    writeFileSync(join(folder, 'pass.key'), good.keyPem)
    openssl('req', '-x509', '-new', '-key', 'pass.key', '-subj', '/CN=WWDR', '-out', 'ca.pem')
    const subject = `/UID=${names.passTypeIdentifier}/OU=${names.teamIdentifier}/CN=Pass`
    openssl('req', '-new', '-key', 'pass.key', '-subj', subject, '-out', 'pass.csr')
    // One key signs both certificates, because only the extensions matter here.
    const signing = ['-CA', 'ca.pem', '-CAkey', 'pass.key', '-CAcreateserial']
    openssl('x509', '-req', '-in', 'pass.csr', ...signing, '-out', 'pass.pem')
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    const chain = { ...good, certificatePem: read('pass.pem'), wwdrPem: read('ca.pem') }
    await expectAppleRefusal(chain, [], ['Apple push', names.passTypeIdentifier])
  })

  test('a file that is not a certificate, and a missing file', async () => {
    await expectAppleRefusal({ ...good, certificatePem: 'hello' }, [], ['pass.pem'])
    const missing = ['--apple-certificate', '/nowhere/pass.pem']
    await expectRefusal(await migratedDatabase('sqlite'), missing, ['--apple-certificate', '/nowhere/pass.pem'])
  })

  test('and accepts valid ones, also in production', async () => {
    const { args } = writeApple(good)
    const server = await hostServer({
      args: [...args, '--production', '--platforms', 'apple', '--public-url', 'https://passes.example.com'],
    })
    expect(await server.client.tokens.current()).toMatchObject({ name: 'first owner' })
  })
})

test('serve rejects an invalid Google key file, exits with 1, and names it', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'google.json')
  writeFileSync(file, '{"type": "authorized_user"}')
  const database = await migratedDatabase('sqlite')
  await expectRefusal(database, ['--google-key', file, '--google-issuer-id', '123'], [file])
})

test('names the variable of an invalid value, unless the value was typed', async () => {
  const env = { PASSES_PORT: 'many' }
  const refused = await run(['serve'], undefined, { env })
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--port came from PASSES_PORT.')])
  const typed = await run(['serve', '--port', 'few'], undefined, { env: { PASSES_PORT: '3000' } })
  expect([typed.exitCode, typed.stderr]).toEqual([2, expect.not.stringContaining('PASSES_PORT')])
})

/** @param start spawnProgram() if a secret is given, so that the whole output, including the log, is checked */
async function expectRefusal(
  database: string,
  args: string[],
  words: string[],
  { start = run, exits = 1 }: { start?: typeof run | typeof spawnProgram; exits?: 1 | 2 } = {},
) {
  const refused = await start(['serve', '--database', database, ...args], undefined, {
    cwd: temporaryFolder(),
    env: { PASSES_PORT: '0' },
  })
  const { exitCode, stdout, stderr } = refused as { exitCode?: number; stdout: string; stderr: string }
  expect(exitCode, stderr).toBe(exits)
  expect(stdout).toBe('')
  for (const word of words) expect(stderr).toContain(word)
  expect(stderr, 'a sentence, not a stack').not.toMatch(/\n\s+at |bug in passes/)
  expect(stderr).not.toContain(serverKey)
  return { stderr }
}

async function expectAppleRefusal(chain: SandboxApple, args: string[], words: string[], start?: typeof spawnProgram) {
  const { args: files } = writeApple(chain)
  return expectRefusal(await migratedDatabase('sqlite'), [...files, ...args], words, { ...(start && { start }) })
}

function writeApple(chain: SandboxApple): { args: string[] } {
  const folder = join(temporaryFolder(), 'apple')
  mkdirSync(folder)
  const write = (name: string, pem: string) => {
    writeFileSync(join(folder, name), pem)
    return join(folder, name)
  }
  return {
    args: [
      '--apple-certificate',
      write('pass.pem', chain.certificatePem),
      '--apple-key',
      write('pass.key', chain.keyPem),
      '--apple-wwdr',
      write('wwdr.pem', chain.wwdrPem),
    ],
  }
}
