import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong, times } from '../../support/long.ts'
import { launchBrowser, skipReason, visit } from '../support/browser.ts'
import { cameraFlags, codesToShow, writeFilm } from './camera-film.ts'
import { serveFakeDoor } from './door-server.ts'

/** Every run shows two codes of each format. The long form shows each format in each condition twice. */
const COUNT = times(16, 128)

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

  test('reads each code that stays in view for a second once and correctly', async () => {
    const browser = await launchBrowser(cameraFlags(film))
    cleanUp(() => browser.close())
    const { page, incidents } = await visit(browser, { viewport: { width: 390, height: 844 } })
    if (isLong) await page.addInitScript({ content: MEASURE })
    await page.goto(`${url}#invitation-code`)
    await page.getByRole('button', { name: 'Begin' }).click()
    await page.getByRole('button', { name: 'Start' }).click()

    const expected = shown.map(({ payload }) => payload)
    // Play the film at most twice. The figures below report codes that the first pass missed.
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
    // The film is a loop: codes follow each other in order, wherever the reader starts, and none appears twice in a
    // row.
    const next = (payload: string) => expected[(expected.indexOf(payload) + 1) % COUNT]
    expect(read.slice(1)).toEqual(read.slice(0, -1).map(next))
    expect(incidents).toEqual([])
    if (isLong) console.log(await page.evaluate(FIGURES))
  })
})

const SEEN = 'new Set(fake.scans.map(({ payload }) => payload)).size'

/**
 * Measures the time for decision 0009: from a captured frame to the drawn decision, and the time of the decoder itself.
 */
const MEASURE = `
globalThis.decisions = []
globalThis.decodes = []
let takenAt = 0
const draw = CanvasRenderingContext2D.prototype.drawImage
CanvasRenderingContext2D.prototype.drawImage = function (...args) { takenAt = performance.now(); return draw.apply(this, args) }
const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (...args) {
  const from = takenAt
  const before = globalThis.fake?.scans.length
  this.addEventListener('message', ({ data: { reading, decodeMs } }) => {
    if (!reading) return
    decodes.push(decodeMs)
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (fake.scans.length > before) decisions.push(performance.now() - from)
    }))
  }, { once: true })
  return post.apply(this, args)
}
`

const FIGURES = `(() => {
  const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]?.toFixed(1)
  return 'frame to decision ' + median(decisions) + ' ms (' + decisions.length + '), decoder alone ' + median(decodes) + ' ms'
})()`
