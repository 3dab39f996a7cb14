import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { launchBrowser, skipReason, visit } from '../support/browser.ts'
import { cameraFlags, codesToShow, writeFilm } from './camera-film.ts'
import { serveFakeDoor } from './door-server.ts'

/** In every run two of each kind; in the long form each kind in each condition, several times. */
const COUNT = times(8, 100)

describe.skipIf(skipReason !== undefined)(`with a camera${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  const shown = codesToShow(COUNT)
  let url: string
  let film: string
  let seconds: number

  beforeAll(async () => {
    url = await serveFakeDoor(cleanUp)
    film = join(temporaryFolder(cleanUp), 'door.mjpeg')
    seconds = await writeFilm(film, shown)
  })

  test('each code that stays in view for a second is read once and rightly', async () => {
    const browser = await launchBrowser(cameraFlags(film))
    cleanUp(() => browser.close())
    const { page, incidents } = await visit(browser, { viewport: { width: 390, height: 844 } })
    await page.goto(`${url}#invitation-code`)
    await page.getByRole('button', { name: 'Begin' }).click()
    await page.getByRole('button', { name: 'Start' }).click()

    const expected = shown.map(({ payload }) => payload)
    // Twice round at most: what is missed the first time is told below.
    const until = Date.now() + seconds * 2000
    await eventually(async () => {
      const seen = (await page.evaluate(SEEN)) as number
      if (Date.now() < until) expect(seen).toBe(COUNT)
    })
    const scans = (await page.evaluate('fake.scans')) as { payload: string; method: string }[]
    const read = scans.map(({ payload }) => payload)
    expect(expected.filter((payload) => !read.includes(payload))).toEqual([])
    expect(read.filter((payload) => !expected.includes(payload))).toEqual([])
    expect(new Set(scans.map(({ method }) => method))).toEqual(new Set(['camera']))
    // The film goes round: after each code comes the next, whatever it was joined at, and none twice at once.
    const next = (payload: string) => expected[(expected.indexOf(payload) + 1) % COUNT]
    expect(read.slice(1)).toEqual(read.slice(0, -1).map(next))
    expect(incidents).toEqual([])
  })
})

const SEEN = 'new Set(fake.scans.map(({ payload }) => payload)).size'
