import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Decision, EngineState, Problem } from '../../../src/door/engine/engine.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong } from '../../support/long.ts'
import { accessibilityIssues, launchBrowser, overPictures, picture, skipReason, visit } from '../support/browser.ts'
import { serveFakeDoor } from './door-server.ts'

const group = {
  size: 5,
  used: 3,
  open: [
    { passId: 'grace', externalPassId: 'T-2', label: 'Grace Hopper' },
    { passId: 'edsger', externalPassId: 'T-3', label: 'Edsger Dijkstra' },
  ],
}
const view = { fields: [{ label: 'Seat', value: 'A-17' }], notice: 'Hand out the Speaker badge' }
const ada = { label: 'Ada Lovelace', templateName: 'Day ticket', passId: 'ada', externalPassId: 'T-1' }
const candidates = [
  { passId: 'ada', label: 'Ada Lovelace', externalPassId: 'T-1', templateName: 'Day ticket', standing: '' },
  { passId: 'grace', label: 'Grace Hopper', externalPassId: 'T-2', templateName: 'Day ticket', standing: '' },
]

const decisions: Record<string, Partial<Decision>> = {
  yes: { ...ada, result: 'accepted', reasonCode: 'valid', message: 'Valid.', door: view, group },
  ada: { ...ada, result: 'accepted', reasonCode: 'valid', message: 'Valid.' },
  grace: { label: 'Grace Hopper', passId: 'grace', result: 'accepted', reasonCode: 'valid', message: 'Valid.' },
  edsger: { label: 'Edsger Dijkstra', passId: 'edsger', result: 'denied', reasonCode: 'expired', message: 'Expired.' },
  long: {
    ...ada,
    label: 'Maria-Magdalena Wolfeschlegelsteinhausenbergerdorff von und zu Hohenlohe-Langenburg',
    result: 'accepted',
    reasonCode: 'valid',
    message: 'Use 3 of 5 in this window.',
    verified: 'offline',
    door: {
      fields: [
        { label: 'Tier', value: 'VIP' },
        { label: 'Dietary requirements', value: 'Vegan, no soy, no mustard, no celery' },
        { label: 'Seat', value: 'A-17' },
      ],
      notice:
        'Hand out the Speaker badge, the blue lanyard and two meal vouchers, then point to the counter on the left.',
    },
    group,
  },
  used: { ...ada, result: 'duplicate', reasonCode: 'already_scanned', message: 'Already used.', door: view },
  which: { result: 'ambiguous', reasonCode: 'multiple_matches', message: '2 passes have this code.', candidates },
  unknown: { result: 'unknown', reasonCode: 'no_match', message: 'No pass has it.' },
  undone: { ...ada, result: 'reversal', reasonCode: null, message: '' },
  instructs: { ...ada, result: 'reversal', reasonCode: null, message: '', door: view },
  same: { ...ada, result: 'same_scan', reasonCode: null, message: '' },
  broken: { result: 'error', reasonCode: null, message: 'No answer', failure: 'no_list', verified: null },
  closed: { result: 'error', reasonCode: null, message: '', failure: 'exit_deleted', verified: null, direction: 'out' },
  conflict: { ...ada, result: 'accepted', reasonCode: 'valid', verified: 'offline', conflict: 'already_used' },
  exit: {
    ...ada,
    result: 'accepted',
    reasonCode: 'valid',
    message: 'Exit recorded.',
    // The page shows no notice at an exit.
    door: { fields: [], notice: 'Hand out the Speaker badge' },
    verified: 'offline',
    zoneId: 'hall',
    direction: 'out',
    zone: { id: 'hall', name: 'Hall', inside: 412, capacity: 500 },
    group: { ...group, inside: [{ passId: 'joan', externalPassId: 'T-4', label: 'Joan Clarke' }] },
  },
  full: {
    ...ada,
    result: 'denied',
    reasonCode: 'quota_exhausted',
    message: 'Zone full',
    zoneId: 'hall',
    direction: 'in',
    zone: { id: 'hall', name: 'Hall', inside: 500, capacity: 500 },
    isZoneFull: true,
  },
  over: {
    ...ada,
    result: 'accepted',
    reasonCode: 'valid',
    message: 'Valid.',
    zoneId: 'hall',
    direction: 'in',
    zone: { id: 'hall', name: 'Hall', inside: 1_001, capacity: 1_000 },
  },
  hostile: { ...ada, label: `<img src=x onerror=alert(1)>${'W'.repeat(120)}`, result: 'accepted', reasonCode: 'valid' },
}

const problems: Problem[] = [
  { code: 'storage_full' },
  { code: 'storage_lost', pending: 7 },
  { code: 'pending_elsewhere', pending: 3 },
  { code: 'rejected', scans: 2, message: 'In the words of the server', isOfAnother: true },
  { code: 'refused', message: 'The workspace is suspended.' },
  { code: 'server_too_old' },
  { code: 'offline_disabled' },
  { code: 'clock_wrong', byMs: -7 * 60_000 },
] as Problem[]

const hall = {
  id: 'hall',
  name: 'Great hall at the harbor',
  inside: 4_120,
  capacity: 5_000,
  whenFull: 'warn' as const,
  resetAt: null,
  at: '2027-05-20T08:30:00.000Z',
}
const inHall = {
  door: {
    id: 'd',
    name: 'Phone 47',
    gate: 'North',
    projectId: 'p',
    projectName: 'Polyglot 2027',
    movement: { zoneId: 'hall', direction: 'in' as const },
  },
  zone: hall,
  zones: [hall, { ...hall, id: 'club', name: 'Club', capacity: null, inside: 7 }],
}

/** The labels of the buttons in three languages. */
const spoken = {
  en: {
    begin: 'Begin',
    start: 'Start',
    search: 'Search',
    overview: 'Overview',
    next: 'Next',
    close: 'Close',
    changeGate: 'Change gate',
    changeZone: 'Change zone',
    count: 'Count',
  },
  de: {
    begin: 'Anfangen',
    start: 'Start',
    search: 'Suchen',
    overview: 'Übersicht',
    next: 'Weiter',
    close: 'Schließen',
    changeGate: 'Eingang wechseln',
    changeZone: 'Bereich wechseln',
    count: 'Zählen',
  },
  ar: {
    begin: 'ابدأ',
    start: 'بدء',
    search: 'بحث',
    overview: 'نظرة عامة',
    next: 'التالي',
    close: 'إغلاق',
    changeGate: 'تغيير البوابة',
    changeZone: 'تغيير المنطقة',
    count: 'عدّ',
  },
}
type Language = keyof typeof spoken

/** A small Android phone, an iPhone 14 with the bars of Safari, an old iPhone, and two phones in landscape. */
const phones = [
  { width: 360, height: 640 },
  { width: 390, height: 664 },
  { width: 320, height: 568 },
  { width: 844, height: 390 },
  { width: 640, height: 360 },
]

const sizes = [
  { width: 320, height: 568 },
  { width: 844, height: 390 },
  { width: 1280, height: 900 },
]

describe.skipIf(skipReason !== undefined)(
  `the door in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`,
  () => {
    const cleanUp = cleanUpAfterAll()
    let browser: Browser
    let url: string

    beforeAll(async () => {
      browser = await launchBrowser()
      cleanUp(() => browser.close())
      url = await serveFakeDoor(cleanUp)
    })

    /** Adds a script to the page until the end of the test, because the next test uses the same tab. */
    async function addScript(page: Page, content: string): Promise<void> {
      const script = await page.addInitScript({ content })
      onTestFinished(() => script.dispose())
    }

    /** Opens the page of a phone that is already a door, without a camera. */
    async function openDoor(language: Language = 'en', options: { colorScheme?: 'dark'; hasTouch?: boolean } = {}) {
      const visited = await visit(browser, { locale: language, viewport: { width: 390, height: 844 }, ...options })
      const { page } = visited
      await addScript(page, "localStorage.setItem('door', 'yes')")
      await page.goto(url)
      const words = spoken[language]
      await page.getByRole('button', { name: words.search, exact: true }).waitFor()
      await page.evaluate(`fake.decisions = ${JSON.stringify(decisions)}`)
      return { ...visited, words }
    }

    test.each([
      // German has the longest words, and Arabic is written from right to left.
      ['de', 'dark'],
      ['ar', 'light'],
      ...(isLong
        ? ([
            ['en', 'light'],
            ['en', 'dark'],
            ['de', 'light'],
            ['ar', 'dark'],
          ] as const)
        : []),
    ] as const)(
      'every screen in %s, %s, from 320 to 1280 pixels, is complete, reachable, and accessible',
      async (language, scheme) => {
        const { page, incidents, words } = await openDoor(language, scheme === 'dark' ? { colorScheme: 'dark' } : {})
        expect(await page.evaluate('document.documentElement.dir')).toBe(language === 'ar' ? 'rtl' : 'ltr')
        const look = async (name: string, { inReach = true } = {}) => {
          for (const size of sizes) {
            await page.setViewportSize(size)
            await picture(page, `door-${name}-${language}-${scheme}-${size.width}`)
            const [width, cut, targets] = (await page.evaluate(LAYOUT)) as [number, string[], Target[]]
            expect([width, cut], `${name} ${size.width}`).toEqual([size.width, []])
            expect(targets.length).toBeGreaterThan(0)
            expect(
              targets.filter(({ height, width }) => height < 48 || width < 48),
              `${name} ${size.width}`,
            ).toEqual([])
            const isTall = size.height > size.width
            // The button is in the half that a thumb reaches.
            if (inReach && isTall) {
              expect(
                targets.filter(({ bottom, isChoice }) => !isChoice && bottom < size.height / 2),
                `${name} ${size.width}`,
              ).toEqual([])
            }
          }
          const found = await accessibilityIssues(page, isLong || language === 'de' ? undefined : OF_LANGUAGES)
          // axe-core does not detect that a sheet covers everything else.
          const isSure = (issue: string) =>
            !['group', 'direction', 'count', 'zones'].includes(name) || !overPictures.test(issue)
          expect(found.filter(isSure), `${name} ${language} ${scheme}`).toEqual([])
        }
        await look('scan')
        // A scan that is taken back has the longest word, here with and without instructions.
        for (const name of ['undone', 'instructs', 'yes', 'used', 'which', 'unknown', 'same', 'broken', 'hostile']) {
          await scan(page, name)
          await page.locator('.decision .word').waitFor()
          await look(name)
          await page.getByRole('button', { name: words.next }).click()
        }
        for (const name of ['yes', 'long']) {
          await scan(page, name)
          for (const size of phones) {
            await page.setViewportSize(size)
            await picture(page, `door-${name}-${language}-${scheme}-${size.width}x${size.height}`)
            await eventually(async () => expect(await page.evaluate(INSTRUCTIONS), `${size.width}`).toEqual('in sight'))
          }
        }
        await page.locator('button.group').click()
        await look('group')
        await page.getByRole('button', { name: words.close }).click()
        await page.getByRole('button', { name: words.next }).click()
        await page.getByRole('button', { name: words.search, exact: true }).click()
        await page.getByRole('textbox').fill('ada')
        await page.getByRole('button', { name: 'Ada Lovelace' }).waitFor()
        await look('search')
        await page.getByRole('button', { name: words.close }).click()
        await page.getByRole('button', { name: words.overview }).click()
        await page.getByText('Norðurhlið').waitFor()
        await look('overview')
        await page.setViewportSize({ width: 844, height: 390 })
        const facts = await page.locator('.sheet .scrolls').boundingBox()
        expect(facts!.height, 'the facts on a phone in landscape').toBeGreaterThan(90)
        await page.getByRole('button', { name: words.changeGate }).click()
        await look('gate')
        await page.getByRole('button', { name: words.close }).click()
        await set(page, { ...inHall, connection: 'offline', pending: 12 })
        await look('zone')
        await page.locator('button.switch').click()
        await look('direction')
        await page.getByRole('button', { name: words.close }).click()
        await page.getByRole('button', { name: words.count, exact: true }).click()
        await look('count')
        await page.getByRole('button', { name: words.close }).click()
        for (const name of ['exit', 'full', 'over']) {
          await scan(page, name)
          await look(name)
          await page.getByRole('button', { name: words.next }).click()
        }
        await page.getByRole('button', { name: words.overview }).click()
        await page.getByRole('button', { name: words.changeZone }).click()
        await look('zones')
        await page.getByRole('button', { name: words.close }).click()
        await set(page, { problems: [{ code: 'zone_deleted', name: 'Great hall' }], pending: 12 })
        await scan(page, 'yes')
        await look('zone-deleted', { inReach: false })
        await page.getByRole('button', { name: words.next }).click()
        await set(page, { problems, loading: 40_000 })
        await look('problems', { inReach: false })
        await scan(page, 'which')
        await look('problems-decision', { inReach: false })
        await set(page, { door: null, problems: [{ code: 'revoked' }] })
        await page.getByRole('button', { name: words.begin }).waitFor()
        await look('revoked')
        expect(incidents).toEqual([])
      },
    )

    test('a decision has color, shape, word, and voice; a tap anywhere or the next code continues', async () => {
      const { page } = await openDoor()
      await scan(page, 'yes')
      for (const text of ['WELCOME', 'Ada Lovelace', 'A-17', 'Hand out the Speaker badge', 'Let in others']) {
        expect(await page.locator('.decision').getByText(text, { exact: true }).isVisible(), text).toBe(true)
      }
      const lookOf = () => page.evaluate(LOOK)
      const yes = await lookOf()
      expect(await page.getByRole('status').innerText()).toBe(
        'WELCOME. Ada Lovelace. Hand out the Speaker badge. Seat: A-17. Valid. 3 of 5 let in.',
      )
      await page.mouse.click(195, 60)
      expect(await page.locator('.decision').count()).toBe(0)
      await scan(page, 'used')
      // Staff must not hand out anything to a rejected holder.
      expect(await page.getByText('Hand out').count()).toBe(0)
      expect(await page.getByRole('status').innerText()).toBe('ALREADY USED. Ada Lovelace. Seat: A-17. Already used.')
      const no = await lookOf()
      await scan(page, 'which')
      const ask = await lookOf()
      expect(new Set([yes, no, ask].map((look) => JSON.stringify(look))).size).toBe(3)
      expect(new Set([yes, no, ask].map((look) => (look as { shape: string }).shape)).size).toBe(3)
      await page.getByRole('button', { name: 'Grace Hopper' }).click()
      await page.locator('.decision').getByText('Grace Hopper').waitFor()
      expect(await lastScan(page)).toMatchObject({ payload: 'which', method: 'chosen' })
    })

    test('hides the previous decision while the next one is pending', async () => {
      const { page } = await openDoor()
      await scan(page, 'yes')
      await page.evaluate('void (fake.gate = new Promise((open) => Object.assign(fake, { open })))')
      await page.keyboard.type('used')
      await page.keyboard.press('Enter')
      await page.getByText('Checking').waitFor()
      expect(await page.locator('.decision').count()).toBe(0)
      await page.evaluate('fake.open()')
      await page.locator('.decision.no').waitFor()
      await page.getByRole('button', { name: 'Next' }).click()
      expect(await page.getByText('Checking').count()).toBe(0)
    })

    test('scrolls a decision that does not fit by hand or by its button, and a tap still continues', async () => {
      const { page } = await openDoor('en', { hasTouch: true })
      const fields = Array.from({ length: 10 }, (_, n) => ({
        label: `Field ${n}`,
        value: 'A long value of it '.repeat(5),
      }))
      const long = { ...decisions.yes, door: { fields, notice: 'Hand out the Speaker badge. '.repeat(17) } }
      await page.evaluate(`fake.decisions.yes = ${JSON.stringify(long)}`)
      await scan(page, 'yes')
      const scrolled = () => page.evaluate("document.querySelector('.said').scrollTop")
      await page.mouse.move(195, 200)
      await page.mouse.wheel(0, 150)
      await eventually(async () => expect(await scrolled()).toBeGreaterThan(0))
      const more = page.getByRole('button', { name: 'More' })
      await eventually(async () => {
        if (await more.isVisible()) await more.click()
        expect(await more.count()).toBe(0)
      })
      expect(await page.evaluate(`(${IS_AT_END})()`)).toBe(true)
      expect(await page.evaluate("document.activeElement.className.split(' ')[0]")).toBe('said')
      await page.touchscreen.tap(195, 60)
      expect(await page.locator('.decision').count()).toBe(0)
    })

    test('marks a decision that was made without the server, to eyes and ears', async () => {
      const { page } = await openDoor()
      await scan(page, 'long')
      expect(await page.locator('.decision').getByText('Offline: checked by the list').isVisible()).toBe(true)
      expect(await page.getByRole('status').innerText()).toContain('Offline: checked by the list.')
      await scan(page, 'yes')
      expect(await page.getByText('Offline: checked by the list').count()).toBe(0)
    })

    test('a sheet returns the focus to its opener, also if the browser closes it', async () => {
      const { page } = await openDoor()
      const search = page.getByRole('button', { name: 'Search', exact: true })
      for (const close of [
        () => page.keyboard.press('Escape'),
        () => page.getByRole('button', { name: 'Close' }).click(),
        () => page.evaluate("document.querySelector('dialog').close()"),
      ]) {
        await search.focus()
        await page.keyboard.press('Space')
        await page.getByRole('dialog').waitFor()
        await close()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        expect(await page.evaluate('document.activeElement.textContent')).toBe('Search')
      }
    })

    test('light and zoom keep their settings while decisions change', async () => {
      const { page } = await visit(browser, { locale: 'en', viewport: { width: 390, height: 844 } })
      await addScript(page, `localStorage.setItem('door', 'yes'); (${CAMERA})()`)
      await page.goto(url)
      const light = page.getByRole('button', { name: 'Light' })
      await light.click()
      await page.getByRole('button', { name: 'Zoom ×1' }).click()
      await scan(page, 'anything')
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Zoom ×2' }).waitFor()
      expect(await light.getAttribute('aria-pressed')).toBe('true')
      await light.click()
      expect(await page.evaluate('applied')).toEqual([{ torch: true }, { zoom: 2 }, { torch: false }])
    })

    test("shows the age of the list by the server's clock if the phone's clock is wrong", async () => {
      const { page } = await openDoor()
      const byMs = 86_400_000
      await page.evaluate(
        `fake.set({ connection: 'offline', list: { size: 7, generatedAt: new Date(Date.now() - ${byMs}) } })`,
      )
      await page.getByText('yesterday').waitFor()
      // The mark of a decision without the server belongs to decisions only.
      expect(await page.evaluate("getComputedStyle(document.querySelector('header'), '::before').content")).toBe('none')
      await set(page, { problems: [{ code: 'clock_wrong', byMs }] })
      await page.getByText('this minute').waitFor()
    })

    test('texts of a template keep their direction on a page of the other direction', async () => {
      const { page } = await openDoor('ar')
      await scan(page, 'yes')
      // Each value ends with a character without a direction, which could move to the wrong end.
      const fields = [{ label: 'Seat (upper)', value: 'A-17!' }]
      const door = { fields, notice: 'Hand out the Speaker badge.' }
      const decision = { ...decisions.yes, door }
      await page.evaluate(`fake.decisions.yes = ${JSON.stringify(decision)}`)
      await page.keyboard.type('yes')
      await page.keyboard.press('Enter')
      await page.getByText('A-17!', { exact: true }).waitFor()
      for (const part of ['.notice', '.decision dt', '.decision dd', '.message']) {
        expect(await page.evaluate(`(${FROM_LEFT})(${JSON.stringify(part)})`), part).toBe(true)
      }
    })

    test('the title of the overview keeps its order of names on a page of the other direction', async () => {
      const { page, words } = await openDoor()
      await set(page, { door: { ...inHall.door, projectName: 'פסטיבל', gate: 'שער', name: 'טלפון' } })
      await page.getByRole('button', { name: words.overview }).click()
      const starts = await page.evaluate(`(() => {
        const text = document.querySelector('.sheet h2').firstChild
        return ['פסטיבל', 'שער', 'טלפון'].map((name) => {
          const range = document.createRange()
          range.setStart(text, text.data.indexOf(name))
          range.setEnd(text, text.data.indexOf(name) + name.length)
          return range.getBoundingClientRect().left
        })
      })()`)
      expect(starts).toEqual([...(starts as number[])].sort((a, b) => a - b))
    })

    test('lets in all others of a group after a confirmation, and shows the decision of each', async () => {
      const { page } = await openDoor()
      const grace = { ...decisions.grace, door: { ...view, notice: 'Bring the ramp' } }
      // A failed scan names no pass.
      const edsger = { result: 'error', reasonCode: null, message: 'No', failure: 'refused', label: null }
      const open = [...group.open, { passId: 'joan', externalPassId: 'T-4', label: 'Joan Clarke' }]
      const yes = { ...decisions.yes, group: { ...group, open } }
      const joan = {
        ...decisions.grace,
        label: 'Joan Clarke',
        door: { fields: [{ label: 'Seat', value: 'C-3' }] },
        group: { size: 5, used: 5, open: [] },
      }
      await page.evaluate(`Object.assign(fake.decisions, ${JSON.stringify({ yes, grace, edsger, joan })})`)
      await scan(page, 'yes')
      const scans = () => page.evaluate('fake.scans.map(({ payload }) => payload)') as Promise<string[]>
      await page.getByRole('button', { name: /3.*of.*5.* let in/ }).click()
      const all = page.getByRole('dialog').getByRole('button', { name: 'Let in all others (3)' })
      await all.click()
      await page.getByRole('heading', { name: 'Let in all 3 others?' }).waitFor()
      expect(await page.getByRole('dialog').getByRole('listitem').allInnerTexts()).toEqual(
        open.map(({ label }) => label),
      )
      expect((await scans()).slice(-1)).toEqual(['yes'])
      expect(await page.evaluate("document.querySelector('dialog').contains(document.activeElement)")).toBe(true)
      await all.click()

      const seen = () => page.locator('.decision .said')
      await seen().getByText('Edsger Dijkstra').waitFor()
      expect((await scans()).slice(-3)).toEqual(['grace', 'edsger', 'joan'])
      // The decision of a code that is scanned in between is shown at once, and the three queued decisions stay.
      await scan(page, 'unknown')
      await seen().getByText('No pass has it.').waitFor()
      await page.getByRole('button', { name: 'Next (3)' }).click()
      await seen().getByText('Edsger Dijkstra').waitFor()
      await page.getByRole('button', { name: 'Next (2)' }).click()
      await seen().getByText('Grace Hopper').waitFor()
      // Guests who were admitted in the meantime cannot be admitted again.
      expect(await page.locator('p.group').innerText()).toMatch(/5.*of.*5.* let in/)
      expect(await seen().innerText()).toContain('Bring the ramp')
      await page.getByRole('button', { name: 'Next (1)' }).click()
      await seen().getByText('Joan Clarke').waitFor()
      expect(await seen().innerText()).toContain('C-3')
      await page.getByRole('button', { name: 'Take back' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click()
      await seen().getByText('TAKEN BACK').waitFor()
      await page.getByRole('button', { name: 'Next', exact: true }).click()
      expect(await page.locator('.decision').count()).toBe(0)
    })

    test('lets in one other of a group', async () => {
      const { page } = await openDoor()
      await scan(page, 'yes')
      await page.locator('button.group').click()
      // The tickets of an order may all have the name of the buyer.
      await page.getByRole('button', { name: 'Grace Hopper T-2' }).click()
      await page.locator('.decision').getByText('Grace Hopper').waitFor()
      expect(await lastScan(page)).toMatchObject({ payload: 'grace', method: 'chosen' })
    })

    test('reverses the last scan after a confirmation, and only once', async () => {
      const { page } = await openDoor()
      await scan(page, 'yes')
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Take back' }).click()
      expect(await page.getByRole('heading', { name: 'Take back the entry of' }).innerText()).toContain('Ada Lovelace')
      await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click()
      await page.getByText('TAKEN BACK').first().waitFor()
      await page.getByRole('button', { name: 'Next' }).click()
      expect(await page.getByRole('button', { name: 'Take back' }).count()).toBe(0)
    })

    test('describes a conflict with the server in words', async () => {
      const { page, words } = await openDoor('de')
      await scan(page, 'conflict')
      await page.getByRole('button', { name: words.next }).click()
      await page.getByRole('button', { name: words.overview }).click()
      const told = await page.locator('.recent em').innerText()
      expect(told.replaceAll(/[\u2068\u2069]/g, '')).toContain('Der Server widerspricht: SCHON BENUTZT')
    })

    test('keyboard scanners work with any focus, in quick succession, and press no button', async () => {
      const { page } = await openDoor()
      await page.getByRole('button', { name: 'Lock' }).focus()
      const before = (await page.evaluate('fake.scans.length')) as number
      for (const payload of ['yes', 'used code 1', 'ada']) {
        await page.keyboard.type(payload)
        await page.keyboard.press('Enter')
      }
      // The key event of @ on a German keyboard under Windows.
      await page.evaluate(`document.body.dispatchEvent(
        new KeyboardEvent('keydown', { key: '@', ctrlKey: true, altKey: true, modifierAltGraph: true, bubbles: true }))`)
      await page.keyboard.type('home')
      await page.keyboard.press('Enter')
      const scans = (await page.evaluate('fake.scans')) as { payload: string; method: string }[]
      expect(scans.slice(before).map(({ payload, method }) => [payload, method])).toEqual(
        ['yes', 'used code 1', 'ada', '@home'].map((payload) => [payload, 'scanner']),
      )
      expect(await page.getByRole('button', { name: 'Hold to unlock' }).count()).toBe(0)
    })

    test('accepts a typed code and finds a person by name', async () => {
      const { page } = await openDoor()
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('textbox').fill('nobody at all')
      await page.getByText('Nobody found').waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('dialog').waitFor()
      await page.keyboard.type('used')
      await page.keyboard.press('Enter')
      await page.locator('.decision.no').waitFor()
      expect(await lastScan(page)).toMatchObject({ payload: 'used', method: 'typed' })
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('textbox').fill('hopper')
      await page.getByRole('button', { name: 'Grace Hopper' }).click()
      await page.locator('.decision').waitFor()
      expect(await lastScan(page)).toMatchObject({ payload: 'Grace Hopper', method: 'chosen' })
    })

    test('a locked door keeps scanning, and has no active buttons until it is unlocked', async () => {
      const { page } = await openDoor()
      await page.getByRole('button', { name: 'Lock' }).click()
      await page.keyboard.type('yes')
      // Enter from a scanner ends a code. It does not press the focused button.
      await page.keyboard.press('Enter')
      await page.locator('.decision.yes').waitFor()
      // Screen readers do not announce inert elements.
      expect(await page.evaluate("document.querySelector('[aria-live]').closest('[inert]')")).toBe(null)
      const unlock = page.getByRole('button', { name: 'Hold to unlock' })
      await page.mouse.click(195, 60)
      await unlock.click()
      expect(await unlock.isVisible()).toBe(true)
      expect((await page.evaluate(TARGETS)) as Target[]).toMatchObject([{ text: 'Hold to unlock' }])
      await unlock.hover()
      await page.mouse.down()
      await unlock.waitFor({ state: 'detached' })
      await page.mouse.up()
      await page.getByRole('button', { name: 'Next' }).click()

      // A reloaded page stays locked until the button is held.
      await page.getByRole('button', { name: 'Lock', exact: true }).click()
      await unlock.waitFor()
      await page.reload()
      await unlock.hover()
      await page.mouse.down()
      await unlock.waitFor({ state: 'detached' })
      await page.mouse.up()
      await page.reload()
      await page.getByRole('button', { name: 'Lock', exact: true }).waitFor()
      expect(await unlock.isVisible()).toBe(false)
    })

    test('a link with a used invitation shows what to do, and accepts another pasted link', async () => {
      const { page } = await visit(browser, { locale: 'en', viewport: { width: 390, height: 844 } })
      await addScript(page, "localStorage.removeItem('door')")
      await page.goto(`${url}#used-up`)
      await page.getByRole('button', { name: 'Begin' }).click()
      await page.getByText('All uses of this invitation are taken. Ask for a new one.').waitFor()
      await page.getByText('Scan the QR code of an invitation').waitFor()
      await page.getByLabel('Link or code').fill('used-up-too')
      await page.getByRole('button', { name: 'Begin' }).click()
      await page.waitForFunction('fake.claims.length === 2')
      await page.getByLabel('Link or code').fill('https://passes.example/door#fresh')
      await page.getByLabel('Name of this phone').fill('Back door')
      await page.getByRole('button', { name: 'Begin' }).press('Enter')
      await page.getByRole('button', { name: 'Start' }).waitFor()
      // The focused element is gone. The focus moves to the new screen, so that a screen reader reads it.
      expect(await page.evaluate("document.activeElement.matches('main')")).toBe(true)
      expect(await page.evaluate('fake.claims')).toEqual([
        ['used-up', expect.stringMatching(/^Phone \d\d$/)],
        ['used-up-too', expect.stringMatching(/^Phone \d\d$/)],
        ['fresh', 'Back door'],
      ])
      // This browser has no camera. The page says what to do, and the door can still be used.
      await page.getByText('There is no camera').waitFor()
      expect(await page.getByText('Next, the phone asks for its camera').count()).toBe(0)
      await page.getByRole('button', { name: 'Start' }).press('Enter')
      await page.getByRole('button', { name: 'Search' }).waitFor()
      expect(await page.evaluate("document.activeElement.matches('main')")).toBe(true)
    })

    test('an operator changes the gate of the door, and sees if the server does not respond', async () => {
      const { page } = await openDoor()
      await page.getByRole('button', { name: 'Overview' }).click()
      await page.getByRole('button', { name: 'Change gate' }).click()
      expect(await page.evaluate("document.querySelector('dialog').contains(document.activeElement)")).toBe(true)
      await set(page, { connection: 'offline' })
      await page.getByRole('textbox').fill('South')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('alert').getByText('The server does not respond.').waitFor()
      await set(page, { connection: 'online' })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading').filter({ hasText: 'South' }).waitFor()
    })

    test('changes the direction in two steps, and shows and announces it with the level of the zone', async () => {
      const { page } = await openDoor()
      expect(await page.locator('.zone, .switch').count()).toBe(0)
      await set(page, inHall)
      const header = page.locator('header .zone')
      const told = page.getByRole('status').last()
      expect(await header.innerText()).toMatch(
        /^Entry\s+Great hall at the harbor\s+Inside\s*4,120 \/ 5,000\s+Almost full$/,
      )
      expect(await told.innerText()).toMatch(/^Entry\s+Great hall at the harbor: Almost full$/)
      await page.evaluate(
        'new MutationObserver(() => { globalThis.told = true }).observe(document.querySelectorAll("[role=status]")[1], { subtree: true, childList: true, characterData: true })',
      )
      await set(page, { zone: { ...hall, inside: 4_121 } })
      expect(await page.evaluate('globalThis.told')).toBe(undefined)
      await set(page, { zone: { ...hall, inside: 5_000 }, connection: 'offline' })
      expect(await header.innerText()).toMatch(/5,000 \/ 5,000\s+Full\s+as of/)
      expect(await told.innerText()).toContain('Great hall at the harbor: Full')

      const change = page.getByRole('button', { name: 'Switch to exit' })
      await change.click()
      await page.getByRole('heading', { name: 'Scan exits from now on?' }).waitFor()
      // A scanner types a code and Enter, which must not press the button of the sheet.
      await scan(page, 'full')
      expect(await page.locator('.decision').innerText()).toMatch(/Entry[\s\S]*500 \/ 500[\s\S]*FULL/)
      await page.getByRole('button', { name: 'Next' }).click()
      expect(await header.innerText()).toContain('Entry')
      await change.press('Enter')
      await page.getByRole('heading', { name: 'Scan exits from now on?' }).waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Switch to entry' }).waitFor()
      expect(await told.innerText()).toMatch(/^Exit/)
      await scan(page, 'exit')
      expect((await page.getByRole('status').first().innerText()).replaceAll(/[\u2068\u2069]/g, '')).toBe(
        'EXIT. Ada Lovelace. Exit recorded. Inside: 1 / 5. Offline: checked by the list.',
      )
      // After an exit, the group shows who is inside. Members outside cannot be admitted.
      await page.getByRole('button', { name: /^Inside: .1 \/ 5/ }).click()
      expect(await page.getByRole('dialog').getByRole('listitem').allInnerTexts()).toEqual(['Joan Clarke'])
      expect(await page.getByRole('dialog').getByText('Grace Hopper').count()).toBe(0)
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Take back' }).click()
      expect(await page.getByRole('heading', { name: 'Take back the exit of' }).isVisible()).toBe(true)
    })

    test('shows that an entry exceeded the capacity, to eyes and ears', async () => {
      const { page } = await openDoor()
      await set(page, inHall)
      await scan(page, 'over')
      const text = 'Zone full: 1,001 of 1,000 inside'
      const shown = async (place: Locator) => (await place.innerText()).replaceAll(/[\u2068\u2069]/g, '')
      expect(await shown(page.locator('.decision'))).toContain(text)
      expect(await shown(page.getByRole('status').first())).toContain(text)
    })

    test('an exit of a deleted zone offers another zone instead of the direction and the count', async () => {
      const { page } = await openDoor()
      const door = { ...inHall.door, movement: { zoneId: 'hall', direction: 'out' } }
      await set(page, { ...inHall, door, problems: [{ code: 'exit_deleted' }] } as Partial<EngineState>)
      await page.getByText('This zone was deleted. Choose another zone, or no zone, before you scan.').waitFor()
      expect(await page.getByRole('button', { name: /^(OK|Count|Switch to entry)$/ }).count()).toBe(0)
      await scan(page, 'closed')
      expect(await page.locator('.decision').innerText()).toMatch(/NOT CHECKED[\s\S]*This zone was deleted/)
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Change zone' }).click()
      await page.getByRole('button', { name: 'Club' }).click()
      expect(await page.evaluate('fake.state.door.movement')).toEqual({ zoneId: 'club', direction: 'out' })
      await page.getByRole('button', { name: 'Change zone' }).click()
      await page.getByRole('button', { name: 'No zone' }).click()
      expect(await page.evaluate('fake.state.door.movement')).toBe(undefined)
    })

    test('a small phone shows the number inside and its level on one line, next to a long name of the zone', async () => {
      const { page, words } = await openDoor('de')
      await page.setViewportSize({ width: 320, height: 568 })
      for (const capacity of [50, 5_000]) {
        await set(page, { ...inHall, zone: { ...hall, capacity, inside: capacity * 0.9 } })
        await page.getByRole('button', { name: words.overview }).click()
        await picture(page, `door-zone-level-${capacity}`)
        for (const place of ['header', '.sheet']) {
          const box = async (text: string) => (await page.locator(`${place} .zone`).getByText(text).boundingBox())!
          const [number, level] = [await box(' / '), await box('Fast voll')]
          expect(level.y, `${place}, ${capacity}`).toBeLessThan(number.y + number.height)
          expect(level.height).toBeLessThan(number.height * 1.5)
        }
        await page.getByRole('button', { name: words.close }).click()
      }
    })

    test('counts people without a scan, and takes the last count back', async () => {
      const { page } = await openDoor()
      await set(page, inHall)
      await page.getByRole('button', { name: 'Count' }).click()
      const sheet = page.getByRole('dialog')
      for (const name of ['1 out', '1 out', '1 in']) await sheet.getByRole('button', { name }).click()
      await sheet.getByText(/Counted here: .*1.* in, .*2.* out/).waitFor()
      expect(await sheet.locator('.zone').innerText()).toContain('4,119 / 5,000')
      await sheet.getByRole('button', { name: 'Undo the last one' }).click()
      await sheet.getByText(/Counted here: .*0.* in, .*2.* out/).waitFor()
      expect(await sheet.locator('.zone').innerText()).toContain('4,118 / 5,000')
      const reset = { inside: 0, resetAt: '2027-09-14T20:00:00.000Z' }
      await set(page, { zones: inHall.zones.map((zone) => ({ ...zone, ...reset })) })
      await sheet.getByText(/Counted here: .*0.* in, .*0.* out/).waitFor()
      expect(await sheet.getByRole('button', { name: 'Undo the last one' }).getAttribute('aria-disabled')).toBe('true')
      await set(page, { problems })
      await sheet.getByText('The phone has no space left').waitFor()
      expect(await sheet.locator('.problem').count()).toBe(2)
      await set(page, { problems: [] })
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Overview' }).click()
      await page.getByRole('button', { name: 'Change zone' }).click()
      await page.getByRole('button', { name: 'Club' }).click()
      expect(await page.evaluate('fake.state.door.movement')).toEqual({ zoneId: 'club', direction: 'in' })
    })

    test('shows problems, and removes those that need no action once they were read', async () => {
      const { page } = await openDoor()
      await set(page, { problems })
      await page.getByText('are lost: 7').waitFor()
      // While scans follow each other without a pause, only decisions are shown.
      await scan(page, 'yes')
      await page.locator('.decision').getByText('WELCOME').waitFor()
      await page.getByText('The phone has no space left').waitFor()
      expect(await page.evaluate(IS_WHOLE)).toEqual([true, true])
      await page.locator('.problem', { hasText: 'are lost: 7' }).getByRole('button', { name: 'OK' }).click()
      expect(await page.evaluate('fake.dismissed')).toEqual(['storage_lost'])
      expect(await page.getByText('are lost: 7').count()).toBe(0)
      await page.locator('.problem').getByText('Another door recorded this entry').waitFor()
    })

    /** Types a code like a scanner that works as a keyboard. */
    async function scan(page: Page, payload: string): Promise<void> {
      await page.keyboard.type(payload)
      await page.keyboard.press('Enter')
      await page.locator('.decision').waitFor()
    }

    function set(page: Page, change: Partial<EngineState>): Promise<unknown> {
      return page.evaluate(`fake.set(${JSON.stringify(change)})`)
    }

    function lastScan(page: Page): Promise<unknown> {
      return page.evaluate('fake.scans.at(-1)')
    }
  },
)

interface Target {
  text: string
  width: number
  height: number
  bottom: number
  /** Whether the choice is between guests. It is shown above the buttons. */
  isChoice: boolean
}

/** A camera with a light and a zoom. It records the applied constraints in `applied`. */
const CAMERA = `() => {
  globalThis.applied = []
  navigator.mediaDevices.getUserMedia = async () => {
    const canvas = document.createElement('canvas')
    canvas.getContext('2d')
    const stream = canvas.captureStream()
    const [track] = stream.getVideoTracks()
    track.getCapabilities = () => ({ torch: true, zoom: { min: 1, max: 2 } })
    track.applyConstraints = async ({ advanced: [told] }) => void applied.push(told)
    return stream
  }
}`

const TARGETS = `[...document.querySelectorAll('button, input')]
  .filter((part) => part.checkVisibility() && !part.closest('[inert]'))
  .filter((part) => !document.querySelector('dialog') || part.closest('dialog'))
  .map((part) => {
    const { width, height, bottom } = part.getBoundingClientRect()
    const isChoice = part.closest('.candidates') !== null
    return { text: part.textContent, width: Math.round(width), height: Math.round(height), bottom, isChoice }
  })`

/** Returns words that are broken across lines in buttons, and words that are wider than the screen in decisions. */
const CUT_WORDS = `(() => {
  const cut = []
  for (const button of document.querySelectorAll('.actions button')) {
    const text = button.firstChild
    let start = 0
    for (const word of text.data.split(' ')) {
      const range = document.createRange()
      range.setStart(text, start)
      range.setEnd(text, start + word.length)
      const tops = new Set([...range.getClientRects()].map(({ top }) => top))
      if (tops.size > 1) cut.push(word)
      start += word.length + 1
    }
  }
  const word = document.querySelector('.word')
  if (word) {
    const range = document.createRange()
    range.selectNodeContents(word)
    const { left, right } = range.getBoundingClientRect()
    if (left < 0 || right > innerWidth) cut.push(word.textContent)
  }
  return cut
})()`

/** Returns the width of the page, the cut words, and the targets. */
const LAYOUT = `[document.documentElement.scrollWidth, ${CUT_WORDS}, ${TARGETS}]`

/** The rules of axe-core that depend on texts and colors. The others evaluate markup, which is that of German. */
const OF_LANGUAGES = ['button-name', 'color-contrast', 'html-lang-valid', 'label', 'target-size']

/** Whether no button except the decision itself covers the most severe problem and the word of the decision. */
const IS_WHOLE = `['.problem', '.word'].map((selector) => {
  const part = document.querySelector(selector)
  const { left, top, width, height } = part.getBoundingClientRect()
  const on = document.elementFromPoint(left + width / 2, top + height / 2)
  return part.contains(on) || on.matches('.decision .next')
})`

const IS_AT_END = `() => {
  const { scrollHeight, clientHeight, scrollTop } = document.querySelector('.said')
  return scrollHeight - clientHeight - scrollTop <= 8
}`

/** Returns "in sight" if the instruction and the fields are visible and nothing covers them. */
const INSTRUCTIONS = `(async () => {
  // The button that scrolls to hidden text appears only after the text is laid out, and takes some of its height.
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
  const area = document.querySelector('.said').getBoundingClientRect()
  const foot = document.querySelector('.decision .foot').getBoundingClientRect()
  const parts = [...document.querySelectorAll('.word, .name bdi, .notice, .said dt, .said dd')]
  const hidden = parts.filter((part) => {
    const { top, bottom, left, right } = part.getBoundingClientRect()
    const isWithin = top >= area.top && bottom <= area.bottom && left >= area.left && right <= area.right
    const isClear = bottom <= foot.top || right <= foot.left || left >= foot.right
    const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
    return !isWithin || !isClear || !part.contains(over)
  })
  return parts.length < 4 ? 'missing' : hidden.map((part) => part.textContent).join() || 'in sight'
})()`

/** Whether the last character of the text is to the right of the first one. */
const FROM_LEFT = `(selector) => {
  const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT)
  const text = walker.nextNode()
  const placeOf = (n) => {
    const range = document.createRange()
    range.setStart(text, n)
    range.setEnd(text, n + 1)
    return range.getBoundingClientRect().left
  }
  return placeOf(text.length - 1) > placeOf(0)
}`

const LOOK = `(() => {
  const decision = document.querySelector('.decision')
  return {
    colour: getComputedStyle(decision).backgroundColor,
    shape: decision.querySelector('.outline').getAttribute('d'),
    word: decision.querySelector('.word').textContent,
  }
})()`
