import { createHash } from 'node:crypto'
import { CliError } from '../../command/errors.ts'
import { SignatureError, verifySignature } from './cms.ts'
import { PassJson } from './pass-json.ts'
import { unzip, ZipError } from './zip.ts'

/**
 * Opens a .pkpass file as iOS does, which refuses without a word what is not in order: the archive, the digests of the
 * manifest, the signature up to the root, and pass.json. This phone says why.
 * @throws CliError PASS_REFUSED
 */
export function openPackage(archive: Buffer, rootPem: string, at: Date): PassJson {
  try {
    return read(archive, rootPem, at)
  } catch (error) {
    if (error instanceof ZipError || error instanceof SignatureError) throw refused(error.message, error)
    throw error
  }
}

const FOLDER_OF_A_LANGUAGE = /^[A-Za-z-]+\.lproj\/[^/]+$/

function read(archive: Buffer, rootPem: string, at: Date): PassJson {
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
  return pass
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
