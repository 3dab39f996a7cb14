import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '../../../core/json.ts'
import { matchesOf } from '../../../core/rules/door/matches.ts'
import { failedOutcome } from '../../../core/rules/door/outcome.ts'
import type { OfflineDecision } from '../../../core/rules/door/own-scans.ts'
import type { Decision } from '../../../door/engine/engine.ts'
import {
  type EngineStore,
  type Identity,
  type JournalEntry,
  KEPT_CONFLICTS,
  type OwnFacts,
  RECENT_DECISIONS,
  StorageFullError,
  type UploadResult,
} from '../../../door/engine/engine-store.ts'
import { replacePrivateSync } from '../../../files/private-file.ts'
import type { LogRecord, ReversedScan } from './log-files.ts'
import { openStore } from './offline-store.ts'
import { openStoredList } from './stored-list.ts'

/**
 * Opens the store of the engine in the folder of a door: the stored list, and a log for each console. Decisions are kept
 * in memory for this run only.
 */
export async function openFileStore(folder: string, door: Identity): Promise<EngineStore> {
  const logs = openStore(folder)
  const list = openStoredList(folder)
  const { projectId } = door.door
  let identity: Identity | undefined = door
  const clockFile = join(folder, 'clock.json')
  const decisions = new Map<string, Decision>()
  const conflicts: Decision[] = []
  let rejections: JournalEntry[] = []

  function keep(decision: Decision): void {
    decisions.set(decision.externalRef, decision)
    if (decisions.size <= RECENT_DECISIONS * 2) return
    for (const [ref, { isPending }] of decisions) {
      if (decisions.size <= RECENT_DECISIONS) break
      if (!isPending) decisions.delete(ref)
    }
  }

  function factsOf(
    { id, generatedAt, passes }: NonNullable<typeof list.current>,
    matches: OwnFacts['matches'],
  ): OwnFacts {
    const groupId = matches.items.length === 1 ? matches.items[0]!.groupId : undefined
    return {
      snapshotId: id,
      matches,
      members: groupId === undefined ? [] : passes.membersOf(groupId),
      acceptedScansOf: (item) => logs.acceptedScans(item.passId, item.acceptedScans, generatedAt),
    }
  }

  function entryOf(waiting: OfflineDecision | ReversedScan): JournalEntry {
    const { externalRef, scannedAt } = waiting
    const entry = { externalRef, projectId, waits: projectId, scannedAt, scanContextKey: null, recordedAt: undefined }
    return waiting.kind === 'verdict'
      ? { ...entry, kind: waiting.result, decision: waiting }
      : { ...entry, kind: 'reversed', passId: waiting.passId, undoes: waiting.undoes }
  }

  function settleUpload(entry: JournalEntry, result: UploadResult): void {
    const { externalRef, undoes } = entry
    const { rejection, isOfAnother, scanId, conflict = null } = result
    if (rejection !== undefined) rejections.push({ ...entry, rejection, isOfAnother })
    const known = decisions.get(externalRef) ?? unseenDecision(entry)
    const decision: Decision = { ...known, scanId: scanId ?? known.scanId, conflict, isPending: false }
    if (decisions.has(externalRef)) decisions.set(externalRef, decision)
    if (conflict !== null && conflicts.unshift(decision) > KEPT_CONFLICTS) conflicts.pop()
    if (rejection === undefined || !undoes) return
    const scan = decisions.get(undoes.externalRef)
    if (scan) decisions.set(scan.externalRef, { ...scan, isUndone: false })
    const failure = isOfAnother ? 'of_another' : 'refused'
    decisions.set(externalRef, { ...decision, result: 'error', failure, message: rejection })
  }

  return {
    identity: async () => identity,
    setIdentity: async () => undefined,
    clockOffset: async () => readJson(clockFile) as number | undefined,
    setClockOffset: async (offsetMs) => stored(() => replacePrivateSync(clockFile, `${offsetMs}\n`)),
    async summary() {
      const { current } = list
      const waiting = logs.pending().length
      return {
        list: current ? { id: current.id, generatedAt: current.generatedAt, size: current.passes.size } : null,
        waiting: new Map(waiting > 0 ? [[projectId, waiting]] : []),
        recent: [...decisions.values()].slice(-RECENT_DECISIONS).reverse(),
        conflicts,
        counts: { accepted: 0, turnedAway: 0 },
        rejections,
      }
    },
    async beginAttempt(key, { externalRef, at, notBefore }) {
      const before = logs.openAttempt(key, notBefore)
      if (before) return before.externalRef
      stored(() => logs.note({ kind: 'attempt', key, externalRef, at }))
      return externalRef
    },
    async settle(_, decision, entry) {
      const { externalRef } = decision
      keep(decision)
      if (!entry) return stored(() => logs.note({ kind: 'settled', externalRef }))
      const { passId, scannedAt, scanContextKey, validityDate, recordedAt } = entry
      const scan: LogRecord = {
        kind: 'accepted',
        externalRef,
        passId: passId!,
        scannedAt,
        scanContextKey,
        ...(validityDate !== undefined && { validityDate }),
        recordedAt: recordedAt!,
      }
      stored(() => logs.append(scan))
    },
    async evaluate(_, attempt, digest, decide) {
      const { current } = list
      if (!current) return undefined
      const { passes } = current
      const found =
        attempt.passId === null ? passes.find(digest ?? '').items : [passes.get(attempt.passId) ?? []].flat()
      const { decision, entry } = decide(factsOf(current, matchesOf(attempt, found, digest)))
      stored(() => logs.append(entry.decision!))
      keep(decision)
      return decision
    },
    async look(passId, read) {
      const { current } = list
      const item = current?.passes.get(passId)
      return item && read(factsOf(current!, { items: [item], isStale: false }))
    },
    async undo(decision, { externalRef, passId, scannedAt, undoes }) {
      stored(() => logs.append({ kind: 'reversed', externalRef, passId: passId!, scannedAt, undoes: undoes! }))
      const scan = decisions.get(undoes!.externalRef)
      if (scan) decisions.set(scan.externalRef, { ...scan, isUndone: true })
      keep(decision)
    },
    decision: async (externalRef) => decisions.get(externalRef),
    waiting: async (_, limit) => logs.pending().slice(0, limit).map(entryOf),
    async settleUploads(results) {
      const entries = new Map(logs.pending().map((entry) => [entry.externalRef, entryOf(entry)]))
      const records = results.map(({ externalRef, recordedAt, scanId }): LogRecord => {
        return { kind: 'uploaded', externalRef, recordedAt, ...(scanId !== undefined && { scanId }) }
      })
      stored(() => logs.append(...records))
      for (const result of results) {
        const entry = entries.get(result.externalRef)
        if (entry) settleUpload(entry, result)
      }
    },
    async dismissRejections() {
      rejections = []
    },
    beginList: async (head) => stored(() => list.begin(head)),
    addToList: async (items) => stored(() => list.add(items)),
    async finishList({ generatedAt }) {
      stored(() => list.finish())
      logs.prune(generatedAt)
    },
    async amendList(items, removed, head) {
      stored(() => list.amend({ items, removed }, head))
      if (head) logs.prune(head.generatedAt)
    },
    names: async () => [...(list.current?.passes.items() ?? [])],
    dropList: async () => list.drop(),
    async wipe(token) {
      if (identity?.token !== token) return
      identity = undefined
      list.drop()
    },
    async close() {
      list.close()
      logs.close()
    },
  }
}

/** Returns `undefined` if the file does not exist or is incomplete. */
function readJson(path: string): unknown {
  try {
    return parseJson(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A decision that an earlier console showed. */
function unseenDecision({ externalRef, passId, scannedAt, decision }: JournalEntry): Decision {
  const attempt = { externalRef, at: new Date(scannedAt), scanContextKey: null, validityDate: null }
  const named = { payload: decision?.qrPayload ?? null, passId: passId ?? null }
  const outcome = failedOutcome({ ...attempt, ...named }, '')
  return { ...outcome, failure: null, isUndone: false, isPending: false }
}

/** @throws StorageFullError if the system cannot write */
function stored(write: () => void): void {
  try {
    write()
  } catch (error) {
    throw new StorageFullError((error as Error).message)
  }
}
