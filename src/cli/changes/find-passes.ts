import type { Client } from '../../client/client.ts'
import { MAX_ALTERNATIVES } from '../../core/contract/list-parameters.ts'
import type { Pass } from '../../core/contract/passes.ts'

/** The maximum size of ids in a URL. Servers and proxies limit the request line to 8 or 16 KB. */
const MAX_BYTES = 6_000

/** Returns the passes with these external ids, by external id. Omits ids without a pass. */
export async function findPasses(client: Client, externalPassIds: readonly string[]): Promise<Map<string, Pass>> {
  const pages = await Promise.all(
    groupIds([...new Set(externalPassIds)]).map((ids) =>
      client.passes.list({ query: { externalPassId: ids, limit: MAX_ALTERNATIVES } }),
    ),
  )
  return new Map(pages.flatMap(({ items }) => items.map((pass) => [pass.externalPassId, pass])))
}

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
