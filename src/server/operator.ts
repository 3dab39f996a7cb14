import { openDatabase } from '../storage/database.ts'
import { migrate, pendingMigrations } from '../storage/migrate.ts'
import { createStore, type Store } from '../storage/store.ts'
import type { Workspace } from '../storage/workspaces.ts'

/** What an operator asked for cannot be done: says why and what to do. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}

/**
 * Works straight on the database, as operator commands do; an empty database is migrated first.
 * @throws OperatorError when an older program made the database, DatabaseUrlError
 */
export async function withStore<T>(databaseUrl: string, work: (store: Store) => Promise<T>): Promise<T> {
  const database = openDatabase(databaseUrl)
  try {
    const pending = await pendingMigrations(database)
    if (pending.length > 0) {
      if (!(await isEmpty(database))) {
        throw new OperatorError(`The database lacks the migrations ${pending.join(', ')}: run passes migrate first.`)
      }
      await migrate(database)
    }
    return await work(createStore(database))
  } finally {
    await database.close()
  }
}

/** @throws OperatorError */
export async function getWorkspace(store: Store, nameOrId: string): Promise<Workspace> {
  const workspace = await store.workspaces.findByNameOrId(nameOrId)
  if (!workspace) throw new OperatorError(`There is no workspace ${nameOrId}; passes workspace list shows them.`)
  return workspace
}

/** The workspace `default` is made where it is asked for and missing, as the first start of a server would. */
export async function getOrCreateWorkspace(store: Store, nameOrId: string, at: Date): Promise<Workspace> {
  if (nameOrId !== 'default') return getWorkspace(store, nameOrId)
  const made = await store.transaction((tx) => tx.workspaces.insert(nameOrId, at))
  return made ?? getWorkspace(store, nameOrId)
}

/** Suspends a workspace at a moment, or resumes it (null), and returns it as it then stands. */
export function setSuspended(databaseUrl: string, nameOrId: string, at: Date | null): Promise<Workspace> {
  return withStore(databaseUrl, async (store) => {
    const workspace = await getWorkspace(store, nameOrId)
    await store.transaction((tx) => tx.workspaces.setSuspended(workspace.id, at))
    return { ...workspace, suspendedAt: at }
  })
}

/** Allows or forbids scanning offline in a workspace, and returns it as it then stands. */
export function setOfflineScanning(databaseUrl: string, nameOrId: string, allowed: boolean): Promise<Workspace> {
  return withStore(databaseUrl, async (store) => {
    const workspace = await getWorkspace(store, nameOrId)
    await store.transaction((tx) => tx.workspaces.setOfflineScanning(workspace.id, allowed))
    return { ...workspace, offlineScanning: allowed }
  })
}

async function isEmpty(database: Parameters<typeof migrate>[0]): Promise<boolean> {
  return !(await database.reader.schema.hasTable('migrations'))
}
