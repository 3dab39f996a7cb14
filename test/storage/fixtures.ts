import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { Definition, type GoogleKind } from '../../src/core/contract/schemas/definition.ts'
import { newId } from '../../src/core/ids.ts'
import { identifierDigest, newScanCode } from '../../src/core/rules/crypto/scan-code.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../src/storage/db/database.ts'
import type { OnDue } from '../../src/storage/jobs/job-kinds.ts'
import type { SentObject } from '../../src/storage/passes/google-objects.ts'
import type { NewPass } from '../../src/storage/passes/pass-row.ts'
import type { StoredScan } from '../../src/storage/scans/scan-row.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import type { PublishedVersion } from '../../src/storage/templates/template-versions-repository.ts'
import { migratedDatabase, type TestDialect } from '../support/databases.ts'

/** The time at which tests begin. */
export const start = new Date('2026-07-01T12:00:00.000Z')

export function later(seconds: number, from = start): Date {
  return new Date(from.getTime() + seconds * 1000)
}

export interface TestStore {
  url: string
  database: Database
  store: Store
}

/** Opens a migrated database with an empty workspace. It is closed after the test. */
export async function openTestStore(dialect: TestDialect, onJobs?: OnDue): Promise<TestStore> {
  const url = await migratedDatabase(dialect)
  const database = openTestDatabase(url)
  return { url, database, store: createStore(database, onJobs && { onDue: onJobs }) }
}

/** Opens a database with separate connections, like another server. They are closed after the test. */
export function openTestDatabase(url: string, options?: DatabaseOptions): Database {
  const database = openDatabase(url, options)
  onTestFinished(() => database.close())
  return database
}

export async function insertWorkspace(store: Store, name = 'acme'): Promise<string> {
  const workspace = await store.transaction((tx) => tx.workspaces.insert(name, start))
  return workspace!.id
}

export const definition = Definition.parse({
  variables: [{ name: 'seat', label: 'Seat' }],
  design: {
    organizationName: 'Acme',
    description: 'A ticket',
    fields: { primary: [{ key: 'seat', label: 'Seat', value: '{{seat}}' }] },
  },
})

/** Inserts a template with one published version. */
export async function insertTemplate(
  store: Store,
  workspaceId: string,
  projectId: string | null = null,
): Promise<PublishedVersion> {
  return store.transaction(async (tx) => {
    const fields = { name: 'Ticket', description: '', passType: 'eventTicket', projectId } as const
    const { id } = await tx.templates.insert(workspaceId, fields, start)
    const number = await tx.templates.takeVersionNumber(workspaceId, id)
    const version = await tx.templateVersions.insert(workspaceId, id, number!, definition, start)
    await tx.templateVersions.setPublished(workspaceId, version.id, start)
    await tx.templates.setPublished(workspaceId, id, version, start)
    const [published] = await tx.templateVersions.listByIds(workspaceId, [version.id])
    return published!
  })
}

export function newPass(version: PublishedVersion, fields: Partial<NewPass> = {}): NewPass {
  const scanCode = newScanCode()
  return {
    id: newId(start),
    externalPassId: `pass-${scanCode}`,
    label: 'Ada Lovelace',
    templateId: version.templateId,
    templateVersionId: version.id,
    templateVersion: version.version,
    projectId: version.projectId,
    variables: { seat: 'A1' },
    redemption: null,
    hasBalances: false,
    expiresAt: null,
    scanCode,
    appleToken: randomBytes(24).toString('hex'),
    identifierDigest: identifierDigest(scanCode),
    ...fields,
  }
}

/** Inserts passes and their `issue-pass` jobs, as a create does. */
export async function insertPasses(
  store: Store,
  workspaceId: string,
  passes: NewPass[],
  at = start,
): Promise<string[]> {
  const ids = passes.map((pass) => pass.id)
  await store.transaction(async (tx) => {
    await tx.passes.insert(workspaceId, passes, at)
    await tx.jobs.insert(
      ids.map((subject) => ({ workspaceId, kind: 'issue-pass', subject, correlationId: null })),
      at,
    )
  })
  return ids
}

/** Returns the object of a pass as it was sent to Google. */
export function sentObject(passId: string, kind: GoogleKind = 'generic'): SentObject {
  return { kind, objectSuffix: `${passId}-${kind}`, classSuffix: `template-1-v1-${kind}`, templateVersionId: passId }
}

/** Returns an accepted scan of a pass for the ledger, whose externalRef contains the pass ID. */
export function acceptedScan(passId: string, fields: Partial<StoredScan> = {}): StoredScan {
  return {
    id: newId(start),
    result: 'accepted',
    reason: 'valid',
    reasonCode: 'valid',
    message: 'Valid.',
    verified: 'online',
    passId,
    externalPassId: 'theirs',
    projectId: null,
    templateId: null,
    templateVersionId: null,
    redemption: null,
    matchedCount: 1,
    priorCount: 0,
    payloadDigest: null,
    scanContextKey: null,
    scannedAt: start,
    recordedAt: start,
    deviceId: null,
    externalRef: 'theirs',
    context: null,
    conflict: null,
    deviceTime: null,
    validateAsOf: null,
    reversesScanId: null,
    reversalReason: null,
    tokenId: null,
    zoneId: null,
    direction: null,
    useScanId: null,
    ...fields,
  }
}
