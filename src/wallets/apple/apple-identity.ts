import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { ApiError } from '../../core/errors.ts'
import { CredentialError } from '../wallet.ts'

export interface AppleIdentity {
  passTypeIdentifier: string
  teamIdentifier: string
  /** The pass certificate in PEM. With the key, it is also the client certificate for Apple push. */
  certificatePem: string
  key: KeyObject
  certificate: ParsedCertificate
  /** Apple's intermediate certificate (Worldwide Developer Relations), which issued the pass certificate. */
  wwdr: ParsedCertificate
}

export interface ParsedCertificate {
  der: Buffer
  notBefore: Date
  notAfter: Date
}

export interface CredentialSource {
  source: string
  /** The certificate or key, in PEM or DER. */
  pem: string | Buffer
}

export interface AppleCredentials {
  certificate: CredentialSource
  key: CredentialSource & { passphrase?: string }
  wwdr: CredentialSource
  /** If set, it must equal the UID in the certificate's subject. */
  passTypeIdentifier?: string
  /** If set, it must equal the OU in the certificate's subject. */
  teamIdentifier?: string
}

/**
 * Returns the identity. Checks the credentials, because phones silently reject a pass that was signed with wrong ones.
 * @throws CredentialError
 */
export function parseAppleIdentity(credentials: AppleCredentials, at: Date): AppleIdentity {
  const identity = readAppleIdentity(credentials)
  assertValidity(identity.certificate, 'pass certificate', credentials.certificate.source, at)
  assertValidity(identity.wwdr, 'WWDR certificate', credentials.wwdr.source, at)
  return identity
}

/** Does the same as parseAppleIdentity, but accepts expired certificates, although they cannot sign passes. */
export function readAppleIdentity(credentials: AppleCredentials): AppleIdentity {
  const { leaf, key } = parseKeyPair(credentials)
  const wwdr = parseCertificate(credentials.wwdr, 'WWDR certificate')
  const subject = readSubject(leaf, credentials)
  assertIssued(leaf, wwdr, credentials)
  return { ...subject, certificatePem: leaf.toString(), key, certificate: toParsed(leaf), wwdr: toParsed(wwdr) }
}

type KeyPairSources = Pick<AppleCredentials, 'certificate' | 'key'>

/** Reads a pass certificate and its key. @throws CredentialError if the key does not belong to the certificate */
export function parseKeyPair(sources: KeyPairSources): { leaf: X509Certificate; key: KeyObject } {
  const leaf = parseCertificate(sources.certificate, 'pass certificate')
  const key = parseKey(sources.key)
  assertKeyMatches(leaf, key, sources)
  return { leaf, key }
}

/** Checks that a key belongs to a certificate. @throws CredentialError */
export function assertKeyMatches(leaf: X509Certificate, key: KeyObject, { certificate, key: from }: KeyPairSources) {
  if (leaf.checkPrivateKey(key)) return
  throw new CredentialError(
    `The private key in ${from.source} does not belong to the pass certificate in ${certificate.source}: give the key with which the certificate was requested.`,
  )
}

/** Returns the identifiers in the subject. @throws CredentialError if one is missing or not as configured */
export function readSubject(
  leaf: X509Certificate,
  { certificate: { source }, passTypeIdentifier, teamIdentifier }: AppleCredentials,
): Pick<AppleIdentity, 'passTypeIdentifier' | 'teamIdentifier'> {
  return {
    passTypeIdentifier: subjectPart(leaf, 'UID', 'pass type identifier', source, passTypeIdentifier),
    teamIdentifier: subjectPart(leaf, 'OU', 'team identifier', source, teamIdentifier),
  }
}

/** Checks that the WWDR certificate issued the pass certificate. @throws CredentialError */
export function assertIssued(leaf: X509Certificate, wwdr: X509Certificate, credentials: AppleCredentials): void {
  if (leaf.checkIssued(wwdr) && leaf.verify(wwdr.publicKey)) return
  throw new CredentialError(
    `The WWDR certificate in ${credentials.wwdr.source} did not issue the pass certificate in ${credentials.certificate.source}: download the one that issued it from Apple (its subject is "${oneLine(leaf.issuer)}"; for current pass type certificates, it is WWDR G4).`,
  )
}

/**
 * Checks that both certificates are valid now. They can expire while the server runs, and phones reject such passes.
 * @throws ApiError APPLE_SIGNING_FAILED
 */
export function assertSound(identity: AppleIdentity, at: Date): void {
  for (const [name, { notBefore, notAfter }] of [
    ['pass certificate', identity.certificate],
    ['WWDR certificate', identity.wwdr],
  ] as const) {
    if (at >= notBefore && at <= notAfter) continue
    throw new ApiError('APPLE_SIGNING_FAILED', {
      message:
        at > notAfter
          ? `The Apple ${name} expired on ${notAfter.toISOString()}; the operator must renew it.`
          : `The Apple ${name} is valid only from ${notBefore.toISOString()}; the operator must check the clock.`,
    })
  }
}

/**
 * Reads a certificate in PEM or DER.
 * @param what the name of the certificate in error messages
 * @throws CredentialError
 */
export function parseCertificate({ source, pem }: CredentialSource, what: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw new CredentialError(
      `The ${what} in ${source} is not a certificate in PEM or DER: give the .pem or .cer file itself.`,
      { cause },
    )
  }
}

/** Reads the RSA private key of a pass certificate. @throws CredentialError */
export function parseKey(credential: AppleCredentials['key']): KeyObject {
  const key = readKey(credential)
  if (key.asymmetricKeyType !== 'rsa') {
    throw new CredentialError(
      `The private key in ${credential.source} is of type ${key.asymmetricKeyType}: pass certificates have RSA keys, so give the key with which the certificate was requested.`,
    )
  }
  return key
}

/** Reads a private key in PEM or DER. @throws CredentialError */
function readKey({ source, pem, passphrase }: AppleCredentials['key']): KeyObject {
  const bytes = Buffer.from(pem)
  const isPem = bytes.includes('-----BEGIN')
  try {
    if (isPem) return createPrivateKey({ key: bytes, passphrase })
    return readDerKey(bytes, passphrase)
  } catch (cause) {
    const encrypted = isPem
      ? bytes.includes('ENCRYPTED')
      : (cause as NodeJS.ErrnoException).code === 'ERR_MISSING_PASSPHRASE'
    const reason = encrypted
      ? passphrase === undefined
        ? 'is encrypted: set its passphrase'
        : 'cannot be decrypted with the passphrase given: check the passphrase'
      : 'is not a private key in PEM or DER: give the file that begins with "-----BEGIN PRIVATE KEY-----"'
    throw new CredentialError(`The private key in ${source} ${reason}.`, { cause })
  }
}

function readDerKey(key: Buffer, passphrase: string | undefined): KeyObject {
  try {
    return createPrivateKey({ key, format: 'der', type: 'pkcs1' })
  } catch {
    return createPrivateKey({ key, format: 'der', type: 'pkcs8', passphrase })
  }
}

function subjectPart(
  leaf: X509Certificate,
  attribute: 'UID' | 'OU',
  meaning: string,
  source: string,
  expected: string | undefined,
): string {
  const subject = leaf.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>
  const value = subject[attribute]
  if (typeof value !== 'string' || value === '') {
    throw new CredentialError(
      `The certificate in ${source} does not have exactly one subject ${attribute}, where Apple writes the ${meaning}: it is not a pass type certificate. Create one in Apple's developer portal.`,
    )
  }
  if (expected !== undefined && expected !== value) {
    throw new CredentialError(
      `The certificate in ${source} is for the ${meaning} "${value}" (subject ${attribute}), but "${expected}" is configured: correct the setting or give the certificate of that identifier.`,
    )
  }
  return value
}

export function toParsed(certificate: X509Certificate): ParsedCertificate {
  return {
    der: certificate.raw,
    notBefore: new Date(certificate.validFrom),
    notAfter: new Date(certificate.validTo),
  }
}

/**
 * @param what the name of the certificate in error messages
 * @throws CredentialError if the certificate is not valid at `at`
 */
export function assertValidity(
  { notBefore, notAfter }: ParsedCertificate,
  what: string,
  source: string,
  at: Date,
): void {
  if (at > notAfter) {
    throw new CredentialError(
      `The ${what} in ${source} expired on ${notAfter.toISOString()}: renew it in Apple's developer portal and give the new file.`,
    )
  }
  if (at < notBefore) {
    throw new CredentialError(
      `The ${what} in ${source} is valid only from ${notBefore.toISOString()}: check the clock of this machine.`,
    )
  }
}

function oneLine(name: string): string {
  return name.replaceAll('\n', ', ')
}
