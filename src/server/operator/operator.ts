import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { AuditAction } from '../../core/audit.ts'
import { SetupError } from '../../core/errors.ts'
import type { LimitName, WorkspaceLimits } from '../../core/rules/pass/workspace-limits.ts'
import { requireWhole } from '../../storage/copy/target.ts'
import { type Database, openDatabase, sqliteFile } from '../../storage/db/database.ts'
import { migrate, pendingMigrations } from '../../storage/db/migrate.ts'
import { createStore, type Repositories, type Store } from '../../storage/store.ts'
import type { WorkspaceUsage } from '../../storage/workspaces/limits-repository.ts'
import type { StoredWorkspace, WorkspaceChanges } from '../../storage/workspaces/workspaces-repository.ts'
import { operator } from '../api/audit.ts'
import { missingDatabase, onDatabase } from '../boot/database-error.ts'

export class OperatorError extends SetupError {
  override readonly name = 'OperatorError'
}

type Work<T> = (store: Store, database: Database) => Promise<T>

/** @throws OperatorError if the database lacks migrations; DatabaseError or DatabaseUrlError if it cannot be used */
export async function withStore<T>(databaseUrl: string, work: Work<T>): Promise<T> {
  if (databaseToMake(databaseUrl)) throw missingDatabase(databaseUrl)
  return withNewStore(databaseUrl, work)
}

/** Like withStore, for work in one workspace. @throws OperatorError if the workspace does not exist */
export function withWorkspace<T>(
  { database, workspace }: { database: string; workspace: string },
  work: (workspace: StoredWorkspace, store: Store, database: Database) => Promise<T>,
): Promise<T> {
  return withStore(database, async (store, opened) => work(await getWorkspace(store, workspace), store, opened))
}

/** Returns the path of the SQLite file if the file does not exist and opening the database would create it. */
export function databaseToMake(databaseUrl: string): string | undefined {
  const file = sqliteFile(databaseUrl)
  return file && !existsSync(file) ? resolve(file) : undefined
}

/**
 * Like withStore, but creates a database that does not exist, for commands before the first start of a server.
 * @param note receives a message if the database was created, because its path was probably mistyped
 */
export async function withNewStore<T>(
  databaseUrl: string,
  work: Work<T>,
  note?: (message: string) => void,
): Promise<T> {
  const file = databaseToMake(databaseUrl)
  const result = await onDatabase(databaseUrl, () => workOn(openDatabase(databaseUrl), work))
  if (file) {
    note?.(
      `The database ${file} did not exist and was created. Select the database of your server with --database ` +
        '(PASSES_DATABASE_URL).',
    )
  }
  return result
}

/** Runs work on a database. Migrates an empty database first. */
async function workOn<T>(database: Database, work: Work<T>): Promise<T> {
  try {
    await requireWhole(database.entry)
    const pending = await pendingMigrations(database)
    if (pending.length > 0) {
      if (!(await isEmpty(database))) throw lacksMigrations(pending)
      await migrate(database)
    }
    return await work(createStore(database), database)
  } finally {
    await database.close()
  }
}

export function lacksMigrations(pending: string[]): OperatorError {
  return new OperatorError(`The database lacks the migrations ${pending.join(', ')}: run "passes migrate" first.`)
}

export async function getWorkspace(store: Store, nameOrId: string): Promise<StoredWorkspace> {
  const workspace = await store.workspaces.findByNameOrId(nameOrId)
  if (!workspace)
    throw new OperatorError(`Workspace ${nameOrId} not found. To list all workspaces, run "passes workspace list".`)
  return workspace
}

/** Like getWorkspace, but creates the workspace `default` if it is missing, as the first start of a server does. */
export async function getOrCreateWorkspace(store: Store, nameOrId: string, at: Date): Promise<StoredWorkspace> {
  if (nameOrId !== 'default') return getWorkspace(store, nameOrId)
  const made = await insertWorkspace(store, nameOrId, at)
  return made ?? getWorkspace(store, nameOrId)
}

/** Returns `undefined` if the name is taken. */
export function insertWorkspace(
  store: Store,
  name: string,
  at: Date,
  options: { expiresAt?: Date | null } = {},
): Promise<StoredWorkspace | undefined> {
  return store.transaction(async (tx) => {
    const workspace = await tx.workspaces.insert(name, at, options)
    if (workspace) await auditOperator(tx, workspace.id, { action: 'workspace.create', targetId: workspace.id }, at)
    return workspace
  })
}

/** Records a command in the audit log. By default, the command has the name of the action. */
export function auditOperator(
  tx: Repositories,
  workspaceId: string | null,
  { action, targetId, targetCount = 1 }: { action: AuditAction; targetId: string | null; targetCount?: number },
  at: Date,
): Promise<void> {
  const actor = operator(commands[action] ?? action.replace('.', ' '))
  return tx.auditLog.insert(workspaceId, { action, actor, targetId, targetCount, correlationId: null }, at)
}

/** Commands whose name differs from their action. */
const commands: Partial<Record<AuditAction, string>> = {
  'pass.export': 'export',
  'workspace.move-out': 'move-out',
  'workspace.move-back': 'move-out --cancel',
  'session.revoke': 'member sessions revoke',
  'job.retry': 'jobs retry',
  'job.delete': 'jobs delete',
  'database.restore': 'restore',
  'database.copy': 'copy',
}

/** Suspends a workspace, optionally with its hosted links, or resumes both. Returns the changed workspace. */
export function setSuspended(
  databaseUrl: string,
  nameOrId: string,
  { isSuspended, closesLinks = false, at }: { isSuspended: boolean; closesLinks?: boolean; at: Date },
): Promise<StoredWorkspace> {
  const action = isSuspended ? 'workspace.suspend' : 'workspace.resume'
  const suspendedAt = isSuspended ? at : null
  const changes = { suspendedAt, linksClosedAt: closesLinks ? suspendedAt : null }
  return changeWorkspace(databaseUrl, nameOrId, { action, changes, at })
}

/** Sets when a workspace ends (null: never). Returns the changed workspace. */
export function setExpiry(
  databaseUrl: string,
  nameOrId: string,
  { expiresAt, at }: { expiresAt: Date | null; at: Date },
): Promise<StoredWorkspace> {
  return changeWorkspace(databaseUrl, nameOrId, { action: 'workspace.update', changes: { expiresAt }, at })
}

export function setOfflineScanning(
  databaseUrl: string,
  nameOrId: string,
  { allowed, at }: { allowed: boolean; at: Date },
): Promise<StoredWorkspace> {
  const changes = { offlineScanning: allowed }
  return changeWorkspace(databaseUrl, nameOrId, { action: 'workspace.offline-scanning', changes, at })
}

/** Changes a workspace and records the action, in one transaction. Returns the changed workspace. */
function changeWorkspace(
  databaseUrl: string,
  nameOrId: string,
  { action, changes, at }: { action: AuditAction; changes: WorkspaceChanges; at: Date },
): Promise<StoredWorkspace> {
  return withWorkspace({ database: databaseUrl, workspace: nameOrId }, async (workspace, store) => {
    await store.transaction(async (tx) => {
      await tx.workspaces.update(workspace.id, changes)
      await auditOperator(tx, workspace.id, { action, targetId: workspace.id }, at)
    })
    return { ...workspace, ...changes }
  })
}

export interface LimitsAndUsage {
  id: string
  name: string
  limits: WorkspaceLimits
  /** The usage, except requests in flight, which each server counts for itself. */
  usage: WorkspaceUsage
}

/** Changes limits of a workspace (null resets one to the default). Returns all limits with their usage. */
export function setLimits(
  databaseUrl: string,
  nameOrId: string,
  { changes, at }: { changes: Partial<Record<LimitName, number | null>>; at: Date },
): Promise<LimitsAndUsage> {
  return withWorkspace({ database: databaseUrl, workspace: nameOrId }, async ({ id, name }, store) => {
    if (Object.keys(changes).length > 0) {
      await store.transaction(async (tx) => {
        await tx.limits.set(id, changes)
        await auditOperator(tx, id, { action: 'workspace.limits', targetId: id }, at)
      })
    }
    return { id, name, limits: await store.limits.find(id), usage: await store.usage.read(id, at) }
  })
}

async function isEmpty(database: Database): Promise<boolean> {
  return !(await database.reader.schema.hasTable('migrations'))
}
