import type { Client } from '../../client/client.ts'
import { MAX_ALTERNATIVES } from '../../core/contract/list.ts'
import type { Pass } from '../../core/contract/passes.ts'

/** What the line of a request may hold of ids: servers and proxies cut off at 8 KB or 16. */
const MAX_BYTES = 6_000

/** The passes with these external ids, by external id; one that does not exist is left out. */
export async function findPasses(client: Client, externalPassIds: readonly string[]): Promise<Map<string, Pass>> {
  const pages = await Promise.all(
    groupIds([...new Set(externalPassIds)]).map((ids) =>
      client.passes.list({ query: { externalPassId: ids, limit: MAX_ALTERNATIVES } }),
    ),
  )
  return new Map(pages.flatMap(({ items }) => items.map((pass) => [pass.externalPassId, pass])))
}

/** Ids in groups that fit one request each. */
export function groupIds(ids: readonly string[]): string[][] {
  const groups: string[][] = []
  let bytes = 0
  for (const id of ids) {
    const size = `externalPassId=${encodeURIComponent(id)}&`.length
    const group = groups.at(-1)
    if (group && group.length < MAX_ALTERNATIVES && bytes + size <= MAX_BYTES) {
      group.push(id)
      bytes += size
    } else {
      groups.push([id])
      bytes = size
    }
  }
  return groups
}
