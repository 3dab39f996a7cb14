import { createHash, verify, X509Certificate } from 'node:crypto'
import { OctetString, UTCTime } from 'asn1js'
import { unzipSync } from 'fflate'
import { Certificate, ContentInfo, IssuerAndSerialNumber, SignedData, type SignerInfo } from 'pkijs'
import { CliError } from '../command/errors.ts'
import { PassJson } from './apple-pass-json.ts'
import { type PassStrings, parseStrings } from './apple-strings.ts'

/** What a phone keeps of a package. */
export interface OpenedPackage {
  content: PassJson
  strings: PassStrings
}

/**
 * Opens a .pkpass file as iOS does, which refuses without a word what is not in order: the archive, the digests of the
 * manifest, the signature up to the root, and pass.json. This phone says why.
 * @throws CliError PASS_REFUSED
 */
export function openPackage(archive: Buffer, rootPem: string, at: Date): OpenedPackage {
  try {
    return read(archive, rootPem, at)
  } catch (error) {
    if (error instanceof ZipError || error instanceof SignatureError) throw refused(error.message, error)
    throw error
  }
}

const FOLDER_OF_A_LANGUAGE = /^[A-Za-z0-9-]+\.lproj\/[^/]+$/

function read(archive: Buffer, rootPem: string, at: Date): OpenedPackage {
  const files = unzip(archive)
  const manifest = requireFile(files, 'manifest.json')
  const signer = verifySignature(requireFile(files, 'signature'), manifest, rootPem, at)
  checkManifest(files, manifest)
  if (!['icon.png', 'icon@2x.png', 'icon@3x.png'].some((name) => files.has(name))) throw refused('the icon is missing')
  const parsed = PassJson.safeParse(parseJson(requireFile(files, 'pass.json'), 'pass.json'))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw refused(`pass.json is not in order: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(': ')}`)
  }
  const pass = parsed.data
  if (pass.passTypeIdentifier !== signer.passTypeIdentifier) {
    throw refused(`the certificate signs ${signer.passTypeIdentifier} and not ${pass.passTypeIdentifier}`)
  }
  if (pass.teamIdentifier !== signer.teamIdentifier) throw refused('the certificate belongs to another team')
  return { content: pass, strings: stringsIn(files) }
}

const STRINGS = '.lproj/pass.strings'

function stringsIn(files: ReadonlyMap<string, Buffer>): PassStrings {
  const found = [...files].filter(([name]) => name.endsWith(STRINGS))
  return Object.fromEntries(
    found.map(([name, bytes]) => {
      const strings = parseStrings(bytes)
      if (!strings) throw refused(`${name} is no strings file`)
      return [name.slice(0, -STRINGS.length), strings]
    }),
  )
}

function checkManifest(files: Map<string, Buffer>, manifest: Buffer): void {
  const digests = parseJson(manifest, 'manifest.json') as Record<string, unknown>
  for (const [name, digest] of Object.entries(digests)) {
    const actual = createHash('sha1').update(requireFile(files, name)).digest('hex')
    if (actual !== digest) throw refused(`${name} is not the file that was signed`)
  }
  for (const name of files.keys()) {
    if (name.includes('/') && !FOLDER_OF_A_LANGUAGE.test(name)) throw refused(`${name} lies in a folder`)
    const isSigned = Object.hasOwn(digests, name) || name === 'manifest.json' || name === 'signature'
    if (!isSigned) throw refused(`${name} is not in the manifest`)
  }
}

function requireFile(files: Map<string, Buffer>, name: string): Buffer {
  const file = files.get(name)
  if (!file) throw refused(`${name} is missing`)
  return file
}

function parseJson(bytes: Buffer, name: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw refused(`${name} is no JSON`, cause)
  }
  if (typeof value !== 'object' || value === null) throw refused(`${name} is no JSON object`)
  return value
}

function refused(reason: string, cause?: unknown): CliError {
  return new CliError(`A phone would refuse this pass: ${reason}.`, { code: 'PASS_REFUSED', cause })
}

/** A signature that a phone does not accept, and why. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError'
}

/** Who signed a package, and when. */
export interface SignatureFacts {
  /** The certificate that signed. */
  certificate: X509Certificate
  /** Subject UID: the pass type that it may sign. */
  passTypeIdentifier: string | undefined
  /** Subject OU. */
  teamIdentifier: string | undefined
}

const oid = {
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
  const signed = readSignedData(signature)
  try {
    return check(signed, content, new X509Certificate(rootPem), at)
  } catch (error) {
    // OpenSSL's own errors are of certificates and keys inside that it cannot read.
    const isMalformed = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_OSSL')
    throw isMalformed ? notWellFormed(error) : error
  }
}

interface Signed {
  certificates: X509Certificate[]
  /** The certificate that signed; undefined where it is not inside. */
  leaf: X509Certificate | undefined
  signer: SignerInfo
}

function readSignedData(bytes: Buffer): Signed {
  const data = parse(bytes)
  if (data.encapContentInfo.eContent) throw new SignatureError('the signature is not detached')
  const [signer, ...others] = data.signerInfos
  if (!signer || others.length > 0) throw new SignatureError('not one has signed, but none or several')
  const found = (data.certificates ?? []).filter((candidate) => candidate instanceof Certificate)
  try {
    const { sid } = signer
    const leaf = found.find(
      ({ issuer, serialNumber }) =>
        sid instanceof IssuerAndSerialNumber && serialNumber.isEqual(sid.serialNumber) && issuer.isEqual(sid.issuer),
    )
    return { certificates: found.map(toX509), leaf: leaf && toX509(leaf), signer }
  } catch (cause) {
    throw notWellFormed(cause)
  }
}

/** What pkijs throws at bytes that are no CMS is of no class of its own. */
function parse(bytes: Buffer): SignedData {
  try {
    const { content, contentType } = ContentInfo.fromBER(new Uint8Array(bytes))
    if (contentType === ContentInfo.SIGNED_DATA) return new SignedData({ schema: content })
  } catch (cause) {
    throw notWellFormed(cause)
  }
  throw new SignatureError('the signature is no SignedData')
}

function notWellFormed(cause: unknown): SignatureError {
  return new SignatureError('the signature is not well-formed CMS', { cause })
}

function toX509(certificate: Certificate): X509Certificate {
  return new X509Certificate(Buffer.from(certificate.toSchema().toBER()))
}

function check(
  { certificates, leaf, signer }: Signed,
  content: Buffer,
  root: X509Certificate,
  at: Date,
): SignatureFacts {
  if (signer.digestAlgorithm.algorithmId !== oid.sha256) throw new SignatureError('the digest is not SHA-256')
  const attributes = new Map(signer.signedAttrs?.attributes.map(({ type, values }) => [type, values[0]]))
  const digest = attributes.get(oid.messageDigest)
  const actual = createHash('sha256').update(content).digest()
  if (!(digest instanceof OctetString) || !actual.equals(digest.valueBlock.valueHexView)) {
    throw new SignatureError('the signature is of another manifest.json')
  }
  if (!attributes.get(oid.contentType)) throw new SignatureError('the content type is not signed')
  const signingTime = attributes.get(oid.signingTime)
  // To asn1js a GeneralizedTime is a UTCTime with four digits of the year.
  if (!(signingTime instanceof UTCTime)) throw new SignatureError('the signing time is missing')
  if (!leaf) throw new SignatureError('the certificate of the signer is missing')
  const signedBytes = Buffer.from(signer.signedAttrs!.encodedValue)
  if (!verify('sha256', signedBytes, leaf.publicKey, signer.signature.valueBlock.valueHexView)) {
    throw new SignatureError('the signature does not belong to the certificate')
  }
  const intermediate = certificates.find(
    (candidate) => candidate.ca && leaf.checkIssued(candidate) && leaf.verify(candidate.publicKey),
  )
  if (!intermediate) throw new SignatureError('the intermediate certificate (WWDR) is missing')
  if (!intermediate.checkIssued(root) || !intermediate.verify(root.publicKey)) {
    throw new SignatureError('the certificates do not lead to a root that this phone trusts')
  }
  for (const certificate of [leaf, intermediate, root]) checkValidity(certificate, at)
  checkValidity(leaf, signingTime.toDate())
  const subject = leaf.toLegacyObject().subject as unknown as Record<string, string | undefined>
  return { certificate: leaf, passTypeIdentifier: subject.UID, teamIdentifier: subject.OU }
}

function checkValidity(certificate: X509Certificate, at: Date): void {
  if (at < new Date(certificate.validFrom) || at > new Date(certificate.validTo)) {
    throw new SignatureError(`a certificate is not valid at ${at.toISOString()}: ${certificate.subject}`)
  }
}

/** An archive that a phone cannot read, and why. */
class ZipError extends Error {
  override readonly name = 'ZipError'
}

/** A pass unpacked; phones refuse far smaller ones. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

/**
 * The files of a zip by name, read through its directory as phones do. Damage inside a file is seen by whoever compares it
 * with the manifest.
 * @throws ZipError
 */
export function unzip(archive: Buffer): Map<string, Buffer> {
  const names = new Set<string>()
  try {
    const files = unzipSync(archive, {
      filter: ({ name, size, originalSize }) => {
        if (names.has(name)) throw new ZipError(`the archive holds ${name} twice`)
        if (Math.max(size, originalSize) > MAX_FILE_BYTES) throw new ZipError(`${name} is too large`)
        names.add(name)
        return true
      },
    })
    return new Map([...names].map((name) => [name, Buffer.from(files[name]!)]))
  } catch (error) {
    if (error instanceof ZipError) throw error
    throw new ZipError(reasons[codeOf(error)] ?? 'the archive is cut off or damaged', { cause: error })
  }
}

/** By fflate's own codes. */
const reasons: Record<number, string> = {
  13: 'this is no zip archive',
  14: 'a file is packed in a way that phones do not know',
}

function codeOf(error: unknown): number {
  return Number((error as { code?: unknown }).code)
}
