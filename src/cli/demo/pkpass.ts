import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CliError } from '../errors.ts'

const run = promisify(execFile)

/**
 * Checks a .pkpass file as a phone would: the signature over the manifest up to the root (by openssl), and each file
 * against its digest in the manifest. Returns pass.json.
 * @throws CliError
 */
export async function verifyPackage(file: Buffer, rootPem: string, folder: string): Promise<Record<string, unknown>> {
  const files = storedFiles(file)
  const [manifest, signature, passJson] = ['manifest.json', 'signature', 'pass.json'].map((name) => files.get(name))
  if (!manifest || !signature || !passJson)
    throw new CliError('The package lacks manifest.json, signature or pass.json')
  for (const [name, digest] of Object.entries(JSON.parse(manifest.toString()) as Record<string, string>)) {
    const actual = createHash('sha1')
      .update(files.get(name) ?? '')
      .digest('hex')
    if (actual !== digest) throw new CliError(`The manifest holds another digest of ${name}`)
  }
  const work = await mkdtemp(join(folder, 'verify-'))
  await writeFile(join(work, 'manifest.json'), manifest)
  await writeFile(join(work, 'signature'), signature)
  const args = [
    'cms',
    '-verify',
    '-inform',
    'DER',
    '-in',
    join(work, 'signature'),
    '-content',
    join(work, 'manifest.json'),
  ]
  try {
    await run('openssl', [...args, '-CAfile', rootPem, '-purpose', 'any', '-out', join(work, 'verified')])
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    throw new CliError(
      isMissing ? 'openssl is not installed: the demo checks signatures with it.' : 'openssl refuses the signature.',
      { cause },
    )
  }
  return JSON.parse(passJson.toString())
}

const LOCAL_FILE = 0x04034b50

/** The entries of a zip whose files are stored and not compressed, as ours are, read from front to back. */
function storedFiles(zip: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  let at = 0
  while (at + 30 <= zip.length && zip.readUInt32LE(at) === LOCAL_FILE) {
    const size = zip.readUInt32LE(at + 18)
    const nameEnd = at + 30 + zip.readUInt16LE(at + 26)
    const start = nameEnd + zip.readUInt16LE(at + 28)
    files.set(zip.toString('utf8', at + 30, nameEnd), zip.subarray(start, start + size))
    at = start + size
  }
  return files
}
