import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { CleanUp } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'

const named = process.env.PASSES_CHROMIUM
/**
 * The whole browser, and what of it draws pages, without windows: that is the same engine for half the CPU, and stands in
 * for it where it is installed; the long form takes the whole.
 */
const [whole, shell] = ['/usr/bin/chromium', '/usr/lib/chromium/chromium-headless-shell']
const executablePath = named ?? (existsSync(shell) && !isLong ? shell : whole)

/** Why nothing can be seen in a browser here; undefined where it can, and where it has to: in CI, or where one is named. */
export const skipReason =
  existsSync(executablePath) || named !== undefined || process.env.CI === 'true'
    ? undefined
    : `there is no ${executablePath}; PASSES_CHROMIUM names another`

/** @param more flags of Chromium, such as those of its camera */
export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Links lead there, and no test may.
      '--host-resolver-rules=MAP pay.google.com ~NOTFOUND',
      ...more,
    ],
  })
}

export const screens = {
  phone: { width: 390, height: 844 },
  desktop: { width: 1280, height: 900 },
} as const

/** A phone by day and a desktop by night; in the long form both by both. */
export const looks: { viewport: { width: number; height: number }; colorScheme: 'light' | 'dark' }[] = [
  { viewport: screens.phone, colorScheme: 'light' },
  { viewport: screens.desktop, colorScheme: 'dark' },
  ...(isLong
    ? [
        { viewport: screens.phone, colorScheme: 'dark' as const },
        { viewport: screens.desktop, colorScheme: 'light' as const },
      ]
    : []),
]

/**
 * How the nth of several pages with one style sheet is looked at: the first by day and by night, the others by turns. What
 * they say differs; in the long form each is seen in every look.
 */
export function looksOf(nth: number): typeof looks {
  return isLong || nth === 0 ? looks : [looks[nth % looks.length]!]
}

export interface Visit {
  page: Page
  context: BrowserContext
  /** What a page that is sound never does: messages on the console, dialogs, errors, breaches of its policy. */
  incidents: string[]
}

const contexts = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>()

/**
 * A visitor in a new tab, which closes behind the test unless `cleanUp` says when. Those who look alike share a context, and
 * what it stores: a new one takes a second of CPU.
 */
export async function visit(
  browser: Browser,
  options: BrowserContextOptions = {},
  cleanUp: CleanUp = onTestFinished,
): Promise<Visit> {
  const look = JSON.stringify(options)
  const known = contexts.get(browser) ?? new Map<string, Promise<BrowserContext>>()
  contexts.set(browser, known)
  const opened = known.get(look) ?? browser.newContext(options)
  known.set(look, opened)
  const context = await opened
  const page = await context.newPage()
  // As long as tests wait for anything: what must come sooner says so itself.
  page.setDefaultTimeout(120_000)
  cleanUp(() => page.close())
  const incidents: string[] = []
  page.on('console', (message) => incidents.push(`console ${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => incidents.push(`error: ${error.message}`))
  page.on('dialog', async (dialog) => {
    incidents.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  await page.addInitScript({
    content: `addEventListener('securitypolicyviolation', (breach) => {
      console.error('policy: ' + breach.violatedDirective + ' ' + breach.blockedURI)
    })`,
  })
  return { page, context, incidents }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A picture of a page for somebody to look at, where PASSES_SCREENSHOTS names a folder. */
export async function picture(page: Page, name: string, options: { fullPage?: boolean } = {}): Promise<void> {
  const folder = process.env.PASSES_SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), ...options })
}

/** What axe-core has against a page, by every rule and of any weight, and what it could not decide. */
export async function accessibilityIssues(page: Page): Promise<string[]> {
  // To load it anew costs most of what it costs to run.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe)
  const { violations, incomplete } = (await page.evaluate(
    `axe.run({ resultTypes: ['violations', 'incomplete'] })`,
  )) as Record<'violations' | 'incomplete', Finding[]>
  const show = ({ id, nodes }: Finding) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(', ')}`
  return [...violations.map(show), ...incomplete.map((finding) => `undecided ${show(finding)}`)]
}

/** What stands over a picture is as easy to read as the picture lets it: only people can evaluate that. */
export const overPictures = /^undecided color-contrast:/

interface Finding {
  id: string
  nodes: { html: string }[]
}
