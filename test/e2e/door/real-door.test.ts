import { join } from 'node:path'
import type { CDPSession } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { drawInvitation } from '../../../src/cli/qr-page.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { readPicture } from '../../support/read-picture.ts'
import { accessibilityIssues, launchBrowser, skipReason, visit } from '../support/browser.ts'
import { hostServer, type TestServer } from '../support/server.ts'
import { cameraFlags, countTaps, writeFilm } from './camera-film.ts'

describe.skipIf(skipReason !== undefined)(
  `a phone and a server${skipReason ? ` (skipped: ${skipReason})` : ''}`,
  () => {
    const cleanUp = cleanUpAfterAll()
    let server: TestServer
    let projectId: string
    /** The payloads of the codes of three tickets. */
    let payloads: string[]

    beforeAll(async () => {
      server = await hostServer({ cleanUp })
      const { client } = server
      projectId = (await client.projects.create({ body: { name: 'Polyglot 2027' } })).id
      const { id } = await client.templates.create({ body: { name: 'Day ticket', passType: 'eventTicket', projectId } })
      const definition = {
        design: { organizationName: 'Polyglot', description: 'Day ticket' },
        redemption: { maxUses: 1 },
      }
      const draft = await client.templates.createVersion({ params: { id }, body: { definition } })
      await client.templateVersions.publish({ params: { id: draft.id } })
      const issue = async (label: string): Promise<string> => {
        const pass = await client.passes.create({ body: { templateId: id, externalPassId: label, label } })
        const params = { id: pass.id }
        await eventually(async () => expect((await client.passes.get({ params })).status).toBe('ISSUED'))
        const preview = await client.passes.preview({ params, query: { platform: 'apple' } })
        return (preview as unknown as { apple: { barcodes: { message: string }[] } }).apple.barcodes[0]!.message
      }
      payloads = await Promise.all(['Ada Lovelace', 'Grace Hopper', 'Joan Clarke'].map(issue))
    })

    test('shows in the language of the phone that the page needs https', async () => {
      const browser = await launchBrowser()
      cleanUp(() => browser.close())
      const { page } = await visit(browser, { locale: 'ar', viewport: { width: 320, height: 568 }, isAlone: true })
      await page.addInitScript("Object.defineProperty(globalThis, 'isSecureContext', { value: false })")
      await page.goto(`${server.url}/door#code`)
      await page.getByRole('main').getByText('افتح عنوان https.').waitFor()
      expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')).toEqual([
        'ar',
        'rtl',
      ])
      expect(await accessibilityIssues(page)).toEqual([])
    })

    test('shows how to allow storage if the browser blocks it', async () => {
      const browser = await launchBrowser()
      cleanUp(() => browser.close())
      const { page } = await visit(browser, { locale: 'de', viewport: { width: 320, height: 568 }, isAlone: true })
      await page.addInitScript(`for (const name of ['indexedDB', 'localStorage']) {
        Object.defineProperty(globalThis, name, { get() { throw new DOMException('blocked', 'SecurityError') } })
      }`)
      await page.goto(`${server.url}/door#code`)
      await page.getByRole('main').getByText('Dieser Browser lässt die Seite nichts speichern.').waitFor()
    })

    test('from the printed code to the first decision in three taps, later in none; problems are shown', async () => {
      const { client } = server
      const film = join(temporaryFolder(cleanUp), 'ticket.mjpeg')
      await writeFilm(film, [{ payload: payloads[0]!, format: 'qr', condition: 'plain' }], { pause: 3 })
      const browser = await launchBrowser(cameraFlags(film))
      cleanUp(() => browser.close())
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const invitation = await client.doors.invite({ body: { projectId, gate: 'North', expiresAt } })
      const sheet = await drawInvitation(invitation, { gate: 'North', projectName: 'Polyglot 2027' })
      const printed = await readPicture(Buffer.from(sheet))
      expect(printed).toBe(`${server.url}/door#${invitation.code}`)

      const { page, context, incidents } = await visit(browser, { locale: 'en', viewport: { width: 390, height: 844 } })
      await page.addInitScript({ content: countTaps })
      const setRoom = await quotaOf(await context.newCDPSession(page), new URL(server.url).origin)
      await page.goto(printed!)
      expect(page.url()).toBe(`${server.url}/door`)
      await page.getByRole('button', { name: 'Begin' }).click()
      await page.getByRole('button', { name: 'Start' }).click()
      await page.locator('.decision.yes').getByText('Ada Lovelace').waitFor()
      // The taps are Begin and Start. The browser asked once for the camera, which costs a person a third tap.
      expect(await page.evaluate('[taps, asked]')).toEqual([2, 1])
      // The ticket leaves the camera image, and returns.
      await page.locator('.decision.no').getByText('ALREADY USED').waitFor()
      const { items } = await client.scans.list({ query: { projectId } })
      expect(items.at(-1)).toMatchObject({ result: 'accepted', metadata: { gate: 'North' } })

      // Once its service worker is active, the page opens and decides offline.
      await eventually(async () => expect(await page.evaluate(IS_KEPT)).toBe(true))
      await context.setOffline(true)
      await page.reload()
      await page.locator('.decision.no').getByText('ALREADY USED').waitFor()
      expect(await page.evaluate('taps')).toBe(0)
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByText(/^Offline since/).waitFor()

      // If the storage is full, the door rejects scans that it cannot store, keeps earlier decisions, and continues once
      // there is space.
      const scan = async (code: string) => {
        await page.keyboard.type(code)
        await page.keyboard.press('Enter')
      }
      await scan(payloads[1]!)
      await page.locator('.decision.yes').getByText('Grace Hopper').waitFor()
      await setRoom(false)
      await scan(payloads[2]!)
      await page.locator('.decision').getByText('The phone has no space left, so this could not be stored.').waitFor()
      await page.locator('.problem').getByText('The phone has no space left: without the network nothing').waitFor()
      await setRoom(true)
      await scan(payloads[2]!)
      await page.locator('.decision.yes').getByText('Joan Clarke').waitFor()
      await page.locator('.problem').waitFor({ state: 'detached' })
      await context.setOffline(false)
      await eventually(async () => {
        const { items } = await client.scans.list({ query: { projectId, result: 'accepted' } })
        const told = items.map(({ verified, metadata }) => [verified, metadata.conflict])
        expect(told).toEqual([
          ['offline', undefined],
          ['offline', undefined],
          ['online', undefined],
        ])
      })

      // The ticket is scanned repeatedly. Each decision hides messages.
      const told = (words: string) =>
        eventually(async () => {
          const next = page.getByRole('button', { name: 'Next' })
          if (await next.isVisible()) await next.click()
          expect(await page.getByText(words, { exact: true }).count()).toBe(1)
        })
      // The response of an old server without doors.
      const older = { status: 404, headers: { 'x-correlation-id': 'of-before' }, json: { errorCode: 'NOT_FOUND' } }
      await context.route('**/v1/**', (route) => route.fulfill(older))
      await page.locator('.problem').getByText('The server is too old for this page').waitFor()
      // After the server is updated, the page connects again.
      await context.unroute('**/v1/**')
      await page.locator('.problem').waitFor({ state: 'detached' })
      await told('Online')

      await page.addInitScript({ content: 'const { now } = Date; Date.now = () => now() + 30 * 60_000' })
      await page.reload()
      await page.getByText(/^The clock of this phone is wrong by .30 minutes/).waitFor()

      const [door] = (await client.doors.list({ query: { projectId } })).items
      await client.doors.revoke({ params: { id: door!.id } })
      await page.getByText('This door was ended').waitFor()
      expect(incidents.filter((incident) => !isOfTheNetwork.test(incident))).toEqual([])
    })
  },
)

const IS_KEPT = 'navigator.serviceWorker.getRegistration("/door").then((one) => one?.active?.state === "activated")'

/** Chromium logs each request that fails or is rejected. */
const isOfTheNetwork = /Failed to load resource/

/**
 * Chromium checks the storage quota of a page once in 30 seconds, unless more is to be stored than the last quota
 * allowed. Therefore the page tries to store that much when its quota changes.
 * @returns a function that sets whether there is space
 */
async function quotaOf(session: CDPSession, origin: string): Promise<(hasRoom: boolean) => Promise<void>> {
  const setQuota = (quotaSize: number) => session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize })
  await setQuota(ROOM)
  return async (hasRoom) => {
    await setQuota(hasRoom ? ROOM : 1)
    if (!hasRoom) await session.send('Runtime.evaluate', { expression: STORE_MUCH, awaitPromise: true })
  }
}

const ROOM = 20_000_000

const STORE_MUCH = `new Promise((resolve) => {
  const opening = indexedDB.open('much')
  opening.onupgradeneeded = () => opening.result.createObjectStore('much')
  opening.onerror = resolve
  opening.onsuccess = () => {
    const writing = opening.result.transaction('much', 'readwrite')
    writing.objectStore('much').put('x'.repeat(${ROOM}), 1)
    writing.oncomplete = writing.onabort = resolve
  }
})`
