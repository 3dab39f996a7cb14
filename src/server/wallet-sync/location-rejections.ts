import { z } from 'zod'
import type { Store } from '../../storage/store.ts'
import type { LocationRejections } from '../../wallets/google/api/api.ts'

/** What Google said when it refused places of an issuer's passes, and when. */
const Rejection = z.object({ message: z.string(), at: z.string() })

/** Issuers from whom Google takes no places. */
export interface KnownLocationRejections extends LocationRejections {
  find(issuerId: string): Promise<z.output<typeof Rejection> | undefined>
  /** Google takes places of the issuer after all. */
  clear(issuerId: string): Promise<void>
}

/** Kept with the installation, so that every process of it, and the next start, knows. */
export function createLocationRejections(store: Store, clock: () => Date): KnownLocationRejections {
  const nameOf = (issuerId: string) => `google-locations-refused.${issuerId}`
  return {
    isRefused: async (issuerId) => (await store.settings.find(nameOf(issuerId))) !== undefined,
    async find(issuerId) {
      const value = await store.settings.find(nameOf(issuerId))
      return value === undefined ? undefined : Rejection.parse(JSON.parse(value))
    },
    async insert(issuerId, message) {
      const rejection = JSON.stringify({ message, at: clock().toISOString() })
      await store.transaction((tx) => tx.settings.insert(nameOf(issuerId), rejection))
    },
    clear: (issuerId) => store.transaction((tx) => tx.settings.delete(nameOf(issuerId))),
  }
}
