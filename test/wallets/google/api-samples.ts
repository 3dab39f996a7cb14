import { expect } from 'vitest'
import { GoogleApiError } from '../../../src/wallets/google/api/api-error.ts'
import { createGoogleApi, type GoogleApiOptions } from '../../../src/wallets/google/api/google-api.ts'
import type { GoogleServer } from './google-server.ts'
import { identity } from './samples.ts'

export const classResource = { id: '3388.template-1', issuerName: 'Example Arts', reviewStatus: 'UNDER_REVIEW' }
export const object = { id: '3388.1', classId: '3388.template-1', state: 'ACTIVE', hexBackgroundColor: '#102030' }
export const message = { id: 'm1', header: 'News', body: 'The gate has moved.' }

/** Returns a client of the local server without a noticeable rate limit. */
export function apiOf(google: GoogleServer, options: Partial<GoogleApiOptions> = {}) {
  return createGoogleApi({ identity, endpoints: google.endpoints, requestsPerSecond: 10_000, ...options })
}

export function failureOf(call: Promise<unknown>): Promise<GoogleApiError> {
  return call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => (error instanceof GoogleApiError ? error : expect.fail(String(error))),
  )
}
