import { beginningOf } from '../../../../src/core/rules/lists/cursor.ts'
import { dateOfPolicy } from '../scans/scan-reference.ts'
import { type ListedPass, now } from './pass-list-data.ts'

/**
 * Implements GET /v1/passes by reading every pass, as a slow and independent reference of its filters, sorts, and
 * pages.
 */

export type Query = Record<string, string[]>

export function filterPasses(passes: ListedPass[], query: Query): ListedPass[] {
  return passes.filter(
    (pass) =>
      Object.entries(filters).every(([name, holds]) => {
        const values = query[name]
        return values === undefined || values.some((value) => holds(pass, value, query))
      }) && holdsVariables(pass, query.variable ?? []),
  )
}

export function sortPasses(passes: ListedPass[], sortBy: string, sortDir: string): ListedPass[] {
  const sorted = passes.toSorted((a, b) => {
    const [one, other] = [sortKey(a, sortBy), sortKey(b, sortBy)]
    return compare(one, other) || compare(a.id, b.id)
  })
  return sortDir === 'asc' ? sorted : sorted.reverse()
}

/** Returns the sort key of a pass. The status is the stored one, which follows the expiry within a second. */
export function sortKey(pass: ListedPass, sortBy: string): string | number {
  if (sortBy === 'createdAt' || sortBy === 'updatedAt') return pass[sortBy].getTime()
  if (sortBy === 'expiresAt') return pass.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  if (sortBy === 'templateName') return pass.template.name
  if (sortBy === 'label') return beginningOf(pass.label)
  return pass[sortBy as 'externalPassId' | 'status' | 'revision' | 'templateVersion']
}

/** Text by code point, which is the order of its bytes. */
function compare(a: string | number, b: string | number): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b)))
  return a === b ? 0 : a < Number(b) ? -1 : 1
}

type Filter = (pass: ListedPass, value: string, query: Query) => boolean

const filters: Record<string, Filter> = {
  status: (pass, value) => shownStatus(pass) === value,
  externalPassId: (pass, value) => pass.externalPassId === value,
  search: (pass, value) =>
    [pass.label, pass.externalPassId, shownStatus(pass)].some((text) => withoutCase(text).includes(withoutCase(value))),
  projectId: ({ template }, value) => template.projectId === (value === 'null' ? null : value),
  templateId: ({ template }, value) => template.id === value,
  validOn: ({ redemption, expiresAt }, value) => {
    const windows = redemption?.windows
    const isExpired = expiresAt !== null && dateOfPolicy(expiresAt.getTime(), redemption ?? {}) < value
    return !isExpired && (windows === undefined || windows.some(({ start }) => start?.startsWith(`${value}T`)))
  },
  redeemed: ({ scans }, value, { redeemedContext }) =>
    String(scans.some((scan) => redeemedContext?.includes(scan) ?? true)) === value,
  installed: (pass, value, { platform = platforms }) =>
    String(platform.some((one) => walletsOf(pass, one).length > 0)) === value,
  platform: (pass, value, { installed }) => installed !== undefined || walletsOf(pass, value).length > 0,
  stale: (pass, value, { platform = platforms }) =>
    String(platform.some((one) => walletsOf(pass, one).some((version) => version < pass.walletVersion))) === value,
  label: ({ label }, value, { labelMatch = ['exact'] }) =>
    (labelMatch.includes('exact') && label === value) ||
    (labelMatch.includes('prefix') && label.startsWith(value)) ||
    (labelMatch.includes('contains') && withoutCase(label).includes(withoutCase(value))),
  revision: (pass, value) => holdsNumber(pass.revision, value),
  templateVersion: (pass, value) => holdsNumber(pass.templateVersion, value),
  createdFrom: ({ createdAt }, value) => createdAt >= new Date(value),
  createdSince: ({ createdAt }, value) => createdAt >= new Date(value),
  createdTo: ({ createdAt }, value) => createdAt <= new Date(value),
  createdUntil: ({ createdAt }, value) => createdAt <= new Date(value),
}

const platforms = ['apple', 'google']

/** The version that each wallet of a platform has. */
function walletsOf({ apple, google }: ListedPass, platform: string): number[] {
  if (platform === 'apple') return apple.map((fetched) => Math.max(1, fetched))
  return google && google.holders > 0 ? [google.sent] : []
}

function shownStatus({ status, expiresAt }: ListedPass): string {
  return status === 'ISSUED' && expiresAt !== null && expiresAt <= now ? 'EXPIRED' : status
}

/** Folds each letter alone, because some letters fold differently next to others. */
function withoutCase(text: string): string {
  return [...text.normalize('NFC')].map((letter) => letter.toUpperCase().toLowerCase()).join('')
}

function holdsNumber(number: number, filter: string): boolean {
  const [bound, value] = filter.includes(':') ? filter.split(':') : ['', filter]
  if (bound === 'gte') return number >= Number(value)
  if (bound === 'lte') return number <= Number(value)
  return number === Number(value)
}

/** Whether the pass has one of the values of every key. If names differ only in white space, the last one counts. */
function holdsVariables({ variables }: ListedPass, pairs: string[]): boolean {
  const stored = new Map(
    Object.entries(variables).map(([name, value]) => [
      name.trim(),
      (typeof value === 'string' ? value : JSON.stringify(value)).trim(),
    ]),
  )
  const wanted = pairs.map((pair) => {
    const [name, ...value] = pair.split(':')
    return { name: name!.trim(), value: value.join(':').trim() }
  })
  return wanted.every(({ name }) => wanted.some((other) => other.name === name && stored.get(name) === other.value))
}
