import type { H3Event } from 'h3'
import { ApiError } from '../../../core/errors.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import { isPassing, isRefused } from '../../../wallets/google/api/api-error.ts'
import type { GooglePlace } from '../../../wallets/google/resource.ts'
import type { WalletPass } from '../../../wallets/wallet.ts'
import type { Services } from '../../context.ts'
import { correlationIdOf } from '../../http/middleware/observe.ts'
import { type Issuing, renderOr } from '../../wallet-sync/issuing.ts'

/** What opens hosted links, of passes and of groups. */
export type LinkServices = Pick<
  Services,
  'store' | 'links' | 'identities' | 'wallets' | 'packages' | 'google' | 'issuing' | 'definitions' | 'badges'
>

/** Whoever opens a link does not wait for the queue; the job that waits there finds its work done. Of one workspace. */
export async function issueQueued(
  passes: StoredPass[],
  { issuing, store }: Pick<Services, 'issuing' | 'store'>,
  event: H3Event,
  at: Date,
): Promise<StoredPass[]> {
  const [first] = passes.filter(({ status }) => status === 'QUEUED' || status === 'ISSUING')
  if (!first) return passes
  const { workspaceId } = first
  const ids = passes.map(({ id }) => id)
  const correlationId = correlationIdOf(event)
  const outcomes = await issuing.prepare(workspaceId, ids, at)
  await store.transaction((tx) =>
    issuing.write(tx, workspaceId, outcomes, { at, correlationIdOf: () => correlationId }),
  )
  const found = new Map((await store.passes.listByIds(workspaceId, ids)).map((pass) => [pass.id, pass]))
  return passes.map((pass) => found.get(pass.id) ?? pass)
}

/**
 * Where the object of a pass is at Google, which is made first where it is not there.
 * @throws ApiError PROVIDER_UNAVAILABLE, GOOGLE_API_FAILED, LINK_REVOKED for a visitor
 */
export async function ensureAtGoogle(
  pass: StoredPass,
  { issuing, google }: Pick<Services, 'issuing' | 'google'>,
  at: Date,
): Promise<GooglePlace> {
  if (!google) throw notConfigured()
  // What cannot be rendered is no fault of Google.
  await render(pass, issuing)
  return google.ensure(pass, at).catch((cause: unknown) => {
    throw whyNotAtGoogle(cause)
  })
}

/** What Google said stands on the pass for its issuer; the visitor only needs to know whether it may go by itself. */
function whyNotAtGoogle(cause: unknown): ApiError {
  if (isPassing(cause)) {
    const message = 'Google Wallet does not answer; try again in a moment.'
    return new ApiError('PROVIDER_UNAVAILABLE', { message, headers: { 'retry-after': '5' }, cause })
  }
  const permanent = isRefused(cause)
  const message = permanent
    ? 'Google Wallet refuses this pass until its issuer changes it.'
    : 'Google Wallet refuses this server; its operator has to act.'
  return new ApiError('GOOGLE_API_FAILED', { message, details: { permanent }, cause })
}

/** What wallets are given of the pass that somebody opens, in the language that he reads it in. */
export function render(pass: StoredPass, issuing: Issuing, language?: string): Promise<WalletPass> {
  return renderOr(() => issuing.render(pass, language), toFailedLink)
}

/** A pass that cannot be shown, as whoever opens its link is told. */
export function toFailedLink({ message }: ApiError): ApiError {
  return new ApiError('LINK_REVOKED', { message, details: { reason: 'failed' } })
}

/** A link for a platform that the server had once. */
export function notConfigured(): ApiError {
  return new ApiError('LINK_INVALID', {
    message: 'This server no longer issues passes for this platform.',
    details: { reason: 'platform' },
  })
}
