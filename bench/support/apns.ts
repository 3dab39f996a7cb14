/**
 * Runs the APNs emulator in a separate process. Prints its address and the tokens of the given number of phones as one
 * line of JSON.
 */
import { startSandboxApns } from '../../src/wallets/sandbox/apple/apns-server.ts'
import { createSandboxApple } from '../../src/wallets/sandbox/apple/certificates.ts'
import { createFaults } from '../../src/wallets/sandbox/faults.ts'

export interface BenchApns {
  address: string
  port: number
  passTypeIdentifier: string
  teamIdentifier: string
  rootPem: string
  wwdrPem: string
  certificatePem: string
  keyPem: string
  tokens: string[]
}

const names = { passTypeIdentifier: 'pass.bench', teamIdentifier: 'BENCH00001' }
const made = await createSandboxApple({ ...names, at: new Date() })
const apns = await startSandboxApns({
  serverCertificate: made.serverCertificatePem,
  serverKey: made.serverKeyPem,
  clientRoot: made.rootPem + made.wwdrPem,
  faults: createFaults(),
})
const { rootPem, wwdrPem, certificatePem, keyPem } = made
const { address, port } = apns
const tokens = Array.from({ length: Number(process.argv[2]) }, () => apns.newDeviceToken(names.passTypeIdentifier))
const described: BenchApns = { address, port, ...names, rootPem, wwdrPem, certificatePem, keyPem, tokens }
process.stdout.write(`${JSON.stringify(described)}\n`)
