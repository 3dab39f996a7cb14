import { ApiError } from '../../core/errors.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { isPassing, isRejected } from '../../wallets/google/api/api-error.ts'
import type { GoogleSigner } from '../../wallets/google/google-identity.ts'
import { createGoogleWallet } from '../../wallets/google/google-wallet.ts'
import { type GooglePlace, kindOf } from '../../wallets/google/resource.ts'
import type { Services } from '../context.ts'
import { openGoogle, readGoogleIdentity } from '../identities/credentials.ts'
import { loadSandboxGoogle } from '../identities/sandbox.ts'
import { mountGoogleCallbacks } from '../inbound/google-callbacks.ts'
import { failGoogleMessage, messageGoogle } from '../messages/message-google.ts'
import { expireFormerObjects, updateGoogleObjects } from '../wallet-sync/update-google.ts'
import { type Delivery, notConfigured, type PlatformSetup, render } from './delivery.ts'

export const googleSetup = {
  hasCredentials: ({ google: { serviceAccount, issuerId } }) =>
    [serviceAccount, issuerId].some((value) => value !== undefined),
  load: (config, isSandboxed) => (isSandboxed ? loadSandboxGoogle(config) : readGoogleIdentity(config)),
  createWallet: (identity, { publicUrl }) => createGoogleWallet({ identity, publicUrl }),
  inSandbox: 'nothing reaches a real wallet',
  renewFlags: '--key-file FILE',
  async describe(stored, keys) {
    const { clientEmail, issuerId } = await openGoogle(stored, keys)
    return { account: `${clientEmail}, issuer ${issuerId}` }
  },
} satisfies PlatformSetup<GoogleSigner>

/** Delivery to Google Wallet: the server writes objects, and Google updates the phones. */
export const google: Delivery = {
  mount(app, services, { rejected }) {
    if (services.wallets.google) mountGoogleCallbacks(app, services, rejected)
  },
  async open(pass, _request, services, at) {
    const { google: wallet } = await services.identities.walletsOf(pass)
    if (!wallet) throw notConfigured()
    const place = await ensureAtGoogle(pass, services, at)
    const location = await wallet.saveUrl([place], at)
    return new Response(null, {
      status: 302,
      headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    })
  },
  update: updateGoogleObjects,
  expire: expireFormerObjects,
  message: messageGoogle,
  failMessage: failGoogleMessage,
  end: (tx, { workspaceId, id, templateVersionId }, card) =>
    tx.googleObjects.transfer(workspaceId, id, { kind: kindOf(card), templateVersionId }),
}

/** @throws ApiError PROVIDER_UNAVAILABLE, GOOGLE_API_FAILED, LINK_REVOKED for a visitor */
export async function ensureAtGoogle(
  pass: StoredPass,
  { issuing, google }: Pick<Services, 'issuing' | 'google'>,
  at: Date,
): Promise<GooglePlace> {
  if (!google) throw notConfigured()
  // Render first, because a pass that cannot be rendered is not an error of Google.
  await render(pass, issuing)
  return google.ensure(pass, at).catch((cause: unknown) => {
    throw whyNotAtGoogle(cause)
  })
}

/** The error for a visitor. Google's own message is stored on the pass for its issuer. */
function whyNotAtGoogle(cause: unknown): ApiError {
  if (isPassing(cause)) {
    const message = 'Google Wallet does not respond; try again in a moment.'
    return new ApiError('PROVIDER_UNAVAILABLE', { message, headers: { 'retry-after': '5' }, cause })
  }
  const permanent = isRejected(cause)
  const message = permanent
    ? 'Google Wallet rejects this pass until its issuer changes it.'
    : 'Google Wallet rejects this server. Its operator must act.'
  return new ApiError('GOOGLE_API_FAILED', { message, details: { permanent }, cause })
}
