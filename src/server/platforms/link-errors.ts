import { ApiError } from '../../core/errors.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { WalletPass } from '../../wallets/wallet.ts'
import { type Issuing, renderOr } from '../wallet-sync/issuing.ts'

export function render(pass: StoredPass, issuing: Issuing, language?: string): Promise<WalletPass> {
  return renderOr(() => issuing.render(pass, language), toFailedLink)
}

/** The error for the visitor of a pass that cannot be rendered. */
export function toFailedLink({ message }: ApiError): ApiError {
  return new ApiError('LINK_REVOKED', { message, details: { reason: 'failed' } })
}

/** The error for a link of a platform that is no longer configured. */
export function notConfigured(): ApiError {
  return new ApiError('LINK_INVALID', {
    message: 'This server no longer issues passes for this platform.',
    details: { reason: 'platform' },
  })
}
