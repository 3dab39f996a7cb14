import type { H3 } from 'h3'
import { z } from 'zod'
import { ApiError } from '../../core/errors.ts'
import { parseAs } from '../../wallets/google/resource.ts'
import type { Services } from '../context.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import { readJson } from '../http/request-body.ts'
import { emitHoldings } from '../wallet-sync/holders.ts'
import type { PhoneLimits } from './apple-service.ts'

const MAX_BODY_BYTES = 64 * 1024

/**
 * Mounts the route for callbacks about saved, deleted, and activated passes. Responds with 200 if the callback is
 * stored (now or earlier), with 4xx if Google did not sign it, and with 5xx if the server fails, so that Google
 * retries.
 */
export function mountGoogleCallbacks(
  app: H3,
  { store, clock, identities, linkOpens }: Pick<Services, 'store' | 'clock' | 'identities' | 'linkOpens'>,
  limitRejected: PhoneLimits['rejected'],
): void {
  app.post('/google/callbacks', async (event) => {
    const body = await readJson(event, MAX_BODY_BYTES)
    const at = clock()
    const found = await identities.ofAccount('google', issuerNamedBy(body))
    const other = found.find((id) => id !== null) ?? null
    // If no identity in the database has this issuer, use the server's own identity. It rejects callbacks for other
    // issuers.
    const ofIssuer = other === null ? [null] : found
    const side = (await identities.of('google', other))!
    const check = await side.callbacks.verify(body, at)
    if (!check.ok) {
      limitRejected(event)
      throw new ApiError('VALIDATION_ERROR', {
        message: `Not a signed Google Wallet callback: ${check.reason}.`,
        forLog: { security: 'forged callback', reason: check.reason },
      })
    }
    const { objectId, eventType, nonce } = check.message
    const objectSuffix = objectId.slice(objectId.indexOf('.') + 1)
    await store.transaction(async (tx) => {
      const isNew = await tx.googleObjects.takeCallback(nonce, at)
      if (!isNew) return
      if (eventType === 'activate') return tx.googleObjects.setActivated(objectSuffix, ofIssuer, at)
      const held = await tx.googleObjects.addHolders(objectSuffix, eventType === 'save' ? 1 : -1, at, ofIssuer)
      const cause = { at, correlationId: correlationIdOf(event), countedSource: linkOpens.countedSource }
      if (held) await emitHoldings(tx, held.workspaceId, [held.passId], cause)
    })
    return new Response(null, { status: 200 })
  })
}

const Named = z.object({ objectId: z.string().max(255) })
const Signed = z.object({ signedMessage: z.string().max(16_384) })

/** Returns the issuer of the object that a callback names. The signature of the callback is not verified yet. */
function issuerNamedBy(body: unknown): string {
  const { data: signed } = Signed.safeParse(body)
  const objectId = signed && parseAs(Named, signed.signedMessage)?.objectId
  return objectId?.split('.')[0] ?? ''
}
