import type { ServerOptions, ServerProcess } from '../e2e/support/server.ts'
import type { Arena } from './arena.ts'

/** Starts several servers on one empty database, so that requests are not serialized by a single process. */
export async function startFleet(arena: Arena, count: number, options: ServerOptions = {}): Promise<ServerProcess[]> {
  const first = await arena.start({ ...options, database: await arena.emptyDatabase() })
  const { database, token } = first
  const others = Array.from({ length: count - 1 }, () => arena.start({ ...options, database, token }))
  return [first, ...(await Promise.all(others))]
}
