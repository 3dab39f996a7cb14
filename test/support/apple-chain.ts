import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'

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
}

export const passType = 'pass.com.example.doctor'
export const team = 'DOCTOR0001'

/** Creates the files of a certificate chain like Apple's with openssl: the pass certificate, its key, and the intermediate. */
export async function makeAppleChain(folder: string, options: ChainOptions = {}): Promise<AppleChain> {
  const { days = 365, wwdrUnit = 'G4', pushes = false } = options
  const file = (name: string) => join(folder, `${wwdrUnit}-${days}-${name}`)
  const openssl = (...args: string[]) => execa('openssl', args)
  const [wwdr, wwdrKey, certificate, key] = [file('wwdr.pem'), file('wwdr.key'), file('pass.pem'), file('pass.key')]
  const wwdrName = `/CN=Apple Worldwide Developer Relations Certification Authority/OU=${wwdrUnit}/O=Apple Inc./C=US`
  const newKey = ['-newkey', 'rsa:2048', '-nodes', '-utf8']
  await openssl('req', '-x509', ...newKey, '-keyout', wwdrKey, '-out', wwdr, '-subj', wwdrName, '-days', '3650')
  const passName = `/UID=${passType}/CN=Pass Type ID: ${passType}/OU=${team}/O=Example/C=US`
  await openssl('req', ...newKey, '-keyout', key, '-out', file('pass.csr'), '-subj', passName)
  const signing = ['-req', '-in', file('pass.csr'), '-CA', wwdr, '-CAkey', wwdrKey, '-CAcreateserial']
  if (pushes) {
    await writeFile(file('pass.cnf'), '1.2.840.113635.100.6.3.1=ASN1:NULL\n1.2.840.113635.100.6.3.2=ASN1:NULL\n')
    signing.push('-extfile', file('pass.cnf'))
  }
  await openssl('x509', ...signing, '-days', String(days), '-out', certificate)
  return { certificate, key, wwdr }
}

/** Returns the flags of the server for a chain. */
export function appleFlags({ certificate, key, wwdr }: AppleChain): string[] {
  return ['--apple-certificate', certificate, '--apple-key', key, '--apple-wwdr', wwdr]
}
