import { z } from 'zod'
import type { Store } from '../../storage/store.ts'

const SETTING = 'public-url'

/** The address of the servers on a database, and the previous one if phones can still use it. */
const OwnAddress = z.object({ publicUrl: z.string(), former: z.string().optional() })
type OwnAddress = z.output<typeof OwnAddress>

export function webServiceUrl(publicUrl: string): string {
  return `${publicUrl}/apple`
}

/** Stores the address that packages name from now on and the previous one, for operator commands. */
export function noteAddress(store: Store, publicUrl: string): Promise<void> {
  return store.transaction(async (tx) => {
    const known = OwnAddress.parse(JSON.parse(await tx.settings.insert(SETTING, JSON.stringify({ publicUrl }))))
    if (known.publicUrl === publicUrl) return
    await tx.settings.update(SETTING, JSON.stringify({ publicUrl, former: known.publicUrl }))
  })
}

export async function findAddress({ settings }: Store): Promise<OwnAddress | undefined> {
  const stored = await settings.find(SETTING)
  return stored === undefined ? undefined : OwnAddress.parse(JSON.parse(stored))
}
