import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CliError } from '../command/errors.ts'
import { openPackage } from '../device/apple/package.ts'
import type { PassJson } from '../device/apple/pass-json.ts'
import { unzip } from '../device/apple/zip.ts'

const run = promisify(execFile)

/**
 * Opens a .pkpass file as a phone would, and has openssl, which knows nothing of us, check the signature once more.
 * @throws CliError
 */
export async function verifyPackage(file: Buffer, rootPem: string, folder: string): Promise<PassJson> {
  const pass = openPackage(file, await readFile(rootPem, 'utf8'), new Date())
  const files = unzip(file)
  const work = await mkdtemp(join(folder, 'verify-'))
  const [manifest, signature] = [join(work, 'manifest.json'), join(work, 'signature')]
  await writeFile(manifest, files.get('manifest.json')!)
  await writeFile(signature, files.get('signature')!)
  const what = ['-inform', 'DER', '-in', signature, '-content', manifest]
  const args = ['cms', '-verify', ...what, '-CAfile', rootPem, '-purpose', 'any', '-out', join(work, 'verified')]
  try {
    await run('openssl', args)
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    throw new CliError(
      isMissing ? 'openssl is not installed: the demo checks signatures with it.' : 'openssl refuses the signature.',
      { cause },
    )
  }
  return pass
}
