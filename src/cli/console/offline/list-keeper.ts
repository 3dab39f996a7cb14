import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../../client/client.ts'
import { ApiError, ConnectionError } from '../../../client/errors.ts'
import { failureMessage } from '../outcome.ts'
import { type DoorList, fetchDoorList, loadDoorList, removeDoorList } from './door-list.ts'
import type { DoorStore } from './store.ts'

/** Holds the newest list of the door, for when the server is gone. */
export interface ListKeeper {
  readonly list: DoorList | undefined
  /** Why none can be had, in words; null where nothing stands in the way. */
  readonly refusal: string | null
  /** Takes a new list in the background, unless one is on its way or too new to be replaced. */
  refresh(): void
  /** Resolves when none is on its way, or when the time is over. */
  whenTaken(timeoutMs: number): Promise<void>
  stop(): Promise<void>
}

const REFRESH_MS = 5 * 60_000
/** A list that takes a minute to read is not read every five. */
const REST_FACTOR = 20
const RETRY_MS = 30_000

export function createListKeeper(options: {
  client: Client
  store: DoorStore
  folder: string
  projectId: string | undefined
  onChange: () => void
}): ListKeeper {
  const { client, store, folder, projectId, onChange } = options
  const stopped = new AbortController()
  let list = loadDoorList(folder)
  let refusal: string | null = null
  let running: Promise<void> | undefined
  let notBefore = 0

  async function take(): Promise<void> {
    const startedAt = performance.now()
    try {
      list = await fetchDoorList(client, { folder, projectId, signal: stopped.signal })
      refusal = null
      store.prune(list.generatedAt)
      const took = performance.now() - startedAt
      notBefore = performance.now() + Math.max(REFRESH_MS, took * REST_FACTOR)
    } catch (error) {
      if (stopped.signal.aborted) return
      if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
        refusal = error.code === 'SCANNER_OFFLINE_DISABLED' ? 'this workspace forbids it' : failureMessage(error)
        list = undefined
        removeDoorList(folder)
      } else if (!(error instanceof ApiError || error instanceof ConnectionError)) refusal = failureMessage(error)
      notBefore = performance.now() + RETRY_MS
    }
  }

  return {
    get list() {
      // Another console of this door may have taken one.
      if (refusal === null) list ??= loadDoorList(folder)
      return list
    },
    get refusal() {
      return refusal
    },
    refresh() {
      if (running || performance.now() < notBefore || stopped.signal.aborted) return
      running = take().finally(() => {
        running = undefined
        onChange()
      })
    },
    async whenTaken(timeoutMs) {
      await Promise.race([running, sleep(timeoutMs, undefined, { ref: false })])
    },
    async stop() {
      stopped.abort()
      await running
    },
  }
}
