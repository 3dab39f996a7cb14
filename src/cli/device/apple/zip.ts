import { unzipSync } from 'fflate'

/** An archive that a phone cannot read, and why. */
export class ZipError extends Error {
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
