import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sign, verify } from '../../src/core/rules/crypto/signature.ts'
import { program } from '../e2e/support/program.ts'
import { temporaryFolder } from '../support/databases.ts'

/** These run the built package, as its users do. */

const root = join(import.meta.dirname, '../..')
const examples = join(root, 'examples/webhooks')
const secret = 'whsec_example'

describe.each(['node-http.js', 'h3.js'])('the receiver %s', (file) => {
  test('acts once on a signed delivery, regardless of repetitions, and rejects everything else', async () => {
    const receiver = await startReceiver(file)
    const voided = body('a1', 'pass.voided')
    expect(await receiver.post(voided)).toBe(204)
    expect(await receiver.post(voided)).toBe(204)
    expect(await receiver.post(voided, { secrets: ['whsec_new', secret] })).toBe(204)
    expect(await receiver.post(body('a2', 'type.of-tomorrow'))).toBe(204)

    expect(await receiver.post(voided, { secrets: ['whsec_other'] })).toBe(400)
    expect(await receiver.post(voided, { at: new Date(Date.now() - 400_000) })).toBe(400)
    expect(await receiver.post(JSON.stringify(JSON.parse(voided), undefined, 2), { signed: voided })).toBe(400)
    expect((await fetch(receiver.url, { method: 'POST', body: voided })).status).toBe(400)
    expect((await receiver.post('x'.repeat(2 * 1024 * 1024))) >= 400).toBe(true)

    const { stdout, stderr } = await receiver.stop()
    const acted = stdout.split('\n').filter((line) => line.includes('T-a1') || line.includes('pass.voided a1'))
    expect(acted).toHaveLength(1)
    expect(stdout).toContain('type.of-tomorrow a2')
    expect(stderr).toContain('serialized again')
    expect(stdout + stderr).not.toContain(secret)
  })

  test('does not start without a secret', async () => {
    const { exitCode, stderr } = await execa('node', [join(examples, file)], {
      env: { PASSES_WEBHOOK_SECRET: '' },
      reject: false,
    })
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Set PASSES_WEBHOOK_SECRET')])
  })
})

test('the Node.js and Python code of the guide decides every vector as the package does', async () => {
  const guide = readFileSync(join(root, 'docs/webhooks.md'), 'utf8')
  const block = (language: string, name: string) =>
    [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].find(
      ([, of, code]) => of === language && code!.includes(name),
    )![2]!
  const folder = temporaryFolder()
  const file = join(examples, 'recorded/vectors.json')
  const vectors: { body: string; signature: string; secret: string; now: number; valid: boolean }[] = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  const expected = vectors.map(({ valid }) => valid)
  const evaluated = vectors.map(({ body, signature, secret, now: at }) =>
    verify(Buffer.from(body), signature, secret, { at: new Date(at * 1000) }),
  )
  expect(evaluated.map(({ ok }) => ok)).toEqual(expected)
  writeFileSync(
    join(folder, 'run.mjs'),
    `import { readFileSync } from 'node:fs'\n${block('js', 'isSigned')}
    const vectors = JSON.parse(readFileSync(process.argv[2]))
    console.log(JSON.stringify(vectors.map((v) => isSigned(Buffer.from(v.body), v.signature, v.secret, v.now))))`,
  )
  writeFileSync(
    join(folder, 'run.py'),
    `import json, sys\n${block('python', 'is_signed')}
vectors = json.load(open(sys.argv[1], encoding="utf8"))
print(json.dumps([is_signed(v["body"].encode(), v["signature"], v["secret"], v["now"]) for v in vectors]))`,
  )
  for (const command of ['node run.mjs', 'python3 run.py']) {
    const [program = '', script = ''] = command.split(' ')
    expect(JSON.parse((await execa(program, [join(folder, script), file])).stdout), command).toEqual(expected)
  }
  const longest = ['js', 'python', 'go', 'php', 'ruby'].map(
    (language) => block(language, 'igned').trim().split('\n').length,
  )
  expect(Math.max(...longest)).toBeLessThanOrEqual(18)
})

describe('the CI step', () => {
  const script = stepScript('The recorded delivery is signed with our secret')
  const recorded = 'whsec_recorded_example_not_a_real_one'

  test('passes with the secret of the recorded delivery', async () => {
    const { exitCode, stdout } = await runStep(script, recorded)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('The signature is valid')])
  })

  test('fails with another secret, and for a changed body', async () => {
    expect(await runStep(script, 'whsec_other')).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/secret/) })
    const touched = await runStep(script, recorded, (text) => `${text}\r\n`)
    expect(touched).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('newline') })
  })
})

test('the verifier loads without any other package, from plain JavaScript', async () => {
  const folder = temporaryFolder()
  symlinkSync(join(root, 'dist'), join(folder, 'dist'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const script = `
    import { verify } from './dist/client/webhooks.js'
    const header = '${sign('{"id":"1"}', [secret], new Date())}'
    console.log(verify('{"id":"1"}', header, '${secret}').id)
    await import('zod').catch((error) => console.log(error.code))`
  writeFileSync(join(folder, 'receiver.js'), script)
  // Resolve imports from this folder, as if dist were a copy.
  const { stdout } = await execa('node', ['--preserve-symlinks', 'receiver.js'], { cwd: folder })
  expect(stdout.split('\n')).toEqual(['1', 'ERR_MODULE_NOT_FOUND'])
})

test('the package exports the verifier with its types', async () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { types } = exports['./webhooks']
  expect(readFileSync(join(root, types), 'utf8')).toContain('export declare function verify(')
  const script = `console.log(Object.keys(await import('wallet-passes-server/webhooks')).sort().join())`
  const { stdout } = await execa('node', ['--input-type=module', '--eval', script], { cwd: root })
  expect(stdout).toBe('WebhookVerificationError,verify')
})

function body(id: string, type: string): string {
  return JSON.stringify({ id, type, timestamp: '', correlationId: null, data: { externalPassId: `T-${id}` } })
}

async function startReceiver(file: string) {
  const child = execa('node', [join(examples, file)], {
    env: { PASSES_WEBHOOK_SECRET: secret, PORT: '0' },
    reject: false,
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      const [, address] = /Listening on (\S+)/.exec(String(chunk)) ?? []
      if (address) resolve(address)
    })
    child.then(({ stderr }) => reject(new Error(stderr)))
  })
  return {
    url,
    async post(text: string, { secrets = [secret], at = new Date(), signed = text } = {}): Promise<number> {
      const headers = { 'content-type': 'application/json', 'x-service-signature': sign(signed, secrets, at) }
      return (await fetch(url, { method: 'POST', body: text, headers })).status
    },
    async stop() {
      child.kill('SIGTERM')
      return child
    },
  }
}

/** Returns the script of a workflow step, as the runner reads it. */
function stepScript(name: string): string {
  const workflow = readFileSync(join(examples, 'github-actions.yml'), 'utf8')
  const [, step] = workflow.split(`- name: ${name}\n`)
  const [, block = ''] = /run: \|\n((?: {6}.*\n)+)/.exec(step ?? '') ?? []
  return block.replaceAll(/^ {6}/gm, '')
}

/** Runs a step in the folder of the examples, with `passes` in the PATH. */
async function runStep(script: string, key: string, change = (text: string) => text) {
  const folder = temporaryFolder()
  cpSync(examples, folder, { recursive: true })
  const payload = join(folder, 'recorded/delivery.json')
  writeFileSync(payload, change(readFileSync(payload, 'utf8')))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'passes'), `#!/bin/sh\nexec node ${program} "$@"\n`)
  chmodSync(join(bin, 'passes'), 0o755)
  return execa('bash', ['-e', '-c', script], {
    cwd: folder,
    env: { PASSES_WEBHOOK_SECRET: key, PATH: `${bin}:${process.env.PATH}` },
    reject: false,
  })
}
