import { createRequire } from 'node:module'
import { CredentialError } from '../wallet.ts'
import type { CredentialSource } from './apple-identity.ts'

/**
 * The types of the parts of node-forge that read PKCS #12. WebCrypto cannot read these files, because it lacks the
 * ciphers that Keychain Access uses.
 */
interface Forge {
  asn1: { fromDer(bytes: string): unknown }
  pkcs12: { pkcs12FromAsn1(asn1: unknown, password: string): { getBags(filter: { bagType: string }): Bags } }
  pki: {
    oids: Record<'certBag' | 'keyBag' | 'pkcs8ShroudedKeyBag', string>
    certificateToPem(certificate: object): string
    privateKeyToPem(key: object): string
  }
}

type Bags = Record<
  string,
  { cert?: object & { publicKey: { n: BigInteger } }; key?: object & { n: BigInteger } }[] | undefined
>

interface BigInteger {
  equals(other: BigInteger): boolean
}

const require = createRequire(import.meta.url)

/**
 * Whether a file is PKCS #12: a DER sequence whose first member is the version number 3. A certificate starts with a
 * sequence instead.
 */
export function isPkcs12({ pem }: CredentialSource): boolean {
  const bytes = Buffer.from(pem)
  if (bytes[0] !== 0x30) return false
  const lengthBytes = bytes[1]! < 0x80 ? 0 : bytes[1]! & 0x7f
  return bytes.subarray(2 + lengthBytes, 5 + lengthBytes).equals(Buffer.from([0x02, 0x01, 0x03]))
}

/** Reads the private key and its certificate, in PEM. @throws CredentialError */
export function readPkcs12(
  { source, pem }: CredentialSource,
  password: string | undefined,
): { certificate: string; key: string } {
  const { asn1, pkcs12, pki }: Forge = require('node-forge')
  const bags = (type: keyof Forge['pki']['oids'], file: ReturnType<Forge['pkcs12']['pkcs12FromAsn1']>) =>
    file.getBags({ bagType: pki.oids[type] })[pki.oids[type]] ?? []
  let file: ReturnType<Forge['pkcs12']['pkcs12FromAsn1']>
  try {
    file = pkcs12.pkcs12FromAsn1(asn1.fromDer(Buffer.from(pem).toString('binary')), password ?? '')
  } catch (cause) {
    const what = password === undefined ? 'needs its password' : 'cannot be opened with the password given'
    throw new CredentialError(`The .p12 file ${source} ${what}.`, { cause })
  }
  const { key } = [...bags('pkcs8ShroudedKeyBag', file), ...bags('keyBag', file)].find((bag) => bag.key) ?? {}
  const certificates = bags('certBag', file).flatMap(({ cert }) => cert ?? [])
  const certificate = key && certificates.find(({ publicKey }) => publicKey.n?.equals(key.n))
  if (!key || !certificate) {
    throw new CredentialError(
      `The .p12 file ${source} has no ${key ? 'certificate for its key' : 'private RSA key'}: export the certificate together with its key.`,
    )
  }
  return { certificate: pki.certificateToPem(certificate), key: pki.privateKeyToPem(key) }
}
