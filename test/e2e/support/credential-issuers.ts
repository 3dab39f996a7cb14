import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { createSandboxGoogle } from '../../../src/wallets/sandbox/google/google-token.ts'

/**
 * Signs a certificate request as Apple does: a certificate of the pass type and team, and the intermediate that signed
 * it, in DER.
 */
export async function signRequest(folder: string): Promise<void> {
  await makeRequest(folder)
  await openssl(folder, [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '3650',
    '-outform',
    'DER',
    '-out',
    'AppleWWDRCAG4.cer',
    '-keyout',
    'wwdr.key',
    '-subj',
    '/CN=Emulator Worldwide Developer Relations/OU=G4/C=US',
  ])
  // Apple's extensions of a certificate for pushes and passes of this type.
  const extensions =
    '1.2.840.113635.100.6.3.2=ASN1:NULL\n1.2.840.113635.100.6.1.16=ASN1:UTF8String:pass.com.example.tickets\n'
  writeFileSync(join(folder, 'extensions.cnf'), extensions)
  await openssl(folder, [
    'x509',
    '-req',
    '-in',
    'pass.csr',
    '-CA',
    'AppleWWDRCAG4.cer',
    '-CAform',
    'DER',
    '-CAkey',
    'wwdr.key',
    '-days',
    '365',
    '-outform',
    'DER',
    '-out',
    'pass.cer',
    '-set_serial',
    '1815',
    '-extfile',
    'extensions.cnf',
    '-subj',
    '/UID=pass.com.example.tickets/CN=Pass Type ID: pass.com.example.tickets/OU=ABCDE12345/O=Example/C=US',
  ])
}

/** Exports certificates like Keychain Access does: certificate and key in one file, in the old format. */
export async function exportCertificates(folder: string): Promise<void> {
  await openssl(folder, [
    'pkcs12',
    '-export',
    '-legacy',
    '-in',
    'pass.pem',
    '-inkey',
    'pass.key',
    '-out',
    'Certificates.p12',
    '-passout',
    'pass:PASSPHRASE',
  ])
}

export async function makeGoogleKey(folder: string): Promise<void> {
  const { serviceAccountJson } = await createSandboxGoogle()
  writeFileSync(join(folder, 'service-account.json'), serviceAccountJson)
}

/** Creates the request if no guide has created one. */
async function makeRequest(folder: string): Promise<void> {
  const script =
    'test -e pass.csr || openssl req -new -newkey rsa:2048 -nodes -keyout pass.key -out pass.csr -subj /CN=passes'
  await execa(script, { cwd: folder, shell: true })
}

async function openssl(folder: string, args: string[]): Promise<void> {
  await execa('openssl', args, { cwd: folder })
}
