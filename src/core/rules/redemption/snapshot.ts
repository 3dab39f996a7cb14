import { z } from 'zod'
import { newId, Uuid } from '../../ids.ts'

/** A door list that a scanner takes with it. Its pages are read one by one, and nothing of it is kept here. */
export interface Snapshot {
  /** Of version 7: it holds the moment that the list is of. */
  id: string
  projectId: string | null
}

/** Pages are given out for so long: a list that is older says too little about who was let in since. */
const MAX_AGE_MS = 24 * 3_600_000

export function startSnapshot(projectId: string | null, at: Date): Snapshot {
  return { id: newId(at), projectId }
}

export function generatedAt({ id }: Snapshot): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

export function isStale(snapshot: Snapshot, at: Date): boolean {
  return at.getTime() - generatedAt(snapshot).getTime() > MAX_AGE_MS
}

const Encoded = z.tuple([Uuid, Uuid.nullable(), Uuid])

/** Where the walk of a snapshot goes on: behind a pass. Opaque to callers. */
export function encodeSnapshotCursor({ id, projectId }: Snapshot, passId: string): string {
  return Buffer.from(JSON.stringify([id, projectId, passId])).toString('base64url')
}

/** The snapshot and the pass to go on behind, or undefined for what is no cursor of a snapshot. */
export function decodeSnapshotCursor(text: string): (Snapshot & { passId: string }) | undefined {
  try {
    const [id, projectId, passId] = Encoded.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    return { id, projectId, passId }
  } catch {
    return undefined
  }
}
