import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { plainPng } from '../../src/files/plain-png.ts'
import { parseAppleIdentity } from '../../src/wallets/apple/apple-identity.ts'
import { createSigner, packageFile, zip, zipEntry } from '../../src/wallets/apple/package.ts'
import { createSandboxPass } from '../../src/wallets/sandbox/apple/certificates.ts'
import { type LocalCall, type LocalReply, serveLocally } from '../../src/wallets/sandbox/local-server.ts'

/** Options of `startOtherProvider`. */
interface OtherProviderOptions {
  passes: number
  passTypeIdentifier: string
  teamIdentifier: string
  /** The `webServiceURL` of the packages. */
  webServiceURL: string
}

/** A pass as the tables of the provider have it. */
interface OtherPass {
  serialNumber: string
  authenticationToken: string
  /** The payload that scanners read. */
  code: string
  label: string
  devices: Map<string, string>
}

/** A running provider. */
export interface OtherProvider {
  /** The address, without a trailing slash. */
  url: string
  /** The rows of its tables, as an operator exports them. */
  passes: readonly OtherPass[]
  close(): Promise<void>
}

/**
 * Starts another provider of passes. Its certificate is issued by the chain in a folder of the sandbox. It serves
 * packages to install at `/passes/<n>.pkpass`, and the PassKit web service under the path of `webServiceURL`, with its
 * own format of serial numbers, tokens, and codes. It never changes a pass.
 */
export async function startOtherProvider(chain: string, options: OtherProviderOptions): Promise<OtherProvider> {
  const { passTypeIdentifier } = options
  const at = new Date()
  const passes = Array.from({ length: options.passes }, (_, n) => newPass(n))
  const bySerialNumber = new Map(passes.map((pass) => [pass.serialNumber, pass]))
  const prefix = new URL(options.webServiceURL).pathname.replace(/\/$/, '')
  const build = await packagesOf(chain, options)

  async function download(pass: OtherPass | undefined, { response }: LocalCall): Promise<LocalReply | undefined> {
    if (!pass) return { status: 404 }
    const archive = await build(pass)
    response.writeHead(200, { 'content-type': 'application/vnd.apple.pkpass', 'last-modified': at.toUTCString() })
    response.end(archive)
    return undefined
  }

  const server = await serveLocally((call) => {
    const { method, path, headers, json } = call
    const parts = path.split('/').map(decodeURIComponent)
    if (path.startsWith('/passes/')) return download(passes[Number.parseInt(parts[2]!, 10)], call)
    if (!path.startsWith(`${prefix}/v1/`)) return { status: 404 }
    const [what, ...names] = parts.slice(prefix.split('/').length + 1)
    if (what === 'log') return { status: 200 }
    const [device, serial, type] = what === 'passes' ? [undefined, names[1], names[0]] : [names[0]!, names[3], names[2]]
    if (type !== passTypeIdentifier) return { status: 404 }
    if (serial === undefined) return { status: 204 }
    const pass = bySerialNumber.get(serial)
    if (!pass || headers.authorization !== `ApplePass ${pass.authenticationToken}`) return { status: 401 }
    if (device === undefined) return headers['if-modified-since'] ? { status: 304 } : download(pass, call)
    if (method === 'DELETE') pass.devices.delete(device)
    else pass.devices.set(device, (json as { pushToken: string }).pushToken)
    return { status: 200 }
  })
  return { url: server.url, passes, close: server.close }
}

function newPass(n: number): OtherPass {
  return {
    serialNumber: `member/${2019 + (n % 7)}/${n}`,
    authenticationToken: randomBytes(12).toString('base64url'),
    code: `97802${String(n).padStart(8, '0')}`,
    label: `Holder ${n}`,
    devices: new Map(),
  }
}

async function packagesOf(chain: string, options: OtherProviderOptions): Promise<(pass: OtherPass) => Promise<Buffer>> {
  const { passTypeIdentifier, teamIdentifier, webServiceURL } = options
  const [at, wwdrKeyPem] = [new Date(), await readFile(join(chain, 'wwdr.key'), 'utf8')]
  const made = await createSandboxPass({ ...options, at, wwdrKeyPem })
  const source = (pem: string | Buffer) => ({ source: 'the other provider', pem: Buffer.from(pem) })
  const wwdr = source(await readFile(join(chain, 'wwdr.pem')))
  const sign = createSigner(
    parseAppleIdentity({ certificate: source(made.certificatePem), key: source(made.keyPem), wwdr }, at),
  )
  const icon = packageFile('icon.png', plainPng(38, 38, '#274060'))
  return async ({ serialNumber, authenticationToken, code, label }) => {
    const content = {
      formatVersion: 1,
      passTypeIdentifier,
      teamIdentifier,
      serialNumber,
      authenticationToken,
      webServiceURL,
      organizationName: 'The provider before',
      description: 'Club card',
      barcodes: [{ format: 'PKBarcodeFormatQR', message: code, messageEncoding: 'iso-8859-1' }],
      storeCard: { primaryFields: [{ key: 'name', label: 'Name', value: label }] },
    }
    const files = [packageFile('pass.json', Buffer.from(JSON.stringify(content))), icon]
    const manifest = Buffer.from(JSON.stringify(Object.fromEntries(files.map((file) => [file.name, file.sha1Hex]))))
    const signature = await sign(createHash('sha256').update(manifest).digest(), new Date())
    return zip([...files, zipEntry('manifest.json', manifest), zipEntry('signature', signature)])
  }
}
