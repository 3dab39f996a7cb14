import { PKPass } from 'passkit-generator'
import type { SandboxApple } from '../src/wallets/sandbox/apple/certificates.ts'

/** Creates a peer that builds the package of an archive with passkit-generator and the same certificates. */
export function createPeer(chain: SandboxApple) {
  const certificates = { wwdr: chain.wwdrPem, signerCert: chain.certificatePem, signerKey: chain.keyPem }
  return {
    builderOf(archive: Buffer): () => Promise<Buffer> {
      const { 'manifest.json': _manifest, signature: _signature, ...files } = storedFiles(archive)
      return async () => new PKPass(files, certificates).getAsBuffer()
    },
  }
}

/** Returns the files of a zip archive without compression, whose local headers contain the sizes. */
function storedFiles(archive: Buffer): Record<string, Buffer> {
  const files: Record<string, Buffer> = {}
  let position = 0
  while (archive.readUInt32LE(position) === 0x04034b50) {
    const size = archive.readUInt32LE(position + 18)
    const nameLength = archive.readUInt16LE(position + 26)
    const start = position + 30 + nameLength
    files[archive.toString('utf8', position + 30, start)] = Buffer.from(archive.subarray(start, start + size))
    position = start + size
  }
  return files
}
