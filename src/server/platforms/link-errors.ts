import { ApiError } from '../../core/errors.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { WalletPass } from '../../wallets/wallet.ts'
import { type Issuing, renderOr } from '../wallet-sync/issuing.ts'

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
