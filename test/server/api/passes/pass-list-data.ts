import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { PassStatus } from '../../../../src/core/contract/schemas/common.ts'
import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'
import { groupBy } from '../../../../src/core/group-by.ts'
import { newId } from '../../../../src/core/ids.ts'
import { identifierDigest } from '../../../../src/core/rules/crypto/scan-code.ts'
import { insertRows, type RowsUpdate, updateRows } from '../../../../src/storage/db/bulk-rows.ts'
import type { TestWorkspace } from '../../../support/api.ts'
import { makeProject, publishedTemplate } from '../../fixtures.ts'

/** The facts of a pass that lists show and filter by. */
export interface PassFacts {
  externalPassId: string
  label: string
  /** The stored status. The API shows an ISSUED pass as EXPIRED after its expiry. */
  status: PassStatus
  expiresAt: Date | null
  revision: number
  template: Template
  templateVersion: number
  variables: Record<string, unknown>
  redemption: RedemptionPolicy | null
  createdAt: Date
  updatedAt: Date
  /** The context of each accepted scan. */
  scans: string[]
  /**
   * The version that wallets show now, the version that each Apple device fetched last, and the number of users per
   * version at Google.
   */
  walletVersion: number
  apple: number[]
  google: { holders: number; sent: number } | null
}

export interface Template {
  id: string
  name: string
  projectId: string | null
}

export interface ListedPass extends PassFacts {
  id: string
}

/** The time of every request below. Passes expire before, at, and after it. */
export const now = new Date('2026-03-01T12:00:00.000Z')

const moments = fc.constantFrom(
  ...['2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00.000Z', '2026-03-01T00:00:00.001Z', '2026-03-01T11:59:59.999Z'],
)

const expiries = fc.constantFrom(
  ...[null, null, '2026-02-28T12:00Z', '2026-03-01T00:00Z', '2026-03-01T11:59:59.999Z', '2026-03-01T12:00Z'],
  ...['2026-03-01T12:00:00.001Z', '2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00.001Z', '2030-01-01T00:00Z'],
)

const window = (start: string) => ({ start, end: '2026-03-09T00:00Z' })

const policies = fc.constantFrom<RedemptionPolicy | null>(
  null,
  { maxUses: 1 },
  { windows: [{ end: '2026-03-02T00:00Z' }] },
  { windows: [window('2026-03-01T10:00Z')] },
  { windows: [window('2026-03-02T00:30+14:00')] },
  { windows: [window('2026-02-28T23:30-11:00')] },
  { windows: [window('2026-03-01T10:00Z'), window('2026-03-01T18:00Z'), window('2026-03-03T10:00Z')] },
)

/** Texts with characters that are special to a search engine, a pattern, or case folding. */
export const labels = [
  'Ada Lovelace',
  'ada lovelace',
  'ADA',
  'Straße',
  'STRASSE',
  'Émile',
  'E\u0301MILE',
  'ΟΔΟΣ',
  'ΟΔΟΣΑΣ',
  'İstanbul',
  '100%',
  '1000',
  '50_50',
  '50x50',
  'a\\b',
  'a/b',
  '"quoted"',
  "O'Brien",
  'a*b',
  'ab',
  '^start',
  'x:y',
  '(z)',
  '-no-',
  'AND',
  'NEAR(a b)',
  'a OR b',
  ' led',
  'trailed ',
  '😀😀😀',
  '👩‍👩‍👧',
  '中文字典',
  'Ｆｕｌｌ',
  '\ud7ff\ue000',
  '\u{10ffff}',
  'label_folded : x',
  'issued',
  'Void of meaning',
  'x'.repeat(255),
  '😀'.repeat(255),
  `${'😀'.repeat(254)}a`,
  `${'😀'.repeat(254)}b`,
]

export const variableNames = ['tier', ' tier ', 'seat', 'N'.repeat(150), 'ключ', '😀']
export const variableValues: unknown[] = [
  'gold',
  ' gold ',
  'Gold',
  'a:b:c',
  ':',
  '',
  ' ',
  '5',
  'null',
  'x'.repeat(128),
  'x'.repeat(129),
  'x'.repeat(300),
  '\ud800',
  '\0',
  5,
  1.5,
  true,
  null,
  [1, 'a'],
  { a: null },
]

export const contexts = ['day-1', 'day-2', 'Day-1']

export function passFacts(templates: Template[]): fc.Arbitrary<Omit<PassFacts, 'externalPassId'>> {
  return fc.record({
    label: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...labels) }, fc.string({ minLength: 1, maxLength: 5 })),
    status: fc.constantFrom<PassStatus>('QUEUED', 'ISSUING', 'ISSUED', 'ISSUED', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED'),
    expiresAt: expiries.map((text) => (text === null ? null : new Date(text))),
    revision: fc.integer({ min: 1, max: 4 }),
    template: fc.constantFrom(...templates),
    templateVersion: fc.integer({ min: 1, max: 3 }),
    variables: fc.dictionary(fc.constantFrom(...variableNames), fc.constantFrom(...variableValues), { maxKeys: 3 }),
    redemption: policies,
    createdAt: moments.map((text) => new Date(text)),
    updatedAt: moments.map((text) => new Date(text)),
    scans: fc.array(fc.constantFrom(...contexts), { maxLength: 2 }),
    walletVersion: fc.integer({ min: 1, max: 3 }),
    apple: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
    google: fc.option(fc.record({ holders: fc.integer({ min: -1, max: 2 }), sent: fc.integer({ min: 1, max: 3 }) })),
  })
}

export const externalPassId = (n: number) => `${['ext', 'EXT', 'Ünï', '%_\\"'][n % 4]}-${n}`

/** Creates templates in two projects and without a project. Two of them have the same name. */
export async function makeTemplates(workspace: TestWorkspace): Promise<Template[]> {
  const [one, two] = [await makeProject(workspace, 'one'), await makeProject(workspace, 'two')]
  return Promise.all(
    [
      { name: 'Ticket', projectId: one.id },
      { name: 'Ticket', projectId: two.id },
      { name: 'ticket', projectId: one.id },
      { name: 'Ärmel', projectId: undefined },
    ].map(async ({ name, projectId }) => {
      const { id } = await publishedTemplate(workspace, { name, ...(projectId && { projectId }) })
      return { id, name, projectId: projectId ?? null }
    }),
  )
}

/** Inserts passes like the server would, in one transaction. */
export async function insertListed(workspace: TestWorkspace, passes: PassFacts[]): Promise<ListedPass[]> {
  if (passes.length === 0) return []
  const { store } = workspace.api.services
  const versions = await store.templateVersions.listNewestPublished(workspace.id, [
    ...new Set(passes.map((pass) => pass.template.id)),
  ])
  const listed = passes.map((pass) => ({ ...pass, id: newId(pass.createdAt) }))
  const rows = listed.map(({ template, ...facts }) => ({
    ...facts,
    templateId: template.id,
    projectId: template.projectId,
    hasBalances: false,
    scanCode: facts.id,
    appleToken: 'token',
    templateVersionId: versions.find(({ templateId }) => templateId === template.id)!.id,
    identifierDigest: identifierDigest(facts.id),
  }))
  const ofWorkspace = { workspace_id: workspace.id }
  const devices = listed.flatMap(({ id, apple }) =>
    apple.map((fetched_version, n) => ({
      ...ofWorkspace,
      pass_id: id,
      push_token: 'x',
      registered_at: 0,
      pushed_version: 0,
      device_id: `${n}`,
      fetched_version,
    })),
  )
  const objects = listed.flatMap(({ id, google }) => {
    const { holders, sent: sent_version } = google ?? {}
    return google ? [{ ...ofWorkspace, pass_id: id, object_suffix: id, holders, sent_version, sent_at: 0 }] : []
  })
  const scans = listed.flatMap(({ id, scans }) =>
    scans.map((scan_context_key) => ({
      ...ofWorkspace,
      pass_id: id,
      scan_id: newId(now),
      scan_context_key,
      scanned_at: now.getTime(),
    })),
  )
  const jobs = listed.filter(({ status }) => status === 'ISSUING').map(({ id }) => claimedJob(workspace.id, id))
  await store.transaction(async (tx) => {
    for (const [createdAt, created] of groupBy(rows, (row) => row.createdAt.getTime())) {
      await tx.passes.insert(workspace.id, created, new Date(createdAt))
    }
  })
  await workspace.api.database.writer.transaction(async (tx) => {
    const changes = listed.map(({ id, status, revision, updatedAt, walletVersion }) => ({
      id,
      set: { status, revision, updated_at: updatedAt.getTime(), wallet_version: walletVersion },
    }))
    await updateRows(tx, workspace.id, listedUpdate, changes)
    await insertRows(tx, 'apple_registrations', devices)
    await insertRows(tx, 'google_objects', objects)
    await insertRows(tx, 'jobs', jobs)
    await insertRows(tx, 'accepted_scans', scans)
  })
  const ids = listed.map(({ id }) => id)
  await store.transaction((tx) => tx.heldPasses.settle(workspace.id, ids))
  return listed
}

const listedUpdate: RowsUpdate = {
  name: 'set-listed',
  table: 'passes',
  set: { status: 'text', revision: 'integer', updated_at: 'bigint', wallet_version: 'integer' },
}

/** A job by which a worker issues the pass. */
const claimedJob = (workspaceId: string, subject: string) => ({
  id: newId(now),
  workspace_id: workspaceId,
  kind: 'issue-pass',
  subject,
  queue: 'issuing',
  priority: 'interactive',
  run_at: now.getTime(),
  attempts: 1,
  claim_token: newId(now),
  created_at: now.getTime(),
})

/** Deletes all passes of a workspace. */
export async function deletePasses(workspace: TestWorkspace): Promise<void> {
  await workspace.api.database.writer.transaction(async (tx) => {
    const wallets = ['held_passes', 'apple_registrations', 'google_objects']
    const indexes = ['accepted_scans', 'pass_windows', 'pass_variables', 'pass_identifiers']
    for (const table of ['jobs', ...wallets, ...indexes, 'passes']) {
      await tx(table).where({ workspace_id: workspace.id }).delete()
    }
  })
}

/** Returns a prefix that no other pass of the test has. */
export const uniquePrefix = () => randomBytes(4).toString('hex')
