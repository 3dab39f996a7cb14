import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { CleanUp } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'

const named = process.env.PASSES_CHROMIUM
/**
 * The complete browser, and its headless shell, which draws pages with the same engine for half the CPU. Tests use the
 * shell if it is installed. The long form uses the complete browser.
 */
const [whole, shell] = ['/usr/bin/chromium', '/usr/lib/chromium/chromium-headless-shell']
const executablePath = named ?? (existsSync(shell) && !isLong ? shell : whole)

/** The reason why browser tests are skipped; undefined if they run. They always run in CI, or if a browser is named. */
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
      // Block the address of Google, to which links lead and which tests must not call.
      '--host-resolver-rules=MAP pay.google.com ~NOTFOUND',
      // Pages of tests run too briefly for optimized code, whose compilation takes a quarter of the CPU. Only pages with a
      // camera, which have more flags, read frames for longer.
      ...(isLong || more.length > 0 ? [] : ['--js-flags=--no-opt --no-maglev']),
      ...more,
    ],
  })
}

export const screens = {
  phone: { width: 390, height: 844 },
  desktop: { width: 1280, height: 900 },
} as const

/** A phone in light mode and a desktop in dark mode. The long form checks both modes on both. */
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
 * Returns the looks for the nth of several pages with one style sheet: the first in the light and dark schemes, the
 * others in turn. Their texts differ. The long form checks each page in every look.
 */
export function looksOf(nth: number): typeof looks {
  return isLong || nth === 0 ? looks : [looks[nth % looks.length]!]
}

export interface Visit {
  page: Page
  context: BrowserContext
  /** Events that must not happen on a page: console messages, dialogs, errors, and violations of its policy. */
  incidents: string[]
}

export interface VisitOptions extends BrowserContextOptions {
  /** Whether the visitor has a separate context, because the test changes the clock of the context. */
  isAlone?: boolean
}

/** A tab between two visitors. */
interface Tab {
  page: Page
  /** The events of the current visitor. */
  incidents: string[]
}

/** A context, and its tabs that no visitor uses. */
interface Shared {
  context: BrowserContext
  idle: Tab[]
}

const shared = new WeakMap<Browser, Map<string, Promise<Shared>>>()

/**
 * Opens a visitor in a tab, until the end of the test unless `cleanUp` is given. The tab has an empty session storage, no
 * request headers, and no routes. Visitors share a context and its storage, except if their options differ in more than the
 * screen, and use the tabs of earlier ones, because a new context or tab takes half a second of CPU. A test that adds a
 * script to a tab, or attaches a session that changes it, must remove that.
 */
export async function visit(
  browser: Browser,
  options: VisitOptions = {},
  cleanUp: CleanUp = onTestFinished,
): Promise<Visit> {
  const { viewport = screens.desktop, colorScheme = 'light', extraHTTPHeaders = {}, isAlone, ...rest } = options
  const open = async (): Promise<Shared> => ({ context: await browser.newContext(rest), idle: [] })
  const known = shared.get(browser) ?? new Map<string, Promise<Shared>>()
  shared.set(browser, known)
  const kind = JSON.stringify(rest)
  const opening = isAlone ? open() : (known.get(kind) ?? open())
  if (!isAlone) known.set(kind, opening)
  const { context, idle } = await opening
  const tab = idle.pop() ?? (await openTab(context))
  const { page, incidents } = tab
  cleanUp(async () => {
    if (isAlone) return context.close()
    if (await empty(tab)) idle.push(tab)
  })
  // The default for all waits. A test that needs a shorter limit must set it.
  page.setDefaultTimeout(120_000)
  await page.setViewportSize(viewport!)
  await page.emulateMedia({ colorScheme, media: null })
  await page.setExtraHTTPHeaders(extraHTTPHeaders)
  return { page, context, incidents }
}

async function openTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage()
  const tab: Tab = { page, incidents: [] }
  page.on('console', (message) => tab.incidents.push(`console ${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => tab.incidents.push(`error: ${error.message}`))
  page.on('dialog', async (dialog) => {
    tab.incidents.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  await page.addInitScript({
    content: `addEventListener('securitypolicyviolation', (breach) => {
      console.error('policy: ' + breach.violatedDirective + ' ' + breach.blockedURI)
    })`,
  })
  return tab
}

/** Prepares a tab for its next visitor. Resolves to whether it can be used again. */
async function empty(tab: Tab): Promise<boolean> {
  const { page } = tab
  try {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // Pages without an origin have no storage.
    await page.evaluate('try { sessionStorage.clear() } catch {}')
    await page.goto('about:blank', { timeout: 10_000 })
    for (const event of ['request', 'response'] as const) await page.removeAllListeners(event)
    tab.incidents = []
    return true
  } catch {
    // The test crashed or closed the tab, or left it in the middle of a navigation.
    await page.close().catch(() => undefined)
    return false
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Stores a screenshot of a page for people to look at, if PASSES_SCREENSHOTS names a folder. */
export async function picture(page: Page, name: string, options: { fullPage?: boolean } = {}): Promise<void> {
  const folder = process.env.PASSES_SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), ...options })
}

/**
 * Returns the issues that axe-core finds on a page, of any severity, and those that it could not decide.
 * @param rules the rules to check, or `without`, the rules to leave out; all by default
 */
export async function accessibilityIssues(
  page: Page,
  rules?: readonly string[] | { without: readonly string[] },
): Promise<string[]> {
  // Load axe once per page, because loading it takes most of the time of a check.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe)
  const chosen =
    rules && 'without' in rules
      ? { rules: Object.fromEntries(rules.without.map((rule) => [rule, { enabled: false }])) }
      : rules && { runOnly: rules }
  const options = { resultTypes: ['violations', 'incomplete'], ...chosen }
  const { violations, incomplete } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as Record<
    'violations' | 'incomplete',
    Finding[]
  >
  const show = ({ id, nodes }: Finding) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(', ')}`
  return [...violations.map(show), ...incomplete.map((finding) => `undecided ${show(finding)}`)]
}

/** The contrast of text on an image depends on the image, which only people can evaluate. */
export const overPictures = /^undecided color-contrast:/

interface Finding {
  id: string
  nodes: { html: string }[]
}
