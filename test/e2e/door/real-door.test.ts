import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { launchBrowser, skipReason, visit } from '../support/browser.ts'
import { hostServer, type TestServer } from '../support/server.ts'
import { cameraFlags, countTaps, writeFilm } from './camera-film.ts'

describe.skipIf(skipReason !== undefined)(
  `a phone and a server${skipReason ? ` (skipped: ${skipReason})` : ''}`,
  () => {
    const cleanUp = cleanUpAfterAll()
    let server: TestServer
    let projectId: string
    let payload: string

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
      const body = { templateId: id, externalPassId: 'T-1', label: 'Ada Lovelace' }
      const pass = await client.passes.create({ body })
      await eventually(async () => expect((await client.passes.get({ params: { id: pass.id } })).status).toBe('ISSUED'))
      const preview = await client.passes.preview({ params: { id: pass.id }, query: { platform: 'apple' } })
      payload = (preview as unknown as { apple: { barcodes: { message: string }[] } }).apple.barcodes[0]!.message
    })

    test('from the printed code to the first verdict in three taps; on without any, and what goes wrong is told', async () => {
      const { client } = server
      const film = join(temporaryFolder(cleanUp), 'ticket.mjpeg')
      await writeFilm(film, [{ payload, symbology: 'qrcode', condition: 'plain' }], { pause: 3 })
      const browser = await launchBrowser(cameraFlags(film))
      cleanUp(() => browser.close())
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const invitation = await client.doors.invite({ body: { projectId, gate: 'North', expiresAt } })
      const link = new URL(invitation.url)
      expect([link.pathname, link.hash]).toEqual(['/door', `#${invitation.code}`])

      const { page, context, incidents } = await visit(browser, { locale: 'en', viewport: { width: 390, height: 844 } })
      page.setDefaultTimeout(60_000)
      await page.addInitScript({ content: countTaps })
      await page.goto(`${server.url}/door${link.hash}`)
      expect(page.url()).toBe(`${server.url}/door`)
      await page.getByRole('button', { name: 'Begin' }).click()
      await page.getByRole('button', { name: 'Start' }).click()
      await page.locator('.verdict.yes').getByText('Ada Lovelace').waitFor()
      // Claim and start; the third is the browser's own question for the camera, asked once.
      expect(await page.evaluate('[taps, asked]')).toEqual([2, 1])
      // The ticket is gone, and comes back.
      await page.locator('.verdict.no').getByText('ALREADY USED').waitFor()
      const { items } = await client.scans.list({ query: { projectId } })
      expect(items.at(-1)).toMatchObject({ result: 'accepted', metadata: { gate: 'North' } })

      // The page is on the phone once its service worker is: it opens without a network, and judges.
      await eventually(async () => expect(await page.evaluate(IS_KEPT)).toBe(true))
      await context.setOffline(true)
      await page.reload()
      await page.locator('.verdict.no').getByText('ALREADY USED').waitFor()
      expect(await page.evaluate('taps')).toBe(0)
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByText(/^Offline since/).waitFor()
      await context.setOffline(false)
      await page.getByText('Online', { exact: true }).waitFor()

      // The ticket comes by again and again, and its verdict hides what is told.
      const told = (words: string | RegExp) =>
        eventually(async () => {
          const next = page.getByRole('button', { name: 'Next' })
          if (await next.isVisible()) await next.click()
          expect(await page.getByText(words).count()).toBe(1)
        })
      // What a server of before doors answers.
      const older = { status: 404, headers: { 'x-correlation-id': 'of-before' }, json: { errorCode: 'NOT_FOUND' } }
      await context.route('**/v1/**', (route) => route.fulfill(older))
      await told('The server has become too old for this page')
      await context.unroute('**/v1/**')

      await page.addInitScript({ content: 'const { now } = Date; Date.now = () => now() + 30 * 60_000' })
      await page.reload()
      await told(/^The clock of this phone is wrong by .30 minutes/)

      const [door] = (await client.doors.list({ query: { projectId } })).items
      await client.doors.revoke({ params: { id: door!.id } })
      await page.getByText('This door was ended').waitFor()
      expect(incidents.filter((incident) => !isOfTheNetwork.test(incident))).toEqual([])
    })
  },
)

const IS_KEPT = 'navigator.serviceWorker.getRegistration("/door").then((one) => one?.active?.state === "activated")'

/** Chromium tells of each request that fails, or is refused. */
const isOfTheNetwork = /Failed to load resource/
