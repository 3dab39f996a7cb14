import { HTTPResponse, onDispose } from 'h3'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { type AppleIdentity, assertValidity, parseAppleIdentity } from '../../wallets/apple/apple-identity.ts'
import { createAppleWallet } from '../../wallets/apple/apple-wallet.ts'
import type { Services } from '../context.ts'
import { openApple, readAppleCredentials } from '../identities/credentials.ts'
import { loadSandboxApple } from '../identities/sandbox.ts'
import { APPLE_PREFIX, mountAppleService, webServiceUrl } from '../inbound/apple-service.ts'
import { renderOr } from '../wallet-sync/issuing.ts'
import { updateFormerWallets, updateWallets } from '../wallet-sync/push-phones.ts'
import { type Delivery, type GroupVisit, notConfigured, type PlatformSetup, toFailedLink } from './delivery.ts'

export const appleSetup = {
  hasCredentials: ({ apple: { certificate, key, wwdr } }) =>
    [certificate, key, wwdr].some((value) => value !== undefined),
  async load(config, isSandboxed, at) {
    if (isSandboxed) return (await loadSandboxApple(config, at)).identity
    return parseAppleIdentity(readAppleCredentials(config), at)
  },
  createWallet: (identity, { publicUrl, loadImageFiles }) =>
    createAppleWallet({ identity, webServiceUrl: webServiceUrl(publicUrl), loadImageFiles }),
  inSandbox: 'real phones reject its passes',
  renewFlags: '--certificate FILE --key FILE',
  async describe(stored, keys, at) {
    const { passTypeIdentifier, certificate, wwdr } = openApple(stored, keys)
    assertValidity(certificate, 'pass certificate', `the identity ${stored.name}`, at)
    assertValidity(wwdr, 'WWDR certificate', `the identity ${stored.name}`, at)
    return { account: passTypeIdentifier, endsAt: (certificate.notAfter < wwdr.notAfter ? certificate : wwdr).notAfter }
  },
} satisfies PlatformSetup<AppleIdentity>

/** Delivery to Apple Wallet: devices register, receive pushes, and fetch the package. */
export const apple: Delivery = {
  mount(app, services, limits, prefixes) {
    for (const prefix of [APPLE_PREFIX, ...prefixes]) mountAppleService(app, services, limits, prefix)
  },
  async open(pass, request, { packages }, at) {
    if (!packages) throw notConfigured()
    const response = await renderOr(() => packages.answer(pass, request, at), toFailedLink)
    response.headers.set('content-disposition', `attachment; filename="${pass.id}.pkpass"`)
    response.headers.set('x-content-type-options', 'nosniff')
    response.headers.set('referrer-policy', 'no-referrer')
    return response
  },
  together: {
    parameter: 'bundle',
    most: 10,
    open: openBundle,
    countFitting: async (passes) => passes.length,
  },
  update: updateWallets,
  expire: updateFormerWallets,
  end: (tx, pass, _card, at) => tx.formerPasses.insert(pass, at),
}

/**
 * Responds with a bundle. If not all passes fit into the file, redirects to the group's page, whose `?each=` limits the
 * passes per bundle.
 */
async function openBundle(
  passes: StoredPass[],
  { event, pageUrl, limitAddress }: GroupVisit,
  { packages }: Services,
  at: Date,
): Promise<HTTPResponse> {
  if (!packages) throw notConfigured()
  limitAddress(event, passes.length - 1)
  const { file, taken, leave } = await renderOr(() => packages.bundle(passes, at), toFailedLink)
  onDispose(event, leave)
  if (taken < passes.length) {
    const location = `${pageUrl}?from=${passes[0]!.id}&each=${taken}`
    return new HTTPResponse(null, { status: 302, headers: { location, 'cache-control': 'no-store' } })
  }
  const headers = {
    'content-type': 'application/vnd.apple.pkpasses',
    'content-disposition': 'attachment; filename="passes.pkpasses"',
    'content-length': String(file.length),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
  const body =
    event.req.method === 'HEAD' ? null : new Uint8Array(file.buffer as ArrayBuffer, file.byteOffset, file.length)
  return new HTTPResponse(body, { headers })
}
