import { createHash } from 'node:crypto'
import { type FlateError, unzipSync } from 'fflate'
import { CliError } from '../command/cli-error.ts'
import { PassJson } from './apple-pass-json.ts'
import { SignatureError, verifySignature } from './apple-signature.ts'
import { type PassStrings, parseStrings } from './apple-strings.ts'

export interface OpenedPackage {
  content: PassJson
  strings: PassStrings
}

/**
 * Opens a .pkpass file with the checks of iOS: archive, manifest, signature, and pass.json. iOS rejects an invalid file
 * silently; this phone reports the reason.
 * @throws CliError PASS_REFUSED
 */
export function openPackage(archive: Buffer, rootPem: string, at: Date): OpenedPackage {
  try {
    return read(archive, rootPem, at)
  } catch (error) {
    if (error instanceof ZipError || error instanceof SignatureError) throw rejection(error.message, error)
    throw error
  }
}

const FOLDER_OF_A_LANGUAGE = /^[A-Za-z0-9-]+\.lproj\/[^/]+$/

function read(archive: Buffer, rootPem: string, at: Date): OpenedPackage {
  const files = unzip(archive)
  const manifest = requireFile(files, 'manifest.json')
  const signer = verifySignature(requireFile(files, 'signature'), manifest, rootPem, at)
  checkManifest(files, manifest)
  if (!['icon.png', 'icon@2x.png', 'icon@3x.png'].some((name) => files.has(name)))
    throw rejection('the icon is missing')
  const parsed = PassJson.safeParse(parseJson(requireFile(files, 'pass.json'), 'pass.json'))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw rejection(`pass.json is not valid: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(': ')}`)
  }
  const pass = parsed.data
  if (pass.passTypeIdentifier !== signer.passTypeIdentifier) {
    throw rejection(`the certificate is for ${signer.passTypeIdentifier}, not ${pass.passTypeIdentifier}`)
  }
  if (pass.teamIdentifier !== signer.teamIdentifier) throw rejection('the certificate belongs to another team')
  return { content: pass, strings: stringsIn(files) }
}

const STRINGS = '.lproj/pass.strings'

function stringsIn(files: ReadonlyMap<string, Buffer>): PassStrings {
  const found = [...files].filter(([name]) => name.endsWith(STRINGS))
  return Object.fromEntries(
    found.map(([name, bytes]) => {
      const strings = parseStrings(bytes)
      if (!strings) throw rejection(`${name} is not a strings file`)
      return [name.slice(0, -STRINGS.length), strings]
    }),
  )
}

function checkManifest(files: Map<string, Buffer>, manifest: Buffer): void {
  const digests = parseJson(manifest, 'manifest.json') as Record<string, unknown>
  for (const [name, digest] of Object.entries(digests)) {
    const actual = createHash('sha1').update(requireFile(files, name)).digest('hex')
    if (actual !== digest) throw rejection(`${name} is not the file that was signed`)
  }
  for (const name of files.keys()) {
    if (name.includes('/') && !FOLDER_OF_A_LANGUAGE.test(name)) throw rejection(`${name} is in a folder`)
    const isSigned = Object.hasOwn(digests, name) || name === 'manifest.json' || name === 'signature'
    if (!isSigned) throw rejection(`${name} is not in the manifest`)
  }
}

function requireFile(files: Map<string, Buffer>, name: string): Buffer {
  const file = files.get(name)
  if (!file) throw rejection(`${name} is missing`)
  return file
}

function parseJson(bytes: Buffer, name: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw rejection(`${name} is not JSON`, cause)
  }
  if (typeof value !== 'object' || value === null) throw rejection(`${name} is not a JSON object`)
  return value
}

function rejection(reason: string, cause?: unknown): CliError {
  return new CliError(`Phones would reject this pass: ${reason}.`, { code: 'PASS_REFUSED', cause })
}

class ZipError extends Error {
  override readonly name = 'ZipError'
}

/** The maximum size of a file in a package; real phones reject far smaller ones. */
const MAX_FILE_BYTES = 16 * 1024 * 1024
/** The maximum total size of the files in an archive. The service puts at most 20 MiB of images into a package. */
const MAX_ARCHIVE_BYTES = 128 * 1024 * 1024
const MAX_FILES = 5_000

/**
 * Returns the files of a zip archive by name, read through its central directory, as phones do. The check of the
 * manifest detects damage inside a file.
 * @throws ZipError
 */
export function unzip(archive: Buffer): Map<string, Buffer> {
  const names = new Set<string>()
  let total = 0
  try {
    const files = unzipSync(archive, {
      filter: ({ name, size, originalSize }) => {
        if (names.has(name)) throw new ZipError(`the archive contains ${name} twice`)
        if (Math.max(size, originalSize) > MAX_FILE_BYTES) throw new ZipError(`${name} is too large`)
        names.add(name)
        total += Math.max(size, originalSize)
        if (total > MAX_ARCHIVE_BYTES || names.size > MAX_FILES) throw new ZipError('the archive is too large')
        return true
      },
    })
    return new Map([...names].map((name) => [name, Buffer.from(files[name]!)]))
  } catch (error) {
    if (error instanceof ZipError) throw error
    throw new ZipError(reasons[(error as FlateError).code] ?? 'the archive is cut off or damaged', { cause: error })
  }
}

/** Reasons by error code of fflate. */
const reasons: Record<number, string> = {
  13: 'it is not a ZIP archive',
  14: 'a file is compressed in a way that phones do not support',
}
