import { createPrivateKey, createPublicKey } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  Extension,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

export interface SandboxApple {
  rootPem: string
  /** The intermediate certificate, in place of Apple's WWDR certificate. */
  wwdrPem: string
  /** The key of the intermediate certificate, which signs renewed pass certificates: PKCS #8, not encrypted. */
  wwdrKeyPem: string
  certificatePem: string
  /** The key of the pass certificate: PKCS #8, not encrypted. */
  keyPem: string
  /** The certificate of the sandbox's push server, valid only for localhost and 127.0.0.1. */
  serverCertificatePem: string
  serverKeyPem: string
}

/** The algorithm of the keys that sign passes and their certificates, as at Apple. */
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}
/** The algorithm of the other keys, because creating an RSA key takes more than a thousand times as long. */
const ECDSA = { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-256' }
const USER_ID = '0.9.2342.19200300.100.1.1'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
/** The extension of certificates that sign passes. It contains the pass type identifier. */
const PASS_SIGNING = '1.2.840.113635.100.6.1.16'
/**
 * The extensions for pushes to production and to development servers. For an address that is not Apple's, the push
 * library requires the extension for development servers.
 */
const PRODUCTION_PUSH = '1.2.840.113635.100.6.3.2'
const DEVELOPMENT_PUSH = '1.2.840.113635.100.6.3.1'
const ORGANIZATION: JsonName = [{ O: ['Development Sandbox (not Apple)'] }]
const WWDR_NAME: JsonName = [
  { CN: ['Wallet Sandbox Development Worldwide Developer Relations CA'] },
  { OU: ['Sandbox'] },
  ...ORGANIZATION,
]

/**
 * Creates a chain of certificates with the structure of Apple's chain. Pushes use the pass certificate as TLS client
 * certificate. No real phone trusts the chain.
 */
export async function createSandboxApple(subject: PassSubject): Promise<SandboxApple> {
  const { at } = subject
  const [rootKeys, wwdrKeys, passKeys, serverKeys] = await Promise.all([ECDSA, RSA, RSA, ECDSA].map(generateKeys))
  const root: Party = { name: [{ CN: ['Wallet Sandbox Development Root CA'] }, ...ORGANIZATION], keys: rootKeys! }
  const wwdr: Party = { name: WWDR_NAME, keys: wwdrKeys! }
  const server: Party = { name: [{ CN: ['localhost'] }, ...ORGANIZATION], keys: serverKeys! }
  const [rootPem, wwdrPem, certificatePem, serverCertificatePem] = await Promise.all([
    issue(root, { issuer: root, at, years: 15, extensions: authority() }),
    issue(wwdr, { issuer: root, at, years: 10, extensions: authority(0) }),
    issuePass({ ...subject, keys: passKeys!, wwdr }),
    issue(server, {
      issuer: root,
      at,
      years: 5,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
        new ExtendedKeyUsageExtension([SERVER_AUTH]),
        new SubjectAlternativeNameExtension([
          { type: 'dns', value: 'localhost' },
          { type: 'ip', value: '127.0.0.1' },
        ]),
      ],
    }),
  ])
  return {
    rootPem,
    wwdrPem,
    certificatePem,
    serverCertificatePem,
    keyPem: await exportKey(passKeys!.privateKey),
    serverKeyPem: await exportKey(serverKeys!.privateKey),
    wwdrKeyPem: await exportKey(wwdrKeys!.privateKey),
  }
}

export async function createSandboxPass({
  wwdrKeyPem,
  ...subject
}: PassSubject & { wwdrKeyPem: string }): Promise<Pick<SandboxApple, 'certificatePem' | 'keyPem'>> {
  const keys = await generateKeys(RSA)
  const certificatePem = await issuePass({
    ...subject,
    keys,
    wwdr: { name: WWDR_NAME, keys: await importKeys(wwdrKeyPem) },
  })
  return { certificatePem, keyPem: await exportKey(keys.privateKey) }
}

interface PassSubject {
  passTypeIdentifier: string
  teamIdentifier: string
  at: Date
}

/** The subject or the issuer of a certificate. */
interface Party {
  name: JsonName
  keys: CryptoKeyPair
}

function issuePass({
  passTypeIdentifier,
  teamIdentifier,
  at,
  keys,
  wwdr,
}: PassSubject & { keys: CryptoKeyPair; wwdr: Party }): Promise<string> {
  const name = [
    { [USER_ID]: [passTypeIdentifier] },
    { CN: ['Wallet Sandbox Development Pass Type ID'] },
    { OU: [teamIdentifier] },
    ...ORGANIZATION,
  ]
  const extensions = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([CLIENT_AUTH]),
    new Extension(PASS_SIGNING, false, utf8String(passTypeIdentifier)),
    new Extension(DEVELOPMENT_PUSH, false, Buffer.from([0x05, 0x00])),
    new Extension(PRODUCTION_PUSH, false, Buffer.from([0x05, 0x00])),
  ]
  return issue({ name, keys }, { issuer: wwdr, at, years: 5, extensions })
}

function generateKeys(algorithm: typeof RSA | typeof ECDSA): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
}

async function importKeys(pem: string): Promise<CryptoKeyPair> {
  const key = createPrivateKey(pem)
  const [pkcs8, spki] = [
    key.export({ type: 'pkcs8', format: 'der' }),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
  ]
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('pkcs8', new Uint8Array(pkcs8), RSA, true, ['sign']),
    crypto.subtle.importKey('spki', new Uint8Array(spki), RSA, true, ['verify']),
  ])
  return { privateKey, publicKey }
}

async function issue(
  { name: subject, keys }: Party,
  { issuer, at, years, extensions }: { issuer: Party; at: Date; years: number; extensions: Extension[] },
): Promise<string> {
  const certificate = await X509CertificateGenerator.create(
    {
      subject,
      issuer: issuer.name,
      // Start a day earlier, because the clocks of machines can differ.
      notBefore: addDays(at, -1),
      notAfter: addDays(at, years * 365),
      publicKey: keys.publicKey,
      signingKey: issuer.keys.privateKey,
      signingAlgorithm: issuer.keys.privateKey.algorithm.name === RSA.name ? RSA : ECDSA,
      extensions: [
        ...extensions,
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, crypto),
        await AuthorityKeyIdentifierExtension.create(issuer.keys.publicKey, false, crypto),
      ],
    },
    crypto,
  )
  return `${certificate.toString('pem')}\n`
}

function authority(pathLength?: number): Extension[] {
  return [
    new BasicConstraintsExtension(true, pathLength, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ]
}

async function exportKey(key: CryptoKey): Promise<string> {
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', key)
  return `${PemConverter.encode(pkcs8, PemConverter.PrivateKeyTag)}\n`
}

/**
 * Encodes a pass type identifier in DER. A text of more than 127 bytes would need a length of several bytes; Apple
 * rejects such a text, too.
 */
function utf8String(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(text)
  if (bytes.length > 0x7f) throw new RangeError(`The pass type identifier "${text}" is longer than 127 bytes.`)
  return Buffer.from([0x0c, bytes.length, ...bytes])
}

function addDays(at: Date, days: number): Date {
  return new Date(at.getTime() + days * 86_400_000)
}
