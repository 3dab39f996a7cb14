import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { TestProvider } from '../../support/oidc.ts'
import { freePort } from '../../support/ports.ts'
import { launchBrowser, skipReason, visit } from '../support/browser.ts'
import { run, spawnProgram } from '../support/program.ts'
import { type HostedServer, hostServer } from '../support/server.ts'

const cleanUp = cleanUpAfterAll()
let provider: TestProvider
let server: HostedServer
let folder: string
/** A provider at which people can also sign in on another device. */
const device = new TestProvider()

beforeAll(async () => {
  const port = await freePort()
  provider = new TestProvider(`http://127.0.0.1:${port}`)
  provider.hasDeviceFlow = true
  await provider.start()
  device.hasDeviceFlow = true
  await device.start()
  folder = temporaryFolder(cleanUp)
  writeFileSync(join(folder, 'secret'), `${provider.config().clientSecret}\n`)
  const env = {
    PASSES_OIDC_ISSUER: provider.url,
    PASSES_OIDC_CLIENT_ID: 'passes',
    PASSES_OIDC_CLIENT_SECRET: join(folder, 'secret'),
  }
  server = await hostServer({ port: String(port), env, cleanUp })
})
afterAll(() => Promise.all([provider.close(), device.close()]))

/** Opens an address as a browser that signs in at the provider. Returns the response to the last redirect. */
async function openInBrowser(address: string): Promise<Response> {
  const begun = await fetch(address, { redirect: 'manual' })
  const cookie = begun.headers.getSetCookie()[0]!.split(';')[0]!
  const back = await provider.visit(begun.headers.get('location')!)
  return fetch(back, { redirect: 'manual', headers: { cookie } })
}

test('a member logs in with a browser, acts in the command line, and is named in the audit log', async () => {
  const database = ['--database', server.database]
  const added = await run(['member', 'add', 'Anna@example.com', '--role', 'editor', ...database, '--json'])
  expect(JSON.parse(added.stdout)).toMatchObject({ email: 'anna@example.com', role: 'editor', projectIds: null })
  const env = { XDG_CONFIG_HOME: folder, PASSES_URL: undefined, PASSES_TOKEN: undefined }
  const login = spawnProgram(['login', '--sso', '--url', server.url, '--json'], undefined, { env })
  const address = await new Promise<string>((resolve) => {
    let text = ''
    login.stderr.on('data', (chunk) => {
      text += chunk
      const found = /http\S+\/desk\/login\S+/.exec(text)?.[0]
      if (found) resolve(found)
    })
  })
  const { port, state } = Object.fromEntries(new URL(address).searchParams)
  // A request without the state does not end the command.
  expect((await fetch(`http://127.0.0.1:${port}/?code=x&state=y`)).status).toBe(404)
  const answer = await openInBrowser(address)
  expect(answer.headers.getSetCookie().some((one) => one.startsWith('__Host-passes-session'))).toBe(false)
  const code = new URL(answer.headers.get('location')!)
  expect([code.origin, code.searchParams.get('state')]).toEqual([`http://127.0.0.1:${port}`, state])
  // Only the command line knows the verifier of the challenge.
  const stolen = await fetch(`${server.url}/desk/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: code.searchParams.get('code'), verifier: state }),
  })
  expect(stolen.status).toBe(400)
  expect(await (await fetch(code)).text()).toContain('You are signed in')
  const { exitCode, stdout, stderr } = await login
  expect(exitCode, String(stderr)).toBe(0)
  expect(JSON.parse(String(stdout)).token).toMatchObject({ name: 'anna@example.com', role: 'member' })
  expect(String(stdout) + String(stderr)).not.toContain('pss_')

  expect((await run(['project', 'list'], undefined, { env })).exitCode).toBe(0)
  const created = await run(['template', 'create', '--name', 'Ticket', '--pass-type', 'generic', '--json'], undefined, {
    env,
  })
  expect(created.exitCode, created.stderr).toBe(0)
  const listed = await run([
    'audit',
    'list',
    '--actor',
    'anna@example.com',
    '--action',
    'template',
    ...database,
    '--json',
  ])
  expect(JSON.parse(listed.stdout).items ?? JSON.parse(listed.stdout)).toMatchObject([
    { action: 'template.create', tokenId: null, actor: { kind: 'person', email: 'anna@example.com', subject: '1' } },
  ])
  const members = async () => JSON.parse((await run(['member', 'list', ...database, '--json'])).stdout)
  expect(await members()).toMatchObject([{ email: 'anna@example.com', sessions: [{}] }])
  expect((await run(['logout'], undefined, { env })).exitCode).toBe(0)
  expect(await members()).toMatchObject([{ email: 'anna@example.com', sessions: [] }])
})

test('a member logs in with a code that they enter on another device', async () => {
  await run(['member', 'add', 'anna@example.com', '--role', 'reader', '--database', server.database])
  const env = { XDG_CONFIG_HOME: temporaryFolder(cleanUp), PASSES_URL: undefined, PASSES_TOKEN: undefined }
  const flags = [
    '--oidc-issuer',
    device.url,
    '--oidc-client-id',
    'passes',
    '--oidc-client-secret',
    join(folder, 'secret'),
  ]
  const { database, token } = server
  const other = await hostServer({ database, token, args: flags })
  const login = spawnProgram(['login', '--sso', '--url', other.url, '--json'], undefined, { env })
  const [, code, address] = await new Promise<RegExpExecArray>((resolve) => {
    let text = ''
    login.stderr.on('data', (chunk) => {
      text += chunk
      const found = /enter (\S+):\s+(http\S+)/.exec(text)
      if (found) resolve(found)
    })
  })
  expect(await device.enterCode(address!, code!)).toContain('Sign-in Success')
  const { exitCode, stdout, stderr } = await login
  expect(exitCode, String(stderr)).toBe(0)
  expect(String(stderr)).toContain(`Or open this address in a browser of this machine:\n\n  ${other.url}/desk/login?`)
  expect(JSON.parse(String(stdout)).token).toMatchObject({ name: 'anna@example.com', role: 'member' })
  device.tokenError = 'access_denied'
  const denied = await run(['login', '--sso', '--url', other.url], undefined, { env })
  expect(denied).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('The sign-in was denied at the provider.'),
  })
  expect(denied.stderr).toContain('use a browser of this machine')
  const forged = await fetch(`${other.url}/desk/device/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ handle: 'forged' }),
  })
  expect(forged.status).toBe(400)
})

test.skipIf(skipReason !== undefined)(
  'a member signs in to the desk, reads with the session, and signs out',
  async () => {
    await run(['member', 'add', 'anna@example.com', '--role', 'reader', '--database', server.database])
    await server.client.projects.create({ body: { name: 'Gala' } })
    const browser = await launchBrowser()
    cleanUp(() => browser.close())
    const { page } = await visit(browser, {}, cleanUp)
    await page.goto(`${server.url}/desk?project=Gala`)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByText('Latest scans').waitFor()
    expect(new URL(page.url()).search).toBe('?project=Gala')
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    // The page of the provider, which leads back to the desk.
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
  },
)

test('login --sso explains that a server has no sign-in, or does not respond', async () => {
  const silent = await run(['login', '--sso', '--url', `http://127.0.0.1:${await freePort()}`])
  expect(silent).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/No response from .*ECONNREFUSED/) })
  const other = await hostServer()
  const result = await run(['login', '--sso', '--url', other.url])
  expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('has no sign-in for people') })
})
