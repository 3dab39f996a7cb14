import { z } from 'zod'
import type { Store } from '../../storage/store.ts'
import type { LocationRejections } from '../../wallets/google/api/google-api.ts'

const Rejection = z.object({ message: z.string(), at: z.string() })

export interface KnownLocationRejections extends LocationRejections {
  find(issuerId: string): Promise<z.output<typeof Rejection> | undefined>
  /** Called when Google accepts locations of the issuer again. */
  clear(issuerId: string): Promise<void>
}

/** Stores rejections in the database, so that every process and the next start know them. */
export function createLocationRejections(store: Store, clock: () => Date): KnownLocationRejections {
  const nameOf = (issuerId: string) => `google-locations-refused.${issuerId}`
  return {
    isRejected: async (issuerId) => (await store.settings.find(nameOf(issuerId))) !== undefined,
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
