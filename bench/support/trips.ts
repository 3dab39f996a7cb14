import { tracingChannel } from 'node:diagnostics_channel'

/**
 * The number of round trips to the database of a single request, by endpoint and database. Statements that are sent
 * together are one trip. Data that earlier requests have read, such as the token, is already cached.
 */
export const TRIPS = {
  sqlite: { 'GET of a pass': 1, 'list of passes': 2, create: 4, scan: 6, PATCH: 7, void: 6 },
  postgres: { 'GET of a pass': 1, 'list of passes': 2, create: 3, scan: 3, PATCH: 3, void: 3 },
}

export type Endpoint = keyof (typeof TRIPS)['sqlite']

/** Returns the consecutive round trips to the database that the work makes, each with its statements. */
export async function tripsOf(work: () => Promise<unknown>): Promise<string[][]> {
  const trips: string[][] = []
  let hasAnswered = true
  const statementsOf = (message: unknown) =>
    (message as { statements: { sql: string }[] }).statements.map(({ sql }) => sql)
  // Ignore checkpoints of SQLite's log, which belong to no request.
  const isOurs = (message: unknown) => !/^pragma/i.test(statementsOf(message)[0]!)
  const subscribers = {
    start(message: unknown) {
      if (!isOurs(message)) return
      if (hasAnswered) trips.push([])
      hasAnswered = false
      trips.at(-1)!.push(...statementsOf(message))
    },
    end: () => undefined,
    asyncStart: () => undefined,
    asyncEnd(message: unknown) {
      if (isOurs(message)) hasAnswered = true
    },
    error: () => undefined,
  }
  const channel = tracingChannel('passes:database-trip')
  channel.subscribe(subscribers)
  try {
    await work()
  } finally {
    channel.unsubscribe(subscribers)
  }
  return trips
}
