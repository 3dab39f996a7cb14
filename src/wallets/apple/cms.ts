import { type KeyObject, sign } from 'node:crypto'
import { element, membersOf, objectIdentifier, octetString, sequence, setOf, sorted, time } from './der.ts'
import type { AppleIdentity } from './identity.ts'

/** Signs content by its SHA-256; the signature does not hold it (detached). */
export type Signer = (sha256: Uint8Array, at: Date) => Promise<Buffer>

const id = {
  data: objectIdentifier('1.2.840.113549.1.7.1'),
  signedData: objectIdentifier('1.2.840.113549.1.7.2'),
  contentType: objectIdentifier('1.2.840.113549.1.9.3'),
  messageDigest: objectIdentifier('1.2.840.113549.1.9.4'),
  signingTime: objectIdentifier('1.2.840.113549.1.9.5'),
  rsaEncryption: objectIdentifier('1.2.840.113549.1.1.1'),
  sha256: objectIdentifier('2.16.840.1.101.3.4.2.1'),
}

const none = element(0x05)
const version1 = element(0x02, Buffer.from([1]))
const sha256 = sequence(id.sha256, none)
const rsaEncryption = sequence(id.rsaEncryption, none)
const contentType = sequence(id.contentType, setOf(id.data))

/**
 * Makes detached CMS signatures (RFC 5652) as a phone wants them: SHA-256, the signing time among the signed
 * attributes, leaf and intermediate certificates included. Signing is the costly part of a pass, so all that stays the
 * same is encoded once here, and the private key works on a thread of the pool.
 */
export function createSigner(identity: AppleIdentity): Signer {
  const issuer = issuerAndSerial(identity.certificate.der)
  const certificates = element(0xa0, ...sorted([identity.certificate.der, identity.wwdr.der]))
  const beforeSigners = Buffer.concat([version1, setOf(sha256), sequence(id.data), certificates])

  return async (digest, at) => {
    const attributes = signedAttributes(digest, at)
    // The bytes signed carry the tag of a SET, those sent an implicit [0] (RFC 5652, 5.4).
    const signature = await signRsa(element(0x31, ...attributes), identity.key)
    const signer = sequence(
      version1,
      issuer,
      sha256,
      element(0xa0, ...attributes),
      rsaEncryption,
      octetString(signature),
    )
    return sequence(id.signedData, element(0xa0, sequence(beforeSigners, setOf(signer))))
  }
}

/** What names the signer's certificate: version, serial number, algorithm and issuer begin every certificate. */
function issuerAndSerial(certificate: Uint8Array): Buffer {
  const [toBeSigned] = membersOf(certificate)
  const fields = membersOf(toBeSigned!)
  const [serial, , issuer] = fields[0]![0] === 0xa0 ? fields.slice(1) : fields
  return sequence(issuer!, serial!)
}

function signedAttributes(digest: Uint8Array, at: Date): Buffer[] {
  return sorted([
    contentType,
    sequence(id.signingTime, setOf(time(at))),
    sequence(id.messageDigest, setOf(octetString(digest))),
  ])
}

function signRsa(data: Uint8Array, key: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign('sha256', data, key, (error, signature) => (error ? reject(error) : resolve(signature)))
  })
}
