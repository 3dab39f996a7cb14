import { Problem } from '../../core/errors.ts'
import type { Wallet, WalletPass } from '../wallet.ts'
import { buildClass } from './classes.ts'
import type { GoogleIdentity } from './identity.ts'
import { buildObject } from './objects.ts'
import { missingFields } from './required.ts'
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
      const missing = missingFields(kind, buildClass(issuer, pass), buildObject(issuer, pass, at))
      if (missing.length === 0) return
      throw new Problem('PASS_ISSUING_FAILED', {
        message: `Google needs ${missing.join(', ')} for a pass of the kind ${kind}; set them in the template's definition.`,
        details: { platform: 'google', missing },
      })
    },

    async saveUrl(pass, at) {
      const { id, classId } = buildObject(issuer, pass, at)
      const object = { id, classId: String(classId) }
      return saveUrl(await buildSaveJwt(identity, kindOf(pass.card), object, at))
    },
  }
}
