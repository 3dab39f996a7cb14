import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writePrivate } from '../../files/private-file.ts'
import { CliError } from '../command/cli-error.ts'
import { openPackage, unzip } from './apple-package.ts'
import type { PassJson } from './apple-pass-json.ts'

const run = promisify(execFile)

export interface VerifiedPackage {
  content: PassJson
  signer: string
}

/**
 * Opens a .pkpass file as a phone would, and verifies the signature independently with openssl.
 * @param rootPem file of the trusted root
 * @param folder a folder for temporary files, which are deleted
 * @throws CliError PASS_REFUSED, or if openssl is not installed
 */
export async function verifyPackage(file: Buffer, rootPem: string, folder: string): Promise<VerifiedPackage> {
  const { content } = openPackage(file, await readFile(rootPem, 'utf8'), new Date())
  const files = unzip(file)
  const work = await mkdtemp(join(folder, 'verify-'))
  const [manifest, signature, signer] = ['manifest.json', 'signature', 'signer.pem'].map((name) => join(work, name))
  try {
    await writePrivate(manifest!, files.get('manifest.json')!)
    await writePrivate(signature!, files.get('signature')!)
    const what = ['-inform', 'DER', '-in', signature!, '-content', manifest!, '-signer', signer!]
    const args = ['cms', '-verify', ...what, '-CAfile', rootPem, '-purpose', 'any', '-out', join(work, 'verified')]
    await run('openssl', args)
    return { content, signer: new X509Certificate(await readFile(signer!)).fingerprint256 }
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    throw isMissing
      ? new CliError('openssl is not installed, but is needed to check signatures.', { cause })
      : new CliError('openssl rejects the signature.', { code: 'PASS_REFUSED', cause })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
