import { createHash, type KeyObject, verify, X509Certificate } from 'node:crypto'
import { type BaseBlock, Constructed, fromBER, ObjectIdentifier, OctetString, Sequence, UTCTime } from 'asn1js'

export class SignatureError extends Error {
  override readonly name = 'SignatureError'
}

export interface SignatureFacts {
  /** The UID of the certificate's subject: the pass type that the certificate can sign. */
  passTypeIdentifier: string | undefined
  /** The OU of the certificate's subject. */
  teamIdentifier: string | undefined
}

const oid = {
  signedData: '1.2.840.113549.1.7.2',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  sha256: '2.16.840.1.101.3.4.2.1',
}

/**
 * Verifies a detached CMS signature (RFC 5652) with the checks of a phone: digest, signing time, signature, and the
 * chain from the included certificate through an included intermediate to the root.
 * @throws SignatureError
 */
export function verifySignature(signature: Buffer, content: Buffer, rootPem: string, at: Date): SignatureFacts {
  const signed = readSignedData(signature)
  try {
    return check(signed, content, rootPem, at)
  } catch (error) {
    // An OpenSSL error means that a certificate or key cannot be read, so report the signature as malformed.
    const isMalformed = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_OSSL')
    throw isMalformed ? notWellFormed(error) : error
  }
}

interface Signed {
  certificates: BaseBlock[]
  /** Issuer and serial number of the signing certificate. */
  signer: BaseBlock | undefined
  digestAlgorithm: string | undefined
  /** The signed attributes; `undefined` if there are none. */
  attributes: Constructed | undefined
  signature: Uint8Array
}

/**
 * Parses the structure without certificate schemas. With schemas, parsing would take ten times as long as the
 * verification, which fleets of phones run for every package.
 */
function readSignedData(bytes: Buffer): Signed {
  const [type, data] = membersOf(parse(bytes))
  if (identifierOf(type) !== oid.signedData) throw new SignatureError('the signature is not SignedData')
  const [, , encapsulated, ...optional] = membersOf(membersOf(data)[0])
  if (membersOf(encapsulated).length > 1) throw new SignatureError('the signature is not detached')
  const [signer, ...others] = membersOf(optional.pop())
  if (!signer || others.length > 0) throw new SignatureError('the signature does not have exactly one signer')
  const certificates = optional.find(isTagged0)
  const [, sid, digestAlgorithm, ...rest] = membersOf(signer)
  const attributes = rest.find(isTagged0)
  const signature = rest.find((element) => element instanceof OctetString)
  if (!signature) throw notWellFormed('the signature is missing')
  return {
    certificates: certificates ? membersOf(certificates) : [],
    signer: sid,
    digestAlgorithm: identifierOf(membersOf(digestAlgorithm)[0]),
    attributes,
    signature: signature.valueBlock.valueHexView,
  }
}

/** Parses DER, and throws every error: asn1js throws errors in strings and times, but returns other errors. */
function parse(bytes: Buffer): BaseBlock {
  let parsed: ReturnType<typeof fromBER>
  try {
    parsed = fromBER(new Uint8Array(bytes))
  } catch (error) {
    throw notWellFormed(error)
  }
  if (parsed.offset === -1) throw notWellFormed(parsed.result.error)
  return parsed.result
}

function membersOf(element: BaseBlock | undefined): BaseBlock[] {
  if (element instanceof Constructed) return element.valueBlock.value as BaseBlock[]
  throw notWellFormed('an element is missing')
}

function identifierOf(element: BaseBlock | undefined): string | undefined {
  return element instanceof ObjectIdentifier ? element.getValue() : undefined
}

function isTagged0(element: BaseBlock): element is Constructed {
  const { tagClass, tagNumber } = element.idBlock
  return element instanceof Constructed && tagClass === CONTEXT_SPECIFIC && tagNumber === 0
}

const CONTEXT_SPECIFIC = 3

function notWellFormed(cause: unknown): SignatureError {
  return new SignatureError('the signature is not well-formed CMS', { cause })
}

function check(
  { certificates, signer, ...signed }: Signed,
  content: Buffer,
  rootPem: string,
  at: Date,
): SignatureFacts {
  if (signed.digestAlgorithm !== oid.sha256) throw new SignatureError('the digest is not SHA-256')
  const attributes = new Map(
    (signed.attributes ? membersOf(signed.attributes) : []).map((attribute) => {
      const [type, values] = membersOf(attribute)
      return [identifierOf(type), membersOf(values)[0]]
    }),
  )
  const digest = attributes.get(oid.messageDigest)
  const actual = createHash('sha256').update(content).digest()
  if (!(digest instanceof OctetString) || !actual.equals(digest.valueBlock.valueHexView)) {
    throw new SignatureError('the signature belongs to another manifest.json')
  }
  if (!attributes.get(oid.contentType)) throw new SignatureError('the content type is not signed')
  const signingTime = attributes.get(oid.signingTime)
  // This check also accepts a GeneralizedTime, because its class in asn1js extends UTCTime.
  if (!(signingTime instanceof UTCTime)) throw new SignatureError('the signing time is missing')
  const chain = readChain(certificates, signer, new X509Certificate(rootPem))
  // Replace the tag. The message contains the attributes with the tag of an implicit [0], but the signature covers the
  // attributes with the tag of a SET (RFC 5652, 5.4).
  const signedBytes = Buffer.from(signed.attributes!.valueBeforeDecodeView)
  signedBytes[0] = 0x31
  if (!verify('sha256', signedBytes, chain.key, signed.signature)) {
    throw new SignatureError('the signature does not belong to the certificate')
  }
  for (const validity of chain.validities) checkValidity(validity, at)
  checkValidity(chain.validities[0]!, signingTime.toDate())
  const { UID, OU } = chain.subject
  return { passTypeIdentifier: UID, teamIdentifier: OU }
}

interface Chain {
  key: KeyObject
  subject: Record<string, string | undefined>
  /** The validity of each certificate, from the leaf to the root. */
  validities: { subject: string; from: Date; to: Date }[]
}

/** Finds the certificate of the signer, and verifies its chain up to the root. @throws SignatureError */
function readChain(elements: readonly BaseBlock[], signer: BaseBlock | undefined, root: X509Certificate): Chain {
  const names = membersOf(signer).map(bytesOf)
  const certificates = elements.filter((element) => element instanceof Sequence)
  const isSigner = (certificate: BaseBlock) => {
    const [issuer, serialNumber] = issuerAndSerialOf(certificate)
    return names.length === 2 && names[0]!.equals(bytesOf(issuer)) && names[1]!.equals(bytesOf(serialNumber))
  }
  const found = certificates.find(isSigner)
  if (!found) throw new SignatureError('the certificate of the signer is missing')
  const leaf = new X509Certificate(bytesOf(found))
  const intermediate = certificates
    .map((certificate) => new X509Certificate(bytesOf(certificate)))
    .find((candidate) => candidate.ca && leaf.checkIssued(candidate) && leaf.verify(candidate.publicKey))
  if (!intermediate) throw new SignatureError('the intermediate certificate (WWDR) is missing')
  if (!intermediate.checkIssued(root) || !intermediate.verify(root.publicKey)) {
    throw new SignatureError('the certificate chain does not end at a root that this phone trusts')
  }
  return {
    key: leaf.publicKey,
    subject: leaf.toLegacyObject().subject as unknown as Chain['subject'],
    validities: [leaf, intermediate, root].map(({ subject, validFrom, validTo }) => {
      return { subject, from: new Date(validFrom), to: new Date(validTo) }
    }),
  }
}

function issuerAndSerialOf(certificate: BaseBlock): [BaseBlock | undefined, BaseBlock | undefined] {
  const fields = membersOf(membersOf(certificate)[0])
  // Skip the version field, if there is one: a certificate of version 1 has none.
  const [serialNumber, , issuer] = fields[0] && isTagged0(fields[0]) ? fields.slice(1) : fields
  return [issuer, serialNumber]
}

function bytesOf(element: BaseBlock | undefined): Buffer {
  if (!element) throw notWellFormed('an element is missing')
  return Buffer.from(element.valueBeforeDecodeView)
}

function checkValidity({ subject, from, to }: Chain['validities'][number], at: Date): void {
  if (at < from || at > to) throw new SignatureError(`a certificate is not valid at ${at.toISOString()}: ${subject}`)
}
