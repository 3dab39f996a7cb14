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
  /** The intermediate, which replaces Apple's WWDR certificate. */
  wwdrPem: string
  /** The key of the intermediate, which signs further pass certificates: PKCS #8, not encrypted. */
  wwdrKeyPem: string
  certificatePem: string
  /** PKCS #8, not encrypted. */
  keyPem: string
  /** The certificate of the sandbox's push server, only for localhost and 127.0.0.1. */
  serverCertificatePem: string
  serverKeyPem: string
}

const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}
const USER_ID = '0.9.2342.19200300.100.1.1'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
/** Marks a certificate that signs passes. Contains the pass type identifier. */
const PASS_SIGNING = '1.2.840.113635.100.6.1.16'
/** Marks a certificate for development push, which the push client requires for any address other than Apple's. */
const PRODUCTION_PUSH = '1.2.840.113635.100.6.3.2'
const DEVELOPMENT_PUSH = '1.2.840.113635.100.6.3.1'
const ORGANIZATION: JsonName = [{ O: ['Development Sandbox (not Apple)'] }]
const WWDR_NAME: JsonName = [
  { CN: ['Wallet Sandbox Development Worldwide Developer Relations CA'] },
  { OU: ['Sandbox'] },
  ...ORGANIZATION,
]

/**
 * Creates a certificate chain for development, shaped like Apple's: root, intermediate, pass certificate. The pass
 * certificate is also the TLS client certificate for the push server, whose own certificate has the same root. No phone
 * trusts it, and each call creates new keys.
 */
export async function createSandboxApple(options: {
  passTypeIdentifier: string
  teamIdentifier: string
  at: Date
}): Promise<SandboxApple> {
  const { passTypeIdentifier, teamIdentifier, at } = options
  const [rootKeys, wwdrKeys, passKeys, serverKeys] = await Promise.all([
    generateKeys(),
    generateKeys(),
    generateKeys(),
    generateKeys(),
  ])
  const rootName: JsonName = [{ CN: ['Wallet Sandbox Development Root CA'] }, ...ORGANIZATION]
  const [rootPem, wwdrPem, certificatePem, serverCertificatePem] = await Promise.all([
    issue({
      subject: rootName,
      keys: rootKeys,
      issuer: rootName,
      issuerKeys: rootKeys,
      at,
      years: 15,
      extensions: authority(),
    }),
    issue({
      subject: WWDR_NAME,
      keys: wwdrKeys,
      issuer: rootName,
      issuerKeys: rootKeys,
      at,
      years: 10,
      extensions: authority(0),
    }),
    issuePass({ passTypeIdentifier, teamIdentifier, at, keys: passKeys, wwdrKeys }),
    issue({
      subject: [{ CN: ['localhost'] }, ...ORGANIZATION],
      keys: serverKeys,
      issuer: rootName,
      issuerKeys: rootKeys,
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
  const [keyPem, serverKeyPem, wwdrKeyPem] = await Promise.all(
    [passKeys, serverKeys, wwdrKeys].map(({ privateKey }) => exportKey(privateKey)),
  )
  return {
    rootPem,
    wwdrPem,
    certificatePem,
    serverCertificatePem,
    keyPem: keyPem!,
    serverKeyPem: serverKeyPem!,
    wwdrKeyPem: wwdrKeyPem!,
  }
}

/** Creates another pass certificate with a separate key, in an existing chain. */
export async function createSandboxPass(options: {
  passTypeIdentifier: string
  teamIdentifier: string
  at: Date
  wwdrKeyPem: string
}): Promise<Pick<SandboxApple, 'certificatePem' | 'keyPem'>> {
  const { wwdrKeyPem, ...subject } = options
  const keys = await generateKeys()
  const certificatePem = await issuePass({ ...subject, keys, wwdrKeys: await importKeys(wwdrKeyPem) })
  return { certificatePem, keyPem: await exportKey(keys.privateKey) }
}

function issuePass(request: {
  passTypeIdentifier: string
  teamIdentifier: string
  at: Date
  keys: CryptoKeyPair
  wwdrKeys: CryptoKeyPair
}): Promise<string> {
  const { passTypeIdentifier, teamIdentifier, at, keys, wwdrKeys } = request
  return issue({
    subject: [
      { [USER_ID]: [passTypeIdentifier] },
      { CN: ['Wallet Sandbox Development Pass Type ID'] },
      { OU: [teamIdentifier] },
      ...ORGANIZATION,
    ],
    keys,
    issuer: WWDR_NAME,
    issuerKeys: wwdrKeys,
    at,
    years: 5,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([CLIENT_AUTH]),
      new Extension(PASS_SIGNING, false, utf8String(passTypeIdentifier)),
      new Extension(DEVELOPMENT_PUSH, false, Buffer.from([0x05, 0x00])),
      new Extension(PRODUCTION_PUSH, false, Buffer.from([0x05, 0x00])),
    ],
  })
}

function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
}

async function importKeys(pem: string): Promise<CryptoKeyPair> {
  const key = createPrivateKey(pem)
  const [pkcs8, spki] = [
    key.export({ type: 'pkcs8', format: 'der' }),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
  ]
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('pkcs8', new Uint8Array(pkcs8), algorithm, true, ['sign']),
    crypto.subtle.importKey('spki', new Uint8Array(spki), algorithm, true, ['verify']),
  ])
  return { privateKey, publicKey }
}

async function issue(request: {
  subject: JsonName
  keys: CryptoKeyPair
  issuer: JsonName
  issuerKeys: CryptoKeyPair
  at: Date
  years: number
  extensions: Extension[]
}): Promise<string> {
  const { subject, keys, issuer, issuerKeys, at, years, extensions } = request
  const certificate = await X509CertificateGenerator.create(
    {
      subject,
      issuer,
      // One day of tolerance for clocks that differ.
      notBefore: addDays(at, -1),
      notAfter: addDays(at, years * 365),
      publicKey: keys.publicKey,
      signingKey: issuerKeys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        ...extensions,
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, crypto),
        await AuthorityKeyIdentifierExtension.create(issuerKeys.publicKey, false, crypto),
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

/** Encodes a pass type identifier, which is short enough for a length in one byte. Apple rejects longer ones too. */
function utf8String(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(text)
  if (bytes.length > 0x7f) throw new RangeError(`The pass type identifier "${text}" is longer than 127 bytes.`)
  return Buffer.from([0x0c, bytes.length, ...bytes])
}

function addDays(at: Date, days: number): Date {
  return new Date(at.getTime() + days * 86_400_000)
}
