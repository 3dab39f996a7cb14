import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sign } from '../../../src/core/rules/crypto/signature.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { run } from '../support/program.ts'

const secret = 'whsec_3f9a1c5e7b2d4f60'
const t = 1_767_225_600
const body = '{"id":"1","type":"pass.issued","data":{"name":"Zoë"}}'
const signature = sign(body, [secret], new Date(t * 1000))

/** Runs `webhook verify` with the body on stdin. Without `--at`, the time is that of the signature. */
function verify(args: string[], { input = body as string | Buffer, env = {} } = {}) {
  const at = args.includes('--at') ? [] : ['--at', String(t)]
  return run(['webhook', 'verify', ...args, ...at], undefined, { input, env })
}

test('a valid signature exits with 0, with the secret and the body from any source', async () => {
  const payload = join(temporaryFolder(), 'body.json')
  writeFileSync(payload, body)
  const env = { PASSES_WEBHOOK_SECRET: secret }
  const results = await Promise.all([
    verify(['--secret', secret, '--signature', signature]),
    verify(['--signature', signature], { env }),
    verify(['--signature', signature, '--payload', '-'], { env }),
    verify(['--signature', signature, '--payload', payload], { env, input: 'not read' }),
    verify(['--secret', secret, '--signature', signature], { env: { PASSES_WEBHOOK_SECRET: 'whsec_other' } }),
    verify(['--signature', signature, '--at', String(t + 1000), '--tolerance', '1000'], { env }),
  ])
  for (const { exitCode, stdout } of results) {
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('The signature is valid')])
  }
  const script = await verify(['--signature', signature, '--json'], { env })
  expect(JSON.parse(script.stdout)).toEqual({ valid: true, signedAt: '2026-01-01T00:00:00.000Z' })
})

test('without a time, the current time decides', async () => {
  const fresh = sign(body, [secret], new Date())
  const check = (header: string) =>
    run(['webhook', 'verify', '--secret', secret, '--signature', header], undefined, { input: body })
  expect((await check(fresh)).exitCode).toBe(0)
  expect(await check(signature)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/s old/) })
})

const refused: [code: string, words: string, args: string[], input?: string | Buffer][] = [
  ['WRONG_SECRET', 'probably belongs to another endpoint', ['--secret', 'whsec_other']],
  ['WRONG_SECRET', 'whole secret, including whsec_', ['--secret', secret.slice(6)]],
  ['BODY_CHANGED', 'serialized again', ['--secret', secret], JSON.stringify(JSON.parse(body), undefined, 2)],
  ['BODY_CHANGED', 'newline', ['--secret', secret], `${body}\n`],
  ['BODY_CHANGED', 'raw bytes', ['--secret', secret], Buffer.from([0xff, 0x00])],
  ['TOO_OLD', '301 s old', ['--secret', secret, '--at', String(t + 301)]],
  ['TOO_NEW', '301 s in the future', ['--secret', secret, '--at', String(t - 301)]],
  ['TOO_OLD', 'at most 5 s', ['--secret', secret, '--at', String(t + 6), '--tolerance', '5']],
  ['MALFORMED_HEADER', 'has no v1', ['--secret', secret, '--signature', `t=${t}`]],
]

test('an invalid signature exits with 1 and the reason, without the secret', async () => {
  for (const [index, [code, words, args, input]] of refused.entries()) {
    const whole = args.includes('--signature') ? args : [...args, '--signature', signature]
    const isScript = index % 2 === 1
    const { exitCode, stdout, stderr } = await verify(isScript ? [...whole, '--json'] : whole, { input })
    expect([exitCode, isScript ? stderr : stdout]).toEqual([1, ''])
    if (isScript) expect(JSON.parse(stdout).error.code).toBe(code)
    else expect(stderr).toContain(words)
    expect(`${stdout}${stderr}`).not.toContain('3f9a1c5e')
  }
})

test('wrong usage exits with 2, and a missing file with 1', async () => {
  const [noSecret, noSignature, badTolerance, noFile] = await Promise.all([
    verify(['--signature', signature]),
    verify(['--secret', secret]),
    verify(['--secret', secret, '--signature', signature, '--tolerance', 'long']),
    verify(['--secret', secret, '--signature', signature, '--payload', '/nowhere']),
  ])
  expect(noSecret).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('PASSES_WEBHOOK_SECRET') })
  expect([noSignature!.exitCode, badTolerance!.exitCode]).toEqual([2, 2])
  expect(noFile).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('/nowhere') })
})
