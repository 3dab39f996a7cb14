import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const PROJECT = 'passes-sandbox'

export interface SandboxGoogle {
  /** In the form of a service account key file, with a fresh RSA key that nothing outside the sandbox knows. */
  serviceAccountJson: string
  issuerId: string
}

/** Credentials for the Google Wallet emulator on loopback. Real Google refuses them. */
export async function createSandboxGoogle(): Promise<SandboxGoogle> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const account = {
    type: 'service_account',
    project_id: PROJECT,
    private_key_id: randomBytes(20).toString('hex'),
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: `sandbox@${PROJECT}.iam.gserviceaccount.com`,
    token_uri: 'https://oauth2.googleapis.com/token',
  }
  return { serviceAccountJson: JSON.stringify(account, null, 2), issuerId: '3388000000000000000' }
}
