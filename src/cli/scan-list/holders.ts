import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Page } from '../../core/contract/common.ts'
import type { ScanItem } from '../../core/contract/scan-shapes.ts'
import { findPasses } from '../changes/find-passes.ts'

/** A scan with the name of the holder as the pass has it now; null where there is no such pass. */
export type HeldScan = ScanItem & { label: string | null }

/** Names that are kept: the passes at one door come again and again. */
const KEPT = 10_000

/** Adds the holders to pages of scans, a few requests a page. A token that may not read passes sees no names. */
export async function* withHolders(
  client: Client,
  pages: AsyncIterable<Page<ScanItem>>,
  note: (message: string) => void,
): AsyncGenerator<Page<HeldScan>> {
  const names = new Map<string, string>()
  let canRead = true
  for await (const page of pages) {
    if (names.size > KEPT) names.clear()
    const ids = page.items.flatMap(({ externalPassId }) => externalPassId ?? [])
    const unknown = ids.filter((id) => !names.has(id))
    try {
      const passes = canRead && unknown.length > 0 ? await findPasses(client, unknown) : []
      for (const [id, { label }] of passes) names.set(id, label)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error
      canRead = false
      note('Holders are not named: the token may not read passes (passes:read)')
    }
    const items = page.items.map((scan) => ({ ...scan, label: names.get(scan.externalPassId ?? '') ?? null }))
    yield { ...page, items }
  }
}
