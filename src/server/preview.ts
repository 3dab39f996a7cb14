import type { Definition, PassType } from '../core/contract/definition.ts'
import { renderCard } from '../core/rules/card.ts'
import { sampleScope } from '../core/rules/definition.ts'
import { resolveExpiry } from '../core/rules/resolve.ts'
import type { Platform, WalletPass } from '../wallets/wallet.ts'
import type { Wallets } from './wallets.ts'

/** What each configured platform would be given of a pass; null for one that is not configured or not asked for. */
export function previewOf(pass: WalletPass, { apple, google }: Wallets, at: Date, platform?: Platform) {
  const isAsked = (name: Platform) => platform === undefined || platform === name
  return {
    apple: apple && isAsked('apple') ? apple.passJson(pass) : null,
    google: google && isAsked('google') ? { class: google.classOf(pass), object: google.objectOf(pass, at) } : null,
  }
}

/** A pass that nobody holds, for trying a definition. */
export function samplePass(definition: Definition, passType: PassType): WalletPass {
  const nil = '00000000-0000-0000-0000-000000000000'
  const scope = sampleScope(definition)
  const expiry = resolveExpiry(definition.expiresAt, scope)
  const expiresAt = 'value' in expiry ? expiry.value : null
  const card = renderCard({ definition, passType, scope, expiresAt, voided: false })
  return { id: nil, templateId: nil, authenticationToken: nil, card, templateCard: card }
}
