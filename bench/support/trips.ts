import type { Database } from '../../src/storage/db/database.ts'

/**
 * How often a request that comes alone goes to the database, by endpoint: statements that are awaited one after another, those
 * that begin and end its transaction among them. What others ask too, such as the token, is remembered already.
 */
export const TRIPS = {
  'GET of a pass': 1,
  'list of passes': 2,
  create: 8,
  scan: 8,
  PATCH: 12,
  void: 7,
}

export type Endpoint = keyof typeof TRIPS

/** The statements that some work of a workspace asks of the database. */
export async function tripsOf(
  database: Database,
  workspaceId: string,
  work: () => Promise<unknown>,
): Promise<string[]> {
  const statements: string[] = []
  const listen = ({ sql }: { sql: string }) => statements.push(sql)
  const { forRequests, forJobs } = database
  const parts = [forRequests(workspaceId), forRequests(workspaceId, true), forJobs(workspaceId), database]
  const connections = [...new Set(parts.flatMap(({ reader, writer }) => [reader, writer]))]
  for (const connection of connections) connection.on('query', listen)
  await work()
  for (const connection of connections) connection.removeListener('query', listen)
  return statements
}
