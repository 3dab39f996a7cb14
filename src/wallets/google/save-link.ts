import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { GoogleKind } from '../../core/contract/definition.ts'
import { Problem } from '../../core/errors.ts'
import type { GoogleIdentity } from './identity.ts'
import type { GoogleResource } from './resource.ts'

/** With everything, a link makes its class and object when opened; it may be too long for some browsers and messengers. */
export interface FullPayload {
  object: GoogleResource
  class: GoogleResource
}

/** Only names an object that the API has already made: short enough to travel anywhere (1,800 characters). */
export interface ReferencePayload {
  object: { id: string; classId: string }
}

const signAsync = promisify(sign)

/**
 * The signed text of a save link (RS256).
 * @throws Problem GOOGLE_JWT_FAILED
 */
export async function buildSaveJwt(
  identity: GoogleIdentity,
  kind: GoogleKind,
  payload: FullPayload | ReferencePayload,
  at: Date,
): Promise<string> {
  const header = { alg: 'RS256', typ: 'JWT', kid: identity.privateKeyId }
  const claims = {
    iss: identity.clientEmail,
    aud: 'google',
    typ: 'savetowallet',
    iat: Math.floor(at.getTime() / 1000),
    origins: [],
    payload: {
      ...('class' in payload && { [`${kind}Classes`]: [payload.class] }),
      [`${kind}Objects`]: [payload.object],
    },
  }
  const signingInput = `${encode(header)}.${encode(claims)}`
  try {
    const signature = await signAsync('sha256', Buffer.from(signingInput), identity.privateKey)
    return `${signingInput}.${signature.toString('base64url')}`
  } catch (cause) {
    throw new Problem('GOOGLE_JWT_FAILED', { cause })
  }
}

/** The address that puts the pass into a person's Google Wallet; always Google's own. */
export function saveUrl(jwt: string): string {
  return `https://pay.google.com/gp/v/save/${jwt}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
