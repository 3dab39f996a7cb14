import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { TestProvider } from '../../support/oidc.ts'
import { freePort } from '../../support/ports.ts'
import { readPicture } from '../../support/read-picture.ts'
import { accessibilityIssues, launchBrowser, overPictures, screens, skipReason, visit } from '../support/browser.ts'
import { run } from '../support/program.ts'
import { type HostedServer, hostServer } from '../support/server.ts'

/** A text that browsers change in a form. */
const ADDRESS = 'Main Street 1\r\nSpringfield '

describe.skipIf(skipReason !== undefined)('actions of people at the desk', () => {
  const cleanUp = cleanUpAfterAll()
  let provider: TestProvider
  let server: HostedServer
  let browser: Browser
  let projectId: string
  let guest: { id: string }
  let duplicate: { id: string }

  beforeAll(async () => {
    const port = await freePort()
    provider = new TestProvider(`http://127.0.0.1:${port}`)
    await provider.start()
    const secret = join(temporaryFolder(cleanUp), 'secret')
    writeFileSync(secret, `${provider.config().clientSecret}\n`)
    const env = {
      PASSES_OIDC_ISSUER: provider.url,
      PASSES_OIDC_CLIENT_ID: 'passes',
      PASSES_OIDC_CLIENT_SECRET: secret,
    }
    server = await hostServer({ port: String(port), env, args: ['--allow-insecure-webhooks'], cleanUp })
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    const { client } = server
    projectId = (await client.projects.create({ body: { name: 'Gala' } })).id
    const { id: templateId } = await client.templates.create({
      body: { name: 'Ticket', passType: 'eventTicket', projectId },
    })
    const definition = {
      variables: [
        { name: 'seat', label: 'Seat' },
        { name: 'address', label: 'Address' },
      ],
      design: { organizationName: 'Gala', description: 'Gala' },
      redemption: { maxUses: 1 },
      // Without an expiry, the link would change every second.
      expiresAt: '2090-01-01',
      balances: { cafe: { label: 'Cafe', kind: 'currency' as const, currency: 'EUR', start: 1000 } },
    }
    const draft = await client.templates.createVersion({ params: { id: templateId }, body: { definition } })
    await client.templateVersions.publish({ params: { id: draft.id } })
    const create = (externalPassId: string, label: string) =>
      client.passes.create({ body: { templateId, externalPassId, label, variables: { seat: 'A1', address: ADDRESS } } })
    guest = await create('G-1', 'Ana Noak')
    duplicate = await create('G-2', 'Duplicate Guest')
    await eventually(async () =>
      expect((await client.passes.list({ query: { status: 'ISSUED' } })).items).toHaveLength(2),
    )
    await client.scans.create({ body: { passId: guest.id, context: { gate: 'North' } } })
    for (const [email, role] of [
      ['anna@example.com', 'support'],
      ['ben@example.com', 'reader'],
      ['olga@example.com', 'owner'],
      ['dora@example.com', 'door-lead'],
    ] as const) {
      await run(['member', 'add', email, '--role', role, '--database', server.database])
    }
  })
  afterAll(() => provider.close())

  async function signIn(sub: string, email: string, locale: string) {
    provider.account = { sub, email, email_verified: true }
    const visited = await visit(browser, { viewport: screens.phone, locale, colorScheme: 'light' })
    const { page } = visited
    page.setDefaultTimeout(20_000)
    await page.goto(`${server.url}/desk`)
    await page.locator('a.button.main').click()
    await page.locator('[data-number=accepted]').waitFor()
    return visited
  }

  async function find(page: Page, text: string): Promise<void> {
    await page.getByLabel('Name or ID of a pass').fill(text)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.locator('h2.pass').waitFor()
  }

  /** Signs out of the desk and of the provider, which leads back to the desk. */
  async function signOut(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.locator('a.button.main').waitFor()
    expect(new URL(page.url()).origin).toBe(server.url)
  }

  const read = (id: string) => server.client.passes.get({ params: { id } })

  test('on a phone, a support person corrects, sends, voids, and reverses, and sees what changed meanwhile', async () => {
    const { page, incidents } = await signIn('1', 'anna@example.com', 'en')
    const dialog = page.getByRole('dialog')
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const confirm = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
    await find(page, 'Noak')

    await button('Correct: Ana Noak').click()
    expect((await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))).toEqual([])
    await dialog.getByLabel('Name').fill('Ana Novák')
    await confirm('Correct')
    await dialog.getByRole('status').getByText('The pass is corrected.').waitFor()
    expect(await read(guest.id)).toMatchObject({
      label: 'Ana Novák',
      variables: { seat: 'A1', address: ADDRESS },
      revision: 2,
    })
    await confirm('Undo')
    await dialog.getByRole('status').getByText('The change is undone.').waitFor()
    expect((await read(guest.id)).label).toBe('Ana Noak')
    await page.keyboard.press('Escape')

    // The focus returns to the button of the dialog.
    await button('Correct: Ana Noak').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Correct')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('seat').fill('B7')
    await server.client.passes.update({ params: { id: guest.id }, body: { label: 'Ana Novak' } })
    await confirm('Correct')
    await dialog.getByRole('alert').getByText('Nothing was saved.').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Use the current values')
    expect(await dialog.locator('dl').innerText()).toMatch(/Ana Noak\s+Ana Novak/)
    // The token of the test changed the pass.
    await dialog
      .getByRole('alert')
      .getByText(/^first owner · /)
      .waitFor()
    expect((await read(guest.id)).variables).toMatchObject({ seat: 'A1' })
    await page.keyboard.press('Enter')
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Ana Novak')
    expect(await page.evaluate('document.activeElement.value')).toBe('Ana Novak')
    await dialog.getByLabel('seat').fill('B7')
    await page.keyboard.press('Enter')
    await dialog.getByText('The pass is corrected.').waitFor()
    expect(await read(guest.id)).toMatchObject({ label: 'Ana Novak', variables: { seat: 'B7' } })
    await server.client.passes.update({ params: { id: guest.id }, body: { variables: { seat: 'B8' } } })
    await confirm('Undo')
    await dialog.getByRole('alert').getByText('This is not possible at the moment. Check the current state.').waitFor()
    await dialog.getByRole('status').getByText('The pass is corrected.').waitFor()
    expect((await read(guest.id)).variables).toMatchObject({ seat: 'B8' })
    await confirm('Close')

    await button('Copy the link: Ana Novak').click()
    await confirm('Copy the link')
    const link = await dialog.locator('code').innerText()
    expect(link).toBe((await read(guest.id)).hostedLinks.smart)
    await confirm('Close')
    await button('Revoke the links: Ana Novak').click()
    await confirm('Revoke the links')
    await dialog.getByText('The links no longer work.').waitFor()
    expect((await fetch(link)).status).toBe(410)
    await confirm('Close')

    await button('Send a message: Ana Novak').click()
    await dialog.getByLabel('Message').fill('Welcome')
    await confirm('Send a message')
    await dialog.getByText('The message is on its way.').waitFor()
    await confirm('Close')
    const { items } = await server.client.notifications.list({ params: { id: guest.id } })
    expect(items.map(({ body }) => body)).toEqual(['Welcome'])

    const history = page.getByRole('region', { name: 'History' })
    await history.getByRole('row', { name: /Links revoked.*anna@example.com/s }).waitFor()

    await button('Change the balance: cafe').click()
    await dialog.getByLabel('Amount').fill('-2.50')
    await confirm('Change the balance')
    await dialog.getByText('The balance is changed.').waitFor()
    await page.getByText('7.50 EUR').waitFor()
    await page.getByRole('row', { name: /cafe.*-2\.50/s }).waitFor()
    await confirm('Undo')
    await dialog.getByText('The change is undone.').waitFor()
    await page.getByText('10.00 EUR').waitFor()
    await confirm('Close')
    await button('Change the balance: cafe').click()
    await dialog.getByLabel('Amount').fill('-10.01')
    await confirm('Change the balance')
    await dialog
      .getByRole('alert')
      .getByText('The balance cannot go below its minimum or above its maximum.', { exact: true })
      .waitFor()
    expect(await dialog.getByRole('alert').innerText()).not.toContain('1000')
    await confirm('Cancel')

    await page.getByRole('button', { name: /^Take back: / }).click()
    await dialog.getByLabel('Reason').fill('Wrong person')
    await confirm('Take back')
    await dialog.getByText('The scan is taken back.').waitFor()
    await confirm('Close')
    await page.locator('td', { hasText: 'Wrong person' }).waitFor()
    // The action removed its button.
    expect(await page.evaluate('document.activeElement.className')).toBe('pass')

    await find(page, 'Duplicate')
    await button('Void: Duplicate Guest').click()
    await page.getByRole('dialog', { description: 'The pass can no longer be used. This cannot be undone.' }).waitFor()
    await page.keyboard.press('Escape')
    expect((await read(duplicate.id)).status).toBe('ISSUED')
    await button('Void: Duplicate Guest').click()
    await server.client.passes.void({ params: { id: duplicate.id }, body: {} })
    await confirm('Void')
    await dialog.getByRole('alert').getByText('The pass is already void. Nothing changed.').waitFor()
    await confirm('Cancel')
    await button('Void: Duplicate Guest').waitFor({ state: 'detached' })
    // Before the sign-in, the page has no session (401).
    const failedRequests = incidents.filter((text) => !/status of (401|409|412)/.test(text))
    expect(failedRequests).toEqual([])
    const audit = await run(['audit', 'list', '--actor', 'anna@example.com', '--database', server.database, '--json'])
    expect(audit.stdout).toContain('pass.update')

    // Signing out also ends a session that replaced the session of this tab.
    const otherTab = await page.context().newPage()
    await otherTab.goto(`${server.url}/desk/login`)
    await otherTab.locator('[data-number=accepted]').waitFor()
    await signOut(page)
    expect(await page.evaluate("fetch('./desk/session').then(({ status }) => status)")).toBe(401)
  })

  test('at the board, an owner invites and revokes a door, sends a delivery again, and cancels a broadcast', async () => {
    const { client } = server
    await client.webhooks.create({ body: { url: 'http://127.0.0.1:1/', events: ['pass.updated'] } })
    await client.passes.update({ params: { id: guest.id }, body: { variables: { seat: 'C3' } } })
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    await client.broadcasts.create({ params: { id: projectId }, body: { body: 'Doors open', sendAt: expiresAt } })
    const { page } = await signIn('3', 'olga@example.com', 'en-US')
    const dialog = page.getByRole('dialog')
    const invite = async () => {
      await page.getByRole('button', { name: 'Invite phones: Doors' }).click()
      await dialog.getByLabel('Gate').fill('North')
      await dialog.getByRole('button', { name: 'Invite phones' }).click()
      const link = await dialog.locator('code').innerText()
      // A phone next to the screen reads the link with its camera.
      expect(await readPicture(await dialog.getByRole('img', { name: 'QR' }).screenshot())).toBe(link)
      return link.slice(`${server.url}/door#`.length)
    }
    const code = await invite()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await client.doors.claim({ body: { code, name: 'Phone 1' } })
    const canceled = await invite()
    await dialog.getByRole('button', { name: 'Undo' }).click()
    await dialog.getByText('The change is undone.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await expect(client.doors.claim({ body: { code: canceled, name: 'Phone 2' } })).rejects.toMatchObject({
      status: 404,
    })
    for (const [target, action, result] of [
      ['Phone 1', 'Revoke', 'The door is revoked.'],
      ['pass.updated', 'Send again', 'A new attempt is scheduled.'],
      ['Doors open', 'Do not send', 'The broadcast is canceled.'],
    ] as const) {
      await page
        .getByRole('button', { name: `${action}: ${target}`, exact: true })
        .first()
        .click()
      await dialog.getByRole('button', { name: action, exact: true }).click()
      await dialog.getByRole('status').getByText(result).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
    }
    expect((await client.doors.list({ query: { projectId, revoked: false } })).items).toEqual([])
    expect((await client.broadcasts.list({ params: { id: projectId } })).items).toEqual([])
  })

  test('buttons of tables hide no values on a large screen in German, nor with text of twice the size', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    await server.client.broadcasts.create({ params: { id: projectId }, body: { body: 'Doors open later', sendAt } })
    const { page } = await signIn('3', 'olga@example.com', 'de-AT')
    await page.setViewportSize({ width: 1920, height: 1080 })
    const broadcasts = page.getByRole('region', { name: 'Rundnachrichten' })
    await broadcasts.getByRole('button', { name: /^Nicht senden/ }).waitFor()
    expect(await broadcasts.evaluate((table) => table.scrollWidth - table.clientWidth)).toBe(0)
    await page.setViewportSize({ width: 320, height: 640 })
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    const covered = `[...document.querySelectorAll('td:has(> button)')]
      .filter((cell) => cell.previousSibling.getBoundingClientRect().right > cell.getBoundingClientRect().left + 1)
      .map((cell) => cell.textContent)`
    expect(await page.evaluate(covered)).toEqual([])
    await broadcasts.getByRole('button', { name: /^Nicht senden/ }).click()
    const { height } = (await page.getByRole('button', { name: 'Abbrechen' }).boundingBox())!
    // The word is on one line, and the line of large text is at most 1.5 times as high as the text.
    expect(height).toBeLessThan(100)
  })

  test('a door lead, who cannot list projects, invites phones', async () => {
    const { page } = await signIn('4', 'dora@example.com', 'en-IE')
    await page.getByRole('button', { name: 'Invite phones: Doors' }).waitFor()
    expect(await page.getByRole('button', { name: /^(Do not send|Send again)/ }).count()).toBe(0)
  })

  test('a reader and a token see no actions', async () => {
    const { page } = await signIn('2', 'ben@example.com', 'en-GB')
    const notAllowed = page.getByText('Your roles do not allow this. Ask an owner.')
    await notAllowed.first().waitFor()
    await find(page, 'G-1')
    await page.locator('td', { hasText: 'North' }).waitFor()
    expect(await notAllowed.count()).toBe(1)
    const actions = page.getByRole('button', { name: /^(Correct|Void|Copy the link|Revoke|Send|Take back)/ })
    expect(await actions.count()).toBe(0)
    await signOut(page)
    await page.locator('input[type=password]').fill(server.token)
    await page.locator('button.main').click()
    await find(page, 'G-1')
    await page.locator('td', { hasText: 'North' }).waitFor()
    expect(await actions.count()).toBe(0)
  })

  test('keeps an open dialog if the session ends, and completes it after a sign-in in another tab', async () => {
    const { page } = await signIn('1', 'anna@example.com', 'en')
    const dialog = page.getByRole('dialog')
    const send = dialog.getByRole('button', { name: 'Send a message' })
    const ended = 'Your session has ended. Sign in again.'
    const endSession = async () => {
      await page.getByRole('button', { name: /^Send a message: / }).click()
      await dialog.getByLabel('Message').fill('Doors open at eight')
      await run(['member', 'sessions', 'revoke', 'anna@example.com', '--database', server.database])
      await page.locator('main').getByText(ended).waitFor()
      await send.click()
      await dialog.getByRole('alert').getByText(ended).waitFor()
      expect(await dialog.getByLabel('Message').inputValue()).toBe('Doors open at eight')
    }
    await find(page, 'G-1')
    await endSession()
    const opening = page.context().waitForEvent('page')
    await dialog.getByRole('alert').getByRole('link', { name: 'Sign in' }).click()
    const otherTab = await opening
    // The sign-in leads to the same pass.
    await otherTab.locator('h2.pass', { hasText: 'Ana' }).waitFor()
    await send.click()
    await dialog.getByText('The message is on its way.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.locator('td', { hasText: 'Doors open at eight' }).waitFor()
    await endSession()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.locator('a.button.main').waitFor()
    await page.getByRole('alert').getByText(ended).waitFor()
  })

  test('rejects an action after a sign-in to another workspace in another tab', async () => {
    const change = (...args: string[]) => run([...args, '--database', server.database])
    await change('workspace', 'create', '--name', 'other')
    for (const workspace of ['default', 'other'])
      await change('member', 'add', 'mia@example.com', '--role', 'support', '--workspace', workspace)
    provider.account = { sub: '5', email: 'mia@example.com', email_verified: true }
    const { page } = await visit(browser, { locale: 'en', isAlone: true })
    page.setDefaultTimeout(20_000)
    const otherTab = await page.context().newPage()
    await page.goto(`${server.url}/desk/login?workspace=default`)
    await find(page, 'G-1')
    await page.getByRole('button', { name: /^Send a message: / }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Message').fill('Doors open at eight')
    await otherTab.goto(`${server.url}/desk/login?workspace=other`)
    await otherTab.getByRole('button', { name: 'Sign out' }).waitFor()
    await dialog.getByRole('button', { name: 'Send a message' }).click()
    await dialog.getByRole('alert').getByText('You signed in again in another tab. Reload the page.').waitFor()
  })

  test('shows the suspension of the workspace after a reload, and ends the session at a sign-out', async () => {
    const { page } = await signIn('3', 'olga@example.com', 'de')
    const otherTab = await page.context().newPage()
    const change = (...args: string[]) => run(['workspace', ...args, '--database', server.database])
    onTestFinished(async () => void (await change('resume', 'default')))
    await change('suspend', 'default', '--yes')
    await eventually(async () =>
      expect(await page.evaluate("fetch('./desk/session').then(({ status }) => status)")).toBe(403),
    )
    await otherTab.goto(`${server.url}/desk`)
    await otherTab
      .getByRole('alert')
      .getByText('Der Arbeitsbereich ist gesperrt. Frag den Betreiber des Servers.')
      .waitFor()
    await page.getByRole('button', { name: 'Abmelden' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.locator('a.button.main').waitFor()
    expect(await page.getByRole('alert').innerText()).toBe('')
    expect(await page.evaluate("fetch('./desk/session').then(({ status }) => status)")).toBe(401)
  })
})
