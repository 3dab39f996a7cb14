import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import { ApiError, below, type Issue, issueDetails, listIssues } from '../../core/errors.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { Wallet, WalletPass } from '../wallet.ts'
import { checkFields } from './check-fields.ts'
import { buildClass, type ClassContent } from './classes.ts'
import { typeOf } from './fields.ts'
import type { GoogleSigner } from './google-identity.ts'
import { buildObject } from './objects.ts'
import { pathInGoogleOverrides } from './overrides.ts'
import { type GoogleIssuer, type GooglePlace, type GoogleResource, idOf, kindOf } from './resource.ts'

export interface GoogleWallet extends Wallet {
  readonly platform: 'google'
  readonly issuerId: string
  classOf(content: ClassContent): GoogleResource
  objectOf(pass: WalletPass, at: Date): GoogleResource
  /**
   * Returns a link with which a holder saves up to `countFitting` passes. Their objects must exist at Google.
   * @throws ApiError GOOGLE_JWT_FAILED
   */
  saveUrl(places: readonly GooglePlace[], at: Date): Promise<string>
  /** Returns how many objects, counted from the first, fit into one save link (at most five). */
  countFitting(places: readonly GooglePlace[]): number
}

export interface GoogleWalletOptions {
  identity: GoogleSigner
  /**
   * The URL from which Google fetches images and to which it sends callbacks. If this is not https, classes and objects
   * contain no image or callback URLs, because Google uses only https.
   */
  publicUrl: string
}

export function createGoogleWallet({ identity, publicUrl }: GoogleWalletOptions): GoogleWallet {
  const issuer: GoogleIssuer = { issuerId: identity.issuerId, publicUrl: publicUrl.replace(/\/+$/, '') }
  return {
    platform: 'google',
    account: identity.issuerId,
    issuerId: identity.issuerId,
    classOf: (content) => buildClass(issuer, content),
    objectOf: (pass, at) => buildObject(issuer, pass, at),
    check: createGoogleCheck(issuer),

    countFitting: (places) => countFitting(identity, places),

    async saveUrl(places, at) {
      // Use Google's address even if the API is an emulator: simulated phones open the same links as real phones.
      return `https://pay.google.com/gp/v/save/${await buildSaveJwt(identity, claimsOf(identity, places, at))}`
    },
  }
}

/** Creates a function that checks passes against Google's rules. It needs no credentials. */
export function createGoogleCheck(issuer: GoogleIssuer): Wallet['check'] {
  /** The issues of a class, by the template card of its passes. */
  const checked = new WeakMap<Card, { kind: GoogleKind; issues: Issue[] }>()

  function checkClass(kind: GoogleKind, pass: WalletPass, options: { needsLogos: boolean }): Issue[] {
    const known = checked.get(pass.templateCard)
    if (known?.kind === kind) return known.issues
    const issues = checkFields(typeOf(kind, 'Class'), buildClass(issuer, pass), options)
    checked.set(pass.templateCard, { kind, issues })
    return issues
  }

  return async (pass, at) => {
    const kind = kindOf(pass.card)
    const options = { needsLogos: issuer.publicUrl.startsWith('https://') }
    const found = [
      ...below('class', checkClass(kind, pass, options)),
      ...below('object', checkFields(typeOf(kind, 'Object'), buildObject(issuer, pass, at), options)),
    ]
    const { google } = pass.card
    const issues = listIssues(found.map((issue) => ({ ...issue, path: pathInGoogleOverrides(google, issue.path) })))
    const [first] = issues
    if (!first) return
    const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ''
    throw new ApiError('PASS_ISSUING_FAILED', {
      message: `Google would reject google.${first.path.join('.')}: ${first.message}${rest}.`,
      details: { platform: 'google', ...issueDetails(issues) },
    })
  }
}

const signAsync = promisify(sign)

type SaveClaims = ReturnType<typeof claimsOf>

/** Returns the claims of a save link: only the IDs of objects and classes, to keep the link short. */
function claimsOf(issuer: Pick<GoogleSigner, 'issuerId' | 'clientEmail'>, places: readonly GooglePlace[], at: Date) {
  const payload: Record<string, { id: string; classId: string }[]> = {}
  for (const { kind, objectSuffix, classSuffix } of places) {
    const object = { id: idOf(issuer, objectSuffix), classId: idOf(issuer, classSuffix) }
    payload[`${kind}Objects`] = [...(payload[`${kind}Objects`] ?? []), object]
  }
  const iat = Math.floor(at.getTime() / 1000)
  return { iss: issuer.clientEmail, aud: 'google', typ: 'savetowallet', iat, origins: [], payload }
}

/** The maximum length of a JWT. Google's guide calls this length safe: browsers can truncate longer links. */
const MAX_JWT_CHARACTERS = 1_800
const MAX_LINK_OBJECTS = 5

const SIGNATURE_CHARACTERS = 342
const KEY_ID_CHARACTERS = 40

function countFitting(issuer: Pick<GoogleSigner, 'issuerId' | 'clientEmail'>, places: readonly GooglePlace[]): number {
  const header = encode({ alg: 'RS256', typ: 'JWT', kid: '0'.repeat(KEY_ID_CHARACTERS) })
  const lengthOf = (count: number) =>
    `${header}.${encode(claimsOf(issuer, places.slice(0, count), new Date()))}.`.length + SIGNATURE_CHARACTERS
  let count = 1
  while (count < Math.min(places.length, MAX_LINK_OBJECTS) && lengthOf(count + 1) <= MAX_JWT_CHARACTERS) count += 1
  return count
}

/** @throws ApiError GOOGLE_JWT_FAILED */
async function buildSaveJwt(identity: GoogleSigner, claims: SaveClaims): Promise<string> {
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

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
