import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { execa } from 'execa'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newSecret, sign } from '../../../src/core/rules/crypto/signature.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const root = new URL('../../../', import.meta.url).pathname
const folder = join(root, 'src/server/pages/browser/tasks')

/** The command that runs a program, by the extension of its file. */
const languages = {
  sh: 'sh',
  mts: 'node',
  py: 'python3',
} as const

type Extension = keyof typeof languages

const extensions = Object.keys(languages) as Extension[]

const hasPython = process.env.CI === 'true' || (await execa('python3', ['--version'], { reject: false })).exitCode === 0

const runnable = extensions.filter((extension) => extension !== 'py' || hasPython)

/** The folder of the TypeScript programs, compiled once with the built client. */
let compiled: string

function start(task: string, extension: Extension, env: Record<string, string>, cwd = root) {
  const file = extension === 'mts' ? join(compiled, `${task}.mjs`) : join(folder, `${task}.${extension}`)
  return execa(languages[extension], [file], { env, reject: false, cwd })
}

// Runs the programs of the tasks at the start of /docs, as a reader would.
describe('programs of the API reference', () => {
  const cleanUp = cleanUpAfterAll()
  let server: TestServer
  let env: Record<string, string>

  beforeAll(async () => {
    compiled = temporaryFolder(cleanUp)
    await build({
      entryPoints: readdirSync(folder)
        .filter((name) => name.endsWith('.mts'))
        .map((name) => join(folder, name)),
      outdir: compiled,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: [join(root, 'dist/*')],
      alias: {
        'wallet-passes-client': join(root, 'dist/client/client.js'),
        'wallet-passes-client/webhooks': join(root, 'dist/client/webhooks.js'),
      },
    })
    server = await hostServer({ args: ['--allow-insecure-webhooks'], cleanUp })
    const { client } = server
    const { id } = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket' } })
    const definition = {
      variables: [{ name: 'seat', label: 'Seat' }],
      design: { organizationName: 'Polyglot', description: 'Ticket' },
    }
    const draft = await client.templates.createVersion({ params: { id }, body: { definition } })
    await client.templateVersions.publish({ params: { id: draft.id } })
    env = { PASSES_URL: server.url, PASSES_TOKEN: server.token, TEMPLATE_ID: id }
  })

  test('create the same pass in every language, and find it', async () => {
    for (const extension of runnable) {
      const { exitCode, stdout, stderr } = await start('create-pass', extension, env)
      expect([extension, exitCode, stdout], stderr).toEqual([extension, 0, expect.stringContaining(`${server.url}/l/`)])
    }
    const [pass, ...others] = (await server.client.passes.list()).items
    expect([pass!.label, pass!.variables, others]).toEqual(['Ada Lovelace', { seat: 'A-17' }, []])
    await eventually(async () => {
      const { total } = await server.client.passes.list({ query: { status: 'ISSUED' } })
      expect(total).toBe(1)
    })
    for (const extension of runnable) {
      const { exitCode, stdout, stderr } = await start('list-passes', extension, env)
      expect([extension, exitCode, stdout], stderr).toEqual([extension, 0, expect.stringContaining('order-1815-1')])
      expect(stdout).toContain('Ada Lovelace')
    }
  })

  test.each(runnable.filter((extension) => extension !== 'sh'))('accept only signed events: %s', async (extension) => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const { secret, id } = await server.client.webhooks.create({ body: { url, events: ['pass.issued'] } })
    const receiver = start('verify-webhook', extension, { PASSES_WEBHOOK_SECRET: secret, PORT: String(port) })
    let output = ''
    receiver.stdout.on('data', (chunk) => {
      output += chunk
    })
    onTestFinished(async () => {
      receiver.kill('SIGKILL')
      await receiver
    })
    const send = (body: string, signature = '') =>
      fetch(url, { method: 'POST', body, headers: { 'x-service-signature': signature } }).then(({ status }) => status)
    await eventually(async () => expect(await send('{}').catch(() => 0)).toBe(400))
    await server.client.webhooks.test({ params: { id } })
    await eventually(async () => expect(output).toMatch(/^webhook\.test [0-9a-f-]{36}\n$/))
    const signature = sign('{"type":"pass.issued"}', [secret], new Date())
    expect(await send('{"type":"pass.voided"}', signature)).toBe(400)
    expect(await send('{"type":"pass.issued"}', sign('{"type":"pass.issued"}', [secret], new Date(0)))).toBe(400)
  })

  test('accept only signed events: sh', async () => {
    const secret = newSecret()
    const cwd = temporaryFolder()
    const body = '{"type":"pass.issued"}'
    writeFileSync(join(cwd, 'body.json'), body)
    const verify = async (signature: string) => {
      const settings = { SIGNATURE: signature, PASSES_WEBHOOK_SECRET: secret }
      const { exitCode, stdout } = await start('verify-webhook', 'sh', settings, cwd)
      return [exitCode, stdout]
    }
    const now = new Date()
    expect(await verify(sign(body, [secret], now))).toEqual([0, 'The signature is valid.'])
    expect(await verify(sign(body, ['whsec_other'], now))).toEqual([1, 'The signature is wrong.'])
    expect(await verify(sign(body, [secret], new Date(now.getTime() - 400_000)))).toEqual([
      1,
      'The signature is too old.',
    ])
  })
})
