import { existsSync, readFileSync } from 'node:fs'
import type { Logger } from '../log.ts'

/** The number of open files that are reserved for the database and for connections to other services. */
const RESERVED = 200
const MIN_CONNECTIONS = 10

/**
 * Returns the maximum number of connections, reduced to the open files that the system allows. With more connections,
 * the system would close new ones without a trace, and SQLite could not open its temporary files.
 */
export function fitConnections(maxConnections: number, log: Logger, limits = readLimits()): number {
  const openFiles = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  const fitting = Math.max(MIN_CONNECTIONS, openFiles - RESERVED)
  if (fitting >= maxConnections) return maxConnections
  log.warn(
    { openFiles, maxConnections: fitting },
    'the limit of open files allows fewer connections: raise it with ulimit -n, or LimitNOFILE in systemd',
  )
  return fitting
}

/** The limits of a process. Other systems than Linux do not have this file. */
const LIMITS = '/proc/self/limits'

function readLimits(): string {
  return existsSync(LIMITS) ? readFileSync(LIMITS, 'utf8') : ''
}
