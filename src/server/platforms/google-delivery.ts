import { ApiError } from '../../core/errors.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { isPassing, isRejected } from '../../wallets/google/api/api-error.ts'
import type { GoogleSigner } from '../../wallets/google/google-identity.ts'
import { createGoogleWallet } from '../../wallets/google/google-wallet.ts'
import { type GooglePlace, kindOf, placeOf } from '../../wallets/google/resource.ts'
import type { Services } from '../context.ts'
import { openGoogle, readGoogleIdentity } from '../identities/credentials.ts'
import { loadSandboxGoogle } from '../identities/sandbox.ts'
import { mountGoogleCallbacks } from '../inbound/google-callbacks.ts'
import { failGoogleMessage, messageGoogle } from '../messages/message-google.ts'
import { renderOr } from '../wallet-sync/issuing.ts'
import { expireFormerObjects, updateGoogleObjects } from '../wallet-sync/update-google.ts'
import { type Delivery, type GroupVisit, notConfigured, type PlatformSetup, render, toFailedLink } from './delivery.ts'

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
    return redirectTo(await wallet.saveUrl([place], at))
  },
  together: {
    parameter: 'save',
    // The maximum number of passes in a save link. `countFitting` returns fewer if the IDs of the passes at Google are
    // long.
    most: 5,
    open: openSave,
    async countFitting(shown, { identities }) {
      const { google: wallet } = await identities.walletsOf(shown[0]!.pass)
      const cards = new Map(shown.map(({ pass, card }) => [pass, card]))
      const own = ofOneIssuer([...cards.keys()])
      return wallet ? wallet.countFitting(own.map((pass) => likelyPlace(pass, cards.get(pass)!))) : 0
    },
  },
  update: updateGoogleObjects,
  expire: expireFormerObjects,
  message: messageGoogle,
  failMessage: failGoogleMessage,
  end: (tx, { workspaceId, id, templateVersionId }, card) =>
    tx.googleObjects.transfer(workspaceId, id, { kind: kindOf(card), templateVersionId }),
}

/** Sends the pass to Google if needed. @throws ApiError PROVIDER_UNAVAILABLE, GOOGLE_API_FAILED, LINK_REVOKED */
async function ensureAtGoogle(
  pass: StoredPass,
  { issuing, google }: Pick<Services, 'issuing' | 'google'>,
  at: Date,
): Promise<GooglePlace> {
  if (!google) throw notConfigured()
  // Render the pass outside the `catch` below, so that a render error is not reported as an error of Google.
  await render(pass, issuing)
  return google.ensure(pass, at).catch((cause: unknown) => {
    throw toVisitorError(cause)
  })
}

/** Returns the error for a visitor. Google's own message is stored on the pass for its issuer. */
function toVisitorError(cause: unknown): ApiError {
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

async function openSave(passes: StoredPass[], _: GroupVisit, services: Services, at: Date): Promise<Response> {
  const { google: wallet } = await services.identities.walletsOf(passes[0]!)
  if (!wallet) throw notConfigured()
  const current = ofOneIssuer(passes)
  const count = wallet.countFitting(await Promise.all(current.map((pass) => placeIn(pass, services))))
  const places = await Promise.all(current.slice(0, count).map((pass) => ensureAtGoogle(pass, services, at)))
  return redirectTo(await wallet.saveUrl(places, at))
}

/** Returns the passes before the first pass of another issuer, because a save link is signed for one issuer. */
function ofOneIssuer(passes: StoredPass[]): StoredPass[] {
  const ofOther = passes.findIndex(({ googleIdentityId }) => googleIdentityId !== passes[0]!.googleIdentityId)
  return ofOther < 0 ? passes : passes.slice(0, ofOther)
}

function redirectTo(location: string): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return new Response(null, { status: 302, headers })
}

async function placeIn(pass: StoredPass, { issuing }: Services): Promise<GooglePlace> {
  const { card } = await renderOr(() => issuing.renderForApple({ ...pass, message: null }), toFailedLink)
  return likelyPlace(pass, card)
}

/** Estimates the IDs of a pass at Google. The IDs of an existing object can differ, but are never longer. */
function likelyPlace(
  { copyId: id, templateId, templateVersion, googleClassId, googleObjectId }: StoredPass,
  card: Card,
): GooglePlace {
  const known = {
    ...(googleClassId && { classDigest: '0'.repeat(32) }),
    ...(googleObjectId && { objectSuffix: googleObjectId }),
  }
  return placeOf({ id, templateId, templateVersion, card, ...known })
}
