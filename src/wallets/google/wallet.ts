import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { GoogleKind } from '../../core/contract/definition.ts'
import { ApiError, below, type Issue, issueDetails, listIssues } from '../../core/errors.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { Wallet, WalletPass } from '../wallet.ts'
import { checkFields } from './check-fields.ts'
import { buildClass, type ClassContent } from './classes.ts'
import { typeOf } from './fields.ts'
import type { GoogleSigner } from './identity.ts'
import { buildObject } from './objects.ts'
import { type GoogleIssuer, type GooglePlace, type GoogleResource, idOf, kindOf } from './resource.ts'

export interface GoogleWallet extends Wallet {
  readonly platform: 'google'
  classOf(content: ClassContent): GoogleResource
  objectOf(pass: WalletPass, at: Date): GoogleResource
  /**
   * A link that saves a pass, whose class and object are at Google already.
   * @throws Problem GOOGLE_JWT_FAILED
   */
  saveUrl(place: GooglePlace, at: Date): Promise<string>
}

export interface GoogleWalletOptions {
  identity: GoogleSigner
  /** Images and callbacks are only sent where it is https, since Google fetches from nowhere else. */
  publicUrl: string
}

/** Renders classes and objects and signs save links for a Google issuer: see GoogleWallet. */
export function createGoogleWallet({ identity, publicUrl }: GoogleWalletOptions): GoogleWallet {
  const issuer: GoogleIssuer = { issuerId: identity.issuerId, publicUrl: publicUrl.replace(/\/+$/, '') }
  /** What was found of a class, by the card that its passes share. */
  const checked = new WeakMap<Card, { kind: GoogleKind; issues: Issue[] }>()

  function checkClass(kind: GoogleKind, pass: WalletPass, options: { needsLogos: boolean }): Issue[] {
    const known = checked.get(pass.templateCard)
    if (known?.kind === kind) return known.issues
    const issues = [...checkFields(typeOf(kind, 'Class'), buildClass(issuer, pass), options)]
    checked.set(pass.templateCard, { kind, issues })
    return issues
  }

  return {
    platform: 'google',
    classOf: (content) => buildClass(issuer, content),
    objectOf: (pass, at) => buildObject(issuer, pass, at),

    async check(pass, at) {
      const kind = kindOf(pass.card)
      const options = { needsLogos: issuer.publicUrl.startsWith('https://') }
      const issues = listIssues([
        ...below('class', checkClass(kind, pass, options)),
        ...below('object', checkFields(typeOf(kind, 'Object'), buildObject(issuer, pass, at), options)),
      ])
      const [first] = issues
      if (!first) return
      const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ''
      throw new ApiError('PASS_ISSUING_FAILED', {
        message: `Google would refuse google.${first.path.join('.')}: ${first.message}${rest}.`,
        details: { platform: 'google', ...issueDetails(issues) },
      })
    },

    async saveUrl({ kind, objectSuffix, classSuffix }, at) {
      const object = { id: idOf(issuer, objectSuffix), classId: idOf(issuer, classSuffix) }
      return saveUrl(await buildSaveJwt(identity, kind, object, at))
    },
  }
}

const signAsync = promisify(sign)

/**
 * The signed text of a save link (RS256). It only names an object that the API has already made: short enough to travel
 * anywhere (1,800 characters).
 * @throws Problem GOOGLE_JWT_FAILED
 */
export async function buildSaveJwt(
  identity: GoogleSigner,
  kind: GoogleKind,
  object: { id: string; classId: string },
  at: Date,
): Promise<string> {
  const claims = {
    iss: identity.clientEmail,
    aud: 'google',
    typ: 'savetowallet',
    iat: Math.floor(at.getTime() / 1000),
    origins: [],
    payload: { [`${kind}Objects`]: [object] },
  }
  try {
    if ('signJwt' in identity) return await identity.signJwt(claims)
    const header = { alg: 'RS256', typ: 'JWT', kid: identity.privateKeyId }
    const signingInput = `${encode(header)}.${encode(claims)}`
    const signature = await signAsync('sha256', Buffer.from(signingInput), identity.privateKey)
    return `${signingInput}.${signature.toString('base64url')}`
  } catch (cause) {
    throw new ApiError('GOOGLE_JWT_FAILED', { cause })
  }
}

/** The address that puts the pass into a person's Google Wallet; always Google's own. */
function saveUrl(jwt: string): string {
  return `https://pay.google.com/gp/v/save/${jwt}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
