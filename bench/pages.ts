import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../test/e2e/support/browser.ts'
import { figure } from './support/figures.ts'
import { median } from './support/rounds.ts'
import { cpuMillisecondsOf, startServer } from './support/server.ts'

/**
 * Measures waits of users in Chromium against the built program. For `template dev`: the time from the write to disk
 * until both phones show the new text. Every second save follows a half-written file, and the page must keep the scroll
 * position, the opened details, and the chosen holder. For the reference at /docs: the time of the first paint, with
 * the CPU slowed down four times, each time in a new browser context. Needs the built program and Chromium. Run: npx
 * tsx bench/pages.ts
 */

const SAVES = 10
const VISITS = 5
const SLOWER = 4

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const browser = await launchBrowser()
try {
  await measureSaves()
  await measureReference()
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}

async function measureSaves(): Promise<void> {
  const root = join(import.meta.dirname, '..')
  cpSync(join(root, 'examples/conference'), folder, { recursive: true })
  const file = join(folder, 'template.json')
  const template = JSON.parse(readFileSync(file, 'utf8'))
  const withLogo = (logoText: string) =>
    JSON.stringify({
      ...template,
      definition: { ...template.definition, design: { ...template.definition.design, logoText } },
    })
  const rows = join(folder, 'attendees.csv')
  const child = execa('node', [join(root, 'bin/run.js'), 'template', 'dev', file, '--rows', rows, '--json'], {
    buffer: false,
    reject: false,
  })
  try {
    const { url } = JSON.parse(await firstValue(child.stdout))
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await page.goto(url)
    await page.locator('.card').nth(1).waitFor()
    await page.getByLabel('Holder').selectOption({ index: 3 })
    await page.locator('summary').first().click()
    await page.evaluate('scrollTo(0, 400)')
    const place = `JSON.stringify([scrollY, document.getElementById('holder').value,
      document.querySelector('.panel').shadowRoot.querySelector('details').open])`
    const before = await page.evaluate(place)
    const waits: number[] = []
    const cpuBefore = cpuMillisecondsOf(child.pid!)
    for (let save = 0; save < SAVES; save += 1) {
      const text = withLogo(`Save ${save}`)
      if (save % 2 === 1) {
        writeFileSync(file, text.slice(0, text.length / 2))
        await page.locator('#faults p').first().waitFor()
      }
      // Check in every frame that is painted.
      const seen = page.evaluate(`new Promise((resolve) => {
        const look = () => [...document.querySelectorAll('.panel')].every(({ shadowRoot }) => shadowRoot.textContent.includes('Save ${save}'))
          ? resolve(Date.now()) : requestAnimationFrame(look)
        look()
      })`) as Promise<number>
      await page.evaluate('1')
      const written = Date.now()
      writeFileSync(file, text)
      waits.push((await seen) - written)
    }
    console.log(`saves: ${waits.map((wait) => wait.toFixed(0)).join(' ')} ms`)
    // Print the CPU time, because the elapsed time means little on a busy machine.
    const cpu = (cpuMillisecondsOf(child.pid!) - cpuBefore) / waits.length
    console.log(`CPU of template dev: ${cpu.toFixed(0)} ms a save, every second with a half-written file before it`)
    figure('time from a save until template dev shows it', median(waits), { atMost: 200 }, ' ms')
    const after = await page.evaluate(place)
    if (after !== before) throw new Error(`The page lost its state: ${before} became ${after}`)
  } finally {
    child.kill('SIGTERM')
    await child
  }
}

async function measureReference(): Promise<void> {
  const server = await startServer(`sqlite:${join(folder, 'passes.db')}`)
  try {
    const paints: number[] = []
    for (let visit = 0; visit < VISITS; visit += 1) paints.push(await firstPaint(browser, `${server.url}/docs`))
    console.log(`first paints: ${paints.map((paint) => paint.toFixed(0)).join(' ')} ms`)
    figure(`first paint of /docs at ${SLOWER}x CPU slowdown`, median(paints), { atMost: 1500 }, ' ms')
  } finally {
    await server.stop()
  }
}

/** Returns the time of the first paint with empty caches, in milliseconds. */
async function firstPaint(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.setCacheDisabled', { cacheDisabled: true })
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
    await page.goto(url)
    return (await page.evaluate(`new Promise((resolve) => {
      new PerformanceObserver((list) => {
        const [paint] = list.getEntriesByName('first-contentful-paint')
        if (paint) resolve(paint.startTime)
      }).observe({ type: 'paint', buffered: true })
    })`)) as number
  } finally {
    await context.close()
  }
}

/** Returns the first JSON value that a program prints. */
async function firstValue(output: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const line of output) {
    text += `${line}\n`
    try {
      JSON.parse(text)
      return text
    } catch {
      // Read more output, because the value is not complete yet.
    }
  }
  throw new Error(`The program ended after ${text}`)
}
