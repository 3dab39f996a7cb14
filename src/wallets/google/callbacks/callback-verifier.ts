import { type CallbackVerdict, verifyCallback } from './callback.ts'
import type { RootKeys } from './callback-keys.ts'

export interface CallbackVerifier {
  /**
   * Whether the parsed body of a request is a callback from Google, and what it says.
   * @throws GoogleApiError where Google's root keys cannot be had: no fault of whoever sent it
   */
  verify(body: unknown, at: Date): Promise<CallbackVerdict>
}

/** Looks for new root keys before it refuses a callback because of the ones that it knows. */
export function createCallbackVerifier(issuerId: string, rootKeys: RootKeys): CallbackVerifier {
  return {
    async verify(body, at) {
      const verdict = verifyCallback({ body, issuerId, rootKeys: await rootKeys.current(), at })
      if (verdict.ok || verdict.reason !== 'intermediate key not signed by a root key') return verdict
      return verifyCallback({ body, issuerId, rootKeys: await rootKeys.refreshed(), at })
    },
  }
}
