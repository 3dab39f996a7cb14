import { X509Certificate } from 'node:crypto'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { type AppleChain, appleFlags, makeAppleChain } from '../../support/apple-chain.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { issuedPass } from '../support/passes.ts'
import { hostProgram, run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

const cleanUp = cleanUpAfterAll()
let first: AppleChain
let renewed: AppleChain

beforeAll(async () => {
  const made = temporaryFolder(cleanUp)
  ;[first, renewed] = await Promise.all([
    makeAppleChain(made, { pushes: true }),
    makeAppleChain(made, { wwdrUnit: 'G5', days: 700, pushes: true }),
  ])
})

test('a server signs with a replaced certificate without a restart, and metrics show when it ends', async () => {
  const folder = temporaryFolder()
  const used = { certificate: join(folder, 'pass.pem'), key: join(folder, 'pass.key'), wwdr: join(folder, 'wwdr.pem') }
  const put = (chain: AppleChain) => {
    for (const name of ['key', 'wwdr', 'certificate'] as const) copyFileSync(chain[name], used[name])
  }
  put(first)
  const args = [...appleFlags(used), '--platforms', 'apple', '--metrics-port', '0']
  const server = await hostServer({ args })
  const { hostedLinks } = await issuedPass(server.client)
  const download = async () => {
    const response = await fetch(hostedLinks.apple!, { headers: { accept: 'application/vnd.apple.pkpass' } })
    expect(response.status).toBe(200)
    return Buffer.from(await response.arrayBuffer())
  }
  const certificateOf = ({ certificate }: AppleChain) => new X509Certificate(readFileSync(certificate)).raw
  expect((await download()).includes(certificateOf(first))).toBe(true)

  put(renewed)
  await eventually(async () => expect((await download()).includes(certificateOf(renewed))).toBe(true))
  const metrics = await (await fetch(server.metricsUrl!)).text()
  const [, seconds] =
    /^passes_certificate_remaining_seconds\{certificate="apple_pass",identity="server"\} (\S+)$/m.exec(metrics)!
  expect(Number(seconds) / 86_400).toBeGreaterThan(690)
})

test('a watch renews an identity from its files, prints a line each time, and exits with 130 on Ctrl-C', async () => {
  const folder = temporaryFolder()
  const filesOf = ({ certificate, key, wwdr }: AppleChain) => [
    '--certificate',
    certificate,
    '--key',
    key,
    '--wwdr',
    wwdr,
  ]
  const env = { PASSES_DATABASE_URL: `sqlite:${join(folder, 'passes.db')}` }
  const added = await run(['identity', 'add', 'apple', '--name', 'acme', ...filesOf(first)], undefined, { env })
  expect(added).toMatchObject({ exitCode: 0, stderr: '' })
  const args = ['identity', 'renew', 'acme', ...filesOf(renewed), '--watch', '--json']
  const watching = await hostProgram(args, /^\{.*\}$/m, { env })
  const [begun, line] = watching.text.trim().split('\n')
  expect(begun).toBe('Watching the files of acme. Press Ctrl-C to stop.')
  expect(JSON.parse(line!)).toMatchObject({ name: 'acme', platform: 'apple' })
  expect(await watching.stop()).toBe(130)
  const without = await run(['identity', 'renew', 'acme', '--watch'], undefined, { env })
  expect(without).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--key-file') })
})
