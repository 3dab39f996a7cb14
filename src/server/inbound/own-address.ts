import { z } from 'zod'
import type { Store } from '../../storage/store.ts'

const SETTING = 'public-url'

/** Where phones find the servers on a database, and whether some may know them by an address of before. */
const OwnAddress = z.object({ publicUrl: z.string(), former: z.string().optional() })
type OwnAddress = z.output<typeof OwnAddress>

/** The webServiceURL of packages under a public URL. */
export function webServiceUrl(publicUrl: string): string {
  return `${publicUrl}/apple`
}

/** Remembers what packages name from now on, for commands on the database, and what they named before it. */
export function noteAddress(store: Store, publicUrl: string): Promise<void> {
  return store.transaction(async (tx) => {
    const known = OwnAddress.parse(JSON.parse(await tx.settings.insert(SETTING, JSON.stringify({ publicUrl }))))
    if (known.publicUrl === publicUrl) return
    await tx.settings.update(SETTING, JSON.stringify({ publicUrl, former: known.publicUrl }))
  })
}

/** What was remembered; undefined before a server that answers requests was started. */
export async function findAddress({ settings }: Store): Promise<OwnAddress | undefined> {
  const stored = await settings.find(SETTING)
  return stored === undefined ? undefined : OwnAddress.parse(JSON.parse(stored))
}
