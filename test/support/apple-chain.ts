import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { onceADay } from './chains.ts'

export interface AppleChain {
  certificate: string
  key: string
  wwdr: string
}

export interface ChainOptions {
  /** The validity of the pass certificate. If negative, it has expired. */
  days?: number
  wwdrUnit?: string
  /** Whether the certificate has the extension with which Apple allows pushes. */
  pushes?: boolean
  /** Distinguishes several chains with the same options. */
  nth?: number
}

export const passType = 'pass.com.example.doctor'
export const team = 'DOCTOR0001'

/**
 * Writes the files of a certificate chain like Apple's, which openssl created today: the pass certificate, its key, and
 * the intermediate.
 */
export async function makeAppleChain(folder: string, options: ChainOptions = {}): Promise<AppleChain> {
  const { days = 365, wwdrUnit = 'G4', pushes = false, nth = 0 } = options
  const chain = await onceADay(['openssl', days, wwdrUnit, pushes, nth], () => createChain({ days, wwdrUnit, pushes }))
  const file = (name: string) => join(folder, `${wwdrUnit}-${days}-${name}`)
  const files = { certificate: file('pass.pem'), key: file('pass.key'), wwdr: file('wwdr.pem') }
  for (const [part, path] of Object.entries(files)) await writeFile(path, chain[part as keyof AppleChain])
  return files
}

async function createChain({ days, wwdrUnit, pushes }: Required<Omit<ChainOptions, 'nth'>>): Promise<AppleChain> {
  const folder = await mkdtemp(join(tmpdir(), 'passes-chain-'))
  try {
    const openssl = (...args: string[]) => execa('openssl', args, { cwd: folder })
    const wwdrName = `/CN=Apple Worldwide Developer Relations Certification Authority/OU=${wwdrUnit}/O=Apple Inc./C=US`
    const newKey = ['-newkey', 'rsa:2048', '-nodes', '-utf8']
    await openssl('req', '-x509', ...newKey, '-keyout', 'wwdr.key', '-out', 'wwdr', '-subj', wwdrName, '-days', '3650')
    const passName = `/UID=${passType}/CN=Pass Type ID: ${passType}/OU=${team}/O=Example/C=US`
    await openssl('req', ...newKey, '-keyout', 'key', '-out', 'pass.csr', '-subj', passName)
    const signing = ['-req', '-in', 'pass.csr', '-CA', 'wwdr', '-CAkey', 'wwdr.key', '-CAcreateserial']
    if (pushes) {
      const extensions = '1.2.840.113635.100.6.3.1=ASN1:NULL\n1.2.840.113635.100.6.3.2=ASN1:NULL\n'
      await writeFile(join(folder, 'pass.cnf'), extensions)
      signing.push('-extfile', 'pass.cnf')
    }
    await openssl('x509', ...signing, '-days', String(days), '-out', 'certificate')
    const read = (name: string) => readFile(join(folder, name), 'utf8')
    return { certificate: await read('certificate'), key: await read('key'), wwdr: await read('wwdr') }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Returns the flags of the server for a chain. */
export function appleFlags({ certificate, key, wwdr }: AppleChain): string[] {
  return ['--apple-certificate', certificate, '--apple-key', key, '--apple-wwdr', wwdr]
}
