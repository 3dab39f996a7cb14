import { createHash, verify, X509Certificate } from 'node:crypto'
import { childrenOf, type DerElement, dottedOf, readDer } from './der.ts'

/** A signature that a phone does not accept, and why. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError'
}

export interface SignatureFacts {
  /** The certificate that signed. */
  certificate: X509Certificate
  /** Subject UID: the pass type that it may sign. */
  passTypeIdentifier: string | undefined
  /** Subject OU. */
  teamIdentifier: string | undefined
}

const oid = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  sha256: '2.16.840.1.101.3.4.2.1',
}

/**
 * Checks a detached CMS signature (RFC 5652) over the content as a phone does: digest, signing time, signature, and the
 * chain from the certificate inside over an intermediate inside up to the root.
 * @throws SignatureError
 */
export function verifySignature(signature: Buffer, content: Buffer, rootPem: string, at: Date): SignatureFacts {
  try {
    return check(readSignedData(signature), content, new X509Certificate(rootPem), at)
  } catch (error) {
    if (!isMalformed(error)) throw error
    throw new SignatureError('the signature is not well-formed CMS', { cause: error })
  }
}

/** OpenSSL's own errors are of certificates and keys inside that it cannot read. */
function isMalformed(error: unknown): boolean {
  if (error instanceof RangeError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_OSSL')
}

interface SignedData {
  certificates: DerElement[]
  issuer: Buffer
  serialNumber: Buffer
  digestAlgorithm: string
  attributes: DerElement
  signature: Buffer
}

function readSignedData(bytes: Buffer): SignedData {
  const [contentType, wrapped] = childrenOf(readDer(bytes))
  if (dottedOf(expect(contentType, 0x06)) !== oid.signedData) throw new SignatureError('the signature is no SignedData')
  const [signedData] = childrenOf(expect(wrapped, 0xa0))
  const [, , encapsulated, ...rest] = childrenOf(expect(signedData, 0x30))
  if (childrenOf(expect(encapsulated, 0x30)).length !== 1) throw new SignatureError('the signature is not detached')
  const certificates = childrenOf(
    expect(
      rest.find(({ tag }) => tag === 0xa0),
      0xa0,
    ),
  )
  const [signer, ...others] = childrenOf(expect(rest.at(-1), 0x31))
  if (others.length > 0) throw new SignatureError('more than one has signed')
  const [, identifier, digest, attributes, , value] = childrenOf(expect(signer, 0x30))
  const [issuer, serialNumber] = childrenOf(expect(identifier, 0x30))
  return {
    certificates,
    issuer: expect(issuer, 0x30).encoded,
    serialNumber: expect(serialNumber, 0x02).encoded,
    digestAlgorithm: dottedOf(expect(childrenOf(expect(digest, 0x30))[0], 0x06)),
    attributes: expect(attributes, 0xa0),
    signature: expect(value, 0x04).contents,
  }
}

function check(signed: SignedData, content: Buffer, root: X509Certificate, at: Date): SignatureFacts {
  if (signed.digestAlgorithm !== oid.sha256) throw new SignatureError('the digest is not SHA-256')
  const attributes = new Map(childrenOf(signed.attributes).map(readAttribute))
  const digest = createHash('sha256').update(content).digest()
  if (!attributes.get(oid.messageDigest)?.contents.equals(digest)) {
    throw new SignatureError('the signature is of another manifest.json')
  }
  if (attributes.get(oid.contentType)?.tag !== 0x06) throw new SignatureError('the content type is not signed')
  const signingTime = attributes.get(oid.signingTime)
  if (!signingTime) throw new SignatureError('the signing time is missing')

  const leaf = signerOf(signed)
  // Signed are the attributes as a SET, while the file holds them under an implicit tag (RFC 5652, 5.4).
  const signedBytes = Buffer.concat([Buffer.from([0x31]), signed.attributes.encoded.subarray(1)])
  if (!verify('sha256', signedBytes, leaf.publicKey, signed.signature)) {
    throw new SignatureError('the signature does not belong to the certificate')
  }
  const intermediate = signed.certificates
    .map(({ encoded }) => new X509Certificate(encoded))
    .find((candidate) => candidate.ca && leaf.checkIssued(candidate) && leaf.verify(candidate.publicKey))
  if (!intermediate) throw new SignatureError('the intermediate certificate (WWDR) is missing')
  if (!intermediate.checkIssued(root) || !intermediate.verify(root.publicKey)) {
    throw new SignatureError('the certificates do not lead to a root that this phone trusts')
  }
  for (const certificate of [leaf, intermediate, root]) checkValidity(certificate, at)
  checkValidity(leaf, timeOf(signingTime))
  const subject = leaf.toLegacyObject().subject as unknown as Record<string, string | undefined>
  return { certificate: leaf, passTypeIdentifier: subject.UID, teamIdentifier: subject.OU }
}

function readAttribute(attribute: DerElement): [type: string, value: DerElement] {
  const [type, values] = childrenOf(attribute)
  const [value] = childrenOf(expect(values, 0x31))
  if (!value) throw new RangeError('An attribute has no value.')
  return [dottedOf(expect(type, 0x06)), value]
}

function signerOf({ certificates, issuer, serialNumber }: SignedData): X509Certificate {
  const signer = certificates.find(({ encoded }) => {
    const [toBeSigned] = childrenOf(readDer(encoded))
    const fields = childrenOf(expect(toBeSigned, 0x30))
    const [serial, , name] = fields[0]?.tag === 0xa0 ? fields.slice(1) : fields
    return serial?.encoded.equals(serialNumber) && name?.encoded.equals(issuer)
  })
  if (!signer) throw new SignatureError('the certificate of the signer is missing')
  return new X509Certificate(signer.encoded)
}

function checkValidity(certificate: X509Certificate, at: Date): void {
  if (at < new Date(certificate.validFrom) || at > new Date(certificate.validTo)) {
    throw new SignatureError(`a certificate is not valid at ${at.toISOString()}: ${certificate.subject}`)
  }
}

/** UTCTime has two digits of the year, GeneralizedTime four. */
function timeOf({ tag, contents }: DerElement): Date {
  const text = contents.toString('latin1')
  const full = tag === 0x17 ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full)
  if (!parts) throw new SignatureError('the signing time is not well-formed')
  const [, year, month, day, hour, minute, second] = parts
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

function expect(element: DerElement | undefined, tag: number): DerElement {
  if (element?.tag !== tag) throw new RangeError(`Tag ${tag} was expected and ${element?.tag ?? 'nothing'} found.`)
  return element
}
