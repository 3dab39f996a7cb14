import { createPrivateKey, type KeyObject } from 'node:crypto'
import { CredentialError } from '../wallet.ts'

/** Who signs save links and calls the Google Wallet API: a service account that the issuer account trusts. */
export interface GoogleIdentity {
  /** The issuer account's number: the front half of every class and object id. */
  issuerId: string
  clientEmail: string
  privateKey: KeyObject
  privateKeyId: string
}

/** Access tokens for Google's API, of one service account. */
export interface AccessTokens {
  /**
   * A token that is good for some time yet; callers at the same time share one request.
   * @throws GoogleApiError of the kind permission where Google refuses the service account, unavailable otherwise
   */
  get(): Promise<string>
  /** Told that the API takes this token no longer, the next one is a fresh one. */
  forget(token: string): void
}

/** A service account without its key, which stays at Google. */
export interface KeylessIdentity {
  issuerId: string
  clientEmail: string
  tokens: AccessTokens
  /** @throws GoogleApiError of the kind permission where the account may not sign */
  signJwt(claims: object): Promise<string>
}

/** An account at Google, with its key file or by what the machine is trusted with. */
export type GoogleSigner = GoogleIdentity | KeylessIdentity

/** The key file of a service account. */
export interface ServiceAccountFile {
  /** Where it came from, as messages name it: a path or a setting. */
  source: string
  json: string
}

const HOW_TO_GET_ONE =
  'Download a new JSON key of the service account in the Google Cloud console (IAM, Service accounts, Keys).'

/** The file as a credential configuration without a key, of workload identity or impersonation; undefined for any other. */
export function keylessConfiguration({ source, json }: ServiceAccountFile): object | undefined {
  const account = parseAccount(source, json)
  return account.type === 'external_account' || account.type === 'impersonated_service_account' ? account : undefined
}

/** The service account of a key file. @throws CredentialError that holds nothing of the file's content */
export function parseGoogleIdentity({ source, json }: ServiceAccountFile, issuerId: string): GoogleIdentity {
  assertIssuerId(issuerId)
  const account = parseAccount(source, json)
  const clientEmail = field(source, account, 'client_email')
  const privateKeyId = field(source, account, 'private_key_id')
  return { issuerId, clientEmail, privateKeyId, privateKey: parseKey(source, field(source, account, 'private_key')) }
}

/** That a text is the id of an issuer: digits. @throws CredentialError */
export function assertIssuerId(issuerId: string): void {
  if (!/^\d+$/.test(issuerId)) {
    throw new CredentialError(
      `The Google issuer id ${JSON.stringify(issuerId)} is not a number. ` +
        'Copy it from the Google Pay and Wallet console, where it stands as "Issuer ID".',
    )
  }
}

function parseAccount(source: string, json: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    // The parser's own message quotes the text, which may be a private key.
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
      `The private_key in the Google service account key from ${source} is of type ${key.asymmetricKeyType}, and Google takes RSA only. ${HOW_TO_GET_ONE}`,
    )
  }
  return key
}
