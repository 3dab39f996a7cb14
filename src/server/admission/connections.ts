import { availableParallelism } from 'node:os'
import { UNNOTICED_MS } from './constants.ts'
import { FairQueue } from './fair-queue.ts'

/**
 * Creates the queue in front of a pool of database connections. A workspace uses at most half of them, and while another one
 * is present that used less, as many as half of the processors: statements share them. Those of PostgreSQL are unknown here,
 * and count as those of this machine. At a single connection, SQLite's writer, a workspace that used less goes first.
 */
export function createConnectionQueue(connections: number): FairQueue {
  return new FairQueue({
    places: connections,
    perFlow: Math.ceil(connections / 2),
    perFlowShared: Math.max(1, Math.floor(availableParallelism() / 2)),
    savingsMs: connections === 1 ? UNNOTICED_MS : 0,
  })
}
