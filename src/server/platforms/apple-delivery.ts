import { type AppleIdentity, assertValidity, parseAppleIdentity } from '../../wallets/apple/apple-identity.ts'
import { createAppleWallet } from '../../wallets/apple/apple-wallet.ts'
import { openApple, readAppleCredentials } from '../identities/credentials.ts'
import { loadSandboxApple } from '../identities/sandbox.ts'
import { APPLE_PREFIX, mountAppleService, webServiceUrl } from '../inbound/apple-service.ts'
import { renderOr } from '../wallet-sync/issuing.ts'
import { updateFormerWallets, updateWallets } from '../wallet-sync/push-phones.ts'
import { type Delivery, notConfigured, type PlatformSetup, toFailedLink } from './delivery.ts'

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

/** Delivery to Apple Wallet: devices register, are pushed, and fetch the package. */
export const apple: Delivery = {
  mount: (app, services, limits, prefixes) => mountAppleService(app, services, limits, [APPLE_PREFIX, ...prefixes]),
  async open(pass, request, { packages }, at) {
    if (!packages) throw notConfigured()
    const response = await renderOr(() => packages.answer(pass, request, at), toFailedLink)
    response.headers.set('content-disposition', `attachment; filename="${pass.id}.pkpass"`)
    response.headers.set('x-content-type-options', 'nosniff')
    response.headers.set('referrer-policy', 'no-referrer')
    return response
  },
  update: updateWallets,
  expire: updateFormerWallets,
  end: (tx, pass, _card, at) => tx.formerPasses.insert(pass, at),
}
