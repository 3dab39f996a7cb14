import { HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import { createFairCache } from '../../storage/db/fair-cache.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { type ZipEntry, zip, zipEntry } from '../../wallets/apple/package.ts'
import type { AppleWallet, UnsignedPackage } from '../../wallets/apple/wallet.ts'
import { namesTag } from '../http/etag.ts'
import { createBodyRoom } from '../http/middleware/in-flight.ts'
import { createFairQueue, QueueFull } from '../images/images.ts'
import type { Logger } from '../log.ts'
import type { Issuing } from './issuing.ts'

/** Signed packages of passes as they stand: what is known of one is asked for by its content, so none is ever stale. */
export interface Packages {
  /**
   * Answers a request for the package: 304 where the client has it, and its head alone without a signature.
   * @throws ApiError as build
   */
  answer(pass: StoredPass, request: Pick<Request, 'method' | 'headers'>, at: Date): Promise<HTTPResponse>
  /**
   * The package itself.
   * @throws ApiError PASS_ISSUING_FAILED where it cannot be shown; APPLE_SIGNING_FAILED; SERVICE_UNAVAILABLE where too many
   * are opened at once, of all or of the workspace, with Retry-After
   */
  build(pass: StoredPass, at: Date): Promise<Buffer>
  /**
   * Packages of up to ten passes in one file, without those that cannot be shown, which have links of their own, and those
   * from the one on that would make it larger than 64 MiB.
   * @throws ApiError as build; PASS_ISSUING_FAILED where none of them can be shown; SERVICE_UNAVAILABLE where those that are
   * sent at once, of all or of the workspace, are too many bytes
   */
  bundle(passes: readonly StoredPass[], at: Date): Promise<Bundle>
}

/** A file of packages (application/vnd.apple.pkpasses). */
export interface Bundle {
  file: Buffer
  /** How many of the passes it deals with: fewer than were asked for where it was full. */
  taken: number
  /** To be called when nobody holds the file any more: until then its bytes count against what bundles may take. */
  leave(): void
}

/** How many packages are signed and kept. */
export interface PackagesOptions {
  /** What signatures that are kept take, in bytes, of all workspaces. */
  maxBytes?: number
  /** Signatures that are made, or wait to be, of all workspaces and of one. */
  maxSigning?: number
  maxSigningOfWorkspace?: number
  /** What the packages of a bundle come to. */
  maxBundleBytes?: number
  /** Bundles that are made and not sent, in bytes, of all workspaces; of one half as many. */
  maxSendingBytes?: number
  log?: Pick<Logger, 'warn'>
}

/** With who signs it. */
interface SignablePackage extends UnsignedPackage {
  sign(at: Date): Promise<Buffer>
}

/** Versions of which it is remembered that they were told of. */
const MAX_TOLD = 1_000

/** A few thousand. */
const MAX_BYTES = 16 * 1024 * 1024

/** A quarter of a second of work for two cores, and half of that for a workspace. */
const MAX_SIGNING = 1_024
const MAX_SIGNING_OF_WORKSPACE = 512

/** Of the four threads of the pool one is left to the database. */
const SIGNING_AT_ONCE = 3

/** Each holds ten packages whole. */
const BUNDLES_AT_ONCE = 2
/** Far below the 150 MB that iPhones take: two of them, and their parts, are in memory at once. */
const MAX_BUNDLE_BYTES = 64 * 1024 * 1024
/** Whoever reads slowly holds a whole one for two minutes. */
const MAX_SENDING_BYTES = 4 * MAX_BUNDLE_BYTES
const MAX_BUNDLES = 64
const MAX_BUNDLES_OF_WORKSPACE = 16

/** Builds packages, and keeps their signatures by content (decisions/0014): see Packages. */
export function createPackages(
  walletOf: (pass: StoredPass) => Promise<Pick<AppleWallet, 'preparePackage' | 'signPackage'>>,
  issuing: Pick<Issuing, 'renderForApple'>,
  options: PackagesOptions = {},
): Packages {
  const { maxBytes = MAX_BYTES, maxSigning = MAX_SIGNING, maxSigningOfWorkspace = MAX_SIGNING_OF_WORKSPACE } = options
  const { log, maxBundleBytes = MAX_BUNDLE_BYTES, maxSendingBytes = MAX_SENDING_BYTES } = options
  const queue = createFairQueue({ max: maxSigning, maxOfOwner: maxSigningOfWorkspace, places: SIGNING_AT_ONCE })
  const bundles = createFairQueue({ max: MAX_BUNDLES, maxOfOwner: MAX_BUNDLES_OF_WORKSPACE, places: BUNDLES_AT_ONCE })
  const sending = createBodyRoom({
    processBytes: maxSendingBytes,
    workspaceBytes: maxSendingBytes / 2,
    refuse: (isOwners) => busy({ isOwners }),
  })
  const kept = createFairCache<Buffer>(maxBytes, ({ length }) => length)
  const signing = new Map<string, Promise<Buffer>>()

  const told = new Set<string>()

  async function prepare(pass: StoredPass, at: Date): Promise<SignablePackage> {
    const apple = await walletOf(pass)
    const unsigned = await apple.preparePackage(await issuing.renderForApple(pass), at)
    if (unsigned.ambiguous) tellOnce(pass, unsigned.ambiguous)
    return { ...unsigned, sign: (moment) => apple.signPackage(unsigned, moment) }
  }

  /** Once a version, with places and no value: its passes are opened by the thousand. */
  function tellOnce({ templateId, templateVersionId, templateVersion }: StoredPass, ambiguous: object): void {
    if (told.has(templateVersionId)) return
    if (told.size >= MAX_TOLD) told.clear()
    told.add(templateVersionId)
    const facts = { templateId, templateVersionId, templateVersion, ...ambiguous }
    log?.warn(facts, 'values of a pass made two texts alike whose translations differ: iPhones show the first for both')
  }

  /** Whoever asks for the same while it is signed waits for that signature. */
  function signatureOf(unsigned: SignablePackage, workspaceId: string, at: Date): Promise<Buffer> | Buffer {
    const { digest } = unsigned
    const known = kept.get(workspaceId, digest)
    if (known) return known
    const pending = signing.get(digest) ?? sign(unsigned, workspaceId, at)
    signing.set(digest, pending)
    return pending
  }

  async function sign(unsigned: SignablePackage, workspaceId: string, at: Date): Promise<Buffer> {
    try {
      const signature = await queue.run(workspaceId, () => unsigned.sign(at))
      kept.set(workspaceId, unsigned.digest, signature)
      return signature
    } catch (error) {
      throw error instanceof QueueFull ? busy(error) : error
    } finally {
      signing.delete(unsigned.digest)
    }
  }

  async function build(pass: StoredPass, at: Date): Promise<Buffer> {
    const unsigned = await prepare(pass, at)
    return unsigned.complete(await signatureOf(unsigned, pass.workspaceId, at))
  }

  return {
    async answer(pass, { method, headers }, at) {
      const given = { tag: headers.get('if-none-match'), since: headers.get('if-modified-since') }
      const answered: Record<string, string> = {
        // Kept by who opened it alone, and never shown again without asking: it may be void, or its link revoked.
        'cache-control': 'private, no-cache',
        'last-modified': pass.modifiedAt.toUTCString(),
      }
      // Tags go before dates (RFC 9110, 13.2.2), and a date alone needs nothing rendered.
      if (given.tag === null && isUnmodified(pass, given.since)) {
        return new HTTPResponse(null, { status: 304, headers: answered })
      }
      const unsigned = await prepare(pass, at)
      // Weak, since another signature of the same content is as good.
      answered.etag = `W/"${unsigned.digest}"`
      if (given.tag !== null && namesTag(given.tag, [unsigned.digest])) {
        return new HTTPResponse(null, { status: 304, headers: answered })
      }
      answered['content-type'] = 'application/vnd.apple.pkpass'
      if (method === 'HEAD') return new HTTPResponse(null, { headers: answered })
      const file = unsigned.complete(await signatureOf(unsigned, pass.workspaceId, at))
      answered['content-length'] = String(file.length)
      return new HTTPResponse(new Uint8Array(file.buffer as ArrayBuffer, file.byteOffset, file.length), {
        headers: answered,
      })
    },

    build,

    async bundle(passes, at) {
      const owner = passes[0]?.workspaceId ?? ''
      const waiting = bundles.run(owner, async () => {
        const shown: ZipEntry[] = []
        let taken = 0
        let unshown: ApiError | undefined
        for (const [n, pass] of passes.entries()) {
          const file = await build(pass, at).catch(asUnshown)
          if (file instanceof ApiError) {
            unshown ??= file
          } else {
            if (shown.length > 0 && bytesOf(shown) + file.length > maxBundleBytes) break
            shown.push(zipEntry(fileName(n), file))
          }
          taken += 1
        }
        if (shown.length === 0) throw unshown ?? new Error('A bundle of no passes was asked for')
        const { reserve, leave } = sending.enter(owner)
        reserve(bytesOf(shown))
        return { file: zip(shown), taken, leave }
      })
      return waiting.catch((error: unknown) => {
        throw error instanceof QueueFull ? busy(error) : error
      })
    },
  }
}

function bytesOf(entries: ZipEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

function fileName(n: number): string {
  return `pass-${String(n + 1).padStart(2, '0')}.pkpass`
}

/** Its values are at fault: the other passes of the bundle are shown. */
function asUnshown(error: unknown): ApiError {
  if (error instanceof ApiError && error.code === 'PASS_ISSUING_FAILED') return error
  throw error
}

/** Each version has a date of its own. A later one was given by another server, or before a backup was restored, with other content. */
function isUnmodified({ modifiedAt }: StoredPass, since: string | null): boolean {
  return since !== null && modifiedAt.getTime() === Date.parse(since)
}

function busy({ isOwners }: Pick<QueueFull, 'isOwners'>): ApiError {
  const message = isOwners
    ? 'Too many passes of this workspace are opened at once; try again in a moment.'
    : 'Too many passes are opened at once; try again in a moment.'
  return new ApiError('SERVICE_UNAVAILABLE', { message, headers: { 'retry-after': '1' } })
}
