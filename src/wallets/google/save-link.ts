import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { GoogleKind } from '../../core/contract/definition.ts'
import { ApiError } from '../../core/errors.ts'
import type { GoogleSigner } from './identity.ts'

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
export function saveUrl(jwt: string): string {
  return `https://pay.google.com/gp/v/save/${jwt}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
