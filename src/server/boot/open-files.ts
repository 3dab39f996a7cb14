import { existsSync, readFileSync } from 'node:fs'
import { SetupError } from '../../core/errors.ts'
import type { Logger } from '../log.ts'

/** The number of open files that are reserved for the database and for connections to other services. */
const RESERVED = 200
/** The minimum limit of open files. With fewer, Node.js cannot load all modules of the server. */
const MIN_OPEN_FILES = 256

const RAISE = 'raise the limit with ulimit -n, or LimitNOFILE in systemd'

/** Call it before the modules of the server are loaded. @throws SetupError if the system allows too few open files */
export function requireOpenFiles(limits = readLimits()): void {
  const openFiles = openFilesIn(limits)
  if (openFiles >= MIN_OPEN_FILES) return
  throw new SetupError(`The server needs at least ${MIN_OPEN_FILES} open files, but the limit is ${openFiles}.`, {
    fix: RAISE,
  })
}

/**
 * Returns the maximum number of connections, reduced to the open files that the system allows. With more connections,
 * the system would close new ones without a trace, and SQLite could not open its temporary files.
 */
export function fitConnections(maxConnections: number, log: Logger, limits = readLimits()): number {
  const openFiles = openFilesIn(limits)
  const fitting = openFiles - RESERVED
  if (fitting >= maxConnections) return maxConnections
  log.warn({ openFiles, maxConnections: fitting }, `the limit of open files allows fewer connections: ${RAISE}`)
  return fitting
}

function openFilesIn(limits: string): number {
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** The limits of a process. Other systems than Linux do not have this file. */
const LIMITS = '/proc/self/limits'

function readLimits(): string {
  return existsSync(LIMITS) ? readFileSync(LIMITS, 'utf8') : ''
}
