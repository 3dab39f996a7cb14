import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ScanStats, ScanStatsByGate } from '../../../src/core/contract/scans/scans.ts'
import { beginningOf, PACE_MINUTES, paceBeginningOf, sumOf } from '../../../src/desk/live/sources.ts'
import { cleanUpAfterAll, dialects } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong } from '../../support/long.ts'
import { accessibilityIssues, launchBrowser, overPictures, picture, skipReason, visit } from '../support/browser.ts'
import { run } from '../support/program.ts'
import { hostServer, startServer, type TestServer } from '../support/server.ts'

/** Calculates the admitted people without the rule of the page. */
function admitted({ totalScans, totalDenied, reversed, exits = 0 }: ScanStatsByGate['items'][number]): number {
  return totalScans - totalDenied - reversed - exits
}

describe.skipIf(skipReason !== undefined)(
  `the desk in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`,
  () => {
    const cleanUp = cleanUpAfterAll()
    let server: TestServer
    /** Another process on the same database, where guests are admitted. */
    let gateServer: TestServer
    let browser: Browser
    let projectId: string
    let passes: { id: string; label: string; externalPassId: string }[]

    beforeAll(async () => {
      browser = await launchBrowser()
      cleanUp(() => browser.close())
      const dialect = dialects.at(-1)!
      server = await hostServer({ dialect, args: ['--allow-insecure-webhooks'], cleanUp })
      const { database, token } = server
      gateServer = await startServer({ dialect, database, token, args: ['--role', 'api'], cleanUp })
      const { client } = server
      projectId = (await client.projects.create({ body: { name: 'Polyglot 2027' } })).id
      const { id } = await client.templates.create({ body: { name: 'Day ticket', passType: 'eventTicket', projectId } })
      const definition = {
        design: { organizationName: 'Polyglot', description: 'Day ticket' },
        redemption: { maxUses: 1 },
      }
      const draft = await client.templates.createVersion({ params: { id }, body: { definition } })
      await client.templateVersions.publish({ params: { id: draft.id } })
      const body = {
        passes: Array.from({ length: 12 }, (_, n) => ({
          templateId: id,
          externalPassId: `T-${n}`,
          label: `Guest ${n}`,
        })),
      }
      passes = (await client.passes.createBatch({ body })).results.map(({ pass }) => pass!)
      // No server listens there. The first attempt fails, and the next is due after five seconds.
      await client.webhooks.create({ body: { url: 'http://127.0.0.1:1/', events: ['pass.voided'] } })
      for (const [n, pass] of passes.slice(0, 5).entries()) await scan(pass.id, n % 2 === 0 ? 'North' : 'South')
      await scan(passes[0]!.id, '<img src=x onerror=alert(1)>')
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const { code } = await client.doors.invite({ body: { projectId, gate: 'North', uses: DOORS, expiresAt } })
      for (let n = 0; n < DOORS; n += 1) await client.doors.claim({ body: { code, name: `Phone ${n}` } })
      await scan(passes[0]!.id, 'N'.repeat(1000))
      // A gate called "null" is different from no gate.
      await scan(passes[0]!.id, 'null')
      await client.scans.create({ body: { passId: passes[0]!.id } })
      await client.broadcasts.create({
        params: { id: projectId },
        body: {
          body: 'The doors open half an hour later. '.repeat(20),
          platforms: ['apple'],
          filter: { label: ['Guest 0', 'Guest 1', 'Łódź'] },
        },
      })
      await eventually(async () => {
        const { items } = await client.passes.list({ query: { status: 'ISSUED' } })
        expect(items).toHaveLength(passes.length)
      })
    })

    function scan(passId: string, gate: string) {
      return gateServer.client.scans.create({ body: { passId, context: { gate } } })
    }

    async function scanAgain(times: number): Promise<void> {
      for (let n = 0; n < times; n += 1) await scan(passes[n % 5]!.id, 'South')
    }

    async function openDesk(
      options: Parameters<typeof visit>[1] = {},
      address = '/desk',
      shown = '[data-number=accepted]',
    ) {
      const visited = await visit(browser, { locale: 'en', viewport: { width: 1280, height: 900 }, ...options })
      const { page } = visited
      await page.goto(server.url + address)
      await page.locator('input[type=password]').fill(server.token)
      await page.locator('button.main').click()
      await page.locator(shown).waitFor()
      return visited
    }

    /** Returns the numbers on the page, by their labels. */
    async function numbersOf(page: Page): Promise<Record<string, number>> {
      const shown = (await page.evaluate(
        `[...document.querySelectorAll('[data-number]')].map((part) => [part.dataset.number, part.value ?? part.textContent])`,
      )) as [string, string][]
      return Object.fromEntries(shown.map(([name, text]) => [name, Number(text.replaceAll(',', ''))]))
    }

    /** Returns the same numbers, read from the API. */
    async function numbersOfApi(): Promise<Record<string, number>> {
      const { client } = server
      const from = beginningOf(new Date())
      const { items } = await client.projects.figures({ params: { id: projectId }, query: { from, by: 'hour' } })
      const totals = (await client.scans.stats({ query: { projectId, from } })) as ScanStats
      const gates = (await client.scans.stats({ query: { projectId, from, groupBy: 'gate' } })) as ScanStatsByGate
      const { livePassCount } = await client.projects.stats({ params: { id: projectId } })
      const paceFrom = paceBeginningOf(new Date())
      const pace = (await client.scans.stats({
        query: { projectId, from: paceFrom, groupBy: 'gate' },
      })) as ScanStatsByGate
      const phones = await client.wallets.slo({ query: { projectId } })
      const doors = await client.doors.list({ query: { projectId } })
      const failed = await client.deliveries.list({ query: { lastAttempt: 'failed' } })
      const { usage } = await client.workspace.get()
      const { requestsInFlight: _, ...used } = usage!
      return {
        issued: sumOf(items, ({ issued }) => issued),
        installed: sumOf(items, ({ installed }) => installed.apple + installed.google),
        removed: sumOf(items, ({ removed }) => removed.apple + removed.google),
        updated: sumOf(items, ({ updated }) => updated),
        voided: sumOf(items, ({ voided }) => voided),
        current: phones.current,
        behind: phones.phones - phones.current,
        admitted: totals.redeemed,
        expected: livePassCount,
        perMinute: sumOf(pace.items, admitted) / PACE_MINUTES,
        scans: totals.totalScans,
        accepted: totals.totalScans - totals.totalDenied,
        denied: totals.totalDenied,
        ...Object.fromEntries(
          gates.items.map((figures) => [`gate ${JSON.stringify(figures.gate)}`, admitted(figures)]),
        ),
        failingDeliveries: failed.total,
        doors: doors.total,
        silentDoors: 0,
        pendingScans: sumOf(doors.items, ({ pendingScans }) => pendingScans ?? 0),
        ...Object.fromEntries(Object.entries(used).map(([name, value]) => [`usage ${name}`, value])),
      }
    }

    test('each number equals that of the API, also while people are admitted', async () => {
      const { page, incidents } = await openDesk()
      await page.getByText('Live', { exact: true }).waitFor()
      for (const pass of passes.slice(5)) await scan(pass.id, 'North')
      await Promise.all(Array.from({ length: 8 }, () => scanAgain(AGAIN / 8)))
      await scan(passes[5]!.id, 'East')
      await server.client.passes.void({ params: { id: passes[1]!.id }, body: {} })
      await eventually(async () => {
        const { 'usage requestsInFlight': _, ...shown } = await numbersOf(page)
        expect(shown).toEqual(await numbersOfApi())
      })
      const shown = await numbersOf(page)
      const scans = 17 + AGAIN
      expect(shown).toMatchObject({ issued: 12, voided: 1, scans, accepted: 12, denied: scans - 12, 'gate "East"': 0 })
      expect(shown).toMatchObject({ doors: DOORS, failingDeliveries: 1, expected: 11 })
      await page.getByText(`Shown: 20 / ${DOORS}`, { exact: true }).waitFor()
      const filters = await page.locator('.prose', { hasText: 'Filter:' }).allTextContents()
      expect(filters).toEqual(['Filter: label="Guest 0" label="Guest 1" label=Łódź'])
      expect(await page.locator('.board').innerText()).not.toMatch(/DISPATCHED|[a-z]_[a-z]/)
      expect(await page.locator('.bar rect').count()).toBeGreaterThanOrEqual(48)
      expect(await page.getByText(/zone/i).count()).toBe(0)
      // Neither a cookie nor an address holds the token.
      expect(await page.evaluate('document.cookie + location.href')).toBe(`${server.url}/desk`)
      expect(incidents).toEqual([])
    })

    test.each([
      ['a phone by day', { viewport: { width: 320, height: 568 }, colorScheme: 'light' }, ''],
      ['a desktop by night', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }, ''],
      ['a phone in Arabic, by night', { viewport: { width: 320, height: 568 }, colorScheme: 'dark', locale: 'ar' }, ''],
      // German has the longest words, and the colors of day and night are those of the desk.
      ['a wall in German', { viewport: { width: 1920, height: 1080 }, colorScheme: 'dark', locale: 'de' }, '?wall'],
      ...(isLong
        ? ([['a wall', { viewport: { width: 1920, height: 1080 }, colorScheme: 'light' }, '?wall']] as const)
        : []),
    ] as const)(
      'on %s the desk is complete and accessible, and follows its content policy',
      async (_, options, query) => {
        const { page, incidents } = await openDesk(options, `/desk${query}`)
        await page.locator('[data-number=issued]').waitFor()
        await page.locator('[data-number=doors]').waitFor()
        await look(page)
        // Long names hide no numbers. On a phone, the reader scrolls sideways to see them.
        if (options.viewport.width > 320) expect(await page.evaluate(CUT_OFF)).toEqual([])
        const pressable = await page.locator('button, input, select, a[href]').count()
        if (query === '?wall') {
          expect(pressable).toBe(0)
          // Wall displays cannot be scrolled, so everything must fit in every size and language.
          for (const viewport of WALLS) {
            await page.setViewportSize(viewport)
            await eventually(async () => {
              expect(await page.evaluate(BELOW_THE_SCREEN)).toBeLessThanOrEqual(0)
              expect(await page.evaluate(CUT_OFF)).toEqual([])
              expect(await page.evaluate(WALL)).toEqual({ small: [], broken: [], isFilled: true, unrounded: [] })
            })
          }
        } else {
          await page.getByRole('searchbox').fill('Guest 0')
          await page.getByRole('searchbox').press('Enter')
          await page.locator('.cards .phones').waitFor()
          await page.locator('table code').first().waitFor()
          await look(page)
        }
        expect(incidents).toEqual([])
      },
    )

    /** @param rules of axe-core, all by default */
    async function look(page: Page, rules?: readonly string[]): Promise<void> {
      await picture(page, `desk-${Date.now()}`, { fullPage: true })
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      const found = await accessibilityIssues(page, isLong ? undefined : rules)
      expect(found.filter((issue) => !overPictures.test(issue))).toEqual([])
    }

    test('a search by keyboard shows one complete pass with commands to copy', async () => {
      const { page, context } = await openDesk()
      const focused = await page.evaluate('[document.activeElement.tagName, document.activeElement.textContent]')
      expect(focused).toEqual(['H1', 'Desk'])
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.getByRole('searchbox').focus()
      await page.keyboard.type('nobody of that name')
      await page.keyboard.press('Enter')
      const [field, message] = await Promise.all(
        [page.getByRole('searchbox'), page.getByText('No pass found')].map((part) => part.boundingBox()),
      )
      expect(message!.y - field!.y - field!.height).toBeGreaterThan(5)
      expect(await page.getByRole('searchbox').getAttribute('dir')).toBe('auto')
      // A list that ends after two of three passes shows how many there are.
      await page.route('**/v1/passes?*', (route) =>
        route.continue({ url: route.request().url().replace('limit=20', 'limit=2') }),
      )
      await page.getByRole('searchbox').fill('Guest 1')
      await page.keyboard.press('Enter')
      await page.getByRole('status').getByText('Shown: 2 / 3', { exact: true }).waitFor()
      await page.unroute('**/v1/passes?*')
      await page.keyboard.press('Enter')
      const { id } = passes.find(({ label }) => label === 'Guest 10')!
      const link = page.getByRole('link', { name: 'Guest 10' })
      await link.waitFor()
      // A name from right to left, or one with direction marks, does not reorder the ID.
      expect(await link.locator('bdi').allInnerTexts()).toEqual(['Guest 10', 'T-10'])
      await link.press('Enter')
      await page.getByText(`passes pass void ${id} --reason "…"`).waitFor()
      expect(await page.evaluate('document.activeElement.textContent')).toContain('Guest 10')
      expect(await page.locator('.facts').first().innerText()).toMatch(
        /^Name\s+Guest 10\s+External ID\s+T-10\s+Status\s+Issued/,
      )
      await page.getByText('If scanned now').waitFor()
      const [accepted] = (await server.client.scans.list({ query: { passId: id } })).items
      const reverse = `passes scans reverse ${accepted!.id} --reason "…"`
      const command = page.locator('.command', { hasText: reverse })
      await command.getByRole('button').press('Enter')
      await command.getByText('Copied').waitFor()
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(reverse)
      await page.getByRole('link', { name: 'Back' }).press('Enter')
      await page.locator('[data-number=accepted]').waitFor()
    })

    async function makeToken(...more: string[]): Promise<{ id: string; token: string }> {
      const args = ['token', 'create', '--name', 'wall', '--database', server.database, '--json', ...more]
      return JSON.parse((await run(args)).stdout)
    }

    test('shows what a token cannot read, and returns to the start when a token ends', async () => {
      const made = await makeToken('--scope', 'scans:read', '--project', projectId)
      const { page, incidents } = await visit(browser, { locale: 'de', viewport: { width: 1280, height: 900 } })
      await page.goto(`${server.url}/desk`)
      await page.getByLabel('Zugangstoken').fill('no token at all')
      await page.getByRole('button', { name: 'Öffnen' }).click()
      await page.getByText('Der Server kennt diesen Token nicht').waitFor()
      // The browser logs the 401 itself.
      expect(incidents.splice(0)).toEqual([expect.stringContaining('401')])

      await page.getByLabel('Zugangstoken').fill(made.token)
      await page.getByRole('button', { name: 'Öffnen' }).click()
      await page.getByText('Aktualisiert alle paar Sekunden').waitFor()
      await page.locator('[data-number=accepted]').waitFor()
      const titles = (await page.evaluate(
        `[...document.querySelectorAll('article')].filter((part) => part.innerText.includes('nicht erlaubt')).map((part) => part.querySelector('h2').innerText)`,
      )) as string[]
      expect(titles.map((title) => title.split(' · ')[0])).toEqual([
        'Pässe',
        'Rundnachrichten',
        'Zustellungen mit Fehlern',
        'Identitäten',
      ])
      expect(await page.getByRole('searchbox').count()).toBe(0)
      // Without events, the desk polls and still finds the new scan.
      const before = (await numbersOf(page)).denied!
      await scan(passes[0]!.id, 'North')
      await eventually(async () => expect((await numbersOf(page)).denied).toBe(before + 1))
      expect(incidents).toEqual([])

      await run(['token', 'revoke', made.id, '--yes', '--database', server.database])
      await page.getByText('Der Server kennt diesen Token nicht').waitFor()
      expect(await page.evaluate('sessionStorage.length')).toBe(0)
      await eventually(async () => expect(await page.evaluate('document.activeElement.tagName')).toBe('H1'))

      // A token that cannot read projects does not show that there are none. It still finds passes.
      await page.getByLabel('Zugangstoken').fill((await makeToken('--scope', 'passes:read')).token)
      await page.getByRole('button', { name: 'Öffnen' }).click()
      await page.getByText('Für diesen Token nicht erlaubt').waitFor()
      expect(await page.getByRole('searchbox').count()).toBe(1)
    })

    test('shows that the server is unavailable, and continues when it is back', async () => {
      const { page, context } = await openDesk({ viewport: { width: 1000, height: 700 } })
      await page.locator('[data-number=doors]').waitFor()
      await context.setOffline(true)
      await page.getByText('The server does not respond').waitFor()
      expect(await page.locator('[data-number=accepted]').isVisible()).toBe(true)
      await context.setOffline(false)
      await page.getByText('The server does not respond').waitFor({ state: 'detached' })

      // Proxies respond like this if no server is ready.
      await page.route('**/v1/**', (route) => route.fulfill({ status: 502, body: '<h1>Bad Gateway</h1>' }))
      await page.getByText('The server does not respond').waitFor()
      expect(await page.locator('[data-number=doors]').isVisible()).toBe(true)
      await page.unroute('**/v1/**')
      await page.getByText('The server does not respond').waitFor({ state: 'detached' })
    })

    test('a failed request is repeated even if no event would trigger it', async () => {
      const { page } = await openDesk()
      await page.getByText('Live', { exact: true }).waitFor()
      await page.route('**/v1/scans/stats*', (route) =>
        route.fulfill({ status: 500, json: { message: 'Out of order' }, headers: { 'x-correlation-id': 'c' } }),
      )
      await scan(passes[0]!.id, 'North')
      await page.getByText('The server is busy. Try again in a moment.').first().waitFor()
      await page.unroute('**/v1/scans/stats*')
      await page.getByText('The server is busy. Try again in a moment.').first().waitFor({ state: 'detached' })
      await page.locator('[data-number=accepted]').waitFor()
    })

    test('a screen whose clock is a day ahead shows the last 24 hours and silent doors by the server', async () => {
      const { page } = await visit(browser, { locale: 'en', isAlone: true })
      await page.clock.setSystemTime(Date.now() + 86_400_000)
      await page.route('**/v1/doors?*', async (route) => {
        const response = await route.fetch()
        const { items, ...list } = (await response.json()) as { items: object[] }
        const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
        const [first, second, ...others] = items
        const seen = [
          { ...first, name: 'Overheard', lastSeenAt: minutesAgo(55) },
          { ...second, name: 'Unheard', lastSeenAt: minutesAgo(61) },
        ]
        await route.fulfill({ response, json: { ...list, items: [...seen, ...others] } })
      })
      await page.goto(`${server.url}/desk`)
      await page.locator('input[type=password]').fill(server.token)
      await page.locator('button.main').click()
      await page.locator('[data-number=issued]').waitFor()
      expect((await numbersOf(page)).issued).toBe(passes.length)
      await page.locator('[data-number=silentDoors]').getByText('1', { exact: true }).waitFor()
      // Silent doors come first, so that a shortened list shows them.
      expect(await page.locator('tr', { hasText: /heard/i }).allInnerTexts()).toEqual([
        expect.stringMatching(/^Unheard\s.*Silent/s),
        expect.not.stringContaining('Silent'),
      ])
    })

    test('keeps the selected project after a reload, and a selection closes the view of a pass', async () => {
      const { id } = await server.client.projects.create({ body: { name: 'Newer' } })
      const { page } = await openDesk({}, `/desk#pass=${passes[0]!.id}`, 'h2.pass')
      await eventually(async () => expect(await page.evaluate('document.activeElement.className')).toBe('pass'))
      await page.getByLabel('Project').selectOption({ label: 'Polyglot 2027' })
      await page.locator('[data-number=issued]').getByText(String(passes.length), { exact: true }).waitFor()
      await page.reload()
      await page.locator('[data-number=issued]').getByText(String(passes.length), { exact: true }).waitFor()
      expect(page.url()).toBe(`${server.url}/desk?project=${projectId}#board`)
      await page.getByLabel('Project').selectOption({ value: id })
      await page.locator('[data-number=issued]').getByText('0', { exact: true }).waitFor()
    })

    test('shows zones with their curves, live, without relying on colors, on a phone and on a wall', async () => {
      const { client } = server
      const project = await client.projects.create({ body: { name: 'Fair 2027' } })
      const { id: templateId } = await client.templates.create({
        body: { name: 'Fair', passType: 'eventTicket', projectId: project.id },
      })
      const definition = { design: { organizationName: 'Fair', description: 'Fair' }, redemption: { maxUses: 1 } }
      const draft = await client.templates.createVersion({ params: { id: templateId }, body: { definition } })
      await client.templateVersions.publish({ params: { id: draft.id } })
      const guests = await Promise.all(
        [1, 2, 3].map((n) =>
          client.passes.create({ body: { templateId, externalPassId: `F-${n}`, label: `Guest ${n}` } }),
        ),
      )
      await eventually(async () => {
        const { total } = await client.passes.list({ query: { projectId: project.id, status: 'ISSUED' } })
        expect(total).toBe(guests.length)
      })
      const makeZone = (name: string, capacity: number | null) =>
        client.zones.create({ body: { projectId: project.id, name, capacity, whenFull: 'deny' } })
      const hall = await makeZone('Hall', 10)
      await makeZone('Field', null)
      const move = (n: number, direction: 'in' | 'out') =>
        gateServer.client.scans.create({ body: { passId: guests[n]!.id, zoneId: hall.id, direction } })
      const adjust = (delta: number) =>
        client.zones.adjust({
          params: { id: hall.id },
          body: { delta, reason: 'Counted', externalRef: String(Math.random()) },
        })
      await move(0, 'in')
      await move(1, 'in')
      await move(1, 'out')
      await adjust(6)

      const open = async (address: string, options: Parameters<typeof visit>[1], shown = '.zone .plot') => {
        const visited = await visit(browser, { ...options, isAlone: true })
        // Curves end with the last full minute.
        await visited.page.clock.setSystemTime(Math.ceil(Date.now() / 60_000) * 60_000)
        await visited.page.goto(`${server.url}/desk?project=${project.id}${address}`)
        await visited.page.locator('input[type=password]').fill(server.token)
        await visited.page.locator('button.main').click()
        await visited.page.locator(shown).nth(1).waitFor()
        return visited
      }
      const phone = await open('', { locale: 'en', viewport: { width: 320, height: 568 }, colorScheme: 'light' })
      const { entries, exits, inside } = await client.zones.occupancy({ params: { id: hall.id } })
      expect({ entries, exits, inside }).toEqual({ entries: 8, exits: 1, inside: 7 })
      await eventually(async () =>
        expect(await numbersOf(phone.page)).toMatchObject({
          'zone Hall inside': inside,
          'zone Hall entries': entries,
          'zone Hall exits': exits,
          'zone Hall perMinute': entries / PACE_MINUTES,
          'zone Field inside': 0,
        }),
      )
      const tile = phone.page.locator('.zone', { hasText: 'Hall' })
      expect(await tile.innerText()).toMatch(/70%[\s\S]*7\s*\/ 10[\s\S]*Inside \/ expected\s*7 \/ 3/)
      expect(await tile.innerText()).not.toContain('Nearly full')
      expect(await tile.getByRole('img').getAttribute('aria-label')).toBe(
        'Hall. Inside: 7, Capacity: 10, Entries: 8, Exits: 1',
      )
      await phone.page.getByText('Passes expected are all valid passes of the project').waitFor()
      await tile.locator('summary').press('Enter')
      expect(await tile.locator('tbody tr').last().innerText()).toMatch(/8\s+1\s+7$/)
      await look(phone.page)

      const wall = await open('&wall=zones', { locale: 'ar', viewport: WALLS[0]!, colorScheme: 'dark' })
      expect(await wall.page.locator('button, input, select, a[href], summary').count()).toBe(0)
      // The wall of the other test covers the largest screen, which takes long to draw.
      for (const viewport of isLong ? WALLS : WALLS.filter(({ width }) => width < 3840)) {
        await wall.page.setViewportSize(viewport)
        await eventually(async () => {
          expect(await wall.page.evaluate(BELOW_THE_SCREEN)).toBeLessThanOrEqual(0)
          expect(await wall.page.evaluate(CUT_OFF)).toEqual([])
          expect(await wall.page.evaluate(WALL)).toEqual({ small: [], broken: [], isFilled: true, unrounded: [] })
          // On a screen of 55 inches, this font is 55 mm high, which people can read from 10 m.
          const height = 'parseFloat(getComputedStyle(document.querySelector(".zone .inside strong")).fontSize)'
          expect(await wall.page.evaluate(`${height} / innerHeight`)).toBeGreaterThan(0.08)
        })
      }
      await look(wall.page)
      // An adjustment has no event. A scan has one.
      await adjust(1)
      await tile.getByText('▲ Nearly full 80%').waitFor()
      await adjust(1)
      await move(2, 'in')
      await tile.getByText('■ Full 100%').waitFor()
      await wall.page.locator('.zone.full').getByText('■ ممتلئة').waitFor()
      // A level changes only words and colors.
      for (const { page } of [phone, wall]) await look(page, ['color-contrast'])
      expect([...phone.incidents, ...wall.incidents]).toEqual([])

      const all = await open('&wall', { locale: 'de', viewport: WALLS[0]!, colorScheme: 'light' }, '.card .state')
      expect(await all.page.locator('tr', { hasText: 'Hall' }).innerText()).toMatch(/10 \/ 10[\s\S]*■ Voll 100\s%/)
      // A wall has no section of identities if there are none. It disappears when they are loaded.
      await all.page.getByText('Identitäten').waitFor({ state: 'detached' })
      await look(all.page)
      expect(all.incidents).toEqual([])
    })
  },
)

/** More doors than the page shows. */
const DOORS = 21

/** Repeated scans of admitted guests. */
const AGAIN = isLong ? 984 : 16

const WALLS = [
  { width: 1920, height: 1080 },
  { width: 3840, height: 2160 },
  { width: 1280, height: 720 },
]

/**
 * Returns small texts, short words that are broken across lines, whether the board fills the screen, and texts with
 * raw bytes.
 */
const WALL = `(() => {
  const small = []
  const broken = []
  const walker = document.createTreeWalker(document.querySelector('.board'), NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const text = walker.currentNode
    const element = text.parentElement
    if (!element.checkVisibility() || !text.data.trim()) continue
    const scale = element.ownerSVGElement ? element.getScreenCTM().a : 1
    if (parseFloat(getComputedStyle(element).fontSize) * scale < innerHeight / 80) small.push(text.data)
    for (const { 0: word, index } of text.data.matchAll(/(?<!\\p{L})\\p{L}{2,12}(?!\\p{L})/gu)) {
      const range = document.createRange()
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word)
    }
  }
  const bottoms = [...document.querySelectorAll('.board article, main footer')].map((part) => part.getBoundingClientRect().bottom)
  const unrounded = document.body.innerText.match(/\\d+([.,]\\d{3}){3}/g) ?? []
  return { small, broken, isFilled: Math.max(...bottoms) > 0.9 * innerHeight, unrounded }
})()`

const BELOW_THE_SCREEN = 'document.documentElement.scrollHeight - innerHeight'

/** Returns tables that are wider than their cards, and a board that is larger than its screen. */
const CUT_OFF = `[...document.querySelectorAll('.scroll, .whole .board')]
  .filter((part) => part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1)
  .map((part) => part.getAttribute('aria-label') ?? 'board')`
