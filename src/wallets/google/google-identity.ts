import { createPrivateKey, type KeyObject } from 'node:crypto'
import { CredentialError } from '../wallet.ts'

export interface GoogleIdentity {
  /** The number of the issuer account, with which every class ID and object ID starts. */
  issuerId: string
  clientEmail: string
  privateKey: KeyObject
  privateKeyId: string
}

export interface AccessTokens {
  /**
   * @throws GoogleApiError `permission` if Google rejects the service account, `quota` for too many requests, or
   * `unavailable` for any other error
   */
  get(): Promise<string>
  /** Discards a token that the API rejected, so that `get` requests a new one. */
  forget(token: string): void
}

export interface KeylessIdentity {
  issuerId: string
  clientEmail: string
  tokens: AccessTokens
  /** @throws GoogleApiError `permission` if the account has no permission to sign */
  signJwt(claims: object): Promise<string>
}

export type GoogleSigner = GoogleIdentity | KeylessIdentity

export interface ServiceAccountFile {
  source: string
  json: string
}

const HOW_TO_GET_ONE =
  'Download a new JSON key of the service account in the Google Cloud console (IAM, Service accounts, Keys).'

/** Returns the content of a file for workload identity or impersonation; `undefined` for other files. */
export function keylessConfiguration({ source, json }: ServiceAccountFile): object | undefined {
  const account = parseAccount(source, json)
  return account.type === 'external_account' || account.type === 'impersonated_service_account' ? account : undefined
}

/** Reads the service account in a key file. @throws CredentialError, which contains no part of the file */
export function parseGoogleIdentity({ source, json }: ServiceAccountFile, issuerId: string): GoogleIdentity {
  assertIssuerId(issuerId)
  const account = parseAccount(source, json)
  const clientEmail = field(source, account, 'client_email')
  const privateKeyId = field(source, account, 'private_key_id')
  return { issuerId, clientEmail, privateKeyId, privateKey: parseKey(source, field(source, account, 'private_key')) }
}

/** Checks that an issuer ID consists of digits. @throws CredentialError */
export function assertIssuerId(issuerId: string): void {
  if (!/^\d+$/.test(issuerId)) {
    throw new CredentialError(
      `The Google issuer ID ${JSON.stringify(issuerId)} is not a number. ` +
        'Copy the "Issuer ID" from the Google Pay and Wallet console.',
    )
  }
}

function parseAccount(source: string, json: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    // Replace the parser's error message, which can quote a private key.
    throw new CredentialError(`The Google service account key from ${source} is not JSON. ${HOW_TO_GET_ONE}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CredentialError(`The Google service account key from ${source} is not a JSON object. ${HOW_TO_GET_ONE}`)
  }
  return value as Record<string, unknown>
}

function field(source: string, account: Record<string, unknown>, name: string): string {
  const value = account[name]
  if (typeof value === 'string' && value !== '') return value
  throw new CredentialError(`The Google service account key from ${source} has no ${name}. ${HOW_TO_GET_ONE}`)
}

function parseKey(source: string, pem: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (cause) {
    throw new CredentialError(
      `The private_key in the Google service account key from ${source} cannot be read as an unencrypted PEM key. ${HOW_TO_GET_ONE}`,
      { cause },
    )
  }
  if (key.asymmetricKeyType !== 'rsa') {
    throw new CredentialError(
      `The private_key in the Google service account key from ${source} is of type ${key.asymmetricKeyType}, but Google accepts only RSA. ${HOW_TO_GET_ONE}`,
    )
  }
  return key
}
