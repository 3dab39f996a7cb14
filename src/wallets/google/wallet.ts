import { below, issueDetails, listIssues, Problem } from '../../core/errors.ts'
import type { Wallet, WalletPass } from '../wallet.ts'
import { checkFields } from './check-fields.ts'
import { buildClass } from './classes.ts'
import { typeOf } from './field-table.ts'
import type { GoogleIdentity } from './identity.ts'
import { buildObject } from './objects.ts'
import { type GoogleIssuer, type GoogleResource, kindOf } from './resource.ts'
import { buildSaveJwt, saveUrl } from './save-link.ts'

export interface GoogleWallet extends Wallet {
  readonly platform: 'google'
  /** The class of the pass's template. */
  classOf(pass: Pick<WalletPass, 'templateId' | 'templateCard'>): GoogleResource
  objectOf(pass: WalletPass, at: Date): GoogleResource
  /**
   * A link that saves the pass, whose class and object are at Google already.
   * @throws Problem GOOGLE_JWT_FAILED
   */
  saveUrl(pass: WalletPass, at: Date): Promise<string>
}

export interface GoogleWalletOptions {
  identity: GoogleIdentity
  /** Images and callbacks are only sent where it is https, since Google fetches from nowhere else. */
  publicUrl: string
}

export function createGoogleWallet({ identity, publicUrl }: GoogleWalletOptions): GoogleWallet {
  const issuer: GoogleIssuer = { issuerId: identity.issuerId, publicUrl: publicUrl.replace(/\/+$/, '') }
  return {
    platform: 'google',
    classOf: (pass) => buildClass(issuer, pass),
    objectOf: (pass, at) => buildObject(issuer, pass, at),

    async check(pass, at) {
      const kind = kindOf(pass.card)
      const options = { needsLogos: issuer.publicUrl.startsWith('https://') }
      const issues = listIssues([
        ...below('class', checkFields(typeOf(kind, 'Class'), buildClass(issuer, pass), options)),
        ...below('object', checkFields(typeOf(kind, 'Object'), buildObject(issuer, pass, at), options)),
      ])
      const [first] = issues
      if (!first) return
      const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ''
      throw new Problem('PASS_ISSUING_FAILED', {
        message: `Google would refuse google.${first.path.join('.')}: ${first.message}${rest}.`,
        details: { platform: 'google', ...issueDetails(issues) },
      })
    },

    async saveUrl(pass, at) {
      const { id, classId } = buildObject(issuer, pass, at)
      const object = { id, classId: String(classId) }
      return saveUrl(await buildSaveJwt(identity, kindOf(pass.card), object, at))
    },
  }
}
