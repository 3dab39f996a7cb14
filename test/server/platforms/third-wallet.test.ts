import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { addedFiles, changedFiles } from './third-wallet-files.ts'

const root = join(import.meta.dirname, '../../..')

/** Starts the service of the platform, which records its calls. */
async function startService() {
  const calls: [call: string, body: unknown][] = []
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray()
    const text = Buffer.concat(chunks).toString()
    calls.push([`${request.method} ${request.url}`, text === '' ? undefined : JSON.parse(text)])
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Copies the source, adds the wallet, and returns the folder. */
function addWallet(service: string): string {
  const folder = realpathSync(temporaryFolder())
  for (const name of ['src', 'bin']) cpSync(join(root, name), join(folder, name), { recursive: true })
  for (const name of ['package.json', 'node_modules']) symlinkSync(join(root, name), join(folder, name))
  for (const [path, text] of Object.entries(addedFiles(service))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const [path, edits] of Object.entries(changedFiles)) {
    let text = readFileSync(join(folder, path), 'utf8')
    for (const [before, after] of edits) {
      expect(text, path).toContain(before)
      text = text.replace(before, () => after)
    }
    writeFileSync(join(folder, path), text)
  }
  return folder
}

async function checkTypes(folder: string): Promise<string> {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
  const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
  const options = { cwd: folder, reject: false, env: { GOGC: 'off' } }
  return (await execa('node', [tsc, '--noEmit', '--singleThreaded'], options)).stdout
}

const JSON_BODY = { 'content-type': 'application/json' }

async function serve(folder: string) {
  const url = `http://127.0.0.1:${await freePort()}`
  const args = ['bin/dev.js', 'serve', '--port', new URL(url).port, '--platforms', 'fake']
  const server = execa('node', args, { cwd: folder, reject: false, env: { PASSES_DATABASE_URL: 'sqlite:./passes.db' } })
  onTestFinished(async () => {
    server.kill()
    await server
  })
  const token = (await eventually(() => readFileSync(join(folder, 'passes.db.token'), 'utf8'))).trim()
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, ...JSON_BODY }
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) ?? null })
    const result = await response.json()
    expect(response.ok, JSON.stringify(result)).toBe(true)
    return result
  }
  return { url, call }
}

test('a third wallet needs 8 files, and its passes are issued, updated, messaged, and removed', async () => {
  const { calls, url: service } = await startService()
  expect([...Object.keys(addedFiles(service)), ...Object.keys(changedFiles)]).toHaveLength(8)
  const folder = addWallet(service)
  expect(await checkTypes(folder)).toBe('')
  const { url, call } = await serve(folder)

  const primary = [{ key: 'seat', label: 'Seat', value: '{{seat}}' }]
  const definition = {
    variables: [{ name: 'seat', label: 'Seat' }],
    design: { organizationName: 'Night Boats', description: 'Ticket', fields: { primary } },
  }
  const template = await call('POST', '/v1/templates', { name: 'Ticket', passType: 'generic' })
  const draft = await call('POST', `/v1/templates/${template.id}/versions`, { definition })
  await call('POST', `/v1/template-versions/${draft.id}/publish`)
  const variables = { seat: 'A 1' }
  const { id } = await call('POST', '/v1/passes', {
    externalPassId: 'T-1',
    label: 'Ada',
    templateId: template.id,
    variables,
  })
  const find = () => call('GET', `/v1/passes/${id}`)
  await eventually(async () => expect(await find()).toMatchObject({ status: 'ISSUED' }))
  const { hostedLinks } = await find()
  expect(hostedLinks).toMatchObject({ apple: null, google: null })

  const link = await fetch(hostedLinks.fake, { redirect: 'manual' })
  expect([link.status, link.headers.get('location')]).toEqual([302, `${service}/save/${id}`])
  const report = (event: string) =>
    fetch(`${url}/fake/callbacks`, { method: 'POST', body: JSON.stringify({ id, event }), headers: JSON_BODY })
  const listInstalled = async () => (await call('GET', '/v1/passes?platform=fake&installed=true')).items
  await report('saved')
  expect(await listInstalled()).toHaveLength(1)

  await call('PATCH', `/v1/passes/${id}`, { variables: { seat: 'B 2' } })
  await eventually(() => expect(calls).toContainEqual([`PUT /objects/${id}`, { title: 'Ticket', seat: 'B 2' }]))

  const sent = await call('POST', `/v1/passes/${id}/notifications`, { body: 'The boat is late' })
  const findSent = () => call('GET', `/v1/passes/${id}/notifications/${sent.id}`)
  await eventually(async () => expect(await findSent()).toMatchObject({ status: 'SENT', fake: { status: 'SENT' } }))
  expect(calls).toContainEqual([`POST /objects/${id}/messages`, { text: 'The boat is late' }])

  await call('POST', `/v1/passes/${id}/transfer`, { label: 'Grace' })
  await eventually(() => expect(calls).toContainEqual([`DELETE /objects/${id}`, undefined]))
  expect(await listInstalled()).toEqual([])
})
